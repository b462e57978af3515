"""Keep indexes up to date: index reported changes, and check for others.

Reported changes are indexed at once. In addition, a request checks for unreported changes if the
last check is too old, and indexes them first if that is quick.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from winnow.index.builder.disk_scan import Changes
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.passes import BuildPolicy
from winnow.index.builder.throttle import Throttle
from winnow.index.builds import FEW, LATER_SECONDS, Builds
from winnow.index.folder_indexes import FolderIndexes, by_folder, recorded_problem
from winnow.processes.waiting import cancel_all, finish_within, is_running

# Longest wait for a check if changes were reported: after a change, a request is about that change,
# and a check of a large tree takes long.
LOOK_SECONDS = 0.02
# Changes come in groups: a short wait puts them into one transaction.
JOIN_SECONDS = 0.005


class Updates:
    """Keeps the indexes of the folders of a workspace up to date, except while ``builds`` run;
    ``changed`` is called when reported changes have been indexed."""

    def __init__(
        self,
        folders: FolderIndexes,
        throttle: Throttle,
        builds: Builds,
        changed: Callable[[], None],
    ) -> None:
        self._folders = folders
        self._throttle = throttle
        self._builds = builds
        self._on_changed = changed
        self._closed = False
        self._beginning_none = 0  # requests in progress that must not begin an index
        self._changed_files: dict[FolderIndex, set[str]] = {}
        self._updating: asyncio.Task[None] | None = None
        self._checking: asyncio.Task[None] | None = None
        self._later_check: asyncio.Task[None] | None = None
        self._tidying: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """True while changes are being indexed or searched for."""
        return is_running(self._updating) or is_running(self._checking)

    # --- changes ---------------------------------------------------------------------------

    def files_changed(self, paths: Iterable[str | Path]) -> None:
        """Record that files were changed, created or deleted. They are indexed soon, and a request
        waits for them briefly. Nothing is indexed once the settings disable the index."""
        if not self._builds.is_allowed:
            return
        for folder, below in by_folder(self._folders.current(), paths).items():
            if folder.disk.opened is not None:
                self._changed_files.setdefault(folder, set()).update(below)
        if self._changed_files and not is_running(self._updating) and not self._closed:
            self._updating = asyncio.create_task(self._process_changes())

    async def _process_changes(self) -> None:
        while self._changed_files:
            await asyncio.sleep(JOIN_SECONDS)
            folder = next(iter(self._changed_files))
            with recorded_problem(folder):
                await folder.on_files_changed(
                    self._changed_files.pop(folder), self._folders.scope_of(folder)
                )
        self._on_changed()
        self._start_tidying()

    def _start_tidying(self) -> None:
        is_due = any(folder.is_untidy for folder in self._folders.current())
        if is_due and not (self._closed or is_running(self._tidying)):
            self._tidying = asyncio.create_task(self._tidy())

    async def _tidy(self) -> None:
        """Tidy the indexes when no request waits for an answer."""
        await self._throttle.turn()
        for folder in self._folders.current():
            with recorded_problem(folder):
                await folder.tidy()

    def apply_opened(self, changes: Mapping[FolderIndex, Changes]) -> None:
        """Index the changes of indexes that were opened, unless a check runs, which finds them."""
        if not (self._closed or is_running(self._checking)):
            self._checking = asyncio.create_task(self._apply_opened(changes))

    async def _apply_opened(self, changes: Mapping[FolderIndex, Changes]) -> None:
        for folder, folder_changes in changes.items():
            with recorded_problem(folder):
                await folder.update_from(folder_changes)

    # --- checks ----------------------------------------------------------------------------

    @contextlib.contextmanager
    def beginning_none(self) -> Iterator[None]:
        """Let no check begin an index within the block."""
        self._beginning_none += 1
        try:
            yield
        finally:
            self._beginning_none -= 1

    async def catch_up(self, seconds: float) -> None:
        """Wait briefly for reported changes, then for a check for others, which would find these,
        too. Begins the index of a small folder, except within :meth:`beginning_none`."""
        end = asyncio.get_running_loop().time() + seconds
        if seconds and not await self._wait_for_events(seconds):
            for folder in self._folders.current():
                folder.files.schedule_check()
        had_changes = await finish_within(self._updating, end - asyncio.get_running_loop().time())
        self._start_check(
            [
                folder
                for folder in self._folders.current()
                if folder.disk.writable or folder.work.policy is BuildPolicy.ALWAYS
            ]
        )
        left = end - asyncio.get_running_loop().time()
        await finish_within(self._checking, min(left, LOOK_SECONDS) if had_changes else left)

    async def wait_for_check(self, seconds: float) -> None:
        """Wait for the running check, if there is one."""
        await finish_within(self._checking, seconds)

    def _start_check(self, folders: Iterable[FolderIndex]) -> None:
        """Start a check of the folders where it is due, and perhaps an index."""
        due = [folder for folder in folders if folder.files.is_due]
        unsure = [folder for folder in due if not folder.is_up_to_date]
        is_blocked = self._builds.is_running or self._builds.is_opening
        if not due or is_blocked or is_running(self._checking):
            return
        if unsure:
            if self._later_check is not None:
                self._later_check.cancel()
            begin = not self._beginning_none
            self._checking = asyncio.create_task(self._check(unsure, begin))
        elif not is_running(self._later_check):
            self._later_check = asyncio.create_task(self._check_later(due))

    async def _check_later(self, folders: Iterable[FolderIndex]) -> None:
        """Check a reliably watched folder when no request waits for an answer."""
        await asyncio.sleep(LATER_SECONDS)
        await self._throttle.turn()
        await self._check(folders, begin=False)

    async def _check(self, folders: Iterable[FolderIndex], begin: bool) -> None:
        """Find and index unreported changes."""
        for folder in folders:
            with recorded_problem(folder):
                await folder.check(self._folders.scope_of(folder), FEW, begin)
        self._start_tidying()

    async def _wait_for_events(self, seconds: float) -> bool:
        """Return True if all changes until now have been reported, in the watched folders."""
        watchers = [
            folder.files.watcher
            for folder in self._folders.current()
            if folder.files.watcher and folder.files.is_watched
        ]
        if all(watcher.is_current() for watcher in watchers):
            return True
        return all(await asyncio.gather(*[watcher.settle(seconds) for watcher in watchers]))

    # --- certainty -------------------------------------------------------------------------

    async def is_exact(self, seconds: float) -> bool:
        """Return True if every file is indexed as it is now. Waits ``seconds`` for changes to be
        indexed."""
        if not self._knows_files():
            self._start_check([folder for folder in self._folders.current() if folder.complete])
            return False
        end = asyncio.get_running_loop().time() + seconds
        if seconds and not await self._wait_for_events(seconds):
            return False
        for task in (self._updating, self._checking):
            await finish_within(task, end - asyncio.get_running_loop().time())
        return self.is_exact_now()

    def is_exact_now(self) -> bool:
        """Return True if every file is indexed as it is now, as far as is known."""
        return not (self._builds.is_running or self.is_busy) and self._knows_files()

    def _knows_files(self) -> bool:
        folders = self._folders.current()
        return bool(folders) and all(
            folder.is_exact_for(self._folders.scope_of(folder)) for folder in folders
        )

    # --- stopping --------------------------------------------------------------------------

    async def cancel(self) -> None:
        """Cancel all work, and forget the reported changes."""
        await cancel_all(self._tasks())
        self._changed_files.clear()

    async def aclose(self) -> None:
        """Cancel all work; none begins any more."""
        self._closed = True
        await cancel_all(self._tasks())

    def _tasks(self) -> list[asyncio.Task[None] | None]:
        return [self._updating, self._tidying, self._checking, self._later_check]
