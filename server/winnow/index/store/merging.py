"""Merge the segments of a store, so that searches read few and the disk holds no dead documents."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from winnow.index.postings.building import MOST_DOCUMENTS
from winnow.index.store import rows
from winnow.index.store.reader import Reader
from winnow.index.store.segments import GRACE_SECONDS, Segments
from winnow.storage import database
from winnow.storage.database import Connection, DatabaseError

# Segments grow like the levels of a log-structured merge tree (O'Neil et al., 1996): this number of
# one level become one of the next. Larger ones are merged at the end of a build.
MERGED = 8
LEVELS = (64, 512, 2048)
# A search reads each segment: at the end of a build they are merged. A segment is left alone if it
# has more documents than this, and more than this many times those of all smaller ones together:
# copying it would cost more than it saves.
LARGE = 1024
MUCH_LARGER = 2
# A segment with a smaller share of live documents is rewritten at the end of a build.
SPARSE_SHARE = 0.8


class SegmentMerger:
    """Adds, merges and deletes the segments of one store."""

    def __init__(
        self,
        segments: Segments,
        read: Callable[[], AbstractContextManager[Reader]],
        transaction: Callable[[], AbstractContextManager[Connection]],
    ) -> None:
        self._segments = segments
        self._read = read
        self._transaction = transaction
        self._may_merge = True  # an earlier process may have left small segments
        self._merged_at: float | None = None  # the last merge whose old segments still exist

    def compact(self) -> None:
        """Merge segments of similar sizes, so that searches read few. Rewrite sparse segments: a
        build and a switch of branches leave documents that no file has anymore."""
        while self._merge_chosen(similar_segments, Reader.live_sizes):
            pass
        self.rewrite(SPARSE_SHARE)

    @property
    def is_untidy(self) -> bool:
        """True if there may be many small segments, or merged ones that can be deleted now."""
        return self._may_merge or self._can_delete

    @property
    def _can_delete(self) -> bool:
        merged_at = self._merged_at
        return merged_at is not None and time.monotonic() - merged_at > GRACE_SECONDS

    def tidy(self) -> None:
        """Merge small segments where there are many. Delete those that were merged; leave them if
        that fails."""
        self.merge_small()
        if self._can_delete:
            self._merged_at = None
            with contextlib.suppress(DatabaseError, OSError):
                self.delete_unused()

    def add(self, name: str, documents: int, size: int) -> int:
        """Record a new segment whose files are written later; return its number."""
        try:
            with self._transaction() as connection:
                rows.next_stamp(connection)
                return self.insert(connection, name, documents, size)
        except BaseException:
            self._segments.drop(name)
            raise

    def merge_small(self) -> None:
        """Merge small segments where there are many."""
        self._may_merge = False
        for _ in LEVELS:
            if not self._merge_chosen(segments_to_merge, Reader.sizes):
                return

    def _merge_chosen(
        self,
        choose: Callable[[Mapping[int, int]], list[int]],
        sizes: Callable[[Reader], Mapping[int, int]],
    ) -> bool:
        """Merge the segments that ``choose`` picks by their sizes, with their live documents.
        Return True if they became one."""
        with self._read() as reader:
            some = choose(sizes(reader))
            names = reader.segments()
            live = {number: rows.live_documents(reader.connection, number) for number in some}
        return bool(some) and self._merge(names, live)

    def _merge(self, names: Mapping[int, str], live: Mapping[int, list[int]]) -> bool:
        """Merge segments, with their live documents. Return False if these changed meanwhile."""
        parts = [(self._segments.get(names[number]), live[number]) for number in live]
        count = sum(map(len, live.values()))
        name, size = self._segments.merge(parts) if count else ("", 0)
        try:
            with self._transaction() as connection:
                there = {row[0] for row in database.rows_of(connection, "SELECT id FROM segment")}
                same = all(
                    number in there and rows.live_documents(connection, number) == documents
                    for number, documents in live.items()
                )
                if not same:  # another process was faster, or a file has changed
                    if name:
                        self._segments.drop(name)
                    return False
                target = self.insert(connection, name, count, size) if name else 0
                stamp, first = rows.next_stamp(connection), 0
                for number, documents in live.items():
                    rows.move(connection, number, documents, target, first, stamp)
                    first += len(documents)
                    connection.execute("DELETE FROM segment WHERE id=?", (number,))
                    # Before other processes see that the row is gone: they would delete the file at
                    # once.
                    self._segments.touch(names[number])
        except BaseException:
            if name:
                self._segments.drop(name)
            raise
        self._merged_at = time.monotonic()
        self.delete_unused()
        return True

    def rewrite(self, least: float) -> None:
        """Rewrite the segments in which less than this share of the documents is live."""
        with self._read() as reader:
            names, sizes = reader.segments(), reader.sizes()
            live = {number: rows.live_documents(reader.connection, number) for number in names}
        for number, documents in live.items():
            if len(documents) < least * sizes[number]:
                self._merge(names, {number: documents})

    def insert(self, connection: Connection, name: str, documents: int, size: int) -> int:
        """Insert a new segment and return its number. Raises OSError if another process has deleted
        its file as a leftover: this process may have been suspended for long."""
        self._segments.stat(name)
        self._may_merge = True
        return rows.segment_row(connection, name, documents, size)

    def delete_unused(self) -> None:
        """Delete the segments that no row names and no process can be reading."""
        # No row can be written meanwhile.
        with self._transaction() as connection:
            rows_of_names = database.rows_of(connection, "SELECT name FROM segment")
            names = [row[0] for row in rows_of_names]
            self._segments.remove_unused(names)


def segments_to_merge(sizes: Mapping[int, int]) -> list[int]:
    """Return the segments to merge, by their numbers of documents."""
    smallest = 0
    for level in LEVELS:
        some = sorted((size, number) for number, size in sizes.items() if smallest <= size < level)
        if len(some) >= MERGED:
            return _fitting(some, MOST_DOCUMENTS)
        smallest = level
    return []


def similar_segments(sizes: Mapping[int, int]) -> list[int]:
    """Return the segments to merge at the end of a build: the smallest, and each next one that is
    not much larger than those before it together and fits in with them (see `LARGE`)."""
    chosen: list[int] = []
    documents = 0
    for size, number in sorted((size, number) for number, size in sizes.items()):
        is_large = size > max(LARGE, MUCH_LARGER * documents)
        if (chosen and is_large) or documents + size > MOST_DOCUMENTS:
            if len(chosen) > 1:
                return chosen
            chosen, documents = [], 0
        chosen.append(number)
        documents += size
    return chosen if len(chosen) > 1 else []


def _fitting(segments: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Return the first of some segments, by size and number, that together have at most ``most``
    documents."""
    documents = itertools.accumulate(size for size, _ in segments)
    fit = sum(count <= most for count in documents)
    return [number for _, number in segments[:fit]]
