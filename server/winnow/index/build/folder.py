"""The index of one folder: its store, and everything that brings the store up to date.

Whatever writes goes through here. A file is taken anew when its times or its size are others than
those that its facts were taken from; nobody has to tell.
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

from winnow.config import OWN_FOLDER
from winnow.errors import IndexUnavailable
from winnow.index.store.file_record import (
    EXCLUDED,
    FULL,
    FileRecord,
    FileState,
    IndexJob,
    failed_record,
)
from winnow.index.build.write_retry import WriteRetry
from winnow.storage.lock import locked
from winnow.index.store.reader import Reader, StoreVersion
from winnow.index.build.disk_scan import (
    Changes,
    IndexScope,
    ContentExclusions,
    FileListing,
    below_any,
    find_changes,
    compare_with_listing,
    folders_of,
    is_ignore_file,
    is_listing_stale,
    is_same_text,
    content_keys,
    list_with_times,
    listed_paths,
    list_without_times,
    file_state_at,
    new_files,
    outside_times,
)
from winnow.index.store.store import CHECKED, CONSENT, Store, delete, delete_files
from winnow.index.build.workers import IndexWorkers
from winnow.index.build.worktrees import other_stores, other_trees
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.processes.memory import give_back_free_pages
from winnow.storage.paths import is_below
from winnow.text.ripgrep import Ripgrep
from winnow.processes.waiting import to_the_end, within

if TYPE_CHECKING:
    from winnow.index.store.file_table import FileTable
    from winnow.index.watch.watcher import Watcher

logger = logging.getLogger(__name__)

T = TypeVar("T")
OrderFiles = Callable[[Path, Sequence[str]], Awaitable[list[str]]]
# Says how many files of how many have been taken.
ReportProgress = Callable[[int, int], None]

# A transaction: large ones are cheaper, since files have many names in common; small ones are
# seen earlier and hold up other processes less.
BATCH_BYTES = 4 * 1024 * 1024
BATCH_SECONDS = 1.0
URGENT_SECONDS = 0.03
# Of more changes at once, nobody waits for the first ones.
MOST_URGENT = 200
# A check for changes costs at most this part of the time.
CHECK_SECONDS = 0.1
CHECK_SHARE = 5
# Where every change is told, a check is only for what is written through memory that is shared.
WATCHED_CHECK_SECONDS = 60.0
# So many files are given to the workers in one go: a large tree's would take 25 MB.
FILES_AT_ONCE = 8_000
# So many files are held against texts that are known, in one go.
REUSED_AT_ONCE = 500
EXCLUDED_AT_ONCE = 2_000
# For more changes than this, other working trees are asked: a branch was switched, or all is new.
FEW_CHANGES = 20
# An index with this part of the files was made by somebody, and is kept up.
BEGUN = 0.5
# A request that meets damage: the store is opened again, found to be damaged, and changed for its
# successor, which answers.
MOST_TRIES = 4
# All of a store is read and checked once in so long, by a process that builds it.
CHECKED_SECONDS = 24 * 3600.0
# What was left out for lack of room is taken again where so much has become free since, or where
# the limit was raised.
FREE_SHARE = 0.2
# A note in the store, of when something was left out: the limit, and the size behind it, in bytes.
FULL_AT = "full at"
MEGABYTE = 1024 * 1024


class FolderSettings(Struct, frozen=True):
    """What settings say of the index of a folder: the largest file that is read, and the largest
    that is parsed, in bytes; the most that is kept, in MB; from how many files on an index is made
    only if somebody asks for it; whether secrets are masked, and by which added rules; where
    vectors come from; what else decides what is kept; whose state it is, None for the user of the
    process."""

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
    """The index of a folder; opened when it is first used."""

    def __init__(
        self,
        root: Path,
        workers: IndexWorkers,
        ripgrep: Callable[[], Ripgrep],
        settings: Callable[[], FolderSettings],
        ordered: OrderFiles,
        writable: bool = True,
    ) -> None:
        """``ripgrep`` gives what lists files, ``settings`` what holds now, ``ordered`` puts paths
        of the folder in the order in which they are to be taken. Nothing is written to a folder
        that is not ``writable``."""
        self.root = root
        self._ordered = ordered
        self.prefix = root.as_posix().rstrip("/") + "/"
        self.updated_at = 0.0
        self.total = 0  # files that a search covers
        self.indexed = 0  # files that were looked at
        self.complete = False  # it has been up to date since the start
        self.is_opening = False  # what an earlier process has left
        self.is_partly_built = False  # by an earlier process, which has left many files as they are
        self.is_behind = False  # a build has found changes, or covers other files than before
        self.built = False  # a build was asked for: from then on it is kept complete
        self.problem = ""
        self.left_out = 0  # files for which there is no room
        self._was_cleared = False  # and not asked for since
        self._closed = False
        self._exceeds_max_files = False  # files, to be indexed unless somebody asks for it
        self._pending_build: tuple[int | None] | None = None  # with which limit one is to be made
        self._workers = workers
        self._ripgrep = ripgrep
        self._settings = settings
        self._opened_as = ""
        self.writable = writable
        self.notice: str | None = None  # of a folder `.winnow` that is ignored
        self._is_persistent = False  # an index is made: it gets its folder, if it has none yet
        self._write_retry: WriteRetry | None = None
        self._store: Store | None = None
        # What is wrong with the store, once that is confirmed, and what is to take its place.
        self.damage = ""
        self.stores_changed = 0  # how often another store, or the same one opened again, came
        self._successor: Store | None = None
        # A store that was opened again after an error that a check did not explain.
        self._suspected: tuple[Store, str] | None = None
        self._last_limit: tuple[int | None] | None = None  # of the last build, in files
        self._opening = asyncio.Lock()
        self._building = asyncio.Lock()
        self._times: dict[str, int] | None = None
        self._folders: frozenset[str] = frozenset()  # that a search looks into and finds files
        self.watcher: Watcher | None = None
        self._listed_as = IndexScope()
        # What the list depends on elsewhere; None where it may lack files.
        self._outside: dict[str, int] | None = None
        self._next_check = 0.0
        # How often something came up that may not have been told, and up to which of these times
        # all has been looked at since.
        self._gaps = 0
        self._looked = 0
        # How many are taking what was listed, which files, and those that somebody has told of
        # meanwhile: they may have been read before.
        self._active_passes = 0
        self._in_progress: set[str] = set()
        self._changed_meanwhile: set[str] = set()

    async def reader(self) -> Reader:
        """The store at this moment; the caller closes it."""
        return await to_the_end(self._with_store(Store.reader), Reader.close)

    async def known(self, paths: Collection[str]) -> dict[str, FileState]:
        """Of some files, those that are known."""
        return await self._with_store(lambda store: _known_of(store, paths))

    async def problems(self) -> dict[str, str]:
        """The files of which no facts could be taken, and why."""
        return await self._with_store(_problems)

    async def written(self) -> StoreVersion:
        """Which store it has, and the number of the last transaction in that."""
        return await self._with_store(_written)

    async def aclose(self) -> None:
        if self.watcher is not None:
            await self.watcher.aclose()
        async with self._opening:
            self._closed = True
            await to_the_end(asyncio.to_thread(_close, {self._store, self._successor}))

    # --- bringing it up to date ------------------------------------------------------------

    async def build(
        self, covers: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Take all files that have changed, as one process among those that share the folder. What
        was complete before stays so."""
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
                    await self._index_all(covers, max_files, report)
                    await self._check_store_daily()
                except IndexUnavailable:
                    if not self.damage:
                        raise
            if self.damage:
                await self._rebuild(covers, max_files, report)
            self._pending_build = None
            if not self.is_watched:
                self.schedule_check()  # files may have changed since they were listed

    async def _rebuild(
        self, covers: IndexScope, max_files: int | None, report: ReportProgress | None = None
    ) -> None:
        """Build a successor of the damaged store, which answers until then, and change over to it.

        A successor that an earlier process has begun is completed.
        """
        builder = FolderIndex(
            self.root, self._workers, self._ripgrep, self._settings, self._ordered
        )
        successor = builder._store = await self._next_store()
        builder._opened_as = self._opened_as
        try:
            with builder._pass():
                await builder._index_all(covers, max_files, report)
        finally:
            if builder.damage:  # it is begun anew
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
        self.schedule_rescan()  # changes that were told meanwhile were not taken

    async def _next_store(self) -> Store:
        """The successor of the damaged store, opened. Raises IndexUnavailable."""
        damaged = await self.store()
        if self._successor is None:
            await to_the_end(self._begin_successor(damaged))
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
        """Read and check the whole store, unless that was done lately."""
        noted = (await self._with_store(_notes)).get(CHECKED, "0")
        if 0 <= time.time() - float(noted) < CHECKED_SECONDS:
            return
        if not await self.repair():
            await self._with_store(lambda store: store.note(CHECKED, f"{time.time():.0f}"))

    def schedule_build(self, max_files: int | None) -> None:
        """Have the next look build it, unless a build is finished before."""
        self._pending_build = self._last_limit = (max_files,)

    async def _index_all(self, covers: IndexScope, max_files: int | None, report: ReportProgress | None) -> None:
        finished = False
        # A store that is lost meanwhile takes what was written with it.
        while not finished:
            store = await self.store()
            self.is_behind |= covers != self._listed_as
            changes = await self.changes(covers, whole=True)
            self.is_behind |= len(changes) > 0
            consented = CONSENT in await self._with_store(_notes)
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

    async def open(self, covers: IndexScope, few: int) -> Changes:
        """Use the index that an earlier process has left, and return what has changed since.

        The index counts as complete if that are a ``few`` files: the caller takes them, and until
        then it is stale. With more, it is incomplete as one that is being built. Nothing is written
        here, and what only later requests need is left for `build`.
        """
        self.is_opening = True
        try:
            if self.complete or not self.writable or not await self._with_store(_count):
                return Changes()
            changes = await self.changes(covers, whole=True, timed=False)
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
        """Take what `open` has found to differ."""
        store = await self.store()
        with self._pass():
            await self._apply_all(store, changes, urgent=True)

    async def changes(self, covers: IndexScope, whole: bool = False, timed: bool = True) -> Changes:
        """What has changed on disk; the files are listed anew if need be, or if ``whole``. Unless
        ``timed``, the next call lists them once more."""
        started = time.monotonic()
        # What is written while the files are listed may be newer than the list.
        stamp = await self._with_store(Store.stamp)
        if not await self._with_store(_count):
            self._workers.start()
        times = self._times
        # As long as not all files are known, those that are known say nothing about the others.
        if not whole and self.complete and times is not None and covers == self._listed_as:
            whole = await asyncio.to_thread(is_listing_stale, self.root, times)
        else:
            whole = True
        if whole:
            found = await self._list(covers, timed)
            emptied, room = ContentExclusions(covers.empty), await self._has_room()
            changes, self.total = await self._with_store(
                lambda store: _compared(store, stamp, self.root, found, emptied, room)
            )
        else:
            changes = await self._with_store(lambda store: _changes_of(store, stamp, self.root))
        cost = time.monotonic() - started
        pause = WATCHED_CHECK_SECONDS if self._watch_is_complete else CHECK_SECONDS
        self._next_check = time.monotonic() + max(pause, CHECK_SHARE * cost)
        return changes

    async def check(self, covers: IndexScope, few: int, begin: bool = True) -> None:
        """Take what has changed without anybody telling.

        Where only a ``few`` files are not known as they are, that makes the store complete, if an
        earlier process has begun it, or the folder is one that is indexed when it is first needed,
        and whoever asks would ``begin`` it; more are for `build`.
        """
        if self._pending_build is not None:
            await self.build(covers, *self._pending_build)
            return
        store = await self.store()
        with self._pass():
            changes = await self.changes(covers)
            if self._was_cleared or self._exceeds_max_files or self.damage:
                return
            is_few = len(changes) <= few
            small = begin and self.total < self._settings().threshold
            begun = len(changes) <= (1 - BEGUN) * self.total
            if self.built or self.complete or (is_few and (small or begun)):
                if changes and await self._persist():
                    store = await self.store()
                    changes = await self.changes(covers)
                await self._apply_all(store, changes, urgent=is_few)

    @contextlib.contextmanager
    def _pass(self) -> Iterator[None]:
        """For the time of the block, files are listed, read and written."""
        self._active_passes += 1
        try:
            yield
        finally:
            self._active_passes -= 1
            if not self._active_passes:
                self._in_progress.clear()
                self._changed_meanwhile.clear()

    async def _apply_all(
        self, store: Store, changes: Changes, report: ReportProgress | None = None, urgent: bool = False
    ) -> bool:
        """Take all that was found to differ from a store; whether that is the one there still."""
        await self.apply(changes, self._listed_as, report, urgent)
        if store is not self._store:
            # Only a look at the new one tells whether it is complete: a build may have made it so.
            self.schedule_check()
            return False
        self.complete = not self._exceeds_max_files
        return True

    @functools.cached_property
    def table(self) -> FileTable:
        """The files with their numbers."""
        # numpy takes time to load.
        from winnow.index.store.file_table import FileTable

        return FileTable()

    @property
    def opened(self) -> Store | None:
        """The store, if it has been opened."""
        return self._store

    @property
    def is_open(self) -> bool:
        """Whether anything was asked of it yet."""
        return self._store is not None

    @property
    def has_index(self) -> bool:
        """Whether there is an index, or is to be one."""
        return self.complete or self.built or self.is_partly_built or self.is_opening

    def was_listed_with(self, covers: IndexScope) -> bool:
        """Whether the files were listed as these settings cover them."""
        return covers == self._listed_as

    @property
    def is_due(self) -> bool:
        """Whether it is time to look for changes that nobody has told of."""
        return time.monotonic() >= self._next_check

    @property
    def is_up_to_date(self) -> bool:
        """Whether all is known, as far as is told: to look is a precaution."""
        return self.complete and self._pending_build is None and self._watch_is_complete

    def is_exact_for(self, covers: IndexScope) -> bool:
        """Whether it knows all files that a search covers, and every change is told. Where a search
        covers others than when they were listed, the next look lists them anew."""
        if not (self.complete and self._watch_is_complete):
            return False
        outside = outside_times(self.root, self._ripgrep().environment)
        if covers == self._listed_as and outside == self._outside:
            return True
        self.schedule_rescan()
        return False

    @property
    def _watch_is_complete(self) -> bool:
        """Whether every change is told, and the files were listed without a gap since the last
        doubt of that."""
        listed = self._outside is not None and self._looked >= self._gaps
        return self.is_watched and listed

    def has_folder(self, path: str) -> bool:
        """Whether a search covers the folder with this path, as far as that is known: for one in
        which there are files."""
        return any(is_below(folder, path) for folder in self._folders)

    async def _list(self, covers: IndexScope, timed: bool = True) -> FileListing:
        began, doubts = time.time_ns(), self._gaps
        ripgrep = self._ripgrep()
        outside = await asyncio.to_thread(outside_times, self.root, ripgrep.environment)
        listing = await listed_paths(ripgrep, self.root, covers)
        whole = not listing.timed_out
        take = list_with_times if timed else list_without_times
        found = await asyncio.to_thread(take, self.root, listing.paths, whole, began)
        self._outside = outside if whole and not listing.unreadable else None
        self._times = dict(found.times) if timed and doubts == self._gaps else None
        self._looked = doubts
        self._listed_as = covers
        self._set_folders(found.folders)
        self.total = len(found.paths)
        return found

    # --- changes that are told -------------------------------------------------------------

    async def watch(self, covers: IndexScope, changed: Callable[[Iterable[str]], None]) -> None:
        """Have every change told from now on, where that is possible."""
        if self.watcher is not None:
            return
        from winnow.index.watch.watcher import Watcher

        if not self._folders:  # or all would be watched, those that are ignored, too
            await self._list(covers)
        own = self.root / OWN_FOLDER
        watcher = Watcher(self.root, changed, self.schedule_rescan, own=own, wanted=self._is_in_scope)
        self.watcher = watcher
        await watcher.start()
        # The build that follows lists all files. Until then what is known is as good as it was
        # before: no query need look.
        self._gaps += 1
        self._times = None

    @property
    def is_watched(self) -> bool:
        """Whether every change is told."""
        return self.watcher is not None and not self.watcher.reason

    def _set_folders(self, folders: Iterable[str]) -> None:
        """Take note of the folders that have files which a search covers."""
        now = frozenset(folders)
        if now != self._folders:
            self._folders = now
            if self.watcher is not None:
                self.watcher.refresh()

    def _is_in_scope(self, path: str) -> bool:
        """Whether files that come to be in a folder may count: in those that a search looks into,
        and directly below them, where it may have found nothing so far."""
        below = (
            path[len(self.prefix) :].replace(os.sep, "/") if len(path) >= len(self.prefix) else ""
        )
        return below in self._folders or below.rpartition("/")[0] in self._folders

    def consent(self, indexable: bool) -> None:
        """Somebody asks for this index, whatever the folder is; where it is one of which none is
        kept otherwise, this one ends with the process."""
        self.writable = self.writable or indexable
        self.problem = ""

    async def set_writable(self, writable: bool) -> None:
        """Have the folder be written from now on, or not. Where that is news, it is as if nothing
        was asked of it yet."""
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
        """Have the next query look for changes: not all may be told yet."""
        self._next_check = 0.0

    def schedule_rescan(self) -> None:
        """Have the next query look for changes: what was told may not be all."""
        self._gaps += 1
        self._next_check = 0.0
        self._times = None

    async def clear(self) -> None:
        """Delete all that is kept."""
        store = await self.store()
        async with self._opening:
            await self._reset()
            self.built, self._was_cleared = False, True
            self._pending_build = None
            self.total = self.indexed = 0
            await asyncio.to_thread(delete, store)

    async def on_files_changed(self, paths: Collection[str], covers: IndexScope) -> None:
        """Take files of which somebody says that they have changed; paths below the folder."""
        if self.damage:
            return  # nothing is written into a damaged store; its successor looks at all files
        if any(is_ignore_file(path) for path in paths):
            self._times = None
            if self.complete:
                with self._pass():
                    await self.apply(await self.changes(covers), covers)
        known = await self._with_store(lambda store: _known_of(store, paths))
        if self._active_passes:
            self._changed_meanwhile.update(known)
        changes = await asyncio.to_thread(find_changes, self.root, known.items())
        # There may be a folder where a file was.
        wanted = {path for path in paths if path not in known}.union(changes.gone)
        if new := await asyncio.to_thread(new_files, self.root, wanted):
            if self.complete:
                more = await self._files_in_scope(new, covers)
                changes = Changes([*changes.changed, *more], changes.gone)
            else:  # a build may have listed them, and read them before
                self.schedule_rescan()
        if self._active_passes:
            gone = await asyncio.to_thread(below_any, list(self._in_progress), wanted.difference(new))
            self._changed_meanwhile.update(changes.changed, gone)
        await self.apply(changes, covers, urgent=True, told=True)
        if self.complete:
            self.total = self.indexed = await self._with_store(_count)

    async def _files_in_scope(self, new: Collection[str], covers: IndexScope) -> list[str]:
        """Of files and folders that are new, the files that a search covers: that is for ripgrep to
        say. In a folder that has such files, it need not look at all others."""
        folders = {path.rpartition("/")[0] for path in new}
        whole = await asyncio.to_thread(_any_folder, self.root, new)
        some = folders if folders <= self._folders and not whole else [None]
        listings = [await listed_paths(self._ripgrep(), self.root, covers, one) for one in some]
        covered = [path for listing in listings for path in listing.paths]
        if None in some:
            self._set_folders(folders_of(covered))
        if any(listing.timed_out or listing.unreadable for listing in listings):
            self.schedule_rescan()
        return below_any(covered, new)

    async def apply(
        self,
        changes: Changes,
        covers: IndexScope,
        report: ReportProgress | None = None,
        urgent: bool = False,
        told: bool = False,
    ) -> None:
        """Write what has changed into the store; what is ``told`` is newer than what was listed."""
        done, total = 0, len(changes.changed)
        before = max(self.total - total, 0)
        # What is told says nothing of the other files, nor what is taken beside a build of it.
        counts = not (told or (urgent and self._building.locked()))
        if counts:
            self.indexed = before
        if changes.gone:
            await self._write(dict.fromkeys(changes.gone), are_deleted=told)
            # What is ignored now is there; but also what was moved about while it was listed.
            if await asyncio.to_thread(_any_file, self.root, changes.gone):
                self.schedule_rescan()
        left = await self._exclude_contents(changes.changed, covers)
        overtaken: Set[str] = frozenset() if told else self._changed_meanwhile
        self._in_progress.update(() if told else left)
        left = await self._reuse_texts(left, overtaken)
        done = total - len(left)
        if len(left) > FEW_CHANGES and not urgent:
            left = await self._ordered(self.root, left)
        taken: set[str] = set()
        async for batch in self._batches(left, urgent):
            done += len(batch)
            taken.update(batch)
            await self._write({path: one for path, one in batch.items() if path not in overtaken})
            if not urgent:  # the workers can do with it
                await asyncio.to_thread(give_back_free_pages)
            if counts:
                self.indexed = before + done
            if report:
                report(done, total)
            if await self._trim() and not urgent:
                await self._write_excluded([path for path in left if path not in taken], FULL)
                break
        if len(taken) > FEW_CHANGES and not urgent:
            await self._with_store(Store.compact)
        if changes or not self.complete:
            await self._count_excluded()
        if counts:
            self.indexed = self.total
        self.updated_at = time.time()

    async def _exclude_contents(self, paths: Sequence[str], covers: IndexScope) -> list[str]:
        """Write that nothing is kept of some files; gives the others."""
        emptied = ContentExclusions(covers.empty)
        some = [path for path in paths if emptied.has(path)]
        await self._write_excluded(some, EXCLUDED)
        return [path for path in paths if not emptied.has(path)] if some else list(paths)

    async def _write_excluded(self, paths: Sequence[str], problem: str) -> None:
        """Write of files that nothing is kept of them, and why."""
        root = os.fsencode(self.root)
        for at in range(0, len(paths), EXCLUDED_AT_ONCE):
            some = paths[at : at + EXCLUDED_AT_ONCE]
            await self._write(
                {path: failed_record(IndexJob(root, os.fsencode(path), 0), problem) for path in some}
            )

    async def _reuse_texts(self, paths: Sequence[str], overtaken: Set[str]) -> list[str]:
        """Take the files whose text was seen before, here or in another working tree of the
        repository; gives the others, and those that were overtaken."""
        others = len(paths) > FEW_CHANGES and bool(await asyncio.to_thread(other_trees, self.root))
        if not (others or await self._with_store(_has_keys)):
            return list(paths)  # an index that is new has seen nothing
        left: list[str] = []
        settings = self._settings()
        adopting = functools.partial(_adopt, self.root, settings, others)
        for at in range(0, len(paths), REUSED_AT_ONCE):
            some = paths[at : at + REUSED_AT_ONCE]
            keys = await asyncio.to_thread(content_keys, self.root, some, settings.max_bytes)
            for path in overtaken & keys.keys():
                del keys[path]
            taken = set(await self._with_store(functools.partial(adopting, keys)))
            left += [path for path in some if path not in taken]
        return left

    async def index_files(self, paths: Sequence[str], seconds: float) -> AsyncGenerator[list[str], None]:
        """Take these files now, as far as the time suffices; gives those that are in the store,
        as they come."""
        self._workers.start()
        known = await self._with_store(lambda store: _known_of(store, paths))
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
                    batch = await within(anext(batches), end - time.monotonic())
                    await self._write(batch)
                    yield [path for path, facts in batch.items() if facts is not None]

    async def _batches(
        self, paths: Sequence[str], urgent: bool
    ) -> AsyncGenerator[dict[str, FileRecord | None], None]:
        """The facts of files in portions to be written; None for a file that is gone."""
        few = urgent and len(paths) <= MOST_URGENT
        seconds = URGENT_SECONDS if few else BATCH_SECONDS
        batch: dict[str, FileRecord | None] = {}
        size, started = 0, time.monotonic()
        for at in range(0, len(paths), FILES_AT_ONCE):
            jobs = self._jobs(paths[at : at + FILES_AT_ONCE])
            async with contextlib.aclosing(self._workers.extract(jobs, urgent)) as answers:
                async for job, facts in answers:
                    batch[os.fsdecode(job.path)] = facts
                    size += _size(facts)
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

    async def _write(self, batch: Mapping[str, FileRecord | None], are_deleted: bool = True) -> None:
        """Write the facts of files; those without facts ``are_deleted`` or no longer covered."""
        found = {path: facts for path, facts in batch.items() if facts is not None}
        gone = [path for path, facts in batch.items() if facts is None]

        def is_still(path: str, state: FileState | None) -> bool:
            return (state is None and not are_deleted) or _is_still(self.root, path, state)

        await self._with_store(lambda store: store.write(found, gone, is_still))

    async def _trim(self) -> bool:
        """Bring the store below its size; whether something was forgotten for it."""
        limit = self._settings().max_size_mb * MEGABYTE
        emptied = await self._with_store(lambda store: store.trim(limit))
        if emptied:
            size = await self._with_store(Store.size)
            await self._with_store(lambda store: store.note(FULL_AT, f"{limit} {size}"))
        return emptied > 0

    async def _count_excluded(self) -> None:
        self.left_out = await self._with_store(_left_out)

    async def _has_room(self) -> bool:
        """Whether there is room again for what was left out."""
        noted = (await self._with_store(_notes)).get(FULL_AT)
        if noted is None:
            return False
        limit, size = map(int, noted.split())
        if self._settings().max_size_mb * MEGABYTE > limit:
            return True
        return await self._with_store(Store.size) < size * (1 - FREE_SHARE)

    # --- the store -------------------------------------------------------------------------

    async def store(self) -> Store:
        """The store, opened, or opened anew where somebody has deleted it. Raises
        IndexUnavailable."""
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
                await to_the_end(self._open())
            assert self._store is not None
            return self._store

    async def _open(self) -> None:
        self._opened_as = self._settings().variant
        user = self._settings().user
        hindered = self._write_retry is not None and self._write_retry.lasts
        found = await asyncio.to_thread(state_folder.examine, self.root, user)
        self.notice = found.notice
        # Without an index, a query leaves nothing behind.
        is_kept = self._is_persistent or await asyncio.to_thread(state_folder.is_indexed, self.root, user)
        open_store = Store.open if self.writable and is_kept and not hindered else _temporary
        try:
            self._store = await asyncio.to_thread(open_store, self.root, self._opened_as, user)
        except (DatabaseError, OSError) as error:
            raise IndexUnavailable(str(error)) from None
        if self._store.is_temporary and open_store is not _temporary:
            self._start_write_retry()

    async def _persist(self) -> bool:
        """Keep the index on disk from now on; return whether it has another store for that."""
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
        """Whether there is an index that is not kept."""
        is_temporary = self._store is not None and self._store.is_temporary
        return is_temporary and (self._is_persistent or not self.writable)

    def _start_write_retry(self) -> None:
        """Note that nothing can be written in the folder now."""
        if self._write_retry is None:
            self._write_retry = WriteRetry(self.root, self._settings().user)
        self._write_retry.begin()

    async def repair(self) -> bool:
        """Check the whole store; return whether something is wrong with it. What is damaged is
        rebuilt by the next build; what cannot be read is left. Raises IndexUnavailable."""
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
        """Find out whether a store is damaged, of which something could not be read.

        Where its files are whole, they are opened anew; if the same error comes again, they hold
        what Winnow does not write (unless it is not ``certain`` that the error is of this store).
        A damaged store is rebuilt by the next build, and answers what it can until then: a request
        that meets the damage has its successor answer from then on, as far as that is built.
        Nothing is deleted before the successor is complete. Raises IndexUnavailable.
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
                await to_the_end(self._open())
                assert self._store is not None
                self._suspected = self._store, str(error)
                return
            self.damage = found or str(error)
            self.complete, self.built = False, True
            self._pending_build = self._last_limit
            self._next_check = 0.0
        logger.warning("The index of %s is damaged: %s", self.root, self.damage)

    async def _change_over(self, damaged: Store) -> None:
        """Have the successor of a damaged store answer, which may not be complete."""
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
        await to_the_end(asyncio.to_thread(_close, {store, successor}))

    async def _with_store(self, do: Callable[[Store], T]) -> T:
        """What a function gives for the store, in a thread. Where that is damaged it is tried on
        its successor; where it cannot be written, on a temporary one. Raises IndexUnavailable."""
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
    """What a function gives for a store, which is not closed meanwhile: a file that it writes would
    be left of a temporary one."""
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


def _count(store: Store) -> int:
    with store.read() as reader:
        return reader.file_count()


def _written(store: Store) -> StoreVersion:
    with store.read() as reader:
        return reader.written


def _left_out(store: Store) -> int:
    with store.read() as reader:
        return reader.problem_counts().get(FULL, 0)


def _notes(store: Store) -> dict[str, str]:
    with store.read() as reader:
        return reader.notes()


def _has_keys(store: Store) -> bool:
    with store.read() as reader:
        return reader.has_keys()


def _adopt(
    root: Path,
    settings: FolderSettings,
    elsewhere: bool,
    keys: Mapping[str, tuple[FileState, bytes]],
    store: Store,
) -> list[str]:
    """Take files whose text is known, by their keys; ``elsewhere`` says that other working trees
    may know it."""
    taken = store.adopt(keys, functools.partial(_is_still, root))
    for other in other_stores(root, settings.variant, settings.user) if elsewhere else ():
        left = {path: one for path, one in keys.items() if path not in taken}
        if left:
            taken += store.copy_from(other, left)
    return taken


def _is_still(root: Path, path: str, state: FileState | None) -> bool:
    return is_same_text(file_state_at(str(root), path), state)


def _compared(
    store: Store, stamp: int, root: Path, now: FileListing, emptied: ContentExclusions, room: bool
) -> tuple[Changes, int]:
    with store.read() as reader:
        return compare_with_listing(root, reader.each_file(stamp), now, emptied, room)


def _changes_of(store: Store, stamp: int, root: Path) -> Changes:
    with store.read() as reader:
        return find_changes(root, reader.each_file(stamp))


def _problems(store: Store) -> dict[str, str]:
    with store.read() as reader:
        return {file.path: problem for file, problem in reader.problems().items()}


def _known_of(store: Store, paths: Iterable[str]) -> dict[str, FileState]:
    with store.read() as reader:
        return reader.known(paths)


def _size(taken: FileRecord | None) -> int:
    """About how many bytes what is kept of a file takes in the store."""
    if taken is None:
        return 0
    size = 0
    if taken.facts is not None:
        packed = taken.facts
        names = sum(len(name) + len(data) for name, data in packed.occurrences.items())
        size += len(packed.scope_table) + names + sum(len(data) for _, data in packed.definitions)
    if taken.contents is not None:
        kept = taken.contents
        size += len(kept.trigrams.numbers) + len(kept.vectors)
        size += sum(len(one.terms) + len(one.units) + len(one.counts) for one in kept.fields)
    return size
