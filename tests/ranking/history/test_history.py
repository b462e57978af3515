"""The search history of a workspace: calls of tools record it, and later searches use it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, Recorder, child_environment, write_files
from waiting_for import until
from winnow.config import Config, merge_layer
from winnow.ranking.history import history as module
from winnow.ranking.history.boosts import EXPLICIT
from winnow.ranking.history.history import SearchHistory, below
from winnow.ranking.history.store import NAME, HistoryStore, SearchEvent, SearchRecord
from winnow.storage.database import connect
from winnow.storage.state_folder import OWN_FOLDER, create
from winnow.tools import TOOLS
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

OFF, _ = merge_layer(Config(), {"learning": {"enabled": False}}, "test")


async def call(
    workspace: EngineWorkspace, tool: str, progress: Progress = no_progress, **params: Any
) -> Any:
    return await TOOLS[tool].call(workspace, params, progress)


def stored(project: Path) -> tuple[list[SearchRecord], list[SearchEvent]]:
    store = HistoryStore.open(project)
    try:
        return store.all()
    finally:
        store.close()


@pytest.fixture
def kept(project: Path) -> Path:
    """Create a project with a state folder."""
    create(project)
    return project


def history_in(root: Path | None, rules: Sequence[str] = ()) -> SearchHistory:
    if root is not None:
        create(root)
    return SearchHistory(root=lambda: root, enabled=lambda: True, secret_rules=lambda: rules)


def search(
    name: str, root: Path, *paths: str, at: float = 0.0, query: str = "plugins"
) -> SearchRecord:
    return SearchRecord(
        *(name, at or time.time(), "grep", query, "words", 0.1, len(paths)),
        paths=tuple(str(root / path) for path in paths),
    )


def no_terms(words: Sequence[str]) -> Sequence[str]:
    return ()


SEARCHES: dict[str, dict[str, Any]] = {
    "keyword_search": {"query": "plugins", "search_terms": ["load_plugin"], "ranker": "local"},
    "grep": {"pattern": "load_plugin"},
    "glob": {"pattern": "src/*.py"},
    "find_symbol": {"name": "load_plugin"},
    "find_references": {"name": "load_plugin"},
    "search_docs": {"query": "plugin"},
}


@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.usefixtures("kept")
async def test_every_search_is_stored_under_the_id_of_its_answer(
    make_workspace: MakeWorkspace, project: Path, tool: str, streaming: bool
) -> None:
    write_files(project, {"docs/page.html": "<p>A plugin</p>"})
    workspace = make_workspace(project)
    recorder = Recorder()
    recorder.streaming = streaming
    result = await call(workspace, tool, recorder, **SEARCHES[tool])
    assert len(bytes.fromhex(result.search_id)) == 6
    await workspace.aclose()
    [kept], events = stored(project)
    assert events == []
    assert (kept.id, kept.tool, kept.returned) == (result.search_id, tool, result.returned)
    assert kept.paths
    assert tool != "keyword_search" or kept.paths[0] == "src/loader.py"
    # Documents are listed as they are read.
    assert tool != "search_docs" or sorted(kept.paths) == ["docs/page.html", "docs/plugins.md"]
    assert all((project / path).is_file() for path in kept.paths)
    assert (kept.indexed is None) is (tool not in ("find_symbol", "find_references"))


@pytest.mark.usefixtures("kept")
async def test_a_search_is_stored_with_all_its_fields(
    workspace: EngineWorkspace, project: Path
) -> None:
    began = time.time()
    result = await call(workspace, "grep", pattern="load_plugin", path="src", max_results=1)
    page = await call(
        workspace, "grep", pattern="load_plugin", path="src", max_results=1, cursor=result.cursor
    )
    before = time.time()
    await workspace.aclose()
    searches, _ = stored(project)
    kept, further = searches
    assert began <= kept.at <= before
    assert 0 < kept.seconds < before - began
    assert kept == SearchRecord(
        *(result.search_id, kept.at, "grep", "load_plugin", "symbol", kept.seconds, 1),
        paths=("src/loader.py",),
        scope="src",
    )
    assert (further.id, further.continued) == (page.search_id, True)


@pytest.mark.usefixtures("kept")
async def test_reads_pipelines_and_further_searches_are_outcomes(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    on, _ = merge_layer(Config(), {"bash": {"enabled": True}}, "test")
    workspace = make_workspace(project, config=on)
    first = await call(workspace, "keyword_search", **SEARCHES["keyword_search"])
    await call(workspace, "bash", command="rg plugins src")
    second = await call(workspace, "grep", pattern="register_plugin")
    await call(workspace, "read_file", path="src/registry.py")
    await workspace.aclose()
    _, events = stored(project)
    assert [(row.search, row.signal, row.path, row.tool) for row in events] == [
        (first.search_id, "left", "", "bash"),
        (second.search_id, "viewed", "src/registry.py", ""),
    ]


@pytest.mark.usefixtures("kept")
async def test_searches_of_other_processes_get_outcomes_too(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    def winnow(*arguments: str) -> None:
        run = subprocess.run(
            [sys.executable, "-m", "winnow", *arguments],
            cwd=project / "src",
            env=child_environment(project.parent, XDG_STATE_HOME=os.environ["XDG_STATE_HOME"]),
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, (run.stdout, run.stderr)

    before = time.time()
    winnow("grep", "register_plugin")
    winnow("read", "registry.py")
    searches, events = stored(project)
    # A file opened more than a minute after a search does not count: show the times.
    assert [(row.search, row.signal, row.path) for row in events] == [
        (row.id, "viewed", "src/registry.py") for row in searches
    ], (before, searches, events, time.time())
    assert len(searches) == 1
    workspace = make_workspace(project)
    [boosted] = (await workspace.history.boosts("plugin registered", _absolute(project))).items()
    assert boosted[0] == str(project / "src/registry.py")
    assert boosted[1] > 0


def _absolute(project: Path) -> list[str]:
    return [str(file) for file in project.rglob("*.py")]


async def test_when_off_nothing_is_written_and_answers_still_have_ids(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = make_workspace(project, config=OFF)
    result = await call(workspace, "grep", pattern="load_plugin")
    assert result.search_id
    workspace.history.viewed(project / "src/loader.py")
    assert await workspace.history.boosts("load_plugin", _absolute(project)) == {}
    assert await workspace.history.useful_files() == []
    assert await workspace.history.all() == ([], [])
    await workspace.aclose()
    assert not (project / OWN_FOLDER).exists()


async def test_reading_files_and_boosts_creates_no_store(
    workspace: EngineWorkspace, project: Path
) -> None:
    await call(workspace, "read_file", path="src/loader.py")
    assert await workspace.history.boosts("load_plugin", _absolute(project)) == {}
    assert await workspace.history.suggestions("load", no_terms) == []
    path = str(project / "src/loader.py")
    assert await workspace.history.add_feedback("0123456789ab", path, "up", 0) is None
    await workspace.aclose()
    assert not (project / OWN_FOLDER).exists()


async def test_nothing_is_written_to_a_home_folder(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    allowed, _ = merge_layer(Config(), {"workspace": {"allow_home_root": True}}, "test")
    environment = {**os.environ, "HOME": str(project / "src")}
    workspace = make_workspace(project, environment=environment, config=allowed)
    result = await call(workspace, "grep", pattern="load_plugin")
    path = str(project / "src/loader.py")
    await workspace.history.add_feedback(result.search_id, path, "up", 1)
    expected = {path: pytest.approx(EXPLICIT, rel=0.001)}  # within an hour
    assert await workspace.history.boosts("load_plugin", [path]) == expected
    await workspace.aclose()
    assert not (project / OWN_FOLDER).exists()


@pytest.mark.usefixtures("kept")
async def test_searches_are_written_a_moment_later(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.02)
    workspace = make_workspace(project)
    for _ in range(3):
        await call(workspace, "grep", pattern="load_plugin")

    def is_written() -> bool:
        # Opening a store while it is being created may lock out its creator.
        if workspace.history._is_writing_soon or not (project / OWN_FOLDER / NAME).exists():
            return False
        return len(stored(project)[0]) == 3

    await until(is_written)


async def test_secrets_are_masked_and_long_texts_are_cut(tmp_path: Path) -> None:
    history = history_in(tmp_path, ["hunter2"])
    history.searched(search("s1", tmp_path, "a.py", "x" * 600, query="password hunter2"))
    history.searched(search("s2", tmp_path, query="hunter2 " * 1000))
    await history.aclose()
    first, second = stored(tmp_path)[0]
    assert (first.query, first.paths) == ("password *******", ("a.py",))
    assert second.query == ("******* " * 1000)[:300]
    assert b"hunter2" not in b"".join(
        file.read_bytes() for file in (tmp_path / OWN_FOLDER).iterdir()
    )


async def test_feedback_counts_at_once(tmp_path: Path) -> None:
    root = write_files(tmp_path, {"a.py": "", "b.py": ""})
    history = history_in(root)
    history.searched(search("s", root, "a.py", "b.py", "gone.py", query="load the plugins"))
    a, b, gone = (str(root / name) for name in ("a.py", "b.py", "gone.py"))
    found = await history.add_feedback("s", b, "up", 0)
    assert found is not None
    assert found.query == "load the plugins"
    await history.add_feedback("s", a, "opened", 7)
    await history.add_feedback("s", gone, "up", 0)
    boosts = await history.boosts("plugins loaded", [a, b])
    assert boosts == {a: pytest.approx(0.075, rel=0.01), b: pytest.approx(EXPLICIT, rel=0.01)}
    assert await history.useful_files() == [b, a]
    assert await history.suggestions("plugin load", no_terms) == ["load the plugins"]
    assert await history.suggestions("load the plugins", no_terms) == []
    (root / "a.py").unlink()
    (root / "b.py").unlink()
    assert await history.useful_files() == []
    assert await history.suggestions("plugin load", no_terms) == []
    await history.aclose()
    events = stored(root)[1]
    assert [(row.path, row.signal, row.rank) for row in events] == [
        ("b.py", "up", 2),
        ("a.py", "opened", 7),
        ("gone.py", "up", 3),
    ]


async def test_feedback_of_other_processes_counts_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", 0.0)
    first, second = history_in(tmp_path), history_in(tmp_path)
    first.searched(search("s", tmp_path, "a.py"))
    await first.write()
    path = str(tmp_path / "a.py")
    assert await first.boosts("plugins", [path]) == {}
    await second.add_feedback("s", path, "down", 1)
    boosts = await until(lambda: first.boosts("plugins", [path]))
    assert boosts == {path: pytest.approx(-EXPLICIT, rel=0.001)}  # within an hour
    # It counts once, also in the process that recorded it.
    assert await second.boosts("plugins", [path]) == pytest.approx(boosts, rel=0.001)
    await first.aclose()
    await second.aclose()


async def test_a_store_damaged_during_use_is_put_aside(tmp_path: Path) -> None:
    history = history_in(tmp_path)
    history.searched(search("before", tmp_path))
    await history.write()
    file = tmp_path / OWN_FOLDER / NAME
    connection = connect(file, busy_seconds=1, cache_kb=64)
    connection.execute("DROP TABLE event")
    connection.close()
    history.searched(search("after", tmp_path))
    await history.write()
    assert file.with_suffix(".damaged").exists()
    history.searched(search("later", tmp_path))
    await history.aclose()
    await history.aclose()  # a second time does nothing
    assert [row.id for row in stored(tmp_path)[0]] == ["after", "later"]


async def test_a_deleted_store_is_recreated_empty(tmp_path: Path) -> None:
    history = history_in(tmp_path)
    history.searched(search("s", tmp_path, "a.py"))
    path = str(tmp_path / "a.py")
    await history.add_feedback("s", path, "up", 1)
    assert await history.boosts("plugins", [path])
    for file in (tmp_path / OWN_FOLDER).iterdir():
        file.unlink()
    history.searched(search("new", tmp_path))
    await history.write()
    assert await history.boosts("plugins", [path]) == {}
    await history.aclose()
    assert [row.id for row in stored(tmp_path)[0]] == ["new"]


async def test_a_failed_write_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.ranking.history.store.BUSY_SECONDS", 0.05)
    history = history_in(tmp_path)
    history.searched(search("s1", tmp_path, "a.py"))
    await history.write()
    other = connect(tmp_path / OWN_FOLDER / NAME, busy_seconds=1, cache_kb=64)
    other.execute("BEGIN IMMEDIATE")
    history.searched(search("s2", tmp_path, "a.py", query="else"))
    await history.write()
    assert [row.id for row in (await history.all())[0]] == ["s1"]
    other.execute("COMMIT")
    other.close()
    await history.add_feedback("s2", str(tmp_path / "a.py"), "kept", 1)
    await history.aclose()
    searches, events = stored(tmp_path)
    assert [row.id for row in searches] == ["s1", "s2"]
    assert [row.signal for row in events] == ["kept"]


async def test_an_unwritable_event_does_not_block_others(tmp_path: Path) -> None:
    history = history_in(tmp_path)
    history.searched(search("s1", tmp_path, "a.py"))
    await history.add_feedback("s1", str(tmp_path / "a.py"), "up", 2**70)
    history.searched(search("s2", tmp_path, "a.py"))
    await history.aclose()
    searches, events = stored(tmp_path)
    assert [row.id for row in searches] == ["s1", "s2"]
    assert events == []


async def test_only_one_refresh_waits_for_a_store_that_another_process_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REFRESH_SECONDS", -1.0)
    history = history_in(tmp_path)
    history.searched(search("s", tmp_path, "a.py"))
    assert await history.boosts("plugins") == {}
    refreshes: list[bool] = []
    released = asyncio.Event()

    async def slowly(refresh: bool = False) -> None:
        refreshes.append(refresh)
        await released.wait()

    with monkeypatch.context() as patch:
        patch.setattr(history, "write", slowly)
        for _ in range(20):
            await history.boosts("plugins")
            await asyncio.sleep(0)
    released.set()
    assert refreshes == [True]
    await history.aclose()


async def test_excess_searches_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 10)
    history = history_in(tmp_path)
    for number in range(30):
        history.searched(search(f"s{number}", tmp_path))
    await history.aclose()
    assert [row.id for row in stored(tmp_path)[0]] == [f"s{number}" for number in range(10)]


def test_paths_are_stored_relative_to_the_folder_in_any_spelling(tmp_path: Path) -> None:
    root, link = tmp_path / "root", tmp_path / "link"
    root.mkdir()
    link.symlink_to(root)
    assert below(root, f"{root}/a/b.py") == "a/b.py"
    assert below(root, f"{link}/a/b.py") == "a/b.py"
    assert below(link, f"{link}/a/b.py") == "a/b.py"
    assert below(root, f"{root}er/b.py") == f"{root}er/b.py"
    assert below(root, "a/b.py") == "a/b.py"
    assert below(None, "/a/b.py") == "/a/b.py"
