"""A segment: the contents of some thousand texts in one file that is never changed.

It is mapped into memory, so that what nobody asks for takes none. Texts have numbers in it
(documents), from 0, and so have their chunks. Which files have these texts today is not said here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from winnow.postings.contents import Contents
from winnow.postings.trigrams import Required

# Numbers of documents are 16-bit, and merging holds one segment's part of a key range in memory.
MOST_DOCUMENTS = 4096


class SegmentDamaged(Exception):
    """A segment is not what was written."""


class Segment:
    """The contents of some texts; safe to use from several threads.

    ``keys`` are the names by which the store knows the texts, 16 bytes each, by document.
    ``chunk_documents``, ``first_lines`` and ``last_lines`` are by chunk, the chunks of a document
    one after the other. ``measures`` has a row for each document. ``vectors`` has a row for each
    chunk, and ``document_vectors`` for each document; None where some texts have none.
    """

    documents: int
    chunks: int
    keys: Sequence[bytes]
    covered: npt.NDArray[np.bool_]
    chunk_documents: npt.NDArray[np.uint16]
    first_lines: npt.NDArray[np.uint32]
    last_lines: npt.NDArray[np.uint32]
    measures: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.int8] | None
    document_vectors: npt.NDArray[np.int8] | None

    def __init__(self, file: Path) -> None:
        """Open a segment, without reading it. Raises SegmentDamaged, and OSError."""
        raise NotImplementedError

    def verify(self) -> None:
        """Read all of it. Raises SegmentDamaged if it is not what was written."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the file; arrays that were given before stay valid."""
        raise NotImplementedError

    def documents_with(self, required: Required) -> npt.NDArray[np.uint16]:
        """The documents that may match: that have the trigrams, or are not covered by them."""
        raise NotImplementedError

    def postings(
        self, field: str, term: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        """The chunks or documents in which a term stands, ascending, and how often."""
        raise NotImplementedError

    def lengths(self, field: str) -> npt.NDArray[np.uint32]:
        """How many terms each chunk or document has in a field."""
        raise NotImplementedError


def write_segment(file: Path, texts: Mapping[bytes, Contents]) -> int:
    """Make a segment of texts by their keys, durably; gives its size in bytes. Raises OSError.

    Documents are numbered in the order of the mapping.
    """
    raise NotImplementedError


def in_memory(texts: Mapping[bytes, Contents]) -> Segment:
    """A segment that is on no disk, for unsaved documents."""
    raise NotImplementedError


def merge_segments(file: Path, segments: Sequence[tuple[Segment, npt.NDArray[np.bool_]]]) -> int:
    """Make one segment of several, of the documents that are to be kept, in their order, in memory
    that does not grow with the segments; gives its size. Raises OSError and SegmentDamaged."""
    raise NotImplementedError
