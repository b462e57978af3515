"""What a worker is asked, and what it answers; apart, so that neither side loads the other."""

from __future__ import annotations

import os
import time

import msgspec
from msgspec import Struct

from winnow.documents.library.locations import UnreadPart

# Linux stamps files by a clock of 4 to 10 ms; a write after the reading may have the same time.
CLOCK_NS = 50_000_000
NEVER = -1
# No larger number has a place in a database: as a time it is in the year 2262, and file systems
# know later ones.
LAST = 2**63 - 1


class FileStamp(Struct, frozen=True, array_like=True, gc=False):
    """Tells whether a file is still the one that was read. Of one that had only just changed then,
    ``ctime_ns`` is NEVER, which no file has: it is read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class ExtractionJob(Struct, frozen=True, array_like=True):
    """A document to read: ``path``, as bytes, which must be inside of ``root``. Its text goes to a
    cache in ``folder``, unless it is there."""

    root: bytes
    path: bytes
    folder: bytes
    max_bytes: int
    ocr: bool = False


class ExtractionResult(Struct, frozen=True, array_like=True):
    """What became of a document. Without a ``stamp``, there is none any more. ``key`` is that of
    its text in the cache; a document without one has a ``problem``. ``unreadable`` are the parts of it
    that could not be read; ``bytes`` were written now. Of one that is to be read ``postponed`` it is
    not known yet: it takes long, or much memory."""

    stamp: FileStamp | None
    key: str = ""
    problem: str = ""
    failed: tuple[UnreadPart, ...] = ()
    bytes: int = 0
    later: bool = False


def stamp_of(state: os.stat_result) -> FileStamp:
    """The stamp of a file as it is."""
    return FileStamp(
        state.st_size,
        min(state.st_mtime_ns, LAST),
        min(state.st_ctime_ns, LAST),
        state.st_ino & LAST,
    )


def is_same(read: FileStamp | None, now: FileStamp) -> bool:
    """Whether a file is the one that was read, as far as the clock of its file system tells."""
    if read is None or read.ctime_ns != NEVER:
        return read == now
    return (read.size, read.mtime_ns, read.inode) == (now.size, now.mtime_ns, now.inode)


def stamp_when_read(state: os.stat_result) -> FileStamp:
    """The stamp of a file that is read now, which may change right after."""
    stamp = stamp_of(state)
    if abs(time.time_ns() - state.st_ctime_ns) >= CLOCK_NS:
        return stamp
    return msgspec.structs.replace(stamp, ctime_ns=NEVER)


def postponed(job: ExtractionJob, problem: str) -> ExtractionResult:
    """A document that may be given more time and memory."""
    return ExtractionResult(None, problem=problem, later=True)


def unreadable(job: ExtractionJob, problem: str) -> ExtractionResult:
    """A document that cannot be read: a worker died over it, or hung for long."""
    try:
        return ExtractionResult(stamp_when_read(os.stat(job.path)), problem=problem)
    except OSError:
        return ExtractionResult(None)
