"""Ignore files apply in folders outside git, as they do in editors (#21)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from conftest import MakeWorkspace, built, write_files
from winnow.tools import TOOLS
from winnow.types import Answer, no_progress
from winnow.workspace import EngineWorkspace

FILES = {
    "main.py": "def launch_rocket():\n    pass\n",
    "build/out.py": "def launch_rocket():\n    pass\n",
    "src/pad.py": "from main import launch_rocket\n\nlaunch_rocket()\n",
    "src/pad.log": "launch_rocket\n",
    "src/generated/x.py": "def launch_rocket():\n    pass\n",
    "src/keep.log": "launch_rocket\n",
    "notes.html": "<p>launch_rocket</p>\n",
    "build/page.html": "<p>launch_rocket</p>\n",
    ".gitignore": "build/\n*.log\n",
    "src/.gitignore": "generated/\n!keep.log\n",
}
SEARCHED = {"main.py", "src/pad.py", "src/keep.log", "notes.html"}
IGNORED = {"build/out.py", "src/pad.log", "src/generated/x.py", "build/page.html"}
SEARCHES: dict[str, dict[str, Any]] = {
    "grep": {"pattern": "launch_rocket"},
    "glob": {"pattern": "**"},
    "tree": {"depth": 5},
    "keyword_search": {"query": "rocket", "search_terms": ["launch_rocket"]},
    "code_search": {"query": '"launch_rocket"'},
    "search_docs": {"query": "launch_rocket"},
}
OF_SYMBOLS: dict[str, dict[str, Any]] = {
    "find_symbol": {"name": "launch_rocket"},
    "find_references": {"name": "launch_rocket"},
    "semantic_search": {"query": "how is a rocket launched"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(tmp_path / "plain", FILES)


async def files_of(workspace: EngineWorkspace, tool: str, **params: Any) -> set[str]:
    """Return the files of FILES that an answer names."""
    result = await TOOLS[tool].call(workspace, params, no_progress)
    assert isinstance(result, Answer)
    text = TOOLS[tool].plain(result) + msgspec.json.encode(result).decode()
    names = {path for path in FILES if path in text}
    if tool == "tree":  # it lists files inside their folders
        names = {path for path in FILES if os.path.basename(path) in text}
    return names - {".gitignore", "src/.gitignore"}


@pytest.mark.parametrize("name", SEARCHES)
async def test_a_search_skips_ignored_files(
    name: str, folder: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(folder)
    found = await files_of(workspace, name, **SEARCHES[name])
    if name == "search_docs":
        assert found == {"notes.html"}
    elif name == "tree":
        assert {"main.py", "src/pad.py", "src/keep.log"} <= found
        assert not found & {"src/pad.log", "src/generated/x.py", "build/out.py"}
    else:
        assert found & SEARCHED
        assert not found & IGNORED


@pytest.mark.parametrize("name", ["grep", "glob", "tree", "keyword_search", "search_docs"])
async def test_a_search_of_ignored_files_finds_them(
    name: str, folder: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(folder)
    found = await files_of(workspace, name, **SEARCHES[name], include_ignored=True)
    assert found & IGNORED


@pytest.mark.parametrize("name", ["grep", "glob", "tree", "keyword_search"])
async def test_an_ignored_folder_is_searched_by_name(
    name: str, folder: Path, make_workspace: MakeWorkspace
) -> None:
    # As in ripgrep: below the search path, the ignored folder itself does not count.
    (folder / ".git").mkdir()
    in_git = await files_of(make_workspace(folder), name, **SEARCHES[name], path="build")
    (folder / ".git").rmdir()
    assert await files_of(make_workspace(folder), name, **SEARCHES[name], path="build") == in_git


async def test_the_index_skips_ignored_files(folder: Path, make_workspace: MakeWorkspace) -> None:
    workspace = await built(make_workspace(folder))
    assert workspace.index.state().files_total == 4
    for name, params in (SEARCHES | OF_SYMBOLS).items():
        found = await files_of(workspace, name, **params)
        assert found, name
        assert not found & IGNORED, name


async def test_the_index_follows_changes_of_an_ignore_file(
    folder: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = await built(make_workspace(folder))
    (folder / "src/.gitignore").write_text("pad.py\n!keep.log\n")
    await workspace.index.refresh([], 30)
    assert await files_of(workspace, "find_symbol", name="launch_rocket") == {
        "main.py",
        "src/generated/x.py",
    }
    (folder / "src/.gitignore").unlink()
    await workspace.index.refresh([], 30)
    found = await files_of(workspace, "grep", pattern="launch_rocket")
    assert found == {"main.py", "src/pad.py", "src/generated/x.py", "notes.html"}
