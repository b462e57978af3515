"""The state of a folder's index: every transition in its table, with a real folder and store."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, aged, git_init, write_files
from winnow.index.builder import disk_scan, folder_files
from winnow.index.builder import state as state_module
from winnow.index.builder.disk_scan import IndexScope
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.state import (
    TRANSITIONS,
    WITHOUT_EFFECT,
    Event,
    FolderState,
    Lifecycle,
)
from winnow.storage.database import value_of
from winnow.text.listing import Listing

COUNT = 10
# The most changes of an index that is opened as complete.
FEW = 2
SCOPE = IndexScope()
FILES = {f"m{number}.py": f"def function_{number}(): ...\n" for number in range(COUNT)}
# The original function, which the tests replace.
REPORT_UNDEFINED = state_module.report_undefined

Transition = tuple[FolderState, Event, FolderState]
ABSENT, OPENING, BUILDING = FolderState.ABSENT, FolderState.OPENING, FolderState.BUILDING
UNWRITABLE, DAMAGED = FolderState.UNWRITABLE, FolderState.DAMAGED
COMPLETE, STALE = FolderState.COMPLETE, FolderState.STALE


class Indexed:
    """A folder with files and its index."""

    def __init__(self, project: Path, make_workspace: MakeWorkspace) -> None:
        self.project = project
        self._make_workspace = make_workspace
        self.folder = self.new()

    def new(self) -> FolderIndex:
        """Return an index of the folder that knows nothing, as in a new process."""
        (folder,) = self._make_workspace(self.project).index.folder_indexes()
        return folder

    def change(self, count: int) -> None:
        """Change some files."""
        write_files(self.project, dict.fromkeys(list(FILES)[:count], "changed = 1\n"))

    async def build(self, max_files: int | None = COUNT) -> None:
        await self.folder.build(SCOPE, max_files)

    async def refuse(self) -> None:
        await self.build(1)

    async def open(self) -> None:
        await self.folder.open(SCOPE, FEW)

    async def check(self) -> None:
        await self.folder.check(SCOPE, COUNT)

    async def delete(self) -> None:
        """Delete the store, and let a request notice."""
        opened = self.folder.disk.opened
        assert opened is not None
        shutil.rmtree(opened.file.parent)
        await self.folder.store()

    async def damage(self) -> None:
        """Flip a byte of each segment, and let a check of the store find it."""
        store = await self.folder.store()
        files = list(store.file.parent.glob("*.seg"))
        assert files
        for file in files:
            raw = bytearray(file.read_bytes())
            raw[len(raw) // 2] ^= 1
            file.write_bytes(raw)
        assert await self.folder.disk.repair()

    async def fill_disk(self) -> None:
        """Let the store have no room, and a check write changes."""
        store = await self.folder.store()
        pages = value_of(store._writer, "PRAGMA page_count")
        store._writer.execute(f"PRAGMA max_page_count={pages}")
        names = "".join(f"def other_{number}(): ...\n" for number in range(1_000))
        write_files(self.project, {"large.py": names})
        await self.check()

    async def earlier_build(self) -> None:
        """Build the index in another process."""
        await self.new().build(SCOPE, COUNT)


@pytest.fixture
def indexed(tmp_path: Path, make_workspace: MakeWorkspace) -> Indexed:
    return Indexed(aged(write_files(git_init(tmp_path / "project"), FILES)), make_workspace)


@pytest.fixture
def transitions(monkeypatch: pytest.MonkeyPatch) -> list[Transition]:
    """The transitions so far; an index starts where its last transition has ended."""
    seen: list[Transition] = []
    reached: dict[Lifecycle, FolderState] = {}
    on = Lifecycle.on

    def recorded(self: Lifecycle, event: Event) -> None:
        before = self.state
        assert before is reached.get(self, before)
        # The state changes again at once if another event follows from this one.
        reached[self] = TRANSITIONS[event].get(before, before)
        seen.append((before, event, reached[self]))
        on(self, event)
        assert self.state is reached[self]

    monkeypatch.setattr(Lifecycle, "on", recorded)
    return seen


# --- how an index gets into a state ----------------------------------------------------------


@contextlib.asynccontextmanager
async def absent(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.earlier_build()
    yield


@contextlib.asynccontextmanager
async def opening(indexed: Indexed) -> AsyncIterator[None]:
    """Hold the listing of the files within the block."""
    await indexed.earlier_build()
    listed, begun, may_go_on = disk_scan.listed_paths, asyncio.Event(), asyncio.Event()

    async def held(*args: Any) -> Listing:
        if not begun.is_set():
            begun.set()
            await may_go_on.wait()
        return await listed(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder_files, "listed_paths", held)
        task = asyncio.create_task(indexed.open())
        await begun.wait()
        yield
        may_go_on.set()
        await task


@contextlib.asynccontextmanager
async def building(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.earlier_build()
    indexed.change(FEW + 1)
    await indexed.open()
    yield


@contextlib.asynccontextmanager
async def unwritable(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.build()
    await indexed.fill_disk()
    yield


@contextlib.asynccontextmanager
async def damaged(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.build()
    await indexed.damage()
    yield


@contextlib.asynccontextmanager
async def complete(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.build()
    yield


@contextlib.asynccontextmanager
async def stale(indexed: Indexed) -> AsyncIterator[None]:
    await indexed.earlier_build()
    indexed.change(1)
    await indexed.open()
    yield


ARRANGED = {
    ABSENT: absent,
    OPENING: opening,
    BUILDING: building,
    UNWRITABLE: unwritable,
    DAMAGED: damaged,
    COMPLETE: complete,
    STALE: stale,
}


# --- what happens to it ----------------------------------------------------------------------


async def nothing(indexed: Indexed) -> None:
    """Let the index open."""


async def change_some(indexed: Indexed) -> None:
    indexed.change(FEW + 1)


async def change_most(indexed: Indexed) -> None:
    indexed.change(COUNT - 1)


async def change_and_check(indexed: Indexed) -> None:
    indexed.change(1)
    await indexed.check()


Happen = Callable[[Indexed], Awaitable[None]]
HAPPENED: dict[Event, Happen] = {
    Event.OPEN_STARTED: Indexed.open,
    Event.OPENED: nothing,
    Event.PARTLY_OPENED: change_some,
    Event.NOTHING_OPENED: change_most,
    Event.BUILD_STARTED: Indexed.build,
    Event.TOO_MANY_FILES: Indexed.refuse,
    Event.CHANGES_FOUND: change_and_check,
    Event.CAUGHT_UP: Indexed.check,
    Event.STORE_LOST: Indexed.delete,
    Event.DAMAGE_FOUND: Indexed.damage,
    Event.REPLACED: Indexed.build,
}
CASES = [
    (before, event, after)
    for event, table in TRANSITIONS.items()
    for before, after in table.items()
    if event is not Event.NOT_WRITABLE  # it follows from another event
]


@pytest.mark.parametrize(
    ("before", "event", "after"),
    CASES,
    ids=[f"{before.value}-{event.name.lower()}-{after.value}" for before, event, after in CASES],
)
async def test_every_transition_happens(
    indexed: Indexed,
    transitions: list[Transition],
    before: FolderState,
    event: Event,
    after: FolderState,
) -> None:
    async with ARRANGED[before](indexed):
        assert indexed.folder.state is before
        transitions.clear()
        await HAPPENED[event](indexed)
    assert (before, event, after) in transitions


async def test_a_failed_write_makes_the_index_unwritable_until_it_is_complete(
    indexed: Indexed, transitions: list[Transition]
) -> None:
    await indexed.build()
    transitions.clear()
    await indexed.fill_disk()
    assert transitions == [
        (COMPLETE, Event.CHANGES_FOUND, STALE),
        (STALE, Event.STORE_LOST, ABSENT),
        (ABSENT, Event.BUILD_STARTED, BUILDING),
        (BUILDING, Event.NOT_WRITABLE, UNWRITABLE),
    ]
    await indexed.check()
    assert indexed.folder.state is COMPLETE
    assert indexed.folder.disk.is_unwritable


def test_no_event_both_changes_a_state_and_leaves_it() -> None:
    for event, states in WITHOUT_EFFECT.items():
        assert not states & TRANSITIONS[event].keys()
        assert all(before is not after for before, after in TRANSITIONS[event].items())


def test_an_undefined_transition_raises_here_and_is_logged_for_users(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lifecycle = Lifecycle("a folder", lambda event: None)
    with pytest.raises(AssertionError, match="The index of a folder is absent"):
        lifecycle.on(Event.REPLACED)
    monkeypatch.setattr(state_module, "report_undefined", REPORT_UNDEFINED)
    with caplog.at_level(logging.ERROR):
        lifecycle.on(Event.REPLACED)
    assert lifecycle.state is ABSENT
    assert "no such transition" in caplog.text


async def test_a_folder_that_has_too_many_files_now_has_no_index(indexed: Indexed) -> None:
    """It would be reported as being built, forever."""
    await indexed.build()
    await indexed.refuse()
    assert indexed.folder.state is ABSENT
    await indexed.check()  # does not begin one
    assert indexed.folder.state is ABSENT
    assert indexed.folder.lifecycle.problem == "it has 10 files, and index.max_files is 1"


async def test_only_a_successor_completes_a_damaged_index(indexed: Indexed) -> None:
    """Damage is found while a pass writes changes that do not meet it."""
    await indexed.build()
    indexed.change(1)
    write = indexed.folder.writer._write
    with pytest.MonkeyPatch.context() as patch:

        async def damaged_meanwhile(batch: Any, **more: Any) -> None:
            await write(batch, **more)
            await indexed.damage()

        patch.setattr(indexed.folder.writer, "_write", damaged_meanwhile)
        await indexed.check()
    assert indexed.folder.state is DAMAGED
    await indexed.build()
    assert indexed.folder.state is COMPLETE
