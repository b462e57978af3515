"""The order in which files are indexed: by open documents, git, and kind of file."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from conftest import git, git_commit, requires_posix
from winnow.index.builder import index_order
from winnow.index.builder.index_order import in_index_order, touched_lately
from winnow.processes.children import Processes

requires_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")

PATHS = [
    "data/numbers.json",
    "docs/guide.md",
    "src/deep/er/inner.py",
    "src/main.py",
    "src/vendor/other.py",
    "tests/test_main.py",
    "LICENSE",
    "setup.py",
]


def test_sources_come_first_then_tests_then_data_and_shallow_files_first() -> None:
    assert in_index_order(PATHS) == [
        "setup.py",
        "src/main.py",
        "src/deep/er/inner.py",
        "tests/test_main.py",
        "src/vendor/other.py",
        "LICENSE",
        "data/numbers.json",
        "docs/guide.md",
    ]


def test_open_and_recent_files_come_first() -> None:
    found = in_index_order(
        PATHS,
        open_documents=["docs/guide.md", "elsewhere.py"],
        recent=["tests/test_main.py", "docs/guide.md"],
        touched=["LICENSE", "gone.py"],
        searched=["src/vendor/other.py", "LICENSE"],
    )
    assert found[:4] == ["docs/guide.md", "tests/test_main.py", "LICENSE", "src/vendor/other.py"]
    assert found[4:] == [
        "setup.py",
        "src/main.py",
        "src/deep/er/inner.py",
        "data/numbers.json",
    ]


# --- git -----------------------------------------------------------------------------------


async def touched(root: Path) -> list[str]:
    return await touched_lately(root, Processes(), shutil.which("git"), os.environ)


@pytest.mark.process
@requires_git
async def test_files_of_the_last_commits_are_in_order(tmp_path: Path) -> None:
    repository = git_commit(tmp_path / "r", {"first.py": "1\n", "gone.py": "1\n", "a b/ü.py": "1"})
    git_commit(repository, {"second.py": "1\n"})
    (repository / "gone.py").unlink()
    git_commit(repository, {"a b/ü.py": "2"})
    assert await touched(repository) == ["a b/ü.py", "second.py", "first.py", "gone.py"]
    assert await touched(repository / "a b") == []


@pytest.mark.process
@requires_git
async def test_without_commits_no_files_are_touched(tmp_path: Path) -> None:
    assert await touched(tmp_path) == []
    git(tmp_path, "init", "--quiet")
    assert await touched(tmp_path) == []
    assert await touched_lately(tmp_path, Processes(), None, os.environ) == []


@pytest.mark.process
@requires_git
async def test_only_the_latest_commits_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = git_commit(tmp_path / "r", {"old.py": "1\n"})
    git_commit(repository, {"new.py": "1\n"})
    monkeypatch.setattr(index_order, "COMMITS", 1)
    assert await touched(repository) == ["new.py"]
    monkeypatch.setattr(index_order, "COMMITS", 500)
    monkeypatch.setattr(index_order, "GIT_BYTES", 8)
    assert await touched(repository) == ["new.py"]


@pytest.mark.process
@requires_git
@requires_posix
async def test_a_repository_runs_none_of_its_programs(tmp_path: Path) -> None:
    repository = git_commit(tmp_path / "r", {"a.py": "1\n", ".gitattributes": "*.py diff=evil\n"})
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for key in ("gpg.program", "core.pager", "pager.log", "core.fsmonitor", "diff.external",
                "diff.evil.command", "diff.evil.textconv"):  # fmt: skip
        git(repository, "config", key, str(program))
    git(repository, "config", "log.showSignature", "true")
    assert set(await touched(repository)) == {"a.py", ".gitattributes"}
    assert not (tmp_path / "ran").exists()
