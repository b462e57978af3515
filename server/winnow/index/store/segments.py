"""Manage the segments of a store: files beside its database, each named by a row.

A segment is written before its row, and deleted some time after it: a process that has read the row
finds the file. A file without a row was left by a process that was killed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.index.postings.contents import Contents
from winnow.storage.database import StoreDamaged
from winnow.storage.untrusted import open_untrusted
from winnow.storage.writing import atomic_write

if TYPE_CHECKING:
    from winnow.index.postings.segment import Segment

SUFFIX = ".seg"
# A process that has read a row opens its file at once; another process may be writing a file whose
# row does not exist yet.
GRACE_SECONDS = 60.0
COPIED_BYTES = 1024 * 1024


class SegmentMissing(StoreDamaged):
    """A segment file is missing. It may have been merged since the read began."""


# The mtime, ctime and inode of a file.
FileStamp = tuple[int, int, int]


class Segments:
    """The open segments of a store, in its ``folder``, with names that start with ``stem``;
    thread-safe."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.folder = folder
        self._stem = stem
        self._lock = threading.Lock()
        self._open: dict[str, Segment] = {}
        self._stamps: dict[str, FileStamp] = {}  # when it was opened or last read
        self._verified: dict[str, FileStamp] = {}

    def get(self, name: str) -> Segment:
        """Return a segment by name. Reads it entirely if the file was changed since it was opened.
        Raises StoreDamaged if it is missing, damaged, or not a segment."""
        from winnow.index.postings.segment import Segment, SegmentDamaged

        with self._lock:
            known = self._open.get(name)
            try:
                now = _stamp_of(os.stat(self._path(name)))
                if known is None:
                    known = Segment(self.file(name))
                elif self._stamps[name] != now:
                    # The old mapping may be longer than the file is now: it is not read.
                    known = Segment(self.file(name))
                    known.verify()
            except FileNotFoundError as error:
                raise SegmentMissing(f"a segment is missing: {error}") from error
            except (OSError, SegmentDamaged) as error:
                raise StoreDamaged(f"a segment cannot be read: {error}") from error
            self._open[name], self._stamps[name] = known, now
            return known

    def verify(self, name: str) -> None:
        """Read an entire segment, unless it was read before and has not changed since. Raises
        StoreDamaged if its contents are wrong."""
        from winnow.index.postings.segment import SegmentDamaged

        known = self.get(name)
        try:
            stamp = self._stamps[name]
            if self._verified.get(name) != stamp:
                known.verify()
                self._verified[name] = stamp
        except SegmentDamaged as error:
            raise StoreDamaged(f"a segment is damaged: {error}") from error

    def stat(self, name: str) -> os.stat_result:
        """Return the stat result of a segment's file. Raises OSError if it does not exist."""
        return os.stat(self._path(name))

    def write(self, texts: Mapping[bytes, Contents]) -> tuple[str, int]:
        """Write a segment of texts by their keys; return its name and its size in bytes."""
        from winnow.index.postings.segment import write_segment

        name = self._new_name()
        return name, write_segment(self.file(name), texts)

    def merge(self, parts: Sequence[tuple[Segment, Sequence[int]]]) -> tuple[str, int]:
        """Write a segment of these documents of others; return its name and size."""
        import numpy as np

        from winnow.index.postings.merging import merge_segments
        from winnow.index.postings.segment import SegmentDamaged

        name, chosen = self._new_name(), []
        for segment, documents in parts:
            keep = np.zeros(segment.documents, np.bool_)
            keep[documents] = True
            chosen.append((segment, keep))
        try:
            return name, merge_segments(self.file(name), chosen)
        except SegmentDamaged as error:
            raise StoreDamaged(f"a segment is damaged: {error}") from error

    def copy(self, other: Segments, name: str) -> None:
        """Copy a segment of another store, with its name. Raises StoreDamaged and OSError."""
        other.verify(name)
        with (
            os.fdopen(open_untrusted(other.file(name)), "rb") as source,
            atomic_write(self.file(name), durable=True) as stream,
        ):
            shutil.copyfileobj(source, stream, COPIED_BYTES)

    def drop(self, name: str) -> None:
        """Delete a segment whose row no process can have read."""
        with self._lock:
            self._forget(name)
        with contextlib.suppress(OSError):
            self.file(name).unlink()

    def remove_unused(self, names: Iterable[str]) -> None:
        """Close the segments that no row names; delete their files after a delay."""
        used = set(names)
        with self._lock:
            for name in [name for name in self._open if name not in used]:
                self._forget(name)
        limit = time.time() - GRACE_SECONDS
        for file in self.folder.glob(f"{self._stem}-*{SUFFIX}*"):
            name = file.name[len(self._stem) + 1 :].partition(".")[0]
            with contextlib.suppress(OSError):
                if name not in used and file.lstat().st_mtime < limit:
                    file.unlink()

    def touch(self, name: str) -> None:
        """Start the delay after which a segment without a row is deleted."""
        with contextlib.suppress(OSError):
            self.file(name).touch()

    def close(self) -> None:
        with self._lock:
            self._open.clear()

    def _forget(self, name: str) -> None:
        for known in (self._open, self._stamps, self._verified):
            known.pop(name, None)

    def file(self, name: str) -> Path:
        return Path(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{self._stem}-{name}{SUFFIX}")

    def _new_name(self) -> str:
        return secrets.token_hex(6)


def _stamp_of(status: os.stat_result) -> FileStamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_ino
