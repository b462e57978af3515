"""Read the commits of a folder's repository into its store, in the background of a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence, Set
from pathlib import Path

from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.folder_settings import FolderSettings
from winnow.index.builder.throttle import Throttle
from winnow.index.commits.git_log import LoggedCommit, ReadCommits
from winnow.index.commits.history import Commit, CommitTable
from winnow.index.commits.messages import commit_of
from winnow.index.commits.stored import stored_commits
from winnow.index.store.reader import Reader

# A folder's commits are read at most this often.
INTERVAL_SECONDS = 60.0
# Commits between two pauses, some hundredths of a second of work.
BATCH = 200


class CommitUpdates:
    """Keeps the commits in the stores of folders current; ``read`` reads new ones from git."""

    def __init__(
        self,
        read: Callable[[Path, Set[bytes]], Awaitable[ReadCommits | None]],
        throttle: Throttle,
        settings: Callable[[], FolderSettings],
    ) -> None:
        self._read_commits = read
        self._throttle = throttle
        self._settings = settings
        # The last reading of each folder: the store, and the time.
        self._read: dict[FolderIndex, tuple[object, float]] = {}

    async def update(self, folder: FolderIndex) -> None:
        """Read the new commits of a folder, once enough time has passed since the last reading. The
        commits of a branch that was left, or of a history that was rewritten, are dropped."""
        if folder in self._read:
            store, read_at = self._read[folder]
            if store is folder.disk.opened:
                await asyncio.sleep(read_at + INTERVAL_SECONDS - time.monotonic())
        if not self._settings().commit_history:
            if await folder.disk.query(Reader.commit_count):
                await self._write(folder, [])
            return
        await self._throttle.quiet_turn()
        known = {commit.id: commit for commit in await folder.disk.query(stored_commits)}
        self._read[folder] = folder.disk.opened, time.monotonic()
        found = await self._read_commits(folder.root, known.keys())
        if found is None:
            return
        settings = self._settings()
        new = {}
        for place in range(0, len(found.new), BATCH):
            await self._throttle.quiet_turn()
            some = found.new[place : place + BATCH]
            for commit in await asyncio.to_thread(_stored, some, settings):
                new[commit.id] = commit
        if found.ids != list(known):
            # Nothing more is known of a commit for which there was no time or room.
            await self._write(
                folder, [new.get(each) or known.get(each) or Commit(each) for each in found.ids]
            )

    async def _write(self, folder: FolderIndex, commits: Sequence[Commit]) -> None:
        data = await asyncio.to_thread(lambda: CommitTable.of(commits).encode())
        await folder.disk.run(lambda store: store.write_history(len(commits), data))


def _stored(logged: Iterable[LoggedCommit], settings: FolderSettings) -> list[Commit]:
    return [commit_of(each, masked=settings.masked, rules=settings.rules) for each in logged]
