"""Merge segments into one, as if all their texts had been written at once.

Postings are merged one key range at a time, and everything else is copied, so memory does not grow
with the segments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.distinct import distinct
from winnow.index.postings.building import KEY_BYTES, MOST_DOCUMENTS, TERM_TYPE, TRIGRAM_TYPE
from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES
from winnow.index.postings.layout import SegmentWriter, writing
from winnow.index.postings.lists import BLOCK, Entries, Keys, PostingLists, write_lists
from winnow.index.postings.segment import Segment

# Bytes of vectors copied at a time.
_COPIED = 1 << 20

_Mask = npt.NDArray[np.bool_]


class _Part(Struct, frozen=True):
    """A segment, and masks of the documents, chunks and blocks to copy."""

    segment: Segment
    documents: _Mask
    chunks: _Mask
    blocks: _Mask


class _Renumbered(Struct, frozen=True):
    """Lists, a mask of the numbers to copy, and their new values."""

    lists: PostingLists
    mask: _Mask
    numbers: npt.NDArray[np.uint32]


def merge_segments(file: Path, segments: Sequence[tuple[Segment, _Mask]]) -> int:
    """Merge the chosen documents of segments, in their order; return the size of the new one.
    Raises OSError, SegmentDamaged, and ValueError if they do not fit one segment."""
    for segment, _ in segments:
        segment.verify()  # otherwise damaged data would get a valid checksum
    parts = [
        _Part(segment, mask, mask[segment.chunk_documents], mask[segment.block_documents])
        for segment, mask in segments
    ]
    if sum(int(part.documents.sum()) for part in parts) > MOST_DOCUMENTS:
        raise ValueError("the documents are too many for a segment")
    with writing(file) as writer:
        _write(writer, parts)
        return writer.finish()


def _write(writer: SegmentWriter, parts: Sequence[_Part]) -> None:
    def by_document(name: str, dtype: str, *columns: int) -> None:
        rows = (part.segment.arrays.get(name, dtype, None, *columns) for part in parts)
        rows_of_documents = (its[part.documents] for its, part in zip(rows, parts, strict=True))
        writer.add(name, dtype, rows_of_documents, *columns)

    by_document("keys", "|u1", KEY_BYTES)
    by_document("covered", "|u1")
    of_chunks = ((part.segment.chunk_documents[part.chunks], part) for part in parts)
    writer.add("chunk_documents", "<u2", _owners(of_chunks))
    described = (part.segment.described[part.chunks] for part in parts)
    writer.add("chunks", "<u4", described, CHUNK_COLUMNS)
    by_document("measures", "<f4", len(MEASURES))
    _write_vectors(writer, parts)
    documents = [part.documents for part in parts]
    of_blocks = ((part.segment.block_documents[part.blocks], part) for part in parts)
    writer.add("block_documents", "<u2", _owners(of_blocks))
    blocks = [part.blocks for part in parts]
    trigrams = _renumbered([part.segment.trigrams for part in parts], blocks)
    _write_lists(writer, "trigrams", TRIGRAM_TYPE, trigrams)
    for field in FIELDS:
        units = documents if field.unit == "document" else [part.chunks for part in parts]
        terms = _renumbered([part.segment.fields[field.name] for part in parts], units)
        _write_lists(writer, field.name, TERM_TYPE, terms, frequencies=field.frequencies)
        lengths = [
            part.segment.lengths(field.name)[mask] for part, mask in zip(parts, units, strict=True)
        ]
        writer.add(f"{field.name}.lengths", "<u4", lengths)


def _owners(
    owners: Iterable[tuple[npt.NDArray[np.uint16], _Part]],
) -> Iterator[npt.NDArray[np.uint16]]:
    """Yield the new document numbers of chunks or blocks."""
    first = 0
    for documents, part in owners:
        numbers = np.cumsum(part.documents) - 1 + first
        yield numbers[documents].astype("<u2")
        first += int(part.documents.sum())


def _write_vectors(writer: SegmentWriter, parts: Sequence[_Part]) -> None:
    """Write vectors, if any copied document has some."""
    dimensions = {
        part.segment.vectors.shape[1]
        for part in parts
        if part.segment.vectors is not None and part.segment.with_vectors[part.documents].any()
    }
    if not dimensions:
        return
    if len(dimensions) > 1:
        raise ValueError("vectors have different dimensions")
    [columns] = dimensions
    of_chunks = (_rows(part.segment.vectors, part.chunks, columns) for part in parts)
    writer.add("vectors", "|i1", chain.from_iterable(of_chunks), columns)
    of_documents = (_rows(part.segment.document_vectors, part.documents, columns) for part in parts)
    writer.add("document_vectors", "|i1", chain.from_iterable(of_documents), columns)
    real = (part.segment.with_vectors[part.documents].view(np.uint8) for part in parts)
    writer.add("with_vectors", "|u1", real)


def _rows(
    vectors: npt.NDArray[np.int8] | None, mask: _Mask, columns: int
) -> Iterator[npt.NDArray[np.int8]]:
    """Yield the chosen rows; rows of zeros if the segment has no such vectors."""
    at_once = max(1, _COPIED // columns)
    chosen = np.flatnonzero(mask)
    for start in range(0, len(chosen), at_once):
        numbers = chosen[start : start + at_once]
        if vectors is None or vectors.shape[1] != columns:
            yield np.zeros((len(numbers), columns), np.int8)
        else:
            yield vectors[numbers]


def _renumbered(lists: Sequence[PostingLists], masks: Sequence[_Mask]) -> list[_Renumbered]:
    renumbered = []
    first = 0
    for its, mask in zip(lists, masks, strict=True):
        numbers = (np.cumsum(mask) - 1 + first).astype(np.uint32)
        renumbered.append(_Renumbered(its, mask, numbers))
        first += int(mask.sum())
    return renumbered


def _write_lists(
    writer: SegmentWriter,
    name: str,
    key_type: str,
    parts: Sequence[_Renumbered],
    *,
    frequencies: bool = False,
) -> None:
    universe = sum(int(part.mask.sum()) for part in parts)
    blocks = _blocks(parts, counted=name != "trigrams")
    write_lists(writer, name, key_type, universe, blocks, frequencies=frequencies)


def _blocks(parts: Sequence[_Renumbered], *, counted: bool) -> Iterator[Entries]:
    """Yield the entries of all parts in order, about `BLOCK` at a time."""
    bounds = _bounds([part.lists for part in parts])
    cuts = [
        [0, *part.lists.keys.searchsorted(bounds).tolist(), len(part.lists.keys)] for part in parts
    ]
    for block in range(len(bounds) + 1):
        pieces = [
            _entries(part, cut[block], cut[block + 1], counted=counted)
            for part, cut in zip(parts, cuts, strict=True)
            if cut[block] < cut[block + 1]
        ]
        if pieces:
            counts = [piece.counts for piece in pieces if piece.counts is not None]
            yield Entries(
                np.concatenate([piece.keys for piece in pieces]),
                np.concatenate([piece.numbers for piece in pieces]),
                np.concatenate(counts) if counted else None,
            ).ordered()


def _entries(part: _Renumbered, first: int, end: int, *, counted: bool) -> Entries:
    """Return the chosen entries of some lists, with new numbers."""
    lists = part.lists.unpack(first, end)
    mask = part.mask[lists.numbers]
    keys = np.repeat(part.lists.keys[first:end], lists.lengths)[mask]
    numbers = part.numbers[lists.numbers[mask]]
    return Entries(keys, numbers, lists.counts[mask] if counted else None)


def _bounds(lists: Sequence[PostingLists]) -> Keys:
    """Return keys that divide the entries of all lists into blocks. A block with a single longer
    list may exceed `BLOCK`, because the entries of a key stay together."""
    weights = [its.weights() for its in lists]
    if sum(int(its.sum()) for its in weights) <= BLOCK:
        return np.zeros(0, lists[0].keys.dtype if lists else TERM_TYPE)
    # Divide each part into pieces so small that one piece of each makes a small block.
    step = max(1, BLOCK // (4 * len(lists)))
    samples = []
    for its, weight in zip(lists, weights, strict=True):
        sums = np.cumsum(weight)
        places = sums.searchsorted(np.arange(step, int(sums[-1]) if len(sums) else 0, step))
        samples.append(its.keys[places])
    bounds = np.sort(np.concatenate(samples))[BLOCK // step - 1 :: BLOCK // step]
    return distinct(bounds)
