"""An index of a folder in which every file is ignored: all answers say that it has no files."""

from __future__ import annotations

from pathlib import Path

import pytest

from asking import call
from conftest import MakeWorkspace, built, git_init, write_files
from winnow.tools import TOOLS

FILES = {"a.py": "def load(): ...\n", "sub/b.py": "def save(): ...\n"}
BY_ONE_FILE = "there is nothing to index: .gitignore excludes all files"


@pytest.fixture
def ignored(tmp_path: Path) -> Path:
    """Create a folder that is no repository and ignores everything, as an unpacked source
    package."""
    return write_files(tmp_path / "ignored", {**FILES, ".gitignore": "/*\n"})


async def test_a_build_says_that_there_is_nothing_to_index(
    ignored: Path, make_workspace: MakeWorkspace
) -> None:
    answer = await call(make_workspace(ignored), "index", action="build")
    assert TOOLS["index"].plain(answer).splitlines() == [
        "no file is indexed",
        "[0 of 0 files indexed]",
        f"[incomplete: {BY_ONE_FILE}]",
    ]


async def test_the_status_says_why(ignored: Path, make_workspace: MakeWorkspace) -> None:
    workspace = await built(make_workspace(ignored))
    answer = await call(workspace, "index_status")
    assert answer.index.folders[0].problem == ".gitignore excludes all files"
    assert answer.completeness.reasons == [BY_ONE_FILE]


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("semantic_search", {"query": "where is a file saved"}),
        ("find_symbol", {"name": "save"}),
        ("code_search", {"query": "where is a file saved"}),
        ("code_search", {"query": "save", "search_type": "symbol"}),
    ],
)
async def test_a_search_says_that_all_files_are_ignored(
    ignored: Path, make_workspace: MakeWorkspace, tool: str, params: dict[str, str]
) -> None:
    workspace = await built(make_workspace(ignored))
    answer = await call(workspace, tool, **params)
    assert answer.total_found == 0
    assert BY_ONE_FILE in answer.completeness.reasons


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {**FILES, ".gitignore": "/sub\n", ".ignore": "a.py\n"},
            "ignore files exclude all files",
        ),
        ({**FILES, "sub/.gitignore": "*\n", ".ignore": "a.py\n"}, "ignore files exclude all files"),
        ({".hidden": ""}, "the folder has no files to search"),
    ],
)
async def test_other_reasons(
    tmp_path: Path, make_workspace: MakeWorkspace, files: dict[str, str], why: str
) -> None:
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "p"), files)))
    answer = await call(workspace, "index_status")
    assert answer.completeness.reasons == [f"there is nothing to index: {why}"]


async def test_a_first_file_ends_the_complaint(
    ignored: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = await built(make_workspace(ignored))
    (ignored / ".gitignore").write_text("/sub\n")
    await workspace.index.build()
    answer = await call(workspace, "find_symbol", name="load")
    assert answer.completeness.complete
    assert (await call(workspace, "index_status")).index.folders[0].problem is None
