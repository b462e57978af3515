"""Retry a store that could not be written, with back-off: a full disk may have room again, or
another process may have released the store."""

from __future__ import annotations

import asyncio
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.writing import temporary_file

if TYPE_CHECKING:
    from winnow.index.store.store import Store

# The retry interval grows, because everything indexed in between has to be indexed again.
FIRST_SECONDS = 60.0
LONGEST_SECONDS = 3600.0
# The free space that is needed: this many times the size of the temporary store, and these bytes.
# The last number of bytes is written as a test.
ROOM_TIMES = 2
ROOM_BYTES = 32 * 1024 * 1024
TRIED_BYTES = 1024 * 1024


class WriteRetry:
    """The retry timer of a folder that could not be written."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seconds = FIRST_SECONDS
        self._until = 0.0
        self.lasts = False  # since a write has failed

    def begin(self) -> None:
        """Record a failed write."""
        self.lasts = True
        self._until = time.monotonic() + self._seconds
        self._seconds = min(2 * self._seconds, LONGEST_SECONDS)

    async def is_over(self, instead: Store | None, user: state_folder.User | None) -> bool:
        """Return True if the folder has just become writable; ``instead`` is the store used until
        then, ``user`` the owner of the state."""
        if not self.lasts or time.monotonic() < self._until:
            return False
        self._until = time.monotonic() + self._seconds
        self.lasts = not await asyncio.to_thread(_has_room, self._root, user, instead)
        return not self.lasts


def _has_room(root: Path, user: state_folder.User | None, instead: Store | None) -> bool:
    try:
        folder = state_folder.create(root, user)
        needed = ROOM_BYTES + (ROOM_TIMES * instead.size() if instead is not None else 0)
        if shutil.disk_usage(folder).free < needed:
            return False
        with temporary_file(folder) as file:
            file.write(bytes(TRIED_BYTES))
    except (OSError, DatabaseError, StoreDamaged):
        return False
    return True
