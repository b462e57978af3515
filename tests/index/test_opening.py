"""An index on disk is open before the first answer; see #21."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, Recorder, built, git_commit, write_files
from waiting_for import until
from winnow.config import Config, IndexSettings
from winnow.index.builder.disk_scan import Changes, IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.search.index.background import open_index
from winnow.tools import TOOLS
from winnow.workspace import EngineWorkspace, Lifetime

SECONDS = 30.0  # generous, for a busy machine
COUNT = 60
TOTAL = COUNT + 2
FILES = {
    **{f"src/part{n}.py": f"def part{n}():\n    return {n}\n" for n in range(COUNT)},
    "src/scales.py": 'def weigh_parcel(parcel):\n    """Weigh a parcel."""\n',
    "src/post.py": "from scales import weigh_parcel\n\nweigh_parcel(1)\n",
    "ignored/cache.py": "def cached(): ...\n",
    ".gitignore": "ignored/\n",
}


@pytest.fixture
async def project(make_workspace: MakeWorkspace, tmp_path: Path) -> Path:
    """Create a folder with a complete index from an earlier process."""
    folder = git_commit(tmp_path / "project", FILES)
    workspace = await built(make_workspace(folder))
    await workspace.aclose()
    return folder


@pytest.fixture(autouse=True)
def time_to_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the limits on opening an index, which a busy machine would reach."""
    monkeypatch.setattr("winnow.search.index.background.OPEN_SECONDS", SECONDS)
    monkeypatch.setattr("winnow.search.symbols.search.CATCH_UP_SECONDS", SECONDS)


def server(workspace: EngineWorkspace) -> EngineWorkspace:
    """Open a workspace like a server, without background work."""
    workspace.lifetime = Lifetime.SERVER
    return workspace


async def call(workspace: EngineWorkspace, tool: str, **params: Any) -> Any:
    return await asyncio.wait_for(TOOLS[tool].call(workspace, params, Recorder()), SECONDS)


def state(workspace: EngineWorkspace) -> tuple[str, int, int]:
    index_state = workspace.index.state()
    return index_state.state, index_state.files_indexed, index_state.files_total


async def test_an_index_on_disk_opens_without_a_build(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    workspace = server(make_workspace(project))
    recorder = Recorder()
    assert await open_index(workspace, recorder, SECONDS)
    assert recorder.messages == ["Opening the index"]
    assert state(workspace) == ("ready", TOTAL, TOTAL)
    assert workspace.index._workers.pids == []
    assert not await open_index(workspace, recorder, SECONDS)
    assert recorder.messages == ["Opening the index"]


@pytest.mark.parametrize(
    ("tool", "params", "results"),
    [
        ("semantic_search", {"query": "weigh a parcel"}, "results"),
        ("code_search", {"query": "where is a parcel weighed"}, "results"),
        ("find_symbol", {"name": "weigh_parcel"}, "symbols"),
        ("find_references", {"name": "weigh_parcel"}, "references"),
    ],
)
async def test_the_first_request_gets_the_same_answer_as_later_ones(
    make_workspace: MakeWorkspace,
    project: Path,
    tool: str,
    params: dict[str, Any],
    results: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A due scan that is slower than the request would make the state stale.
    monkeypatch.setattr("winnow.index.builder.folder_files.CHECK_SECONDS", SECONDS)
    workspace = server(make_workspace(project))
    first = await call(workspace, tool, **params)
    later = await call(workspace, tool, **params)
    assert getattr(first, results) == getattr(later, results) != []
    assert first.completeness == later.completeness
    assert first.completeness.complete
    assert first.completeness.index.state == "ready"


async def test_a_few_changes_make_the_index_stale_until_they_are_indexed(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(project, {"src/new.py": "def brand_new(): ...\n"})
    (project / "src/part1.py").unlink()
    workspace = server(make_workspace(project))
    reading = asyncio.Event()
    update_from = FolderIndex.update_from

    async def held_back(folder: FolderIndex, changes: Changes) -> None:
        await reading.wait()
        await update_from(folder, changes)

    monkeypatch.setattr(FolderIndex, "update_from", held_back)
    assert await open_index(workspace, seconds=SECONDS)
    assert state(workspace) == ("stale", TOTAL - 1, TOTAL)
    reading.set()
    async with workspace.index.snapshot({}, SECONDS) as (view, index_state):
        assert (index_state.state, index_state.files_indexed, index_state.files_total) == (
            "ready",
            TOTAL,
            TOTAL,
        )
        assert [file.path for file, _ in view.definitions("brand_new")] == [f"{project}/src/new.py"]
        assert list(view.definitions("part1")) == []


async def test_an_index_is_incomplete_if_most_files_have_changed(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {f"src/part{n}.py": f"def other{n}(): ...\n" for n in range(COUNT)})
    workspace = server(make_workspace(project))
    assert await open_index(workspace, seconds=SECONDS)
    assert not workspace.index.state().knows_all


async def test_an_index_with_many_changes_counts_its_current_files(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.index.builds.FEW", 2)
    write_files(project, {f"src/part{n}.py": f"def other{n}(): ...\n" for n in range(9)})
    workspace = server(make_workspace(project))
    assert await open_index(workspace, seconds=SECONDS)
    assert state(workspace) == ("building", TOTAL - 9, TOTAL)


async def test_a_file_that_is_ignored_now_is_not_found(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {".gitignore": "ignored/\nsrc/scales.py\n"})
    found = await call(server(make_workspace(project)), "find_symbol", name="weigh_parcel")
    assert found.symbols == []


@pytest.mark.parametrize("enabled", [True, False])
async def test_without_an_index_opening_neither_waits_nor_writes(
    make_workspace: MakeWorkspace, tmp_path: Path, enabled: bool
) -> None:
    folder = write_files(tmp_path / "bare", FILES)
    config = Config(index=IndexSettings(enabled=enabled))
    workspace = server(make_workspace(folder, config=config))
    assert not await open_index(workspace, seconds=SECONDS)
    assert not workspace.has_index
    assert not (folder / ".winnow").exists()


async def test_waiting_for_an_index_to_open_is_bounded(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = FolderIndex.changes
    go_on = asyncio.Event()

    async def slow(folder: FolderIndex, scope: IndexScope, **options: bool) -> Changes:
        await go_on.wait()
        return await changes(folder, scope, **options)

    monkeypatch.setattr(FolderIndex, "changes", slow)
    workspace = server(make_workspace(project))
    assert await open_index(workspace, seconds=0.2)
    await until(lambda: workspace.index.state().state == "opening")
    go_on.set()
    assert await open_index(workspace, seconds=SECONDS)
    assert workspace.index.state().state == "ready"


async def test_a_build_keeps_an_open_index_ready(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.index.builds.LATER_SECONDS", SECONDS)
    workspace = make_workspace(project)
    workspace.index.enable_watching()
    building = asyncio.create_task(workspace.index.build())
    assert await open_index(workspace, seconds=SECONDS)
    async with workspace.index.snapshot({}, 0.0) as (_, index_state):
        assert index_state.state == "ready"
    assert not building.done()
    building.cancel()
    monkeypatch.setattr("winnow.index.builds.LATER_SECONDS", 0.0)
    await workspace.index.build()
    assert state(workspace) == ("ready", TOTAL, TOTAL)


async def test_a_missing_folder_is_indexed_when_it_comes_back(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    write_files(folder, FILES)
    workspace = server(make_workspace(folder))
    await workspace.index.open()
    folder.rename(tmp_path / "elsewhere")
    await workspace.index.build()
    (tmp_path / "elsewhere").rename(folder)
    async with workspace.index.snapshot({}, SECONDS) as (_, index_state):
        assert (index_state.state, index_state.files_indexed) == ("ready", index_state.files_total)
        assert index_state.files_total > COUNT
