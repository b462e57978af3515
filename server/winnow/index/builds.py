"""Open the indexes of earlier processes, and run the builds that were requested."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from winnow.config import Config
from winnow.index.builder.disk_scan import Changes
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.passes import ReportProgress
from winnow.index.builder.throttle import Throttle
from winnow.index.folder_indexes import FolderIndexes, recorded_problem
from winnow.processes.waiting import cancel_all, is_running
from winnow.storage.state_folder import is_indexed

# Changes of an index that is opened, up to which it counts as complete.
FEW = 50
# A build starts this long after the indexes were opened.
LATER_SECONDS = 0.5

logger = logging.getLogger(__name__)


class Builds:
    """Opens and builds the indexes of the folders of a workspace.

    ``prepare`` loads what the first search needs; it runs once, in a thread, when there is an index
    or a large one is built. ``read_ahead`` reads what every search needs from indexes that are
    being opened, and ``opened`` is called with the few changes that they have. ``changed`` is
    called by watchers with the paths of changed files.
    """

    def __init__(
        self,
        folders: FolderIndexes,
        throttle: Throttle,
        *,
        config: Callable[[], Config],
        prepare: Callable[[], None],
        read_ahead: Callable[[Sequence[FolderIndex]], Awaitable[None]],
        opened: Callable[[Mapping[FolderIndex, Changes]], None],
        changed: Callable[[Iterable[str | Path]], None],
    ) -> None:
        self.has_consent = False  # the user has requested a build, whatever the settings say
        self.was_requested = False  # also for folders that do not exist yet
        self._folders = folders
        self._throttle = throttle
        self._config = config
        self._prepare = prepare
        self._read_ahead = read_ahead
        self._on_opened = opened
        self._on_changed = changed
        self._preparing: asyncio.Task[None] | None = None
        self._watching = False
        self._closed = False
        self._running: set[asyncio.Task[None]] = set()
        self._opening: asyncio.Task[None] | None = None
        self._opened: set[FolderIndex] = set()
        self._opened_at = -LATER_SECONDS

    @property
    def is_allowed(self) -> bool:
        """True if the settings or the user allow an index."""
        return self._config().index.enabled or self.has_consent

    @property
    def is_running(self) -> bool:
        """True while a build runs."""
        return bool(self._running)

    @property
    def is_opening(self) -> bool:
        """True while an index is being opened."""
        return is_running(self._opening)

    # --- opening ---------------------------------------------------------------------------

    async def open_all(self) -> None:
        """Open the indexes of earlier processes, once per folder, and return when they can answer.
        Does not wait for a folder without an index, or whose index is being built."""
        new = self._unopened()
        if new and not self.is_opening:
            self._opened.update(new)
            self._opening = asyncio.create_task(self._open(new))
            self._opening.add_done_callback(_log_failure)
        if self._opening is not None:
            await asyncio.wait({self._opening})

    @property
    def is_opened(self) -> bool:
        """True if :meth:`open_all` has nothing to wait for."""
        return not (self.is_opening or self._unopened())

    def _unopened(self) -> list[FolderIndex]:
        if self._closed or self._running or not self._config().index.enabled:
            return []
        return [
            folder
            for folder in self._folders.current()
            if not (folder in self._opened or folder.complete)
        ]

    async def _open(self, folders: Sequence[FolderIndex]) -> None:
        user = self._folders.settings().user
        left = [
            folder
            for folder in folders
            if folder.disk.writable and await asyncio.to_thread(is_indexed, folder.root, user)
        ]
        if not left:
            return
        self._prepare_soon()
        # ripgrep lists the files meanwhile.
        _, *found = await asyncio.gather(self._read_ahead(left), *map(self._open_one, left))
        self._opened_at = time.monotonic()
        changes = {
            folder: folder_changes
            for folder, folder_changes in zip(left, found, strict=True)
            if folder_changes
        }
        if changes:
            self._on_opened(changes)

    async def _open_one(self, folder: FolderIndex) -> Changes:
        changes = Changes()
        with recorded_problem(folder), self._throttle.requests():
            changes = await folder.open(self._folders.scope_of(folder), FEW)
        return changes

    # --- building --------------------------------------------------------------------------

    async def build(self, report: ReportProgress | None, consent: bool, texts_first: bool) -> None:
        """Update the index of all folders as :meth:`WorkspaceIndex.build` says."""
        if not self._may_build(consent):
            return
        if self._watching:
            await self._open_before()
            if not self._may_build(consent):
                return
        task = asyncio.create_task(self._build(report, consent, texts_first))
        self._running.add(task)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            self._running.discard(task)
        if not task.cancelled():
            task.result()

    def _may_build(self, consent: bool) -> bool:
        return not self._closed and (self._config().index.enabled or consent)

    async def _open_before(self) -> None:
        """Open existing indexes, and leave the machine to the first request for a moment: a build
        repeats checks that were just made."""
        await self.open_all()
        pause = self._opened_at + LATER_SECONDS - time.monotonic()
        if pause > 0 and all(folder.complete for folder in self._folders.current()):
            await asyncio.sleep(pause)
            await self._throttle.turn()

    async def _build(self, report: ReportProgress | None, consent: bool, texts_first: bool) -> None:
        self.was_requested = True
        self.has_consent |= consent
        for folder in self._folders.known():
            self.build_when_there(folder)
        for folder in self._folders.current():
            folder.work.texts_first = texts_first
            with recorded_problem(folder):
                await self._build_one(folder, report, consent)

    async def _build_one(
        self, folder: FolderIndex, report: ReportProgress | None, consent: bool
    ) -> None:
        if consent:
            folder.consent(self._folders.is_indexable(folder.root))
        elif not self._folders.is_indexable(folder.root):
            folder.lifecycle.problem = "it is the root of a file system, or holds a home folder"
            return
        max_files = None if consent else self._config().index.max_files
        folder.work.request(max_files)  # if this fails, the folder may come back
        if self._watching:
            await folder.files.watch(self._folders.scope_of(folder), self._on_changed)

        def reported(done: int, total: int) -> None:
            self._prepare_soon()
            if report is not None:
                report(done, total)

        await folder.build(self._folders.scope_of(folder), max_files, reported)
        if folder.complete:
            self._prepare_soon()

    def follow(self, folder: FolderIndex) -> None:
        """Build the index of a new folder if a build was requested."""
        if self.was_requested:
            self.build_when_there(folder)

    def build_when_there(self, folder: FolderIndex) -> None:
        """Let a check build the folder, which may not exist at the moment."""
        if folder.disk.writable:
            folder.work.request(self._config().index.max_files)

    def enable_watching(self) -> None:
        """Watch the folders from the next build on: more than one request will come."""
        self._watching = self._config().index.watch

    def _prepare_soon(self) -> None:
        """Load what the first search needs, unless that has started."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(asyncio.to_thread(self._prepare))

    # --- stopping --------------------------------------------------------------------------

    async def cancel(self) -> None:
        """Cancel the running builds."""
        await cancel_all(self._running)

    async def disable(self) -> None:
        """Cancel all work, and forget all requests for it."""
        self.was_requested = self.has_consent = self._watching = False
        await cancel_all([self._opening, *self._running])
        self._opened.clear()

    async def aclose(self) -> None:
        """Cancel all work; none begins any more."""
        self._closed = True
        await cancel_all([self._opening, *self._running])
        if self._preparing is not None:
            await asyncio.gather(self._preparing, return_exceptions=True)


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("The index could not be opened", exc_info=error)
