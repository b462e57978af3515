"""What is open: the files of a folder as they were last listed, and how far that is still true.

A listing holds as long as no folder and no ignore file has changed. While a watcher reports every
change, nothing has to be checked at all; a gap in its reports ends that until the next listing.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.index.builder.disk_scan import (
    Changes,
    ContentExclusions,
    FileListing,
    IndexScope,
    below_any,
    compare_with_listing,
    find_changes,
    folders_of,
    is_listing_stale,
    list_with_times,
    listed_paths,
    outside_times,
)
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.folder_store import FolderStore
from winnow.index.builder.size_limit import has_room
from winnow.index.store.reader import Reader
from winnow.storage.paths import is_below, shown_path
from winnow.storage.state_folder import OWN_FOLDER
from winnow.text.ripgrep import Ripgrep
from winnow.text.skipped_files import SkippedFiles

if TYPE_CHECKING:
    from winnow.index.watch.watcher import Watcher

# Checks for changes take at most one CHECK_SHARE-th of the time.
CHECK_SECONDS = 0.1
CHECK_SHARE = 5
# While an index is built, a listing of this age is enough for searches of an unwatched folder.
FRESH_SECONDS = 30.0
# While the watcher works, a check only has to find writes through shared memory.
WATCHED_CHECK_SECONDS = 60.0


class FolderFiles:
    """The files of a folder that searches cover, as they were last listed."""

    def __init__(
        self,
        root: Path,
        disk: FolderStore,
        ripgrep: Callable[[], Ripgrep],
        settings: Callable[[], FolderSettings],
    ) -> None:
        self.total = 0
        self.watcher: Watcher | None = None
        self.listed_as = IndexScope()  # the scope of the last listing
        self.why_empty = ""  # why the last listing has no files, for a user
        self._root = root
        self._disk = disk
        self._ripgrep = ripgrep
        self._settings = settings
        self._folders: frozenset[str] = frozenset()  # folders with files
        # The mtimes of folders and ignore files at the last listing; None if it may lack files.
        self._times: dict[str, int] | None = None
        # The mtimes outside the folder that the listing depends on; None if it may lack files.
        self._outside: dict[str, int] | None = None
        self._next_check = 0.0
        self._listed = -FRESH_SECONDS  # when the last listing began
        # The number of times that changes may have been missed, and the number that a full listing
        # has covered since.
        self._gaps = 0
        self._covered_gaps = 0

    # --- listing ---------------------------------------------------------------------------

    async def changes(self, scope: IndexScope, relist: bool, timed: bool = True) -> Changes:
        """Return how the disk differs from the store. Lists the files again if the listing is
        stale, or if ``relist``. Without ``timed``, the next call lists them again."""
        started = time.monotonic()
        # A file written during the listing may be newer than the listing.
        stamp = await self._disk.query(Reader.stamp)
        times = self._times
        if not relist and times is not None and scope == self.listed_as:
            relist = await asyncio.to_thread(is_listing_stale, self._root, times)
        else:
            relist = True
        if relist:
            found = await self._list(scope, timed)
            exclusions = ContentExclusions(scope.empty)
            room = await has_room(self._disk, self._settings().max_size_mb)
            changes, self.total = await self._disk.query(
                lambda reader: compare_with_listing(
                    self._root, reader.each_file(stamp), found, exclusions, room
                )
            )
        else:
            changes = await self._disk.query(
                lambda reader: find_changes(self._root, reader.each_file(stamp))
            )
        cost = time.monotonic() - started
        pause = WATCHED_CHECK_SECONDS if self.is_exact else CHECK_SECONDS
        self._next_check = time.monotonic() + max(pause, CHECK_SHARE * cost)
        return changes

    async def _list(self, scope: IndexScope, timed: bool = True) -> FileListing:
        began, gaps, started = time.time_ns(), self._gaps, time.monotonic()
        ripgrep = self._ripgrep()
        outside = await asyncio.to_thread(outside_times, self._root, ripgrep.environment)
        listing = await listed_paths(ripgrep, self._root, scope)
        is_complete = not listing.timed_out
        found = await asyncio.to_thread(
            list_with_times, self._root, listing.paths, is_complete, began, timed
        )
        self._outside = outside if is_complete and not listing.unreadable else None
        self._times = dict(found.times) if timed and gaps == self._gaps else None
        self._covered_gaps, self._listed = gaps, started
        self.listed_as = scope
        self.set_folders(found.folders)
        self.total = len(found.paths)
        self.why_empty = "" if found.paths else _why_empty(listing.skipped_files)
        return found

    async def in_scope(self, new: Collection[str], scope: IndexScope) -> list[str]:
        """Return the new files that a search covers, according to ripgrep. If a new file is in a
        folder with covered files, ripgrep lists only this folder."""
        folders = {path.rpartition("/")[0] for path in new}
        has_folder = await asyncio.to_thread(_any_folder, self._root, new)
        directories = folders if folders <= self._folders and not has_folder else [None]
        listings = [
            await listed_paths(self._ripgrep(), self._root, scope, directory)
            for directory in directories
        ]
        covered = [path for listing in listings for path in listing.paths]
        if None in directories:
            self.set_folders(folders_of(covered))
        if any(listing.timed_out or listing.unreadable for listing in listings):
            self.schedule_rescan()
        return below_any(covered, new)

    def has_folder(self, path: str) -> bool:
        """Return True if a search covers files in the folder with this path, as far as the last
        listing shows."""
        return any(is_below(folder, path) for folder in self._folders)

    @property
    def folders(self) -> frozenset[str]:
        """The folders with files that a search covers, as far as the last listing shows."""
        return self._folders

    def set_folders(self, folders: Iterable[str]) -> None:
        """Store the folders with files that a search covers, and refresh the watcher."""
        now = frozenset(folders)
        if now != self._folders:
            self._folders = now
            if self.watcher is not None:
                self.watcher.refresh()

    # --- how far the listing is still true -------------------------------------------------

    @property
    def is_due(self) -> bool:
        """True if it is time to check for changes that were not reported."""
        return time.monotonic() >= self._next_check

    @property
    def is_exact(self) -> bool:
        """True while the watcher works and a full listing has finished since its last gap."""
        return self.is_watched and self._outside is not None and self._covered_gaps >= self._gaps

    @property
    def is_fresh(self) -> bool:
        """True if no change has been missed since the last listing: all are reported, or it has
        just been made."""
        is_new = time.monotonic() - self._listed < FRESH_SECONDS
        return self._covered_gaps >= self._gaps and (self.is_watched or is_new)

    def is_exact_for(self, scope: IndexScope) -> bool:
        """Return True if the listing is exact for a scope. If the scope or an ignore file outside
        has changed, the next check lists the files again."""
        if not self.is_exact:
            return False
        outside = outside_times(self._root, self._ripgrep().environment)
        if scope == self.listed_as and outside == self._outside:
            return True
        self.schedule_rescan()
        return False

    def schedule_check(self) -> None:
        """Let the next request check for changes: some may not have been reported yet."""
        self._next_check = 0.0

    def schedule_listing(self) -> None:
        """Let the next check list all files, for example because an ignore file has changed."""
        self._times = None

    def schedule_rescan(self) -> None:
        """Let the next request list all files: reported changes may be incomplete."""
        self._gaps += 1
        self._times = None
        self._next_check = 0.0

    # --- the watcher -----------------------------------------------------------------------

    @property
    def is_watched(self) -> bool:
        """True if every change is reported."""
        return self.watcher is not None and not self.watcher.reason

    async def watch(self, scope: IndexScope, changed: Callable[[Iterable[str]], None]) -> None:
        """Watch the folder, where the system allows it."""
        if self.watcher is not None:
            return
        from winnow.index.watch.watcher import Watcher

        if not self._folders:  # without them, the watcher would include ignored folders
            await self._list(scope)
        own = self._root / OWN_FOLDER
        watcher = Watcher(
            self._root, changed, self.schedule_rescan, own=own, in_scope=self._is_in_scope
        )
        self.watcher = watcher
        await watcher.start()
        # The next build lists all files. Until then, the index is as good as before, and requests
        # need no check.
        self._gaps += 1
        self._times = None

    async def unwatch(self) -> None:
        """End the watcher."""
        watcher, self.watcher = self.watcher, None
        if watcher is not None:
            await watcher.aclose()

    def _is_in_scope(self, path: str) -> bool:
        """Return True if new files in a folder may be in scope: in folders with covered files, and
        in their direct subfolders."""
        below = path[len(self._root.as_posix().rstrip("/")) + 1 :].replace(os.sep, "/")
        return below in self._folders or below.rpartition("/")[0] in self._folders


def _why_empty(skipped: SkippedFiles | None) -> str:
    """Return why a listing has no files."""
    if skipped is None or not skipped.ignored:
        return "the folder has no files to search"
    by = [shown_path(file)[0] for file in skipped.ignore_files]
    if len(by) == 1:
        return f"{by[0]} excludes all files"
    return "ignore files exclude all files"


def _any_folder(root: Path, paths: Iterable[str]) -> bool:
    return any(os.path.isdir(root / path) for path in paths)
