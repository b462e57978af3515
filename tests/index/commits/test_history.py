"""The commits of a folder in its store: encoded, decoded, queried, and read again when damaged."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from conftest import MakeWorkspace, built, git, git_commit
from waiting_for import until
from winnow.config import Config, merge_layer
from winnow.index.commits import git_log, updates
from winnow.index.commits.git_log import LoggedCommit, ReadCommits, read_commits
from winnow.index.commits.history import VERSION, Commit, CommitHistory, CommitTable
from winnow.index.commits.messages import commit_of
from winnow.index.postings.terms import query_terms, term_number
from winnow.index.store.reader import Reader
from winnow.index.store.store import Store
from winnow.search.index.state import current_status
from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

requires_git = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cD3eF5"


def made(number: int, message: str, *paths: str, renamed: Sequence[tuple[str, str]] = ()) -> Commit:
    logged = LoggedCommit(bytes([number] * 8), message, paths, tuple(renamed))
    return commit_of(logged, masked=True, rules=())


COMMITS = [
    made(4, "Rename the parser again", "c.py", renamed=[("b.py", "c.py")]),
    made(3, "Parse tables", "b.py", "odd\udcff.py"),
    made(2, "", renamed=[("a.py", "b.py")]),
    made(1, "Parse lists", "a.py", "main.py"),
]


def found(history: CommitHistory, word: str) -> list[int]:
    (term,) = query_terms(word)
    commits: list[int] = history.with_term(term_number(term)).tolist()
    return commits


def files_of(history: CommitHistory) -> list[list[str]]:
    parts = np.split(history.files, history.file_starts[1:-1])
    return [[history.paths[file] for file in part] for part in parts]


# --- the table and the history -------------------------------------------------------------


def test_a_decoded_table_has_the_same_commits() -> None:
    for commits in (COMMITS, [], [Commit(b"12345678")]):
        table = CommitTable.decode(CommitTable.of(commits).encode())
        assert table.commits() == commits
        assert CommitHistory(table).count == len(commits)


def test_commits_are_found_by_the_words_of_their_messages() -> None:
    history = CommitHistory(CommitTable.of(COMMITS))
    assert found(history, "parsing") == [1, 3]
    assert found(history, "table") == [1]
    assert found(history, "elephant") == []
    assert history.lengths.tolist() == [3, 2, 0, 2]


def test_files_have_their_present_names() -> None:
    history = CommitHistory(CommitTable.of(COMMITS))
    assert files_of(history) == [["c.py"], ["c.py", "odd\udcff.py"], [], ["c.py", "main.py"]]


def test_files_that_swap_names_keep_their_commits() -> None:
    swap = made(2, "Swap", "a", "b", renamed=[("a", "b"), ("b", "a")])
    history = CommitHistory(CommitTable.of([swap, made(1, "One", "a")]))
    assert files_of(history) == [["a", "b"], ["b"]]


def test_secrets_in_messages_are_not_stored() -> None:
    message = f"Rotate token={SECRET} of the deployment"
    logged = LoggedCommit(b"12345678", message)
    masked, whole = (commit_of(logged, masked=masked, rules=()) for masked in (True, False))
    secret = {term_number(term) for term in query_terms(SECRET)}
    assert secret <= set(whole.terms)
    assert not secret & set(masked.terms)
    assert term_number("deploy") in masked.terms
    own = commit_of(LoggedCommit(b"12345678", "Use acme_12"), masked=True, rules=("acme_[0-9]{2}",))
    assert term_number("acm") not in own.terms
    assert term_number("acme") not in own.terms


# --- in the store of a workspace -----------------------------------------------------------


async def known(workspace: EngineWorkspace) -> int | None:
    (folder,) = (await current_status(workspace)).folders
    return folder.commits


async def evidence(workspace: EngineWorkspace) -> list[list[str]]:
    """Return the files of each commit, as a search finds them."""
    async with workspace.index.corpus({}) as (corpus, _, view):
        (history,) = (await view.read(corpus)).histories
    return files_of(history) if history is not None and history.count else []


async def updated(workspace: EngineWorkspace, count: int | None) -> None:
    """Let the background work of a server go on until it knows this number of commits."""
    await workspace.index.build()

    async def is_known() -> bool:
        return await known(workspace) == count

    await until(is_known, f"{count} commits are not known")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read commits whenever the background work begins."""
    monkeypatch.setattr(updates, "INTERVAL_SECONDS", 0.0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = git_commit(tmp_path / "r", {"a.py": "1\n"}, "Begin")
    return git_commit(root, {"b.py": "2\n"}, "Parse tables")


@pytest.mark.process
@requires_git
async def test_a_server_reads_commits_and_follows_the_history(
    repository: Path, make_workspace: MakeWorkspace, impatient: None
) -> None:
    workspace = await built(make_workspace(repository))
    assert await known(workspace) is None  # a single command does not read them
    workspace.index.enable_watching()
    await updated(workspace, 2)
    assert await evidence(workspace) == [["b.py"], []]
    tool = TOOLS["index_status"]
    status = await tool.call(workspace, {}, no_progress)
    assert "messages of 2 commits" in tool.plain(status)
    git_commit(repository, {"a.py": "3\n", "c.py": "4\n"}, "Parse lists")
    await updated(workspace, 3)
    assert await evidence(workspace) == [["a.py", "c.py"], ["b.py"], []]
    # Another process finds them, and so does this one on another branch.
    other = make_workspace(repository)
    await other.index.open()
    assert await evidence(other) == [["a.py", "c.py"], ["b.py"], []]
    git(repository, "reset", "--quiet", "--hard", "HEAD~2")
    await updated(workspace, 1)
    assert await evidence(workspace) == [[]]


@pytest.mark.process
@requires_git
async def test_commits_are_not_read_after_every_change(
    repository: Path, make_workspace: MakeWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[float] = []

    async def recorded(*arguments: Any) -> ReadCommits | None:
        reads.append(time.monotonic())
        return await read_commits(*arguments)

    monkeypatch.setattr(git_log, "read_commits", recorded)
    monkeypatch.setattr(updates, "INTERVAL_SECONDS", 1.0)
    workspace = make_workspace(repository)
    workspace.index.enable_watching()
    await updated(workspace, 2)
    git_commit(repository, {"c.py": "1\n"}, "Add c")
    for _ in range(3):
        await workspace.index.build()
    await updated(workspace, 3)
    assert len(reads) == 2
    assert reads[1] - reads[0] > 0.9  # a timer may be a millisecond early


@pytest.mark.process
@requires_git
async def test_the_setting_removes_what_is_known_of_commits(
    repository: Path, make_workspace: MakeWorkspace, impatient: None
) -> None:
    workspace = make_workspace(repository)
    workspace.index.enable_watching()
    await updated(workspace, 2)
    off, _ = merge_layer(Config(), {"index": {"commit_history": False}}, "test")
    workspace.reconfigure(off)
    async with workspace.index.corpus({}) as (corpus, _, view):
        assert not (await view.read(corpus)).histories
    await updated(workspace, None)


@pytest.mark.process
@requires_git
async def test_commits_that_cannot_be_decoded_are_no_evidence_and_read_again(
    repository: Path, make_workspace: MakeWorkspace, impatient: None
) -> None:
    workspace = make_workspace(repository)
    workspace.index.enable_watching()
    await updated(workspace, 2)
    (folder,) = workspace.index.folder_indexes()
    good = await folder.disk.query(Reader.history)
    assert good is not None
    newer = msgspec.structs.replace(CommitTable.of([]), version=VERSION + 1)
    for bad in (b"", good[: len(good) // 2], newer.encode()):
        await folder.disk.run(functools.partial(Store.write_history, commits=99, data=bad))
        assert await evidence(workspace) == []
        await updated(workspace, 2)
        assert await evidence(workspace) == [["b.py"], []]
