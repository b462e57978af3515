"""The segments of a store: files beside its database, each named in a row of it.

A segment is written before the row that names it, and deleted some time after its row: whoever has
read a row finds the file. What no row names is what a process that was killed has left.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from winnow.index.postings.contents import Contents
from winnow.storage.database import StoreDamaged

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from winnow.index.postings.segment import Segment

SUFFIX = ".seg"
# A process that has read a row opens its file at once, and another one may be writing a file whose
# row is to come.
GRACE_SECONDS = 60.0


class SegmentMissing(StoreDamaged):
    """A file of the store is not there. It may have been replaced since the reading began."""


# When a file was changed last, and which one it is.
FileStamp = tuple[int, int, int]


class Segments:
    """The open segments of a store, in its ``folder``, which share their ``stem``; safe to use from
    several threads."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.folder = folder
        self._stem = stem
        self._lock = threading.Lock()
        self._open: dict[str, Segment] = {}
        self._touched: dict[str, FileStamp] = {}  # when it was opened, or read since
        self._verified: dict[str, FileStamp] = {}

    def get(self, name: str) -> Segment:
        """A segment by its name; read as a whole if somebody has touched it since it was opened.
        Raises StoreDamaged if it is none, is not there, or is not what it was."""
        from winnow.index.postings.segment import Segment, SegmentDamaged

        with self._lock:
            known = self._open.get(name)
            try:
                now = _touched(os.stat(self._path(name)))
                if known is None:
                    known = Segment(self._file(name))
                elif self._touched[name] != now:
                    # What is mapped may end behind the end of its file by now: it is not read.
                    known = Segment(self._file(name))
                    known.verify()
            except FileNotFoundError as error:
                raise SegmentMissing(f"a segment is missing: {error}") from error
            except (OSError, SegmentDamaged) as error:
                raise StoreDamaged(f"a segment cannot be read: {error}") from error
            self._open[name], self._touched[name] = known, now
            return known

    def verify(self, name: str) -> None:
        """Read all of a segment, unless it was read before and has not been touched since. Raises
        StoreDamaged if it is not what was written."""
        from winnow.index.postings.segment import SegmentDamaged

        known = self.get(name)
        try:
            stamp = self._touched[name]
            if self._verified.get(name) != stamp:
                known.verify()
                self._verified[name] = stamp
        except SegmentDamaged as error:
            raise StoreDamaged(f"a segment is damaged: {error}") from error

    def stat(self, name: str) -> os.stat_result:
        """What the system says of a segment's file. Raises OSError if it is not there."""
        return os.stat(self._path(name))

    def write(self, texts: Mapping[bytes, Contents]) -> tuple[str, int]:
        """Make a segment of texts by their keys; its name and its size in bytes."""
        from winnow.index.postings.segment import write_segment

        name = self._new_name()
        return name, write_segment(self._file(name), texts)

    def merge(self, parts: Sequence[tuple[Segment, npt.NDArray[np.bool_]]]) -> tuple[str, int]:
        """Make a segment of those documents of others that are to be kept; name and size."""
        from winnow.index.postings.merging import merge_segments
        from winnow.index.postings.segment import SegmentDamaged

        name = self._new_name()
        try:
            return name, merge_segments(self._file(name), parts)
        except SegmentDamaged as error:
            raise StoreDamaged(f"a segment is damaged: {error}") from error

    def drop(self, name: str) -> None:
        """Delete a segment that nobody can have read of."""
        with self._lock:
            self._forget(name)
        with contextlib.suppress(OSError):
            self._file(name).unlink()

    def keep_only(self, names: Iterable[str]) -> None:
        """Let go of segments that no row names any more; their files go after a while."""
        wanted = set(names)
        with self._lock:
            for name in [name for name in self._open if name not in wanted]:
                self._forget(name)
        limit = time.time() - GRACE_SECONDS
        for file in self.folder.glob(f"{self._stem}-*{SUFFIX}*"):
            name = file.name[len(self._stem) + 1 :].partition(".")[0]
            with contextlib.suppress(OSError):
                if name not in wanted and file.lstat().st_mtime < limit:
                    file.unlink()

    def touch(self, name: str) -> None:
        """Say that the row of a segment is gone: its file is kept a while from now on."""
        with contextlib.suppress(OSError):
            self._file(name).touch()

    def close(self) -> None:
        with self._lock:
            self._open.clear()

    def _forget(self, name: str) -> None:
        for known in (self._open, self._touched, self._verified):
            known.pop(name, None)

    def _file(self, name: str) -> Path:
        return Path(self._path(name))

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, f"{self._stem}-{name}{SUFFIX}")

    def _new_name(self) -> str:
        return secrets.token_hex(6)


def _touched(told: os.stat_result) -> FileStamp:
    return told.st_mtime_ns, told.st_ctime_ns, told.st_ino
