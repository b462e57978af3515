"""Damage of an index: confirmed before anything is discarded, reported, and repaired."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import MakeWorkspace, git_commit, write_files
from indexed import folder_of
from waiting_for import SECONDS, until
from winnow.index.store.store import Store
from winnow.search.index.rows import FolderStatus
from winnow.search.index.state import read_status
from winnow.storage.database import StoreDamaged
from winnow.tools.find_symbol import FindSymbolParams, find_symbol
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

# The schema and the mark come before it: an index with damage there is not opened.
FIRST_PAGE = 5
FILES = {f"src/m{number}.py": f"def function_{number}(): ...\n" for number in range(60)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_commit(tmp_path / "project", FILES)


@pytest.fixture(autouse=True)
def time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lift the limits on reading files, which a busy machine would reach."""
    for name in ("COLD_SECONDS", "ENOUGH_SECONDS", "SMALL_SECONDS", "SEARCH_SECONDS"):
        monkeypatch.setattr(f"winnow.search.symbols.search.{name}", 60.0)
    monkeypatch.setattr("winnow.search.index.background.OPEN_SECONDS", 60.0)
    monkeypatch.setattr("winnow.search.index.state.STATUS_SECONDS", 60.0)


def database_of(project: Path) -> Path:
    [file] = (project / ".winnow").glob("index-*.db")
    return file


async def found(workspace: EngineWorkspace, name: str) -> list[str]:
    params = FindSymbolParams(name=name, exact=True)
    return [one.path for one in (await find_symbol.run(workspace, params, no_progress)).symbols]


async def status(workspace: EngineWorkspace) -> FolderStatus:
    [folder] = (await read_status(workspace, no_progress)).folders
    return folder


def damage_pages(file: Path, pages: Sequence[int] | None = None) -> None:
    raw = bytearray(file.read_bytes())
    for page in pages or range(FIRST_PAGE, len(raw) // 4096):
        raw[page * 4096 + 100] ^= 1
    file.write_bytes(raw)


async def built(make_workspace: MakeWorkspace, project: Path) -> Path:
    workspace = make_workspace(project)
    await workspace.index.build()
    await workspace.aclose()
    return database_of(project)


async def test_a_damaged_index_is_rebuilt_and_reported(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    file = await built(make_workspace, project)
    damage_pages(file)
    workspace = make_workspace(project)
    for number in range(5):
        assert await found(workspace, f"function_{number}") == [f"src/m{number}.py"]
    assert "damaged" in " ".join(workspace.index.damages())
    await workspace.index.build()
    now = await status(workspace)
    assert (now.state, now.files_indexed, now.damage) == ("ready", 60, None)
    assert now.replaced is not None
    assert "the index before it was damaged" in now.replaced
    assert database_of(project) != file
    await workspace.aclose()
    again = make_workspace(project)  # another process sees it, too
    assert await found(again, "function_7") == ["src/m7.py"]
    assert (await status(again)).replaced == now.replaced


async def with_suspected_store(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[EngineWorkspace, Store]:
    """Return a workspace whose index has a damaged page, and the store of this index."""
    await built(make_workspace, project)
    workspace = make_workspace(project)
    old = await folder_of(workspace).store()
    monkeypatch.setattr(Store, "find_damage", lambda store: "page 7 has another checksum")
    await folder_of(workspace).disk.suspect(old, StoreDamaged("disk I/O error"))
    return workspace, old


async def test_the_old_index_answers_until_its_successor_is_complete(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the damaged page is not needed for a request, the index still has the answer."""
    workspace, old = await with_suspected_store(make_workspace, project, monkeypatch)
    folder = folder_of(workspace)
    assert await folder.store() is old
    assert folder.disk.damage == "page 7 has another checksum"
    async with workspace.index.snapshot({}, 0) as (view, state):
        assert view.definitions_in((project / "src/m3.py").as_posix())
    assert state.state == "building"
    assert (await status(workspace)).damage == folder.disk.damage
    write_files(project, {"src/new.py": "def brand_new(): ...\n"})
    await workspace.index.build()
    assert not folder.disk.damage
    assert await folder.store() is not old
    assert await found(workspace, "brand_new") == ["src/new.py"]


async def test_a_canceled_replacement_closes_the_old_index(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, old = await with_suspected_store(make_workspace, project, monkeypatch)
    began, may_end, publish = threading.Event(), threading.Event(), Store.publish

    def slow(store: Store) -> None:
        began.set()
        may_end.wait(SECONDS)
        publish(store)

    monkeypatch.setattr(Store, "publish", slow)
    building = asyncio.create_task(workspace.index.build())
    await asyncio.to_thread(began.wait, SECONDS)
    building.cancel()
    await asyncio.gather(building, return_exceptions=True)
    may_end.set()
    await until(lambda: old._closed)


async def test_an_unconfirmed_suspicion_discards_nothing(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    file = await built(make_workspace, project)
    before = file.read_bytes()
    workspace = make_workspace(project)
    folder = folder_of(workspace)
    for _ in range(3):
        await folder.disk.suspect(
            await folder.store(), StoreDamaged("disk I/O error"), certain=False
        )
    assert not folder.disk.damage
    assert await found(workspace, "function_9") == ["src/m9.py"]
    await workspace.aclose()
    assert file.read_bytes() == before


async def test_values_that_winnow_never_writes_are_damage(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    """Their checksums are right: a check finds nothing, and the error repeats."""
    await built(make_workspace, project)
    workspace = make_workspace(project)
    store = await folder_of(workspace).store()
    with store.transaction() as connection:
        connection.execute("UPDATE block SET data=x'c1c1c1'")
    assert await found(workspace, "function_9") == ["src/m9.py"]
    assert folder_of(workspace).disk.damage
    await workspace.index.build()
    assert (await status(workspace)).state == "ready"


async def test_a_damaged_successor_is_started_again(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    file = await built(make_workspace, project)
    damage_pages(file)
    workspace = make_workspace(project)
    assert await found(workspace, "function_9") == ["src/m9.py"]
    successor = folder_of(workspace).disk._successor
    assert successor is not None
    await workspace.aclose()
    damage_pages(successor.file, [1])
    again = make_workspace(project)
    await again.index.build()
    await again.index.build()
    assert await found(again, "function_9") == ["src/m9.py"]
    assert (await status(again)).state == "ready"


@pytest.mark.slow
@pytest.mark.parametrize("flips", [40, pytest.param(2_000, marks=pytest.mark.long)])
async def test_no_flipped_byte_causes_a_wrong_answer(
    make_workspace: MakeWorkspace, project: Path, flips: int
) -> None:
    """Flip single bytes of every file of the index under a new workspace (#21)."""
    await built(make_workspace, project)
    whole = {one: one.read_bytes() for one in (project / ".winnow").iterdir() if one.is_file()}
    drawn = random.Random(3)
    files = [one for one in whole if one.suffix in (".db", ".seg")]
    for _ in range(flips):
        for one in (project / ".winnow").iterdir():
            one.unlink()
        for one, raw in whole.items():
            one.write_bytes(raw)
        file = drawn.choice(files)
        flipped = bytearray(whole[file])
        flipped[drawn.randrange(len(flipped))] ^= 1 << drawn.randrange(8)
        file.write_bytes(flipped)
        workspace = make_workspace(project)
        number = drawn.randrange(60)
        assert await found(workspace, f"function_{number}") == [f"src/m{number}.py"]
        await workspace.aclose()
