"""The index of one folder: builds it, and keeps it up to date.

Its parts are what is on disk (:mod:`winnow.index.builder.folder_store`), what is open
(:mod:`winnow.index.builder.folder_files`) and what is being built
(:mod:`winnow.index.builder.passes`). Their one state is in :mod:`winnow.index.builder.state`.

All writes to the store go through this module. A file is indexed again when its times or size
differ from the indexed ones, even if nothing reported a change.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from pathlib import Path

from winnow.errors import IndexUnavailable
from winnow.index.builder.disk_scan import (
    Changes,
    IndexScope,
    below_any,
    find_changes,
    is_ignore_file,
    new_files,
)
from winnow.index.builder.folder_files import FolderFiles
from winnow.index.builder.folder_settings import BEGUN, FolderSettings
from winnow.index.builder.folder_store import FolderStore
from winnow.index.builder.passes import BuildPolicy, FolderWork, ReportProgress
from winnow.index.builder.state import Event, FolderState, Lifecycle
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.writing import ChangeWriter, OrderFiles
from winnow.index.store.file_record import FileState
from winnow.index.store.reader import Reader, StoreVersion
from winnow.index.store.store import CHECKED, CONSENT, Store
from winnow.storage.lock import locked
from winnow.text.ripgrep import Ripgrep

# A process that builds a store checks all of it once per day.
CHECKED_SECONDS = 24 * 3600.0


class FolderIndex:
    """The index of a folder, opened on first use.

    ``disk``, ``files`` and ``work`` are its parts; ``lifecycle`` has its state and its problem. It
    ``is_ending`` once the workspace kills its processes.
    """

    def __init__(
        self,
        root: Path,
        workers: IndexWorkers,
        ripgrep: Callable[[], Ripgrep],
        settings: Callable[[], FolderSettings],
        ordered: OrderFiles,
        writable: bool = True,
    ) -> None:
        """Create the index. ``ripgrep`` returns the program that lists files, ``settings`` the
        current settings; ``ordered`` sorts paths of the folder by importance. Nothing is written to
        a folder that is not ``writable``."""
        self.root = root
        self.is_ending = False
        self.prefix = root.as_posix().rstrip("/") + "/"
        self.lifecycle = Lifecycle(str(root), self._follow)
        self.disk = FolderStore(root, settings, self.lifecycle, writable)
        self.files = FolderFiles(root, self.disk, ripgrep, settings)
        self.work = FolderWork()
        self.writer = ChangeWriter(
            root, self.lifecycle, self.disk, self.files, self.work, workers, settings, ordered
        )
        self._workers = workers
        self._settings = settings
        self._copy: Callable[[], FolderIndex] = lambda: FolderIndex(
            root, workers, ripgrep, settings, ordered
        )

    async def aclose(self) -> None:
        """End the watcher, and close the store."""
        await self.files.unwatch()
        await self.disk.aclose()

    # --- the state -------------------------------------------------------------------------

    @property
    def state(self) -> FolderState:
        return self.lifecycle.state

    @property
    def complete(self) -> bool:
        """True if the index has all files, some perhaps in an older version."""
        return self.state.is_complete

    @property
    def knows_all_texts(self) -> bool:
        """True if the index has at least the text of each file, as far as is known."""
        if self.state is not FolderState.BUILDING:
            return self.complete
        return self.work.has_all_texts and self.files.is_fresh

    @property
    def is_up_to_date(self) -> bool:
        """True if the store is complete and the watcher reliable; a rescan is only a safety
        check."""
        is_complete = self.state is FolderState.COMPLETE and self.work.pending is None
        return is_complete and self.files.is_exact

    def is_exact_for(self, scope: IndexScope) -> bool:
        """Return True if the index has all files of a scope and every change is reported."""
        return self.complete and self.files.is_exact_for(scope)

    def _follow(self, event: Event) -> None:
        """Keep up what depends on the state, after an event."""
        if event is Event.STORE_LOST:
            self.work.forget_progress()
            self.files.schedule_listing()
            self.files.schedule_check()
            if self.work.policy is BuildPolicy.ALWAYS and self.state is FolderState.ABSENT:
                self._start_building()
        elif event is Event.DAMAGE_FOUND:
            self.work.repeat()
            self.files.schedule_check()

    def _start_building(self) -> None:
        self.lifecycle.on(Event.BUILD_STARTED)
        if self.state is FolderState.BUILDING and self.disk.is_unwritable:
            self.lifecycle.on(Event.NOT_WRITABLE)

    # --- queries ---------------------------------------------------------------------------

    async def reader(self) -> Reader:
        """Open a snapshot of the store; the caller closes it."""
        return await self.disk.reader()

    async def store(self) -> Store:
        """Return the open store; open it again if it was deleted. Raises IndexUnavailable."""
        return await self.disk.current()

    async def known(self, paths: Collection[str]) -> dict[str, FileState]:
        """Return the indexed states of the files that are in the index."""
        return await self.disk.query(lambda reader: reader.known(paths))

    async def written(self) -> StoreVersion:
        """Return the version of the store."""
        return await self.disk.query(lambda reader: reader.written)

    async def problems(self) -> dict[str, str]:
        """Return the files that could not be indexed, and why."""
        found = await self.disk.query(Reader.problems)
        return {file.path: problem for file, problem in found.items()}

    # --- building --------------------------------------------------------------------------

    async def build(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Index all changed files. Only one of the processes that share a folder builds at a time.
        An index that is complete stays complete meanwhile."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self.work.building)
            await self.disk.persist()
            store = await self.disk.current()
            if not store.is_temporary:
                await stack.enter_async_context(locked(store.lock_file))
            self.work.begin(max_files)
            if not self.disk.damage:
                try:
                    await self._index_all(scope, max_files, report)
                    await self._check_store_daily()
                except IndexUnavailable:
                    if not self.disk.damage:
                        raise
            if self.disk.damage:
                await self._rebuild(scope, max_files, report)
            self.work.pending = None

    async def _index_all(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None
    ) -> None:
        finished = False
        # If the store is lost meanwhile, everything written to it is lost, too.
        while not finished:
            store = await self.disk.current()
            with self.writer.start_pass() as current:
                if scope != self.files.listed_as:
                    self.writer.found_changes(current)
                changes = await self.changes(scope, relist=True)
                if not await self._accept(max_files):
                    current.is_behind = False
                    return
                self._start_building()
                finished = await self.writer.apply_all(current, store, changes, report)
        if not self.files.is_watched:
            self.files.schedule_check()  # files may have changed since they were listed
        if await self.writer.trim():
            await self.writer.count_left_out()

    async def _accept(self, max_files: int | None) -> bool:
        """Accept a build if the folder has at most ``max_files``, or the user has consented."""
        consented = CONSENT in await self.disk.query(Reader.notes)
        if max_files is not None and not consented and self.files.total > max_files:
            self.work.policy = BuildPolicy.ON_REQUEST
            self.lifecycle.on(Event.TOO_MANY_FILES)
            self.lifecycle.failed(
                f"it has {self.files.total:,} files, and index.max_files is {max_files:,}"
            )
            return False
        if max_files is None and not consented:
            await self.disk.run(lambda store: store.note(CONSENT, "yes"))
        self.work.policy = BuildPolicy.ALWAYS
        return True

    async def _rebuild(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Build a successor of the damaged store, and replace the store with it.

        The damaged store answers until then. A successor that an earlier process has started is
        completed.
        """
        builder = self._copy()
        successor, variant = await self.disk.successor()
        builder.disk.use(successor, variant)
        try:
            await builder._index_all(scope, max_files, report)
        finally:
            if builder.disk.damage:  # start again from nothing
                await self.disk.discard_successor(successor)
            if builder.disk.opened is not successor:  # it was lost, and opened again
                await builder.aclose()
        if not builder.complete:
            self.lifecycle.problem = builder.lifecycle.problem
            return
        if await self.disk.publish(successor):
            self.work.policy = BuildPolicy.ALWAYS
            self.work.indexed, self.work.updated_at = builder.work.indexed, builder.work.updated_at
            self.files.total = builder.files.total
            self.files.set_folders(builder.files.folders)
        self.files.schedule_rescan()  # changes reported during the build were not applied

    async def _check_store_daily(self) -> None:
        """Read and check the entire store, once per CHECKED_SECONDS from its first build on."""
        noted = (await self.disk.query(Reader.notes)).get(CHECKED)
        if noted is not None and 0 <= time.time() - float(noted) < CHECKED_SECONDS:
            return
        if noted is None or not await self.disk.repair():
            await self.disk.run(lambda store: store.note(CHECKED, f"{time.time():.0f}"))

    # --- keeping up ------------------------------------------------------------------------

    async def open(self, scope: IndexScope, few: int) -> Changes:
        """Open the index of an earlier process and return what has changed since.

        With at most ``few`` changes, the index is complete; it is stale until the caller indexes
        them. With more, it is building. Nothing is written here, and `build` does what only later
        requests need.
        """
        if self.complete or not self.disk.writable:
            return Changes()
        outcome, changes = Event.NOTHING_OPENED, Changes()
        self.lifecycle.on(Event.OPEN_STARTED)
        try:
            store = await self.disk.current()
            if await self.disk.query(Reader.file_count):
                changes = await self.changes(scope, relist=True, timed=False)
                if store is self.disk.opened:
                    outcome = self._outcome(changes, few)
        finally:
            if self.state is FolderState.OPENING:  # nothing else has decided meanwhile
                self.lifecycle.on(outcome)
                if outcome is Event.OPENED and (changes or self.work.is_behind):
                    self.lifecycle.on(Event.CHANGES_FOUND)
                if outcome is Event.NOTHING_OPENED and self.work.policy is BuildPolicy.ALWAYS:
                    self._start_building()
        return changes if outcome is Event.OPENED else Changes()

    def _outcome(self, changes: Changes, few: int) -> Event:
        """Return how an index with these changes is opened."""
        if self.work.policy is BuildPolicy.ON_REQUEST:
            return Event.NOTHING_OPENED
        self.work.indexed = max(self.files.total - len(changes.changed), 0)
        if self.disk.damage or not self._is_begun(changes):
            return Event.NOTHING_OPENED
        if len(changes) > few:
            return Event.PARTLY_OPENED
        self.work.updated_at = time.time()
        return Event.OPENED

    def _is_begun(self, changes: Changes) -> bool:
        """Return True if an index with these changes was built on purpose."""
        return len(changes) <= (1 - BEGUN) * self.files.total

    async def update_from(self, changes: Changes) -> None:
        """Index the changes that `open` has returned."""
        store = await self.disk.current()
        with self.writer.start_pass() as current:
            await self.writer.apply_all(current, store, changes, urgent=True)

    async def check(self, scope: IndexScope, few: int, begin: bool = True) -> None:
        """Find and index changes that were not reported.

        With at most ``few`` changes, this completes an index that an earlier process has started,
        or, if ``begin``, starts the one of a small folder. More changes are left to `build`.
        """
        if self.work.pending is not None:
            await self.build(scope, self.work.pending.max_files)
            return
        store = await self.disk.current()
        with self.writer.start_pass() as current:
            changes = await self.changes(scope)
            if self.work.policy is BuildPolicy.ON_REQUEST or self.disk.damage:
                return
            is_few = len(changes) <= few
            small = begin and self.files.total < self._settings().threshold
            # A temporary store has the files that requests have read.
            is_begun = not store.is_temporary and self._is_begun(changes)
            is_kept = self.complete or self.work.policy is BuildPolicy.ALWAYS
            if is_kept or (is_few and (small or is_begun)):
                if changes and await self.disk.persist():
                    store = await self.disk.current()
                    changes = await self.changes(scope)
                await self.writer.apply_all(current, store, changes, urgent=is_few)

    @property
    def is_untidy(self) -> bool:
        """True if segments may have to be merged or deleted."""
        store = self.disk.opened
        return store is not None and store.merger.is_untidy and not self.disk.damage

    async def tidy(self) -> None:
        """Merge and delete segments where that is due, which takes longer than to index a file."""
        if self.is_untidy:
            await self.disk.run(lambda store: store.merger.tidy())

    async def changes(self, scope: IndexScope, relist: bool = False, timed: bool = True) -> Changes:
        """Return what has changed on disk. Lists the files again if the listing is stale, or if
        ``relist``. Without ``timed``, the next call lists them again."""
        if not await self.disk.query(Reader.file_count):
            self._workers.start()
        # While the index is incomplete, indexed files say nothing about the others.
        return await self.files.changes(scope, relist or not self.complete, timed)

    # --- reported changes and requests -----------------------------------------------------

    async def on_files_changed(self, paths: Collection[str], scope: IndexScope) -> None:
        """Index files that were reported as changed; the paths are relative to the folder."""
        if self.disk.damage:
            return  # never write to a damaged store; its successor reads all files
        if any(is_ignore_file(path) for path in paths):
            self.files.schedule_listing()
            if self.complete:
                with self.writer.start_pass() as current:
                    await self.writer.apply(await self.changes(scope), scope, current)
        known = await self.known(paths)
        self.work.overtake(known)
        changes = await asyncio.to_thread(find_changes, self.root, known.items(), paths)
        # A folder may have replaced a file.
        candidates = {path for path in paths if path not in known}.union(changes.gone)
        if new := await asyncio.to_thread(new_files, self.root, candidates):
            if self.complete:
                more = await self.files.in_scope(new, scope)
                changes = Changes([*changes.changed, *more], changes.gone)
            else:  # a build may have listed and read them before
                self.files.schedule_rescan()
        self.work.overtake(changes.changed)
        if reading := self.work.reading:
            missing = candidates.difference(new)
            self.work.overtake(await asyncio.to_thread(below_any, reading, missing))
        await self.writer.apply(changes, scope, None, urgent=True)
        if self.complete:
            self.files.total = self.work.indexed = await self.disk.query(Reader.file_count)

    def index_files(self, paths: Sequence[str], seconds: float) -> AsyncGenerator[list[str], None]:
        """Index these files now, until the time is up; yield the paths that are in the store."""
        return self.writer.index_files(paths, seconds)

    # --- what the user decides -------------------------------------------------------------

    def consent(self, indexable: bool) -> None:
        """Allow the index on the user's request. If the folder is not ``indexable``, the index
        stays temporary."""
        self.disk.writable = self.disk.writable or indexable
        self.lifecycle.problem = ""

    async def set_writable(self, writable: bool) -> None:
        """Allow or forbid writing to the folder. A change resets the index state."""
        if writable == self.disk.writable:
            return
        await self.files.unwatch()
        self.work.reset(BuildPolicy.IF_SMALL)
        self.lifecycle.problem = ""
        self.files.total = 0
        await self.disk.set_writable(writable)

    async def clear(self) -> None:
        """Delete the index. Raises IndexUnavailable."""
        await self.disk.current()
        self.work.reset(BuildPolicy.ON_REQUEST)
        await self.disk.delete()
        self.files.total = 0
