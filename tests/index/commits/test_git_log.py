"""Commits read with git: what is read, only what is new, and nothing that a repository plants."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import git, git_commit, requires_posix, write_files
from winnow.index.commits import git_log
from winnow.index.commits.git_log import ReadCommits, read_commits
from winnow.processes.children import Processes
from winnow.workspace import EngineWorkspace

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not shutil.which("git"), reason="git is not installed"),
]


async def read(root: Path, known: Iterable[bytes] = ()) -> ReadCommits:
    found = await read_commits(root, set(known), Processes(), shutil.which("git"), os.environ)
    assert found is not None
    return found


def described(found: ReadCommits) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.message.strip(), each.paths) for each in found.new]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = git_commit(tmp_path / "r", {"a.py": "1\n", "b.py": "2\n"}, "Begin")
    git_commit(root, {"src/parser.py": "3\n", "a.py": "2\n"}, "Add a parser\n\nIt reads tables.")
    (root / "b.py").unlink()
    return git_commit(root, message="Drop b")


async def test_commits_come_with_messages_and_files_the_newest_first(repository: Path) -> None:
    assert described(await read(repository)) == [
        ("Drop b", ()),
        ("Add a parser\n\nIt reads tables.", ("a.py", "src/parser.py")),
        ("Begin", ()),  # it has all files
    ]


async def test_messages_and_names_may_contain_anything(tmp_path: Path) -> None:
    root = git_commit(tmp_path / "r", message="Begin")
    names = ("\1M", "R100", "a b/ü.py") if os.name == "posix" else ("R100",)
    git_commit(root, dict.fromkeys(names, "1\n"), "\1abc\nM\na.py")
    (found, _) = (await read(root)).new
    assert (found.message, sorted(found.paths)) == ("\1abc\nM\na.py\n", sorted(names))


async def test_a_renamed_file_is_reported_with_both_names(repository: Path) -> None:
    (repository / "src/parser.py").rename(repository / "src/reader.py")
    git_commit(repository, {"a.py": "4\n"}, "Rename the parser")
    renamed = (await read(repository)).new[0]
    assert renamed.paths == ("a.py", "src/reader.py")
    assert renamed.renamed == (("src/parser.py", "src/reader.py"),)


async def test_a_commit_of_very_many_files_is_about_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_log, "MOST_FILES", 2)
    root = git_commit(tmp_path / "r", message="Begin")
    git_commit(root, {"a": "1", "b": "1"}, "Two")
    git_commit(root, {"a": "2", "b": "2", "c": "2"}, "Three")
    assert described(await read(root))[:2] == [("Three", ()), ("Two", ("a", "b"))]


async def test_merges_are_left_out(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "topic", "HEAD~1")
    git_commit(repository, {"topic.py": "1\n"}, "Work on a topic")
    git(repository, "checkout", "--quiet", "master")
    git(repository, "merge", "--quiet", "--no-ff", "--message=Merge topic", "topic")
    messages = {message.partition("\n")[0] for message, _ in described(await read(repository))}
    assert messages == {"Work on a topic", "Drop b", "Add a parser", "Begin"}


# --- reading again -------------------------------------------------------------------------


async def test_only_new_commits_are_read_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await read(repository)
    assert (await read(repository, before.ids)) == ReadCommits(before.ids, [])
    git_commit(repository, {"c.py": "1\n"}, "Add c")
    after = await read(repository, before.ids)
    assert described(after) == [("Add c", ("c.py",))]
    assert after.ids == [after.new[0].id, *before.ids]
    # If there are too many to name, all are read.
    monkeypatch.setattr(git_log, "MOST_NAMED", 0)
    assert described(await read(repository, before.ids))[0] == ("Add c", ("c.py",))


async def test_a_rewritten_history_has_other_commits(repository: Path) -> None:
    before = await read(repository)
    git(repository, "commit", "--quiet", "--amend", "--message=Remove b")
    after = await read(repository, before.ids)
    assert described(after) == [("Remove b", ())]
    assert after.ids == [after.new[0].id, *before.ids[1:]]


async def test_the_newest_commits_are_read(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_log, "MOST_COMMITS", 1)
    assert described(await read(repository)) == [("Drop b", ())]


async def test_commits_for_which_there_is_no_room_are_left_out(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_log, "LOG_BYTES", 200)
    found = await read(repository)
    assert len(found.ids) == 3
    assert described(found) == [("Drop b", ())]


# --- kinds of repositories -----------------------------------------------------------------


async def test_a_working_tree_beside_its_repository_is_read(
    repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert await read(tmp_path / "tree") == await read(repository)


async def test_the_oldest_commit_of_a_shallow_clone_has_no_files(
    repository: Path, tmp_path: Path
) -> None:
    git_commit(repository, {"c.py": "1\n"}, "Add c")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=2", repository.as_uri(), str(clone))
    assert described(await read(clone)) == [("Add c", ("c.py",)), ("Drop b", ())]


async def test_there_are_no_commits_without_git_or_a_repository(
    repository: Path, tmp_path: Path
) -> None:
    none = ReadCommits([], [])
    assert await read_commits(repository, set(), Processes(), None, os.environ) == none
    assert await read(tmp_path) == none
    # The folder above is a repository, but this one is searched by itself.
    assert await read(repository / "src") == none
    workspace = EngineWorkspace([repository / "src"], None, {})
    assert [folder.root for folder in workspace.index.folder_indexes()] == [repository]
    await workspace.aclose()


@pytest.mark.parametrize("dot_git", ["", "gitdir: /nowhere\n"])
async def test_what_git_cannot_read_has_no_commits(tmp_path: Path, dot_git: str) -> None:
    root = tmp_path / "r"
    write_files(root, {".git": dot_git})
    assert await read_commits(root, set(), Processes(), shutil.which("git"), os.environ) is None


@requires_posix
async def test_a_repository_runs_none_of_its_programs(repository: Path, tmp_path: Path) -> None:
    git_commit(repository, {".gitattributes": "*.py diff=evil\n", "a.py": "5\n"}, "Choose a driver")
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    for key in ("gpg.program", "core.pager", "pager.log", "pager.rev-list", "core.fsmonitor",
                "diff.external", "diff.evil.command", "diff.evil.textconv", "core.sshCommand",
                "core.alternateRefsCommand"):  # fmt: skip
        git(repository, "config", key, str(program))
    git(repository, "config", "log.showSignature", "true")
    os.mkfifo(tmp_path / "fifo")
    git(repository, "config", "diff.orderFile", str(tmp_path / "fifo"))
    (tmp_path / "ran").unlink(missing_ok=True)  # git in this test may have run it
    found = await read(repository)
    assert described(found)[0] == ("Choose a driver", (".gitattributes", "a.py"))
    assert not (tmp_path / "ran").exists()
