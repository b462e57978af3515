"""Call the kernel's inotify(7) through ctypes.

Existing libraries were tried first. watchfiles (with the crate notify 8) does not report queue
overflows, misses files written into a new folder before it is watched, stops for good at a name
that is not UTF-8, and subscribes to every opening of a file, so that a search of a large tree
overflows the queue. inotify_simple and asyncinotify start `ldconfig` or `gcc` to find the C
library, which every Python has already loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import struct
import termios
from typing import NamedTuple

MODIFY = 0x2
ATTRIB = 0x4
CLOSE_WRITE = 0x8
MOVED_FROM = 0x40
MOVED_TO = 0x80
CREATE = 0x100
DELETE = 0x200
DELETE_SELF = 0x400
MOVE_SELF = 0x800
UNMOUNT = 0x2000
Q_OVERFLOW = 0x4000
IGNORED = 0x8000
ONLYDIR = 0x1000000
DONT_FOLLOW = 0x2000000
EXCL_UNLINK = 0x4000000
ISDIR = 0x40000000

_HEADER = struct.Struct("iIII")
_COUNT = struct.Struct("i")


class InotifyEvent(NamedTuple):
    """An event of ``name`` in the folder of ``watch``, or of the folder itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """A queue of events. Raises OSError if the system has no more queues."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._descriptor = self._checked(
            self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify"
        )

    def fileno(self) -> int:
        return self._descriptor

    def add(self, path: str, mask: int) -> int:
        """Watch a folder; return the number of its watch, which stays the same while it is watched.
        Raises OSError."""
        number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask)
        return self._checked(number, path)

    def remove(self, watch: int) -> None:
        """Stop watching a folder; the kernel may have stopped already."""
        with contextlib.suppress(OSError):
            self._checked(self._libc.inotify_rm_watch(self._descriptor, watch), "")

    def waiting(self) -> int:
        """Return how many bytes of events are waiting."""
        raw = fcntl.ioctl(self._descriptor, termios.FIONREAD, b"\0" * _COUNT.size)
        count: int = _COUNT.unpack(raw)[0]
        return count

    def read(self) -> list[InotifyEvent]:
        """Return all events before this call.

        The kernel queues an event before the call that made the change returns, and all folders
        share one queue: it contains all there is to know. So no file needs to be written to detect
        that, unlike Watchman with its cookies.
        """
        size = self.waiting()
        data = os.read(self._descriptor, size) if size else b""
        events = []
        position = 0
        while position < len(data):
            watch, mask, _, length = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            name = data[position : position + length].rstrip(b"\0")
            position += length
            events.append(InotifyEvent(watch, mask, os.fsdecode(name)))
        return events

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @staticmethod
    def _checked(result: int, path: str) -> int:
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), path)
        return result
