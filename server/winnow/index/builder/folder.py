"""The index of one folder: its store, and the code that keeps the store up to date.

All writes to the store go through this module. A file is indexed again when its times or size
differ from the indexed ones, even if nothing reported a change.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import time
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from winnow.errors import IndexUnavailable
from winnow.index.builder.disk_scan import (
    Changes,
    ContentExclusions,
    FileListing,
    IndexScope,
    below_any,
    compare_with_listing,
    content_keys,
    file_state_at,
    find_changes,
    folders_of,
    is_ignore_file,
    is_listing_stale,
    is_same_text,
    list_with_times,
    listed_paths,
    new_files,
    outside_times,
)
from winnow.index.builder.workers import IndexWorkers
from winnow.index.builder.worktrees import other_stores, other_trees
from winnow.index.builder.write_retry import WriteRetry
from winnow.index.store.file_record import (
    EXCLUDED,
    FULL,
    FileRecord,
    FileState,
    IndexJob,
    failed_record,
)
from winnow.index.store.reader import Reader, StoreVersion
from winnow.index.store.store import CHECKED, CONSENT, Store, delete, delete_files
from winnow.processes.memory import return_free_pages
from winnow.processes.waiting import run_to_end, wait_within
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.lock import locked
from winnow.storage.paths import is_below
from winnow.storage.state_folder import OWN_FOLDER
from winnow.text.ripgrep import Ripgrep

if TYPE_CHECKING:
    from winnow.index.store.file_table import FileTable
    from winnow.index.watch.watcher import Watcher

logger = logging.getLogger(__name__)

T = TypeVar("T")
OrderFiles = Callable[[Path, Sequence[str]], Awaitable[list[str]]]
# Called with the number of indexed files and the total.
ReportProgress = Callable[[int, int], None]

# Limits of a transaction. Large ones are cheaper, because files share many names; small ones become
# visible earlier and block other processes less.
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 1.0
URGENT_SECONDS = 0.03
# With more changes than this, no request waits for the first ones.
MOST_URGENT = 200
# Checks for changes take at most one CHECK_SHARE-th of the time.
CHECK_SECONDS = 0.1
CHECK_SHARE = 5
# While the watcher works, a check only has to find writes through shared memory.
WATCHED_CHECK_SECONDS = 60.0
# Files given to the workers at once: those of a large tree would take 25 MB.
FILES_AT_ONCE = 8_000
# Files compared with already indexed texts at once.
REUSED_AT_ONCE = 500
EXCLUDED_AT_ONCE = 2_000
# With more changes than this, the indexes of other working trees are read: a branch was switched,
# or everything is new.
FEW_CHANGES = 20
# An index that has this share of the files was built on purpose and is kept up to date.
BEGUN = 0.5
# Attempts of a request that meets damage: the store is opened again, found to be damaged, and
# replaced by its successor, which answers.
MOST_TRIES = 4
# A process that builds a store checks all of it once per day.
CHECKED_SECONDS = 24 * 3600.0
# Files that were left out because the index was full are indexed once this share of its size is
# free again, or the limit was raised.
FREE_SHARE = 0.2
# Name of the note in the store that holds the limit and the size, in bytes, when files were left
# out.
FULL_AT = "full at"
MEGABYTE = 1024 * 1024


class FolderSettings(Struct, frozen=True):
    """The settings for the index of a folder: the largest file to read and the largest to parse, in
    bytes; the largest index, in MB; the number of files from which an index is built only on
    request; whether secrets are masked, and extra rules for them; the source of vectors; everything
    else that changes the stored data; the owner of the state, None for the user of this process."""

    max_bytes: int
    max_parsed: int
    max_size_mb: int
    threshold: int
    masked: bool = True
    embeddings: str = "off"
    rules: tuple[str, ...] = ()
    variant: str = ""
    user: state_folder.User | None = None


class FolderIndex:
    """The index of a folder, opened on first use.

    Its state is spread over several attributes:

    absent      has_index is False
    opening     is_opening
    building    has_index, and not complete
    complete    complete
    stale       complete, and is_behind, is_due or changes are in progress
    unwritable  the store is temporary; _write_retry.lasts if a write failed
    damaged     damage has a text; the store answers where it can

    from        to          event
    absent      opening     open() starts
    opening     complete    open() finds few changes
    opening     building    open() finds more, at most half of the files
    opening     absent      open() finds no store, or one with less than half of the files
    absent      building    build(), or a check after schedule_build()
    absent      complete    check() finds few changes in a small or mostly indexed folder
    building    complete    all changes are written, and the store is still the same
    building    absent      there are more files than max_files, and no consent
    complete    stale       on_files_changed(), schedule_check(), or the time for a check
    stale       complete    check() or on_files_changed() has written all changes
    any         unwritable  a write fails (_fall_back), or a store cannot be created
    unwritable  absent      WriteRetry finds that the folder can be written again
    any         damaged     suspect() confirms that the store is damaged
    damaged     building    a request meets the damage: the successor answers (_change_over)
    damaged     complete    build() completes the successor (_rebuild)
    any         absent      clear(), set_writable(), the store was deleted, or its variant changed
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
        self._ordered = ordered
        self.prefix = root.as_posix().rstrip("/") + "/"
        self.updated_at = 0.0
        self.total = 0  # files that a search covers
        self.indexed = 0  # files that were compared with the disk
        self.complete = False  # up to date at least once since the start
        self.is_opening = False  # the store of an earlier process
        self.is_partly_built = False  # an earlier process indexed most files
        self.is_behind = False  # a build has found changes, or its scope differs
        self.built = False  # a build was requested: the index stays complete from then on
        self.problem = ""
        self.left_out = 0  # files for which there is no room
        self._was_cleared = False  # by `clear`, and not requested since
        self._closed = False
        self._exceeds_max_files = False  # more files than index.max_files
        self._pending_build: tuple[int | None] | None = None  # the file limit of the next build
        self._workers = workers
        self._ripgrep = ripgrep
        self._settings = settings
        self._opened_as = ""
        self.writable = writable
        self.notice: str | None = None  # about an ignored `.winnow` folder
        self._is_persistent = False  # the store is on disk once it is needed
        self._write_retry: WriteRetry | None = None
        self._store: Store | None = None
        # The confirmed damage of the store, and the store that replaces it.
        self.damage = ""
        self.stores_changed = 0  # times that the store was replaced or opened again
        self._successor: Store | None = None
        # A store that was opened again after an error that a check did not explain.
        self._suspected: tuple[Store, str] | None = None
        self._last_limit: tuple[int | None] | None = None  # the file limit of the last build
        self._opening = asyncio.Lock()
        self._building = asyncio.Lock()
        self._times: dict[str, int] | None = None
        self._folders: frozenset[str] = frozenset()  # folders with files that a search covers
        self.watcher: Watcher | None = None
        self._listed_as = IndexScope()
        # The mtimes outside the folder that the listing depends on; None if it may lack files.
        self._outside: dict[str, int] | None = None
        self._next_check = 0.0
        # The number of times that changes may have been missed, and the number that a full listing
        # has covered since.
        self._gaps = 0
        self._looked = 0
        # Passes in progress, the files that they still have to read, and files reported as changed
        # meanwhile, which may have been read too early.
        self._active_passes = 0
        self._in_progress: set[str] = set()
        self._changed_meanwhile: set[str] = set()

    async def reader(self) -> Reader:
        """Open a snapshot of the store; the caller closes it."""
        return await run_to_end(self._with_store(Store.reader), Reader.close)

    async def known(self, paths: Collection[str]) -> dict[str, FileState]:
        """Return the indexed states of the files that are in the index."""
        return await self._query(lambda reader: reader.known(paths))

    async def problems(self) -> dict[str, str]:
        """Return the files that could not be indexed, and why."""
        found = await self._query(Reader.problems)
        return {file.path: problem for file, problem in found.items()}

    async def written(self) -> StoreVersion:
        """Return the version of the store."""
        return await self._query(lambda reader: reader.written)

    async def aclose(self) -> None:
        if self.watcher is not None:
            await self.watcher.aclose()
        async with self._opening:
            self._closed = True
            await run_to_end(asyncio.to_thread(_close, {self._store, self._successor}))

    # --- bringing it up to date ------------------------------------------------------------

    async def build(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Index all changed files. Only one of the processes that share a folder builds at a time.
        An index that is complete stays complete meanwhile."""
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(self._building)
            stack.enter_context(self._pass())
            await self._persist()
            store = await self.store()
            if not store.is_temporary:
                await stack.enter_async_context(locked(store.lock_file))
            self._was_cleared = False
            self._last_limit = (max_files,)
            if not self.damage:
                try:
                    await self._index_all(scope, max_files, report)
                    await self._check_store_daily()
                except IndexUnavailable:
                    if not self.damage:
                        raise
            if self.damage:
                await self._rebuild(scope, max_files, report)
            self._pending_build = None
            if not self.is_watched:
                self.schedule_check()  # files may have changed since they were listed

    async def _rebuild(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Build a successor of the damaged store, and replace the store with it.

        The damaged store answers until then. A successor that an earlier process has started is
        completed.
        """
        builder = FolderIndex(
            self.root, self._workers, self._ripgrep, self._settings, self._ordered
        )
        successor = builder._store = await self._next_store()
        builder._opened_as = self._opened_as
        try:
            with builder._pass():
                await builder._index_all(scope, max_files, report)
        finally:
            if builder.damage:  # start again from nothing
                self._successor = None
                await asyncio.to_thread(delete_files, successor.file)
        if not builder.complete:
            self.problem = builder.problem
            return
        async with self._opening:
            old, self._store, self._successor = self._store, successor, None
            self.stores_changed += 1
            self.damage, self._suspected = "", None
            await asyncio.to_thread(successor.publish)
            if old is not None and old is not successor:
                await asyncio.to_thread(old.close)
        self.total, self.indexed = builder.total, builder.indexed
        self.updated_at, self.built, self.complete = builder.updated_at, True, True
        self._set_folders(builder._folders)
        self.schedule_rescan()  # changes reported during the build were not applied

    async def _next_store(self) -> Store:
        """Return the open successor of the damaged store. Raises IndexUnavailable."""
        damaged = await self.store()
        if self._successor is None:
            await run_to_end(self._begin_successor(damaged))
        assert self._successor is not None
        return self._successor

    async def _begin_successor(self, damaged: Store) -> None:
        try:
            self._successor = await asyncio.to_thread(
                Store.successor, damaged, self._opened_as, self.damage
            )
        except (DatabaseError, OSError) as error:
            raise IndexUnavailable(f"The index cannot be rebuilt: {error}") from None

    async def _check_store_daily(self) -> None:
        """Read and check the entire store, at most once per CHECKED_SECONDS."""
        noted = (await self._query(Reader.notes)).get(CHECKED, "0")
        if 0 <= time.time() - float(noted) < CHECKED_SECONDS:
            return
        if not await self.repair():
            await self._with_store(lambda store: store.note(CHECKED, f"{time.time():.0f}"))

    def schedule_build(self, max_files: int | None) -> None:
        """Let the next check build the index, unless a build finishes before."""
        self._pending_build = self._last_limit = (max_files,)

    async def _index_all(
        self, scope: IndexScope, max_files: int | None, report: ReportProgress | None
    ) -> None:
        finished = False
        # If the store is lost meanwhile, everything written to it is lost, too.
        while not finished:
            store = await self.store()
            self.is_behind |= scope != self._listed_as
            changes = await self.changes(scope, relist=True)
            self.is_behind |= len(changes) > 0
            consented = CONSENT in await self._query(Reader.notes)
            if max_files is not None and not consented and self.total > max_files:
                self.complete, self._exceeds_max_files = False, True
                self.problem = f"it has {self.total:,} files, and index.max_files is {max_files:,}"
                return
            if max_files is None and not consented:
                await self._with_store(lambda store: store.note(CONSENT, "yes"))
            self.built, self._exceeds_max_files = True, False
            finished = await self._apply_all(store, changes, report)
        if await self._trim():
            await self._count_excluded()

    async def open(self, scope: IndexScope, few: int) -> Changes:
        """Open the index of an earlier process and return what has changed since.

        With at most ``few`` changes, the index is complete; it is stale until the caller indexes
        them. With more, it is building. Nothing is written here, and `build` does what only later
        requests need.
        """
        self.is_opening = True
        try:
            if self.complete or not self.writable or not await self._query(Reader.file_count):
                return Changes()
            changes = await self.changes(scope, relist=True, timed=False)
            if self._was_cleared or self._exceeds_max_files:
                return Changes()
            self.indexed = max(self.total - len(changes.changed), 0)
            self.is_partly_built = len(changes) <= (1 - BEGUN) * self.total
            if len(changes) > few or not self.is_partly_built:
                return Changes()
            self.updated_at = time.time()
            self.complete = self.is_open and not self.damage
            return changes
        finally:
            self.is_opening = False

    async def update_from(self, changes: Changes) -> None:
        """Index the changes that `open` has returned."""
        store = await self.store()
        with self._pass():
            await self._apply_all(store, changes, urgent=True)

    async def changes(self, scope: IndexScope, relist: bool = False, timed: bool = True) -> Changes:
        """Return what has changed on disk. Lists the files again if the listing is stale, or if
        ``relist``. Without ``timed``, the next call lists them again."""
        started = time.monotonic()
        # A file written during the listing may be newer than the listing.
        stamp = await self._query(Reader.stamp)
        if not await self._query(Reader.file_count):
            self._workers.start()
        times = self._times
        # While the index is incomplete, indexed files say nothing about the others.
        if not relist and self.complete and times is not None and scope == self._listed_as:
            relist = await asyncio.to_thread(is_listing_stale, self.root, times)
        else:
            relist = True
        if relist:
            found = await self._list(scope, timed)
            exclusions, room = ContentExclusions(scope.empty), await self._has_room()
            changes, self.total = await self._query(
                lambda reader: compare_with_listing(
                    self.root, reader.each_file(stamp), found, exclusions, room
                )
            )
        else:
            changes = await self._query(
                lambda reader: find_changes(self.root, reader.each_file(stamp))
            )
        cost = time.monotonic() - started
        pause = WATCHED_CHECK_SECONDS if self._watch_is_complete else CHECK_SECONDS
        self._next_check = time.monotonic() + max(pause, CHECK_SHARE * cost)
        return changes

    async def check(self, scope: IndexScope, few: int, begin: bool = True) -> None:
        """Find and index changes that were not reported.

        With at most ``few`` changes, this completes an index that an earlier process has started,
        or, if ``begin``, starts the one of a small folder. More changes are left to `build`.
        """
        if self._pending_build is not None:
            await self.build(scope, *self._pending_build)
            return
        store = await self.store()
        with self._pass():
            changes = await self.changes(scope)
            if self._was_cleared or self._exceeds_max_files or self.damage:
                return
            is_few = len(changes) <= few
            small = begin and self.total < self._settings().threshold
            begun = len(changes) <= (1 - BEGUN) * self.total
            if self.built or self.complete or (is_few and (small or begun)):
                if changes and await self._persist():
                    store = await self.store()
                    changes = await self.changes(scope)
                await self._apply_all(store, changes, urgent=is_few)

    @contextlib.contextmanager
    def _pass(self) -> Iterator[None]:
        """Mark that files are being listed, read and written within the block."""
        self._active_passes += 1
        try:
            yield
        finally:
            self._active_passes -= 1
            if not self._active_passes:
                self._in_progress.clear()
                self._changed_meanwhile.clear()

    async def _apply_all(
        self,
        store: Store,
        changes: Changes,
        report: ReportProgress | None = None,
        urgent: bool = False,
    ) -> bool:
        """Index all differences from a store. Return False if the store was replaced meanwhile."""
        await self.apply(changes, self._listed_as, report, urgent)
        if store is not self._store:
            # Only a check shows whether the new store is complete: a build may have completed it.
            self.schedule_check()
            return False
        self.complete = not self._exceeds_max_files
        return True

    @functools.cached_property
    def table(self) -> FileTable:
        """The files of the store, by number."""
        # numpy takes time to load.
        from winnow.index.store.file_table import FileTable

        return FileTable()

    @property
    def opened(self) -> Store | None:
        """The store, if it is open."""
        return self._store

    @property
    def is_open(self) -> bool:
        """True if the store is open."""
        return self._store is not None

    @property
    def has_index(self) -> bool:
        """True if there is an index, or one is being built or opened."""
        return self.complete or self.built or self.is_partly_built or self.is_opening

    def was_listed_with(self, scope: IndexScope) -> bool:
        """Return True if the last listing had this scope."""
        return scope == self._listed_as

    @property
    def is_due(self) -> bool:
        """True if it is time to check for changes that were not reported."""
        return time.monotonic() >= self._next_check

    @property
    def is_up_to_date(self) -> bool:
        """True if the store is complete and the watcher reliable; a rescan is only a safety
        check."""
        return self.complete and self._pending_build is None and self._watch_is_complete

    def is_exact_for(self, scope: IndexScope) -> bool:
        """Return True if the index has all files of a scope and every change is reported. If the
        scope or an ignore file outside has changed, the next check lists the files again."""
        if not (self.complete and self._watch_is_complete):
            return False
        outside = outside_times(self.root, self._ripgrep().environment)
        if scope == self._listed_as and outside == self._outside:
            return True
        self.schedule_rescan()
        return False

    @property
    def _watch_is_complete(self) -> bool:
        """True while the watcher works and a full listing has finished since its last gap."""
        listed = self._outside is not None and self._looked >= self._gaps
        return self.is_watched and listed

    def has_folder(self, path: str) -> bool:
        """Return True if a search covers files in the folder with this path, as far as the last
        listing shows."""
        return any(is_below(folder, path) for folder in self._folders)

    async def _list(self, scope: IndexScope, timed: bool = True) -> FileListing:
        began, doubts = time.time_ns(), self._gaps
        ripgrep = self._ripgrep()
        outside = await asyncio.to_thread(outside_times, self.root, ripgrep.environment)
        listing = await listed_paths(ripgrep, self.root, scope)
        is_complete = not listing.timed_out
        found = await asyncio.to_thread(
            list_with_times, self.root, listing.paths, is_complete, began, timed
        )
        self._outside = outside if is_complete and not listing.unreadable else None
        self._times = dict(found.times) if timed and doubts == self._gaps else None
        self._looked = doubts
        self._listed_as = scope
        self._set_folders(found.folders)
        self.total = len(found.paths)
        return found

    # --- reported changes -------------------------------------------------------------

    async def watch(self, scope: IndexScope, changed: Callable[[Iterable[str]], None]) -> None:
        """Watch the folder, where the system allows it."""
        if self.watcher is not None:
            return
        from winnow.index.watch.watcher import Watcher

        if not self._folders:  # without them, the watcher would include ignored folders
            await self._list(scope)
        own = self.root / OWN_FOLDER
        watcher = Watcher(
            self.root, changed, self.schedule_rescan, own=own, in_scope=self._is_in_scope
        )
        self.watcher = watcher
        await watcher.start()
        # The next build lists all files. Until then, the index is as good as before, and requests
        # need no check.
        self._gaps += 1
        self._times = None

    @property
    def is_watched(self) -> bool:
        """True if every change is reported."""
        return self.watcher is not None and not self.watcher.reason

    def _set_folders(self, folders: Iterable[str]) -> None:
        """Store the folders with files that a search covers, and refresh the watcher."""
        now = frozenset(folders)
        if now != self._folders:
            self._folders = now
            if self.watcher is not None:
                self.watcher.refresh()

    def _is_in_scope(self, path: str) -> bool:
        """Return True if new files in a folder may be in scope: in folders with covered files, and
        in their direct subfolders."""
        below = (
            path[len(self.prefix) :].replace(os.sep, "/") if len(path) >= len(self.prefix) else ""
        )
        return below in self._folders or below.rpartition("/")[0] in self._folders

    def consent(self, indexable: bool) -> None:
        """Allow the index on the user's request. If the folder is not ``indexable``, the index
        stays temporary."""
        self.writable = self.writable or indexable
        self.problem = ""

    async def set_writable(self, writable: bool) -> None:
        """Allow or forbid writing to the folder. A change resets the index state."""
        if writable == self.writable:
            return
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            await watcher.aclose()
        async with self._opening:
            self.writable = writable
            self.built = self._exceeds_max_files = self._was_cleared = False
            self._pending_build = None
            self.problem = ""
            self.total = 0
            await self._reset()

    def schedule_check(self) -> None:
        """Let the next request check for changes: some may not have been reported yet."""
        self._next_check = 0.0

    def schedule_rescan(self) -> None:
        """Let the next request list all files: reported changes may be incomplete."""
        self._gaps += 1
        self._next_check = 0.0
        self._times = None

    async def clear(self) -> None:
        """Delete the index."""
        store = await self.store()
        async with self._opening:
            await self._reset()
            self.built, self._was_cleared = False, True
            self._pending_build = None
            self.total = self.indexed = 0
            await asyncio.to_thread(delete, store)

    async def on_files_changed(self, paths: Collection[str], scope: IndexScope) -> None:
        """Index files that were reported as changed; the paths are relative to the folder."""
        if self.damage:
            return  # never write to a damaged store; its successor reads all files
        if any(is_ignore_file(path) for path in paths):
            self._times = None
            if self.complete:
                with self._pass():
                    await self.apply(await self.changes(scope), scope)
        known = await self._query(lambda reader: reader.known(paths))
        if self._active_passes:
            self._changed_meanwhile.update(known)
        changes = await asyncio.to_thread(find_changes, self.root, known.items())
        # A folder may have replaced a file.
        candidates = {path for path in paths if path not in known}.union(changes.gone)
        if new := await asyncio.to_thread(new_files, self.root, candidates):
            if self.complete:
                more = await self._files_in_scope(new, scope)
                changes = Changes([*changes.changed, *more], changes.gone)
            else:  # a build may have listed and read them before
                self.schedule_rescan()
        if self._active_passes:
            gone = await asyncio.to_thread(
                below_any, list(self._in_progress), candidates.difference(new)
            )
            self._changed_meanwhile.update(changes.changed, gone)
        await self.apply(changes, scope, urgent=True, reported=True)
        if self.complete:
            self.total = self.indexed = await self._query(Reader.file_count)

    async def _files_in_scope(self, new: Collection[str], scope: IndexScope) -> list[str]:
        """Return the new files that a search covers, according to ripgrep. If a new file is in a
        folder with covered files, ripgrep lists only this folder."""
        folders = {path.rpartition("/")[0] for path in new}
        has_folder = await asyncio.to_thread(_any_folder, self.root, new)
        directories = folders if folders <= self._folders and not has_folder else [None]
        listings = [
            await listed_paths(self._ripgrep(), self.root, scope, directory)
            for directory in directories
        ]
        covered = [path for listing in listings for path in listing.paths]
        if None in directories:
            self._set_folders(folders_of(covered))
        if any(listing.timed_out or listing.unreadable for listing in listings):
            self.schedule_rescan()
        return below_any(covered, new)

    async def apply(
        self,
        changes: Changes,
        scope: IndexScope,
        report: ReportProgress | None = None,
        urgent: bool = False,
        reported: bool = False,
    ) -> None:
        """Write changes to the store. Changes that were ``reported`` are newer than any
        listing."""
        done, total = 0, len(changes.changed)
        before = max(self.total - total, 0)
        # Reported changes, and urgent ones during a build, say nothing about the progress.
        counts = not (reported or (urgent and self._building.locked()))
        if counts:
            self.indexed = before
        if changes.gone:
            await self._write(dict.fromkeys(changes.gone), are_deleted=reported)
            # The file may be ignored now, or was moved during the listing.
            if await asyncio.to_thread(_any_file, self.root, changes.gone):
                self.schedule_rescan()
        left = await self._exclude_contents(changes.changed, scope)
        overtaken: Set[str] = frozenset() if reported else self._changed_meanwhile
        self._in_progress.update(() if reported else left)
        left = await self._reuse_texts(left, overtaken)
        done = total - len(left)
        if len(left) > FEW_CHANGES and not urgent:
            left = await self._ordered(self.root, left)
        indexed: set[str] = set()
        async for batch in self._batches(left, urgent):
            done += len(batch)
            indexed.update(batch)
            await self._write(
                {path: record for path, record in batch.items() if path not in overtaken}
            )
            if not urgent:  # the workers can use the memory
                await asyncio.to_thread(return_free_pages)
            if counts:
                self.indexed = before + done
            if report:
                report(done, total)
            if await self._trim() and not urgent:
                await self._write_excluded([path for path in left if path not in indexed], FULL)
                break
        if len(indexed) > FEW_CHANGES and not urgent:
            await self._with_store(Store.compact)
        if changes or not self.complete:
            await self._count_excluded()
        if counts:
            self.indexed = self.total
        self.updated_at = time.time()

    async def _exclude_contents(self, paths: Sequence[str], scope: IndexScope) -> list[str]:
        """Record files whose contents are excluded; return the others."""
        exclusions = ContentExclusions(scope.empty)
        excluded = [path for path in paths if exclusions.contains(path)]
        await self._write_excluded(excluded, EXCLUDED)
        return (
            [path for path in paths if not exclusions.contains(path)] if excluded else list(paths)
        )

    async def _write_excluded(self, paths: Sequence[str], problem: str) -> None:
        """Record files without contents, and why."""
        root = os.fsencode(self.root)
        for at in range(0, len(paths), EXCLUDED_AT_ONCE):
            excluded = paths[at : at + EXCLUDED_AT_ONCE]
            await self._write(
                {
                    path: failed_record(IndexJob(root, os.fsencode(path), 0), problem)
                    for path in excluded
                }
            )

    async def _reuse_texts(self, paths: Sequence[str], overtaken: Set[str]) -> list[str]:
        """Reuse the data of files whose text is already indexed, here or in another working tree of
        the repository. Return the other files, and those changed during the pass."""
        others = len(paths) > FEW_CHANGES and bool(await asyncio.to_thread(other_trees, self.root))
        if not (others or await self._query(Reader.has_keys)):
            return list(paths)  # a new index has no texts to reuse
        left: list[str] = []
        settings = self._settings()
        adopting = functools.partial(_adopt, self.root, settings, others)
        for at in range(0, len(paths), REUSED_AT_ONCE):
            portion = paths[at : at + REUSED_AT_ONCE]
            keys = await asyncio.to_thread(content_keys, self.root, portion, settings.max_bytes)
            for path in overtaken & keys.keys():
                del keys[path]
            reused = set(await self._with_store(functools.partial(adopting, keys)))
            left += [path for path in portion if path not in reused]
        return left

    async def index_files(
        self, paths: Sequence[str], seconds: float
    ) -> AsyncGenerator[list[str], None]:
        """Index these files now, until the time is up; yield the paths that are in the store."""
        self._workers.start()
        known = await self._query(lambda reader: reader.known(paths))
        stale = await asyncio.to_thread(find_changes, self.root, known.items())
        missing = [path for path in paths if path not in known]
        changed = set(stale.changed)
        if fresh := [path for path in known if path not in changed and path not in stale.gone]:
            yield fresh
        batches = self._batches([*stale.changed, *stale.gone, *missing], urgent=True)
        end = time.monotonic() + seconds
        async with contextlib.aclosing(batches):
            with contextlib.suppress(asyncio.TimeoutError, StopAsyncIteration):
                while True:
                    batch = await wait_within(anext(batches), end - time.monotonic())
                    await self._write(batch)
                    yield [path for path, record in batch.items() if record is not None]

    async def _batches(
        self, paths: Sequence[str], urgent: bool
    ) -> AsyncGenerator[dict[str, FileRecord | None], None]:
        """Yield the records of files in batches to be written; None for a deleted file."""
        few = urgent and len(paths) <= MOST_URGENT
        seconds = URGENT_SECONDS if few else BATCH_SECONDS
        batch: dict[str, FileRecord | None] = {}
        size, started = 0, time.monotonic()
        for at in range(0, len(paths), FILES_AT_ONCE):
            jobs = self._jobs(paths[at : at + FILES_AT_ONCE])
            async with contextlib.aclosing(self._workers.extract(jobs, urgent)) as answers:
                async for job, record in answers:
                    batch[os.fsdecode(job.path)] = record
                    size += _size(record)
                    if size > BATCH_BYTES or time.monotonic() - started > seconds:
                        yield batch
                        batch, size, started = {}, 0, time.monotonic()
        if batch:
            yield batch

    def _jobs(self, paths: Iterable[str]) -> list[IndexJob]:
        root, settings = os.fsencode(self.root), self._settings()
        return [
            IndexJob(
                root,
                os.fsencode(path),
                settings.max_bytes,
                masked=settings.masked,
                max_parsed=settings.max_parsed,
                embeddings=settings.embeddings,
                rules=settings.rules,
            )
            for path in paths
        ]

    async def _write(
        self, batch: Mapping[str, FileRecord | None], are_deleted: bool = True
    ) -> None:
        """Write records of files; those without a record ``are_deleted`` or out of scope."""
        found = {path: record for path, record in batch.items() if record is not None}
        gone = [path for path, record in batch.items() if record is None]

        def is_still(path: str, state: FileState | None) -> bool:
            return (state is None and not are_deleted) or _is_still(self.root, path, state)

        await self._with_store(lambda store: store.write(found, gone, is_still))

    async def _trim(self) -> bool:
        """Shrink the store to its size limit. Return True if data of files was dropped."""
        limit = self._settings().max_size_mb * MEGABYTE
        emptied = await self._with_store(lambda store: store.trim(limit))
        if emptied:
            size = await self._query(Reader.size)
            await self._with_store(lambda store: store.note(FULL_AT, f"{limit} {size}"))
        return emptied > 0

    async def _count_excluded(self) -> None:
        counts = await self._query(Reader.problem_counts)
        self.left_out = counts.get(FULL, 0)

    async def _has_room(self) -> bool:
        """Return True if there is room again for files that were left out."""
        noted = (await self._query(Reader.notes)).get(FULL_AT)
        if noted is None:
            return False
        limit, size = map(int, noted.split())
        if self._settings().max_size_mb * MEGABYTE > limit:
            return True
        return await self._query(Reader.size) < size * (1 - FREE_SHARE)

    # --- the store -------------------------------------------------------------------------

    async def store(self) -> Store:
        """Return the open store; open it again if it was deleted. Raises IndexUnavailable."""
        async with self._opening:
            if self._closed:
                raise IndexUnavailable("The index is closed")
            if self._store is not None and not (
                self._store.is_current() and self._settings().variant == self._opened_as
            ):
                await self._reset()
            if self._write_retry is not None and await self._write_retry.is_over(self._store):
                self.problem = ""
                await self._reset()
            if self._store is None:
                await run_to_end(self._open())
            assert self._store is not None
            return self._store

    async def _open(self) -> None:
        self._opened_as = self._settings().variant
        user = self._settings().user
        hindered = self._write_retry is not None and self._write_retry.lasts
        found = await asyncio.to_thread(state_folder.examine, self.root, user)
        self.notice = found.notice
        # Without an index, a request leaves nothing on disk.
        is_kept = self._is_persistent or await asyncio.to_thread(
            state_folder.is_indexed, self.root, user
        )
        open_store = Store.open if self.writable and is_kept and not hindered else _temporary
        try:
            self._store = await asyncio.to_thread(open_store, self.root, self._opened_as, user)
        except (DatabaseError, OSError) as error:
            raise IndexUnavailable(str(error)) from None
        if self._store.is_temporary and open_store is not _temporary:
            self._start_write_retry()

    async def _persist(self) -> bool:
        """Keep the index on disk from now on. Return True if this replaced a temporary store."""
        if self._is_persistent:
            return False
        self._is_persistent = True
        async with self._opening:
            if self._store is None or not (self._store.is_temporary and self.writable):
                return False
            await self._reset()
            return True

    @property
    def is_lost_on_exit(self) -> bool:
        """True if there is an index that ends with this process."""
        is_temporary = self._store is not None and self._store.is_temporary
        return is_temporary and (self._is_persistent or not self.writable)

    def _start_write_retry(self) -> None:
        """Start to retry after a failed write."""
        if self._write_retry is None:
            self._write_retry = WriteRetry(self.root, self._settings().user)
        self._write_retry.begin()

    async def repair(self) -> bool:
        """Check the entire store; return True if something is wrong. The next build replaces a
        damaged store; an unreadable one is left alone. Raises IndexUnavailable."""
        store = await self.store()
        try:
            await asyncio.to_thread(store.check)
        except StoreDamaged as error:
            await self.suspect(store, error)
            return True
        except (DatabaseError, OSError) as error:
            await self._fall_back(store, error)
            return True
        return False

    async def suspect(self, store: Store, error: StoreDamaged, *, certain: bool = True) -> None:
        """Check whether a store is damaged after a read has failed.

        If its files are intact, they are opened again. If the same error repeats, they contain data
        that Winnow does not write (unless it is not ``certain`` that the error is of this store).
        The next build replaces a damaged store, which answers what it can until then: a request
        that meets the damage switches to the successor, however much of that is built. Nothing is
        deleted before the successor is complete. Raises IndexUnavailable.
        """
        if store is not self._store:
            return
        if self.damage:
            await self._change_over(store)
            return
        found = await asyncio.to_thread(store.find_damage)
        async with self._opening:
            if store is not self._store or self.damage:
                return
            if found is None and (self._suspected != (store, str(error)) or not certain):
                logger.info("The index of %s is opened again: %s", self.root, error)
                await self._reset()
                await run_to_end(self._open())
                assert self._store is not None
                self._suspected = self._store, str(error)
                return
            self.damage = found or str(error)
            self.complete, self.built = False, True
            self._pending_build = self._last_limit
            self._next_check = 0.0
        logger.warning("The index of %s is damaged: %s", self.root, self.damage)

    async def _change_over(self, damaged: Store) -> None:
        """Let the successor of a damaged store answer, even if it is incomplete."""
        successor = await self._next_store()
        async with self._opening:
            if damaged is self._store and damaged is not successor:
                self._store = successor
                self.stores_changed += 1
                await asyncio.to_thread(damaged.close)

    async def _reset(self) -> None:
        store, self._store = self._store, None
        successor, self._successor = self._successor, None
        self.damage, self._suspected = "", None
        self.complete = self.is_partly_built = False
        self.indexed = 0
        self._times = None
        self._next_check = 0.0
        self.stores_changed += store is not None
        await run_to_end(asyncio.to_thread(_close, {store, successor}))

    async def _query(self, query: Callable[[Reader], T]) -> T:
        """Run a query on a snapshot of the store in a thread, see :meth:`_with_store`."""

        def run(store: Store) -> T:
            with store.read() as reader:
                return query(reader)

        return await self._with_store(run)

    async def _with_store(self, do: Callable[[Store], T]) -> T:
        """Run a function on the store in a thread. If the store is damaged, try its successor; if
        it cannot be written, a temporary one. Raises IndexUnavailable."""
        problem = ""
        for _ in range(MOST_TRIES):
            store = await self.store()
            try:
                return await asyncio.to_thread(_used, store, do)
            except StoreDamaged as error:
                problem = str(error)
                await self.suspect(store, error)
            except (DatabaseError, OSError) as error:
                problem = str(error)
                if store is self._store and store.is_current():
                    await self._fall_back(store, error)
        raise IndexUnavailable(problem)

    async def _fall_back(self, store: Store, error: Exception) -> None:
        """Use a temporary store for now. Raises IndexUnavailable if this is one."""
        if store.is_temporary:
            raise IndexUnavailable(str(error)) from None
        async with self._opening:
            if self._store is store:
                self.problem = f"{store.file} cannot be written: {error}"
                self._start_write_retry()
                await self._reset()


def _used(store: Store, do: Callable[[Store], T]) -> T:
    """Run a function on a store that is not closed meanwhile: a closed temporary store would leave
    a file behind."""
    with store.in_use():
        return do(store)


def _close(stores: Iterable[Store | None]) -> None:
    for store in stores:
        if store is not None:
            store.close()


def _temporary(root: Path, variant: str, user: state_folder.User | None) -> Store:
    return Store.temporary()


def _any_file(root: Path, paths: Iterable[str]) -> bool:
    return any(file_state_at(str(root), path) is not None for path in paths)


def _any_folder(root: Path, paths: Iterable[str]) -> bool:
    return any(os.path.isdir(root / path) for path in paths)


def _adopt(
    root: Path,
    settings: FolderSettings,
    elsewhere: bool,
    keys: Mapping[str, tuple[FileState, bytes]],
    store: Store,
) -> list[str]:
    """Reuse the data of files whose text is indexed, by their keys; ``elsewhere`` includes other
    working trees."""
    reused = store.adopt(keys, functools.partial(_is_still, root))
    for other in other_stores(root, settings.variant, settings.user) if elsewhere else ():
        left = {path: state_and_key for path, state_and_key in keys.items() if path not in reused}
        if left:
            reused += store.copy_from(other, left)
    return reused


def _is_still(root: Path, path: str, state: FileState | None) -> bool:
    return is_same_text(file_state_at(str(root), path), state)


def _size(record: FileRecord | None) -> int:
    """Return the approximate size of a record in the store, in bytes."""
    if record is None:
        return 0
    size = 0
    if record.symbols is not None:
        packed = record.symbols
        names = sum(len(name) + len(data) for name, data in packed.occurrences.items())
        size += len(packed.scope_table) + names + sum(len(data) for _, data in packed.definitions)
    if record.contents is not None:
        contents = record.contents
        size += len(contents.trigrams.numbers) + len(contents.vectors)
        size += sum(
            len(field.terms) + len(field.units) + len(field.counts) for field in contents.fields
        )
    return size
