"""The messages between the library and its workers, in a module that both sides can import."""

from __future__ import annotations

import os
import time

import msgspec
from msgspec import Struct

from winnow.documents.library.locations import UnreadPart

# Linux stamps files by a clock of 4 to 10 ms, so a write after a read may have the same time.
CLOCK_NS = 50_000_000
NEVER = -1
# The largest number that a database stores. As a time it is in the year 2262, and file systems
# support later times.
LAST = 2**63 - 1


class FileStamp(Struct, frozen=True, array_like=True, gc=False):
    """The state of a file, to detect changes. If the file changed just before it was read,
    ``ctime_ns`` is NEVER, which matches no file, so that the file is read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class ExtractionJob(Struct, frozen=True, array_like=True):
    """A document to read: ``path`` in bytes, which must be inside ``root``. The text goes to the
    cache in ``folder``, unless it is already there."""

    root: bytes
    path: bytes
    folder: bytes
    max_bytes: int
    ocr: bool = False


class ExtractionResult(Struct, frozen=True, array_like=True):
    """The result of reading a document.

    ``stamp`` is None if the document no longer exists. ``key`` identifies its text in the cache; a
    document without a key has a ``problem``. ``failed`` lists its unreadable parts; ``bytes`` is
    the size of the text if it was written now. ``later`` is True if the document needs more time or
    memory than this worker has.
    """

    stamp: FileStamp | None
    key: str = ""
    problem: str = ""
    failed: tuple[UnreadPart, ...] = ()
    bytes: int = 0
    later: bool = False


def stamp_of(state: os.stat_result) -> FileStamp:
    """Return the stamp of a file in this state."""
    return FileStamp(
        state.st_size,
        min(state.st_mtime_ns, LAST),
        min(state.st_ctime_ns, LAST),
        state.st_ino & LAST,
    )


def is_same(read: FileStamp | None, now: FileStamp) -> bool:
    """Return True if a file is unchanged, within the resolution of the file system's clock."""
    if read is None or read.ctime_ns != NEVER:
        return read == now
    return (read.size, read.mtime_ns, read.inode) == (now.size, now.mtime_ns, now.inode)


def stamp_when_read(state: os.stat_result) -> FileStamp:
    """Return the stamp of a file that is being read and may change right afterwards."""
    stamp = stamp_of(state)
    if abs(time.time_ns() - state.st_ctime_ns) >= CLOCK_NS:
        return stamp
    return msgspec.structs.replace(stamp, ctime_ns=NEVER)


def postponed(job: ExtractionJob, problem: str) -> ExtractionResult:
    """Return the result for a document that needs more time or memory."""
    return ExtractionResult(None, problem=problem, later=True)


def unreadable(job: ExtractionJob, problem: str) -> ExtractionResult:
    """Return the result for a document that crashed a worker or exceeded the time limit."""
    try:
        return ExtractionResult(stamp_when_read(os.stat(job.path)), problem=problem)
    except OSError:
        return ExtractionResult(None)
