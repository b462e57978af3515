"""A segment: the contents of some thousand texts in one file that never changes.

It is mapped into memory, so unused parts take none. Its texts (documents) are numbered from 0, and
so are their chunks, and the blocks of lines that have trigrams. The store knows which files have
these texts now.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from winnow.index.postings.building import (
    KEY_BYTES,
    MOST_DOCUMENTS,
    TERM_TYPE,
    TRIGRAM_TYPE,
    write_texts,
)
from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.layout import (
    UNFINISHED,
    Arrays,
    SegmentDamaged,
    SegmentWriter,
    open_arrays,
    writing,
)
from winnow.index.postings.lists import PostingLists
from winnow.index.postings.live_texts import LiveTexts
from winnow.index.postings.trigrams import Condition, TrigramQuery

__all__ = [
    "MOST_DOCUMENTS",
    "UNFINISHED",
    "Segment",
    "SegmentDamaged",
    "chunk_numbers",
    "in_memory",
    "write_segment",
]

# Lists read per condition and segment: the rarest trigrams of a long string say nearly everything,
# and a regular expression may have hundreds of alternatives.
MOST_LISTS = 256
MOST_OF_ONE = 16

_Mask = npt.NDArray[np.bool_]


class Segment:
    """The contents of some texts; thread-safe.

    ``keys`` are the store's identifiers of the texts, 16 bytes each, by document.
    ``chunk_documents`` and ``described`` are by chunk, the chunks of a document in sequence; a
    chunk is described by its first and last line, from 1, and the number of a definition, see
    `Contents.chunks`. ``measures`` has a row per document, ``vectors`` a row per chunk, and
    ``document_vectors`` a row per document; the last two are None if no text has vectors. If only
    some have, ``with_vectors`` is True for their documents; the others have zeros.

    Arrays are read-only. If the file was damaged after it was written, any method may raise
    SegmentDamaged; only :meth:`verify` finds wrong but possible numbers.
    """

    def __init__(self, file: Path) -> None:
        """Open a segment, without reading it. Raises SegmentDamaged and OSError."""
        self._open(open_arrays(file))

    @classmethod
    def from_bytes(cls, data: bytes) -> Segment:
        """Return a segment from the bytes of its file. Raises SegmentDamaged."""
        segment = cls.__new__(cls)
        segment._open(Arrays(data))
        return segment

    def _open(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._live: LiveTexts | None = None
        covered = arrays.get("covered", "|u1")
        self.documents = len(covered)
        if self.documents > MOST_DOCUMENTS:
            raise SegmentDamaged("there are too many documents")
        self.covered: npt.NDArray[np.bool_] = covered != 0
        self.keys: Sequence[bytes] = _Keys(arrays.get("keys", "|u1", self.documents, KEY_BYTES))
        self.described: npt.NDArray[np.uint32] = arrays.get("chunks", "<u4", None, CHUNK_COLUMNS)
        self.chunks = len(self.described)
        self.measures: npt.NDArray[np.float32] = arrays.get(
            "measures", "<f4", self.documents, len(MEASURES)
        )
        self.vectors: npt.NDArray[np.int8] | None = None
        self.document_vectors: npt.NDArray[np.int8] | None = None
        self.with_vectors: npt.NDArray[np.bool_] = np.zeros(self.documents, np.bool_)
        if arrays.has("vectors"):
            self.vectors = arrays.get("vectors", "|i1", self.chunks, None)
            dimensions = self.vectors.shape[1]
            self.document_vectors = arrays.get(
                "document_vectors", "|i1", self.documents, dimensions
            )
            self.with_vectors = arrays.get("with_vectors", "|u1", self.documents) != 0
        self.blocks = len(arrays.get("block_documents", "<u2"))
        self.trigrams = PostingLists(arrays, "trigrams", TRIGRAM_TYPE, self.blocks)
        units = {"chunk": self.chunks, "document": self.documents}
        self.fields = {
            field.name: PostingLists(
                arrays, field.name, TERM_TYPE, units[field.unit], frequencies=field.frequencies
            )
            for field in FIELDS
        }

    @functools.cached_property
    def chunk_documents(self) -> npt.NDArray[np.uint16]:
        return self._owners("chunk_documents", self.chunks)

    @functools.cached_property
    def block_documents(self) -> npt.NDArray[np.uint16]:
        return self._owners("block_documents", self.blocks)

    def _owners(self, name: str, count: int) -> npt.NDArray[np.uint16]:
        documents = self.arrays.get(name, "<u2", count)
        if len(documents) and (
            documents[-1] >= self.documents or (documents[1:] < documents[:-1]).any()
        ):
            raise SegmentDamaged("chunks or blocks are not in the order of documents")
        return documents

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.arrays.size

    def verify(self) -> None:
        """Read the entire segment. Raises SegmentDamaged if its contents are wrong."""
        self.arrays.verify()

    def close(self) -> None:
        """Release the file. Arrays that were returned before stay valid; the segment must not be
        used."""
        # The file is unmapped with the last of the arrays.
        self.__dict__.clear()

    def documents_with(
        self, condition: Condition, *, likely: bool = False
    ) -> npt.NDArray[np.uint16]:
        """Return the documents that may match: they have the trigrams, or are not covered by
        them. If ``likely``, only those that have the trigrams."""
        if condition.over_lines:
            found = _Evaluation(self.trigrams, self._having).holding(condition.required)
        else:
            found = self._having(_Evaluation(self.trigrams).holding(condition.required))
        return np.flatnonzero(found if likely else found | ~self.covered).astype(np.uint16)

    def _having(self, blocks: _Mask) -> _Mask:
        """Return the documents that have one of some blocks."""
        found = np.zeros(self.documents, np.bool_)
        found[self.block_documents[blocks]] = True
        return found

    def postings(
        self, field: str, terms: Sequence[int] | npt.NDArray[np.uint64]
    ) -> list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]]:
        """Return the chunks or documents that contain each term, ascending, and how often."""
        lists = self.fields[field]
        places = lists.find(np.asarray(terms, np.uint64))
        nothing = np.zeros(0, np.uint32), np.zeros(0, np.uint8)
        return [nothing if place is None else lists.entries(place) for place in places]

    def chunks_of(
        self, documents: npt.NDArray[np.integer[Any]]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the number of the first chunk of each document, and its number of chunks."""
        firsts = np.searchsorted(self.chunk_documents, documents)
        return firsts, np.searchsorted(self.chunk_documents, documents, "right") - firsts

    def live_texts(self, documents: npt.NDArray[np.integer[Any]]) -> LiveTexts:
        """Return the statistics of the segment with only these documents; cached for the last
        ones."""
        mask = np.zeros(self.documents, np.bool_)
        mask[documents] = True
        known = self._live
        if known is None or not np.array_equal(known.documents, mask):
            lengths = {name: self.lengths(name) for name in self.fields}
            known = self._live = LiveTexts(mask, self.chunk_documents, self.fields, lengths)
        return known

    def lengths(self, field: str) -> npt.NDArray[np.uint32]:
        """Return how many terms each chunk or document has in a field."""
        return self.arrays.get(f"{field}.lengths", "<u4", self.fields[field].universe)


def chunk_numbers(
    firsts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the numbers of all chunks of some documents, from :meth:`Segment.chunks_of`."""
    before = np.cumsum(counts) - counts
    found: npt.NDArray[np.int64] = np.arange(counts.sum()) + np.repeat(firsts - before, counts)
    return found


class _Keys(Sequence[bytes]):
    """Rows of bytes that become objects on access."""

    def __init__(self, rows: npt.NDArray[np.uint8]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [row.tobytes() for row in self._rows[index]]
        key: bytes = self._rows[index].tobytes()
        return key

    def __iter__(self) -> Iterator[bytes]:
        return (row.tobytes() for row in self._rows)


class _Evaluation:
    """Evaluates a condition on trigrams as far as that pays. Sets are masks of all blocks, or what
    ``convert`` turns such a mask into."""

    def __init__(
        self, trigrams: PostingLists, convert: Callable[[_Mask], _Mask] | None = None
    ) -> None:
        self._trigrams = trigrams
        self._convert = convert or np.asarray
        self._left = MOST_LISTS

    def holding(self, required: TrigramQuery) -> _Mask:
        """Return a superset of the blocks or documents that meet the condition."""
        return self._of(required, self._convert(np.ones(self._trigrams.universe, np.bool_)))

    def _of(self, required: TrigramQuery, among: _Mask) -> _Mask:
        found = among
        places: list[int] | None = []
        if required.trigrams:
            places = self._trigrams.shortest(required.trigrams, MOST_OF_ONE)
        if places is None:
            return np.zeros_like(among)
        for place in places:
            if self._left <= 0 or not found.any():
                return found
            self._left -= 1
            found = found & self._convert(self._trigrams.mask(place))
        for alternatives in required.either:
            if self._left <= 0 or not found.any():
                return found
            found = self._any(alternatives, found)
        return found

    def _any(self, alternatives: Sequence[TrigramQuery], among: _Mask) -> _Mask:
        found = np.zeros_like(among)
        rest = among
        for alternative in alternatives:
            if self._left <= 0:
                return among
            if not rest.any():
                break
            found |= self._of(alternative, rest)
            rest = among & ~found
        return found


def write_segment(file: Path, texts: Mapping[bytes, Contents]) -> int:
    """Write a segment of texts by their keys, durably; return its size in bytes. Raises OSError.

    Documents are numbered in the order of the mapping.
    """
    with writing(file) as writer:
        write_texts(writer, texts)
        return writer.finish()


def in_memory(texts: Mapping[bytes, Contents]) -> Segment:
    """Return a segment without a file, for unsaved documents."""
    stream = io.BytesIO()
    writer = SegmentWriter(stream, io.BytesIO)
    write_texts(writer, texts)
    writer.finish()
    return Segment.from_bytes(stream.getvalue())
