"""Keep the files of a store in memory, with numbers: ranking thousands of them needs no database.

A table reads what was written to its store since the last read. A file keeps its number when its
text changes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from winnow.index.postings.corpus import CorpusPart
from winnow.index.store.rows import GONE_STAMPS

if TYPE_CHECKING:
    from winnow.index.store.reader import Reader

NOWHERE = -1  # in no segment
NO_FILE = -2  # the number is free
BINARY = -3  # ripgrep skips it
GROWTH = 1024


class FileTable:
    """The files of one store: ``paths`` by number, empty for deleted files.

    Returned states never change, so a reader of an earlier moment can go on using them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._store: object = None
        self._stamp = -1
        self._numbers: dict[str, int] = {}
        self._segments: npt.NDArray[np.int64] = np.empty(0, np.int64)
        self._documents: npt.NDArray[np.uint16] = np.empty(0, np.uint16)
        self._state: TableState | None = None

    def at(self, reader: Reader) -> TableState:
        """Return the files as a reader sees them."""
        with self._lock:
            stamp = reader.stamp()
            if self._store is not reader.store:
                self._forget(reader)
            elif stamp < self._stamp:  # an older reader; the table is ahead of it
                return FileTable().at(reader)
            if self._state is None or stamp != self._stamp:
                try:
                    self._state = self._follow(reader, stamp)
                except BaseException:
                    self._forget(reader)  # the table is incomplete
                    raise
            return self._state

    def _forget(self, reader: Reader) -> None:
        self._store, self._stamp, self._state = reader.store, -1, None
        self._numbers = {}
        self._segments = np.empty(0, np.int64)
        self._documents = np.empty(0, np.uint16)

    def _follow(self, reader: Reader, stamp: int) -> TableState:
        holes = len(self._state.paths) - len(self._numbers) if self._state else 0
        if self._stamp < stamp - GONE_STAMPS or holes > len(self._numbers) + GROWTH:
            self._forget(reader)
        before = self._state
        gone = reader.gone_since(self._stamp)
        changed = reader.texts_since(self._stamp)
        self._stamp = stamp
        paths = list(before.paths) if before else []
        cache: dict[str, Any]
        same = True
        for path in gone:
            number = self._numbers.pop(path, None)
            if number is not None:
                paths[number], same = "", False
                self._segments[number] = NO_FILE
        for path, segment, document, binary in changed:
            number = self._numbers.get(path)
            if number is None:
                number, same = len(paths), False
                self._numbers[path] = number
                paths.append(path)
                self._make_room(number)
            self._segments[number] = BINARY if binary else NOWHERE if segment is None else segment
            self._documents[number] = document
        if before is not None and same:
            paths, cache = before.paths, before.cache
        else:
            cache = {}
        return TableState(self._segments, self._documents, paths, self._numbers, cache)

    def _make_room(self, number: int) -> None:
        if number < len(self._segments):
            return
        more = max(GROWTH, number)
        self._segments = np.append(self._segments, np.full(more, NO_FILE, np.int64))
        self._documents = np.append(self._documents, np.zeros(more, np.uint16))


class TableState:
    """The files at one moment. ``parts`` are the segments by number, with their documents and
    files; ``uncovered`` are files without a segment, ``binary`` those that ripgrep skips; ``cache``
    holds data derived from paths."""

    def __init__(
        self,
        segments: npt.NDArray[np.int64],
        documents: npt.NDArray[np.uint16],
        paths: list[str],
        numbers: Mapping[str, int],
        cache: dict[str, Any],
    ) -> None:
        self.paths = paths
        self.cache = cache
        self._numbers = numbers
        used = segments[: len(paths)]
        order = np.argsort(used, kind="stable")
        present, firsts = np.unique(used[order], return_index=True)
        self.parts: dict[int, tuple[npt.NDArray[np.uint16], npt.NDArray[np.int32]]] = {}
        self.uncovered = np.empty(0, np.int32)
        self.binary = np.empty(0, np.int32)
        for number, files in zip(
            present.tolist(), np.split(order.astype(np.int32), firsts[1:]), strict=False
        ):
            if number == NOWHERE:
                self.uncovered = files
            elif number == BINARY:
                self.binary = files
            elif number != NO_FILE:
                self.parts[number] = documents[files], files

    def number(self, path: str) -> int | None:
        """Return the number of a file."""
        number = self._numbers.get(path)
        # The table may have changed since.
        known = number is not None and number < len(self.paths) and self.paths[number] == path
        return number if known else None

    @property
    def count(self) -> int:
        """The number of files that are not binary."""
        return sum(len(files) for _, files in self.parts.values()) + len(self.uncovered)

    def with_segments(
        self, reader: Reader, hidden: npt.NDArray[np.int32] | None = None
    ) -> list[CorpusPart]:
        """Return the segments with their files, except ``hidden`` ones. Raises StoreDamaged."""
        names = reader.segments()
        parts = []
        for number, (documents, files) in self.parts.items():
            segment = reader.open_segments.get(names[number])
            if hidden is not None and len(hidden):
                keep = np.isin(files, hidden, invert=True)
                parts.append(CorpusPart(segment, documents[keep], files[keep]))
            else:
                parts.append(CorpusPart(segment, documents, files))
        return parts
