"""ripgrep lists files that may define a name, the most probable first."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from conftest import MakeWorkspace, git_init, write_files
from winnow.text.definition_patterns import all_files, definition_patterns, files_with
from winnow.text.scope import Filters

DEFINITIONS = [
    "class send:", "def send(self):", "async def send(self):", "export default function send() {",
    "fn send<T>(x: T) {", "func (c *Client) send() {", "func send(", "struct send {", "enum send {",
    "type send = int", "#define send(x) x", "const send = () => 1", "let send = 1", "fun send() {}",
    "interface send {", "trait send {", "module send where", "defp send(x) do", "def self.send",
    "local function M.send()", "public static function send(", "macro_rules! send {",
    "typedef send;", "sub send {", "void main() { var send; }",
    "int send(int x) {", "static client *send(char *cmd,", "void Client::send() const {",
    'variable "send" {', 'resource "aws_queue" "send" {',
    "    public <T> List<T> send(T x) throws Lost {", "    override Task send()",
]  # fmt: skip


async def found(workspace: MakeWorkspace, root: Path, name: str, exact: bool) -> list[list[str]]:
    made = workspace(root)
    scope = made.scope(Filters())
    listed: list[list[str]] = []
    for look in definition_patterns(name, exact):
        paths = [path async for path in files_with(made.run_ripgrep(), scope, look)]
        listed.append(sorted(paths))
    return listed


async def test_definition_patterns_come_before_uses_and_abbreviations(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    root = write_files(
        git_init(tmp_path / "project"),
        {
            "definition.py": "def send(): ...\n",
            "use.py": "client.send()\n",
            "part.py": "def ReSend_all(): ...\n",
            "letters.py": "def some_end(): ...\n",
            "apart.py": "s e n d\n",
            "ignored/send.py": "def send(): ...\n",
            ".gitignore": "ignored/\n",
        },
    )
    exact = [["definition.py"], ["definition.py", "use.py"]]
    assert await found(make_workspace, root, "send", exact=True) == exact
    assert await found(make_workspace, root, "send", exact=False) == [
        *exact,
        ["definition.py", "part.py", "use.py"],
        ["definition.py", "letters.py", "part.py", "use.py"],
    ]
    workspace = make_workspace(root)
    listed = all_files(workspace.run_ripgrep(), workspace.scope(Filters()))
    assert sorted([path async for path in listed]) == [
        "apart.py", "definition.py", "letters.py", "part.py", "use.py"
    ]  # fmt: skip


async def test_definitions_in_many_languages_are_found(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {f"{number}.txt": f"{line}\n" for number, line in enumerate(DEFINITIONS)}
    uses = "x = send\nsend(1)\n  a b send(c);\n * send()\n"
    root = write_files(tmp_path / "project", {**files, "use.txt": uses})
    likeliest = (await found(make_workspace, root, "send", exact=True))[0]
    missing = [line for name, line in files.items() if name not in likeliest]
    assert missing == []
    assert "use.txt" not in likeliest


@pytest.mark.parametrize("name", ["a.*b(", "[", "x\\", "$&", "é", "two words", "-e", "\u2028"])
async def test_any_name_is_a_pattern(
    make_workspace: MakeWorkspace, tmp_path: Path, name: str
) -> None:
    root = write_files(tmp_path / "project", {"a.txt": f"class {name}\n", "b.txt": "ab"})
    assert (await found(make_workspace, root, name, exact=False))[2] == ["a.txt"]


@pytest.mark.parametrize(
    "line",
    ["a" + " " * 5_000 + ";", "a " * 5_000 + ";", "a*&" * 5_000, "a::" * 5_000, " " * 20_000],
)
def test_an_unsaved_text_is_searched_in_little_time(line: str) -> None:
    pattern = re.compile(definition_patterns("send", exact=True)[0].pattern)
    begun = time.process_time()
    assert pattern.search(f"{line}\n" * 2) is None
    assert time.process_time() - begun < 5  # milliseconds; of exponential time, there is no end
    assert pattern.search(f"{line}\nint send(int x) {{\n") is not None
