"""The kernel's inotify, by ctypes: inotify(7).

Known libraries were tried first. watchfiles (by the crate notify 8) says nothing when the queue
overflows, misses files that are written into a new folder before it is watched, ends for good at a
name that is not UTF-8, and asks to be told of every file that is opened, so that a search of a
large tree overflows the queue. inotify_simple and asyncinotify start `ldconfig` or `gcc` to find
the C library, which every Python has loaded already.
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
    """Something that happened to ``name`` in the folder of ``watch``, or to the folder itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One queue of events; raises OSError where the system has no more queues to give."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = -1
        self._descriptor = self._checked(
            self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify"
        )

    def fileno(self) -> int:
        return self._descriptor

    def add(self, path: str, mask: int) -> int:
        """Watch a folder; the number of its watch, which is the same for the same folder as long as
        it is watched. Raises OSError."""
        number = self._libc.inotify_add_watch(self._descriptor, os.fsencode(path), mask)
        return self._checked(number, path)

    def remove(self, watch: int) -> None:
        """Watch a folder no longer; the kernel may have let go of it already."""
        with contextlib.suppress(OSError):
            self._checked(self._libc.inotify_rm_watch(self._descriptor, watch), "")

    def waiting(self) -> int:
        """How many bytes of events there are to be read."""
        told = fcntl.ioctl(self._descriptor, termios.FIONREAD, b"\0" * _COUNT.size)
        count: int = _COUNT.unpack(told)[0]
        return count

    def read(self) -> list[InotifyEvent]:
        """All events of what has happened before this call.

        The kernel puts an event into the queue before the call that made the change returns, and
        the queue is one for all folders: what is in it now is all there is to know. So nothing need
        be written to see whether one is up to date, as Watchman does with its cookies.
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
