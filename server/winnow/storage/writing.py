"""Write Winnow's own files in one step, and never through a symlink.

A new file gets a random unused name (`O_EXCL`), and its final name only when it is complete: a
reader sees the old file or the new one, a symlink at the final name is replaced and not followed,
and a killed process leaves the old file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from winnow.storage.untrusted import open_untrusted

COPIED_BYTES = 64 * 1024
# Readers have small files open for less than this.
REPLACE_SECONDS = 1.0
MOMENT_SECONDS = 0.01


@contextlib.contextmanager
def atomic_write(
    file: Path,
    mode: int = 0o600,
    *,
    prefix: str = "new-",
    suffix: str = "",
    durable: bool = False,
) -> Iterator[IO[bytes]]:
    """Yield a stream whose bytes become the file's contents when the block ends without an error.

    Nothing is left otherwise; a process that is killed may leave a file whose name begins with
    ``prefix`` and ends in ``suffix``. What is ``durable`` is on the disk before it gets its name.
    Raises OSError.
    """
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=prefix, suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        if mode != 0o600:
            os.chmod(name, mode)
        move_file(name, file)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    if durable:
        _sync_folder(file.parent)


def replace_file(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Write a file, replacing an existing one. Raises OSError."""
    with atomic_write(file, mode) as stream:
        stream.write(data)


def create_file(file: Path, data: bytes, mode: int = 0o600) -> None:
    """Create a file that does not exist. Raises FileExistsError if it does, even as a dangling
    symlink, and OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
    with os.fdopen(os.open(file, flags | getattr(os, "O_BINARY", 0), mode), "wb") as stream:
        stream.write(data)


def replace_with_link(link: Path, target: str) -> None:
    """Create a symlink, or a copy if that is impossible, replacing an existing file. Raises
    OSError."""
    folder = tempfile.mkdtemp(dir=link.parent, prefix="new-")
    try:
        new = os.path.join(folder, link.name)
        try:
            os.symlink(target, new)
        except OSError:  # Windows requires a privilege
            shutil.copyfile(target, new)
        move_file(new, link)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def open_for_append(file: Path) -> Iterator[IO[bytes]]:
    """Yield a stream that reads a file and writes at its end, without a buffer; the file is created
    if there is none. Raises OSError, also for a symlink and for anything but a regular file."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
    for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, name, 0)
    with os.fdopen(os.open(file, flags, 0o600), "r+b", buffering=0) as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(f"{file}: it is not a regular file")
        yield stream


def move_file(old: Path | str, new: Path) -> None:
    """Rename a file, replacing an existing one. Raises OSError."""
    # On Windows, a file that a process has open for a moment can't be replaced.
    end = time.monotonic() + (REPLACE_SECONDS if sys.platform == "win32" else 0)
    while True:
        try:
            return os.replace(old, new)
        except PermissionError:
            if time.monotonic() >= end:
                raise
        time.sleep(MOMENT_SECONDS)


def link_or_copy(source: Path, file: Path) -> None:
    """Create a file with the contents of another file that does not change anymore. Raises
    OSError."""
    try:
        os.link(source, file)
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError:  # a file system without links
        with os.fdopen(open_untrusted(source), "rb") as stream:
            create_file(file, stream.read())


def private_folder(folder: Path) -> None:
    """Create a folder that only the user can read, and its missing parents. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def temporary_folder(prefix: str, folder: Path | None = None) -> tempfile.TemporaryDirectory[str]:
    """Return a new folder that only the user can read, and that goes with the block. Raises
    OSError."""
    return tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True)


def temporary_file(folder: Path | None = None) -> IO[bytes]:
    """Return a file without a name, on the disk of a folder. Raises OSError."""
    return tempfile.TemporaryFile(dir=folder)


def spool(size: int, folder: Path) -> IO[bytes]:
    """Return a file without a name, in memory up to a size. Raises OSError."""
    return tempfile.SpooledTemporaryFile(size, "w+b", dir=str(folder))


def temporary_copy(source: IO[bytes]) -> str:
    """Return the path of a new file that only the user can read; the caller deletes it. Raises
    OSError."""
    with tempfile.NamedTemporaryFile(prefix="winnow-", delete=False) as copy:
        try:
            shutil.copyfileobj(source, copy, COPIED_BYTES)
        except BaseException:
            os.unlink(copy.name)
            raise
    return copy.name


def _sync_folder(folder: Path) -> None:
    """Make a new name in a folder durable, if the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
