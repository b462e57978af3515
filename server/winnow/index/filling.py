"""Complete the index in the background of a server: read commits, and the occurrences of all
files."""

from __future__ import annotations

import asyncio

from winnow.index.builds import Builds
from winnow.index.commits.updates import CommitUpdates
from winnow.index.folder_indexes import FolderIndexes, recorded_problem
from winnow.processes.waiting import cancel_all, is_running


class Filling:
    """Reads the commits of folders, and the occurrences of files that no request has needed, once
    more requests will come.

    The throttle lets a batch start only while no request is running and the machine has room.
    """

    def __init__(self, folders: FolderIndexes, builds: Builds, commits: CommitUpdates) -> None:
        self._folders = folders
        self._builds = builds
        self._commits = commits
        self._is_enabled = False
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    def enable(self) -> None:
        """Allow the work from the next build on."""
        self._is_enabled = True

    def begin(self) -> None:
        """Start the work, unless it is running."""
        allowed = self._is_enabled and self._builds.is_allowed and not self._closed
        if allowed and not is_running(self._task):
            self._task = asyncio.create_task(self._fill())

    async def cancel(self) -> None:
        """Cancel the work."""
        await cancel_all([self._task])

    async def aclose(self) -> None:
        """Cancel the work; none begins any more."""
        self._closed = True
        await self.cancel()

    async def _fill(self) -> None:
        for folder in self._folders.current():
            if folder.complete:
                with recorded_problem(folder):
                    await self._commits.update(folder)
                    await folder.writer.add_all_occurrences()
