"""Build the arrays of a segment from the contents of texts.

Postings are sorted one key range at a time, so that sorting needs little memory beside the
contents.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.layout import SegmentWriter
from winnow.index.postings.lists import BLOCK, Counts, Entries, Keys, write_lists
from winnow.index.postings.term_counts import Postings
from winnow.index.postings.trigrams import Trigrams

# Document numbers are 16-bit.
MOST_DOCUMENTS = 32_768
KEY_BYTES = 16
TRIGRAM_TYPE = "<u4"
TERM_TYPE = "<u8"
# Distance between two samples of a text's keys, in entries.
_SAMPLED = 64


def write_texts(writer: SegmentWriter, texts: Mapping[bytes, Contents]) -> None:
    """Write all arrays. Raises ValueError if the contents do not fit one segment or each other."""
    if len(texts) > MOST_DOCUMENTS:
        raise ValueError(f"{len(texts)} texts are too many for a segment")
    if any(len(key) != KEY_BYTES for key in texts):
        raise ValueError(f"a key does not have {KEY_BYTES} bytes")
    contents = list(texts.values())
    described = [_numbers(text.chunks, "<u4").reshape(-1, CHUNK_COLUMNS) for text in contents]
    chunks = np.array([len(rows_of_text) for rows_of_text in described], np.int64)

    keys = np.frombuffer(b"".join(texts), "|u1")
    writer.add("keys", "|u1", [keys], KEY_BYTES)
    writer.add("covered", "|u1", [np.array([text.covered for text in contents], "|u1")])
    writer.add("chunk_documents", "<u2", [np.repeat(np.arange(len(texts), dtype="<u2"), chunks)])
    writer.add("chunks", "<u4", _joined(described), CHUNK_COLUMNS)
    rows = np.array([text.measures for text in contents], "<f4").reshape(-1, len(MEASURES))
    writer.add("measures", "<f4", [rows], len(MEASURES))
    _write_vectors(writer, contents, chunks)

    blocks = [_trigram_blocks(text.trigrams) for text in contents]
    owners = np.repeat(np.arange(len(texts), dtype="<u2"), list(map(len, blocks)))
    writer.add("block_documents", "<u2", [owners])
    trigrams = [_Source(block, at) for at, block in enumerate(chain.from_iterable(blocks))]
    write_lists(writer, "trigrams", TRIGRAM_TYPE, len(owners), _blocks(trigrams))
    first_chunks = np.cumsum(chunks) - chunks
    for index, field in enumerate(FIELDS):
        if field.unit == "chunk":
            units, first_units = chunks, first_chunks
        else:
            units, first_units = np.ones(len(texts), np.int64), np.arange(len(texts))
        of_texts = [text.fields[index] for text in contents]
        sources = [
            _terms(postings, int(first), int(count))
            for postings, first, count in zip(of_texts, first_units, units, strict=True)
        ]
        write_lists(
            writer,
            field.name,
            TERM_TYPE,
            int(units.sum()),
            _blocks(sources),
            frequencies=field.frequencies,
        )
        lengths = [
            _lengths(postings, int(count)) for postings, count in zip(of_texts, units, strict=True)
        ]
        writer.add(f"{field.name}.lengths", "<u4", _joined(lengths))


def _numbers(data: bytes, dtype: str) -> npt.NDArray[Any]:
    return np.frombuffer(data, _native(dtype)).astype(dtype, copy=False)


@functools.cache  # a segment has dozens of arrays for each text
def _native(dtype: str) -> np.dtype[Any]:
    """Return a type in the machine's byte order."""
    native: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    return native


def _joined(arrays: Sequence[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    """Return some arrays as one: writing thousands of small ones takes several times as long."""
    return [np.concatenate(arrays)] if arrays else []


def _trigram_blocks(trigrams: Trigrams) -> list[Keys]:
    numbers = _numbers(trigrams.numbers, TRIGRAM_TYPE)
    ends = np.cumsum(_numbers(trigrams.sizes, "<u4"), dtype=np.int64)
    if not len(ends) or ends[-1] != len(numbers):
        raise ValueError("the trigrams do not match the blocks")
    return np.split(numbers, ends[:-1])


def _write_vectors(
    writer: SegmentWriter, contents: Sequence[Contents], chunks: npt.NDArray[np.int64]
) -> None:
    """Write the vectors, if any text has some; texts without vectors get rows of zeros."""
    sizes = {
        divmod(len(text.vectors), int(count) + 1)
        for text, count in zip(contents, chunks, strict=True)
        if text.vectors
    }
    if not sizes:
        return
    [(dimensions, left), *others] = sizes
    if left or others:
        raise ValueError("vectors have different dimensions")

    def rows(text: Contents, count: int) -> npt.NDArray[np.int8]:
        if not text.vectors:
            return np.zeros((count + 1, dimensions), np.int8)
        return np.frombuffer(text.vectors, np.int8).reshape(-1, dimensions)

    each = list(zip(contents, chunks.tolist(), strict=True))
    of_chunks, of_documents = [], []
    for vectors in (rows(*pair) for pair in each):
        of_chunks.append(vectors[:-1])
        of_documents.append(vectors[-1:])
    writer.add("vectors", "|i1", _joined(of_chunks), dimensions)
    writer.add("document_vectors", "|i1", _joined(of_documents), dimensions)
    writer.add("with_vectors", "|u1", [np.array([bool(text.vectors) for text in contents], "|u1")])


class _Source(Struct, frozen=True):
    """The entries of one text, by key. Their numbers are `first` plus `units` (or 0)."""

    keys: Keys
    first: int
    units: npt.NDArray[np.uint16] | None = None
    counts: Counts | None = None


def _terms(postings: Postings, first: int, units: int) -> _Source:
    terms = _numbers(postings.terms, TERM_TYPE)
    of_units, counts = _numbers(postings.units, "<u2"), _numbers(postings.counts, "|u1")
    if not len(terms) == len(of_units) == len(counts):
        raise ValueError("postings have different lengths")
    if len(of_units) and int(of_units.max()) >= units:
        raise ValueError("postings refer to missing units")
    return _Source(terms, first, of_units, counts)


def _lengths(postings: Postings, units: int) -> npt.NDArray[np.uint32]:
    if not postings.lengths:
        return np.zeros(units, "<u4")
    lengths = _numbers(postings.lengths, "<u4")
    if len(lengths) != units:
        raise ValueError("the lengths do not match the units")
    return lengths


def _blocks(sources: Sequence[_Source]) -> Iterator[Entries]:
    """Yield the entries of all texts in order, about `BLOCK` at a time."""
    bounds = _bounds(sources)
    cuts = [[0, *source.keys.searchsorted(bounds).tolist(), len(source.keys)] for source in sources]
    for block in range(len(bounds) + 1):
        pieces = [
            (source, slice(cut[block], cut[block + 1]))
            for source, cut in zip(sources, cuts, strict=True)
            if cut[block] < cut[block + 1]
        ]
        if pieces:
            yield _entries(pieces).ordered()


def _bounds(sources: Sequence[_Source]) -> Keys:
    """Return keys that divide the entries of all texts into blocks."""
    if sum(len(source.keys) for source in sources) <= BLOCK:
        return np.zeros(0, sources[0].keys.dtype if sources else TERM_TYPE)
    samples = np.sort(np.concatenate([source.keys[::_SAMPLED] for source in sources]))
    bounds = set(samples[:: BLOCK // _SAMPLED][1:].tolist())
    return np.array(sorted(bounds), samples.dtype)


def _entries(pieces: Sequence[tuple[_Source, slice]]) -> Entries:
    keys = np.concatenate([source.keys[span] for source, span in pieces])
    firsts = np.array([source.first for source, _ in pieces], np.uint32)
    numbers = np.repeat(firsts, [span.stop - span.start for _, span in pieces])
    units = [source.units[span] for source, span in pieces if source.units is not None]
    counts = [source.counts[span] for source, span in pieces if source.counts is not None]
    if not units:
        return Entries(keys, numbers, None)
    return Entries(keys, numbers + np.concatenate(units), np.concatenate(counts))
