"""A place as compilers, editors and web pages write it is accepted where a path is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, write_files
from winnow.errors import NotFound, PathOutsideWorkspace
from winnow.tools import TOOLS
from winnow.types import no_progress


@pytest.mark.parametrize(
    ("place", "lines"),
    [
        ("src/a.py:30-32", ["30", "31", "32"]),
        ("src/a.py#L30-L32", ["30", "31", "32"]),
        ("src/a.py#L30-32", ["30", "31", "32"]),
        ("src/a.py:L30-L32", ["30", "31", "32"]),
        ("src/a.py:99-", ["99", "100"]),
        ("{root}/src/a.py:30-31", ["30", "31"]),
        ("src/a.py:32-30", ["30", "31", "32"]),
        ("src/a.py:30", [str(line) for line in range(25, 45)]),
        ("src/a.py#L30", [str(line) for line in range(25, 45)]),
        ("src/a.py:30:7", [str(line) for line in range(25, 45)]),
        ("src/a.py:2", [str(line) for line in range(1, 17)]),
    ],
)
async def test_read_file_reads_the_lines_of_a_place(
    place: str, lines: list[str], project: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(project, {"src/a.py": "".join(f"{line}\n" for line in range(1, 101))})
    assert await read(make_workspace(project), path=place.format(root=project)) == lines


async def test_explicit_spans_count_more_than_the_place(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(project, {"src/a.py": "1\n2\n3\n"})
    assert await read(make_workspace(project), path="src/a.py:3", spans=["1"]) == ["1"]


async def test_a_file_with_the_name_of_a_place_is_read(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(project, {"a:1": "odd\n", "a": "1\n2\n"})
    assert await read(make_workspace(project), path="a:1") == ["odd"]


@pytest.mark.parametrize("place", ["../a.py:3", "/etc/passwd:1", "/etc/passwd#L1"])
async def test_a_place_outside_is_refused(
    place: str, project: Path, make_workspace: MakeWorkspace
) -> None:
    with pytest.raises(PathOutsideWorkspace):
        await read(make_workspace(project), path=place)


async def test_a_place_in_a_missing_file_is_not_found(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    with pytest.raises(NotFound, match=r"'src/loder.py:3'.*Did you mean 'src/loader.py:3'"):
        await read(make_workspace(project), path="src/loder.py:3")


@pytest.mark.parametrize(
    "params",
    [{"path": "src/loader.py:5"}, {"name": "src/loader.py:5"}, {"name": "src/loader.py#L5"}],
)
async def test_find_references_takes_the_symbol_of_a_place(
    params: dict[str, Any], project: Path, make_workspace: MakeWorkspace
) -> None:
    found = await TOOLS["find_references"].call(make_workspace(project), params, no_progress)
    assert found.symbol.qualified_name == "Loader.load_plugin"


async def test_a_search_in_the_file_of_a_place_searches_the_file(
    project: Path, make_workspace: MakeWorkspace
) -> None:
    params = {"pattern": "load_plugin", "path": "src/loader.py:5"}
    found = await TOOLS["grep"].call(make_workspace(project), params, no_progress)
    assert [match.line for match in found.matches] == [2, 3, 5]


async def read(workspace: Any, **params: Any) -> list[str]:
    result = await TOOLS["read_file"].call(workspace, params, no_progress)
    return "".join(chunk.content for chunk in result.chunks).splitlines()
