"""Locks between all processes that share a folder: only one builds its index at a time."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

WAIT_SECONDS = 0.2
MOMENT_SECONDS = 0.01


@contextlib.asynccontextmanager
async def locked(file: Path) -> AsyncIterator[None]:
    """Hold the lock of a file within the block; wait if another process has it. The lock ends with
    the process. Raises OSError if the file cannot be created."""
    with _opened(file) as descriptor:
        while not _is_ours(descriptor):  # noqa: ASYNC110 (another process has it)
            await asyncio.sleep(WAIT_SECONDS)
        yield


@contextlib.contextmanager
def locked_briefly(file: Path, seconds: float) -> Iterator[None]:
    """Hold a lock as :func:`locked` does, for a short time. Raises TimeoutError, which is an
    OSError, if another process holds it for ``seconds``."""
    end = time.monotonic() + seconds
    with _opened(file) as descriptor:
        while not _is_ours(descriptor):
            if time.monotonic() > end:
                raise TimeoutError(f"another process has locked {file}")
            time.sleep(MOMENT_SECONDS)
        yield


@contextlib.contextmanager
def owned(file: Path, seconds: float) -> Iterator[None]:
    """Hold the lock of a file that exists only while it is held. Raises TimeoutError, which is an
    OSError, if another process holds it for ``seconds``."""
    end = time.monotonic() + seconds
    while True:
        with contextlib.ExitStack() as stack:
            if not deletes_open_files():
                stack.callback(_delete, file)  # fails while another process has it open
            descriptor = stack.enter_context(_opened(file))
            while not _is_ours(descriptor):
                if time.monotonic() > end:
                    raise TimeoutError(f"another process has locked {file}")
                time.sleep(MOMENT_SECONDS)
            if not _is_at(descriptor, file):
                continue  # the last owner has deleted it between the opening and the lock
            if deletes_open_files():
                stack.callback(_delete, file)
            yield
            return


def deletes_open_files() -> bool:
    """Return True if this system can delete a file that a process has open."""
    return sys.platform != "win32"


def _delete(file: Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file)


def _is_at(descriptor: int, file: Path) -> bool:
    """Return True if a path leads to an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[int]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(file, flags, 0o644)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _is_ours(descriptor: int) -> bool:
    """Try to lock the file. Return True on success."""
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        # With other errors, some file systems report that they have no locks.
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK, errno.EINTR)
    return True
