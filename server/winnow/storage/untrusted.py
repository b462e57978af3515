"""Open files of unknown origin: settings and ignore files of a repository.

A repository may contain a symlink to a private file, a FIFO that blocks its reader, or a sparse
file of many gigabytes. Only a regular file below a size limit is read, and the check applies to the
opened file itself: a moment later, the name may refer to another one.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

# More than any handwritten settings or ignore file has.
SETTINGS_BYTES = 1024 * 1024
_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


class UnusableFile(OSError):
    """A file that must not be read; ``reason`` tells the user why: a symlink, not a regular file,
    or too large."""

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(f"{os.fsdecode(path)}: {reason}")
        self.path = Path(path)
        self.reason = reason


def open_untrusted(path: str | os.PathLike[str], max_bytes: int | None = None) -> int:
    """Return a descriptor of a regular file, opened for reading; the caller closes it.

    The last component of the path must not be a symlink. Raises UnusableFile for a symlink, for
    anything but a regular file and for more than ``max_bytes``; FileNotFoundError and other errors
    as `os.open` does.
    """
    # Opening a FIFO or a device can have effects, so check first.
    _check(path, os.lstat(path), max_bytes)
    return _checked(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0), max_bytes)


def open_listed(path: str | os.PathLike[str]) -> int:
    """Return a descriptor of a file that ripgrep has listed, opened for reading; the caller closes
    it.

    A symlink is followed, as ripgrep does on request: its contents must not become an answer.
    Raises UnusableFile for anything but a regular file, and OSError.
    """
    return _checked(path, _FLAGS, None)


def open_folder(path: str | os.PathLike[str]) -> int:
    """Return a descriptor of a folder, on POSIX; the caller closes it. Raises OSError."""
    # Anything else is not opened.
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)


def _checked(path: str | os.PathLike[str], flags: int, max_bytes: int | None) -> int:
    descriptor = os.open(path, flags)
    try:
        _check(path, os.fstat(descriptor), max_bytes)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_untrusted(path: str | os.PathLike[str], max_bytes: int = SETTINGS_BYTES) -> bytes:
    """Return the contents of a regular file of at most ``max_bytes``.

    Raises UnusableFile and OSError as :func:`open_untrusted` does.
    """
    with os.fdopen(open_untrusted(path, max_bytes), "rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:  # it has grown since
        raise UnusableFile(path, _too_large(max_bytes))
    return data


def read_users_own(path: str | os.PathLike[str], max_bytes: int = SETTINGS_BYTES) -> bytes:
    """Return the contents of a file of the user's, such as settings in the home folder, which may
    be a symlink of the user's own.

    Raises UnusableFile and OSError as :func:`open_untrusted` does.
    """
    return read_untrusted(os.path.realpath(path), max_bytes)


def problem_of(
    path: str | os.PathLike[str],
    max_bytes: int = SETTINGS_BYTES,
    *,
    follow_symlinks: bool = False,
) -> str | None:
    """Return why a file would not be read; None if it would be, or if it does not exist.

    ``follow_symlinks`` checks what a symlink leads to, for programs that follow it.
    """
    try:
        _check(path, os.stat(path, follow_symlinks=follow_symlinks), max_bytes)
    except UnusableFile as error:
        return error.reason
    except OSError:
        return None
    return None


def require_regular(*paths: str | os.PathLike[str]) -> None:
    """Raise UnusableFile for a path that exists and is a symlink, a folder or a device."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            _check(path, os.lstat(path), None)


def _check(path: str | os.PathLike[str], status: os.stat_result, max_bytes: int | None) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise UnusableFile(path, "it is a symlink")
    if not stat.S_ISREG(status.st_mode):
        raise UnusableFile(path, "it is not a regular file")
    if max_bytes is not None and status.st_size > max_bytes:
        raise UnusableFile(path, _too_large(max_bytes))


def _too_large(max_bytes: int) -> str:
    return f"it is larger than {max_bytes:,} bytes"
