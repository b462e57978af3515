"""read_file reads the definition of a symbol by its name, and the outline of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import MakeWorkspace, write_files
from winnow.errors import InvalidParams, NotFound
from winnow.tools import TOOLS
from winnow.tools.read_file import ReadFileResult
from winnow.types import no_progress

CLIENT = """\
import socket

LIMIT = 3


class Client:
    def send(self, text):
        def encode():
            return text.encode()

        return encode()


def send(text):
    return Client().send(text)
"""
FILES = {"src/client.py": CLIENT, "src/other.py": "def send():\n    pass\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path, FILES)


async def read(make_workspace: MakeWorkspace, folder: Path, **params: object) -> ReadFileResult:
    result = await TOOLS["read_file"].call(make_workspace(folder), params, no_progress)
    assert isinstance(result, ReadFileResult)
    return result


@pytest.mark.parametrize("name", ["Client.send", "Client::send", "Client#send"])
async def test_a_name_reads_the_definition(
    name: str, make_workspace: MakeWorkspace, folder: Path
) -> None:
    result = await read(make_workspace, folder, path=name)
    [chunk] = result.chunks
    assert (result.path, chunk.start, chunk.end) == ("src/client.py", 7, 11)
    assert chunk.content.startswith("    def send(self, text):")
    assert result.warnings == []


async def test_the_function_is_read_instead_of_its_overloads(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    overloads = "/** Joins. */\nexport function join(a: string): string\n"
    overloads += "export function join(a: string[]): string\n"
    body = "export function join(a: any) {\n  return a\n}\n"
    folder = write_files(tmp_path, {"src/join.ts": overloads + body})
    [chunk] = (await read(make_workspace, folder, path="join")).chunks
    assert chunk.content == body


@pytest.mark.parametrize(
    "path", ["src/other.py:send", "src/other.py::send", "src/other.py::send[case-1]"]
)
async def test_a_file_with_a_name_reads_its_definition_in_that_file(
    path: str, make_workspace: MakeWorkspace, folder: Path
) -> None:
    result = await read(make_workspace, folder, path=path)
    assert (result.path, result.chunks[0].content) == ("src/other.py", FILES["src/other.py"])
    assert result.warnings == []


async def test_a_name_that_the_file_does_not_define_is_an_error(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    with pytest.raises(NotFound, match=r"'src/other\.py' defines no 'Client\.send'"):
        await read(make_workspace, folder, path="src/other.py:Client.send")
    with pytest.raises(NotFound, match=r"Did you mean 'src/other\.py'\?"):
        await read(make_workspace, folder, path="src/othr.py:send")


async def test_other_definitions_of_the_name_are_named(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    result = await read(make_workspace, folder, path="send")
    [warning] = result.warnings
    assert warning.startswith("2 other definitions of send, such as ")
    assert "note: 2 other definitions of send" in TOOLS["read_file"].plain(result)


@pytest.mark.parametrize("path", ["missing", "missing.py", "src/missing.py", "no name"])
async def test_a_name_without_a_definition_is_no_file(
    path: str, make_workspace: MakeWorkspace, folder: Path
) -> None:
    with pytest.raises(NotFound, match="There is no file or folder"):
        await read(make_workspace, folder, path=path)


async def test_a_mistyped_name_gets_the_closest_name(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    with pytest.raises(NotFound, match=r"Did you mean the method 'Client\.send'\?") as raised:
        await read(make_workspace, folder, path="Client.sed")
    assert raised.value.meant == "Client.send"


async def test_a_name_may_have_its_package(make_workspace: MakeWorkspace, folder: Path) -> None:
    song = "<?php\nnamespace App\\Models;\nclass Song {\n function play() {}\n}\n"
    write_files(folder, {"app/Models/Song.php": song})
    found = await read(make_workspace, folder, path="App\\Models\\Song")
    assert found.chunks[0].content.startswith("class Song")
    play = await read(make_workspace, folder, path="\\App\\Models\\Song::play")
    assert play.chunks[0].content == " function play() {}\n"


async def test_a_name_that_is_only_similar_is_not_the_one_meant(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    write_files(folder, {"chunks.py": "def save_chunks_if_new(): pass\n"})
    similar = r"The most similar name is that of the function 'save_chunks_if_new'"
    with pytest.raises(NotFound, match=similar) as raised:
        await read(make_workspace, folder, path="saveIfNew")
    assert not raised.value.meant


async def test_a_name_with_only_the_same_letters_is_not_suggested(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    write_files(folder, {"chunks.py": "def banjo_results_cheat_hiding(): pass\n"})
    with pytest.raises(NotFound) as raised:
        await read(make_workspace, folder, path="NoSuchThing")
    assert "similar" not in str(raised.value)


async def test_a_mistyped_file_gets_the_closest_file(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    write_files(folder, {"helper.py": "def help_me(): pass\n"})
    with pytest.raises(NotFound, match=r"Did you mean 'helper\.py'\?"):
        await read(make_workspace, folder, path="helpr.py")


@pytest.mark.parametrize("path", ["handlers.py", "src/handlers.py:3-4", "old\\handlers.py"])
async def test_a_file_in_another_folder_is_suggested(
    path: str, make_workspace: MakeWorkspace, folder: Path
) -> None:
    write_files(folder, {"deep/in/handlers.py": "a = 1\n", "deep/a.py": "", "deep/in/a.py": ""})
    with pytest.raises(NotFound, match=r"Did you mean 'deep/in/handlers\.py") as raised:
        await read(make_workspace, folder, path=path)
    assert raised.value.meant == "deep/in/handlers.py" + ":3-4" * (":" in path)
    with pytest.raises(NotFound, match=r"Files of this name: deep/a\.py, deep/in/a\.py"):
        await read(make_workspace, folder, path="a.py")
    write_files(folder, {"data.py": ""})
    with pytest.raises(NotFound, match=r"Files of this name: deep/a\.py, deep/in/a\.py"):
        await read(make_workspace, folder, path="a.py:1-2")
    result = await read(make_workspace, folder, path="deep\\in\\handlers.py")
    assert result.chunks[0].content == "a = 1\n"


async def test_a_file_wins_over_a_symbol(make_workspace: MakeWorkspace, folder: Path) -> None:
    write_files(folder, {"send": "a file\n"})
    result = await read(make_workspace, folder, path="send")
    assert result.chunks[0].content == "a file\n"


async def test_lines_of_a_symbol_are_not_read(make_workspace: MakeWorkspace, folder: Path) -> None:
    with pytest.raises(NotFound):
        await read(make_workspace, folder, path="send", spans=["1-2"])


async def test_an_outline_has_the_first_lines_of_definitions(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    result = await read(make_workspace, folder, path="src/client.py", outline=True)
    lines = [line for chunk in result.chunks for line in chunk.content.splitlines()]
    assert lines == [
        "LIMIT = 3",
        "class Client:",
        "    def send(self, text):",
        "        def encode():",
        "def send(text):",
    ]
    assert TOOLS["read_file"].plain(result).splitlines()[1] == "6\tclass Client:"
    assert not (folder / ".winnow").exists()


@pytest.mark.parametrize(
    ("path", "text", "lines"),
    [
        (
            "a.swift",
            "// Ä\nextension Shop:\n    Runner {\n    func run() {}\n}\n",
            ["extension Shop:", "    func run() {}"],
        ),
        (
            "a.rs",
            "impl Run for Shop {\n    // Runs.\n    fn run() {}\n}\n",
            ["impl Run for Shop {", "    fn run() {}"],
        ),
        (
            "a.go",
            "package a\n\n// Run runs.\nfunc (s *Shop) Run() {\n}\n",
            ["func (s *Shop) Run() {"],
        ),
        (
            "a.kt",
            "@Fast\nfun Shop.run() {\n}\n",
            ["fun Shop.run() {"],
        ),
    ],
)
async def test_an_outline_has_the_extensions_of_types(
    make_workspace: MakeWorkspace, folder: Path, path: str, text: str, lines: list[str]
) -> None:
    write_files(folder, {path: text})
    result = await read(make_workspace, folder, path=path, outline=True)
    assert [line for chunk in result.chunks for line in chunk.content.splitlines()] == lines


async def test_an_outline_needs_definitions(make_workspace: MakeWorkspace, folder: Path) -> None:
    write_files(folder, {"notes.txt": "nothing\n"})
    with pytest.raises(InvalidParams, match="it seems to have none"):
        await read(make_workspace, folder, path="notes.txt", outline=True)


async def test_an_outline_of_a_file_in_another_folder_names_it(
    make_workspace: MakeWorkspace, folder: Path
) -> None:
    with pytest.raises(NotFound, match=r"Did you mean 'src/client\.py'\?"):
        await read(make_workspace, folder, path="client.py", outline=True)
