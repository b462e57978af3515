"""Complete indexes in the background of a server: the occurrences of all files, and commits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.throttle import Throttle
from winnow.index.builds import Builds
from winnow.index.commits.updates import CommitUpdates
from winnow.index.folder_indexes import FolderIndexes, recorded_problem
from winnow.processes.waiting import cancel_all, is_running


class Filling:
    """Completes the occurrences of files that no request has needed, and reads ``commits``, once
    more requests will come.

    The ``throttle`` lets some of it start only a moment after the last request, and while the
    machine has room.
    """

    def __init__(
        self, folders: FolderIndexes, builds: Builds, throttle: Throttle, commits: CommitUpdates
    ) -> None:
        self._folders = folders
        self._turn = throttle.quiet_turn
        self._builds = builds
        self._commits = commits
        self._is_enabled = False
        self._closed = False
        self._filling: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None

    def enable(self) -> None:
        """Allow the work from the next build on."""
        self._is_enabled = True

    def begin(self) -> None:
        """Start the work, unless it is running."""
        if not (self._is_enabled and self._builds.is_allowed) or self._closed:
            return
        if not is_running(self._filling):
            self._filling = asyncio.create_task(
                self._complete(lambda folder: folder.writer.add_all_occurrences(self._turn))
            )
        if not is_running(self._reading):
            self._reading = asyncio.create_task(self._complete(self._commits.update))

    async def cancel(self) -> None:
        """Cancel the work."""
        await cancel_all([self._filling, self._reading])

    async def aclose(self) -> None:
        """Cancel the work; none begins any more."""
        self._closed = True
        await self.cancel()

    async def _complete(self, work: Callable[[FolderIndex], Awaitable[None]]) -> None:
        for folder in self._folders.current():
            if folder.complete:
                with recorded_problem(folder):
                    await work(folder)
