"""One builder at a time, of all processes that share a folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

WAIT_SECONDS = 0.2


@contextlib.asynccontextmanager
async def locked(file: Path) -> AsyncIterator[None]:
    """Hold the lock of a file for the time of the block; waits for whoever has it. It ends with
    the process. Raises OSError where no file can be made."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(file, flags, 0o644)
    try:
        while not _is_ours(descriptor):  # noqa: ASYNC110 (another process has it)
            await asyncio.sleep(WAIT_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _is_ours(descriptor: int) -> bool:
    """Take the lock, if nobody has it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
