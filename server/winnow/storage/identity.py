"""Identify a file or folder by its inode and creation time, which no copy shares.

Moving it within a file system changes neither, and no program chooses them, so a clone, an unpacked
archive or a copy has a different identity. The device is left out: its number may change on a
restart.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

# From statx(2): https://man7.org/linux/man-pages/man2/statx.2.html
_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BTIME_AT = 80

NANOSECONDS = 10**9

Statx = Callable[[int, bytes, int, int, object], int]


def identities(path: Path) -> list[bytes]:
    """Return what tells a file or folder from others, the best first; symlinks are not followed.

    The last one binds it to its path and is used if there is no creation time. Raises OSError.
    """
    inode = os.lstat(path).st_ino
    born = creation_time(path)
    place = os.path.join(os.path.realpath(path.parent), path.name)
    found = [b"path %d " % inode + os.fsencode(place)]
    return found if born is None else [b"born %d %d" % (inode, born), *found]


def creation_time(path: Path) -> int | None:
    """Return when a file or folder was created, in nanoseconds; None if unknown.

    Raises OSError.
    """
    if sys.platform == "linux":
        return _linux_creation_time(path)
    elif sys.platform == "win32":
        status = os.lstat(path)
        # Before Python 3.12, the creation time is in `st_ctime_ns`.
        return int(getattr(status, "st_birthtime_ns", status.st_ctime_ns))
    else:
        born = getattr(os.lstat(path), "st_birthtime", None)
        return None if born is None else round(born * NANOSECONDS)


def _linux_creation_time(path: Path) -> int | None:
    statx = _statx()
    if statx is None:
        return None
    import ctypes

    found = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found):
        return None  # the kernel has no statx, or a sandbox forbids it
    if not int.from_bytes(found.raw[:4], sys.byteorder) & _STATX_BTIME:
        return None
    seconds = int.from_bytes(found.raw[_BTIME_AT : _BTIME_AT + 8], sys.byteorder, signed=True)
    part = int.from_bytes(found.raw[_BTIME_AT + 8 : _BTIME_AT + 12], sys.byteorder)
    return seconds * NANOSECONDS + part


@functools.cache
def _statx() -> Statx | None:
    """Return the C library's statx; None where it has none (musl before 1.2.5)."""
    try:
        import ctypes

        statx = ctypes.CDLL(None, use_errno=True).statx
    except (ImportError, OSError, AttributeError):
        return None
    statx.argtypes = (
        *(ctypes.c_int, ctypes.c_char_p, ctypes.c_int),
        *(ctypes.c_uint, ctypes.c_void_p),
    )
    statx.restype = ctypes.c_int
    found: Statx = statx
    return found
