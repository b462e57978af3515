"""Build the arrays of a segment from the contents of texts.

Postings are sorted one key range at a time, so that sorting needs little memory beside the
contents.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.layout import SegmentWriter
from winnow.index.postings.lists import BLOCK, Entries, Keys, write_lists
from winnow.index.postings.term_counts import UNIT_BYTES, Postings
from winnow.index.postings.terms import TERM_BYTES
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
    found = _blocks(trigrams, TRIGRAM_TYPE)
    write_lists(writer, "trigrams", TRIGRAM_TYPE, len(owners), found)
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
            _blocks(sources, TERM_TYPE),
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


def _trigram_blocks(trigrams: Trigrams) -> list[bytes]:
    """Return the numbers of each block."""
    size = np.dtype(TRIGRAM_TYPE).itemsize
    ends = (np.cumsum(_numbers(trigrams.sizes, "<u4"), dtype=np.int64) * size).tolist()
    if not ends or ends[-1] != len(trigrams.numbers):
        raise ValueError("the trigrams do not match the blocks")
    return [trigrams.numbers[start:end] for start, end in pairwise((0, *ends))]


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
    """The entries of one text, by key. Their numbers are `first` plus one of `units`, which are
    below `count`; without `units`, `first`.

    In bytes: arrays for each of hundreds of small texts would take half of the time.
    """

    keys: bytes
    first: int
    count: int = 1
    units: bytes | None = None
    counts: bytes = b""


# Entries of a text, from one to before another.
_Piece = tuple[_Source, int, int]


def _terms(postings: Postings, first: int, count: int) -> _Source:
    entries = len(postings.counts)
    if (len(postings.terms), len(postings.units)) != (TERM_BYTES * entries, UNIT_BYTES * entries):
        raise ValueError("postings have different lengths")
    return _Source(postings.terms, first, count, postings.units, postings.counts)


def _lengths(postings: Postings, units: int) -> npt.NDArray[np.uint32]:
    if not postings.lengths:
        return np.zeros(units, "<u4")
    lengths = _numbers(postings.lengths, "<u4")
    if len(lengths) != units:
        raise ValueError("the lengths do not match the units")
    return lengths


def _blocks(sources: Sequence[_Source], key_type: str) -> Iterator[Entries]:
    """Yield the entries of all texts in order, about `BLOCK` at a time."""
    for pieces in _pieces(sources, _native(key_type)):
        if some := [piece for piece in pieces if piece[1] < piece[2]]:
            yield _entries(some, key_type).ordered()


def _pieces(sources: Sequence[_Source], key_type: np.dtype[Any]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each block."""
    sizes = [len(source.keys) // key_type.itemsize for source in sources]
    if sum(sizes) <= BLOCK:
        yield [(source, 0, size) for source, size in zip(sources, sizes, strict=True)]
        return
    keys = [np.frombuffer(source.keys, key_type) for source in sources]
    bounds = _bounds(keys)
    cuts = [[0, *its.searchsorted(bounds).tolist(), len(its)] for its in keys]
    for block in range(len(bounds) + 1):
        yield [
            (source, cut[block], cut[block + 1]) for source, cut in zip(sources, cuts, strict=True)
        ]


def _bounds(keys: Sequence[Keys]) -> Keys:
    """Return keys that divide the entries of all texts into blocks."""
    samples = np.sort(np.concatenate([its[::_SAMPLED] for its in keys]))
    bounds = set(samples[:: BLOCK // _SAMPLED][1:].tolist())
    return np.array(sorted(bounds), samples.dtype)


def _entries(pieces: Sequence[_Piece], key_type: str) -> Entries:
    """Return the entries of some pieces. Raises ValueError."""
    sizes = [end - start for _, start, end in pieces]
    size = _native(key_type).itemsize
    joined = b"".join([source.keys[size * start : size * end] for source, start, end in pieces])
    keys = _numbers(joined, key_type)
    numbers = np.repeat(np.array([source.first for source, _, _ in pieces], np.uint32), sizes)
    parts = [
        (source.units[UNIT_BYTES * start : UNIT_BYTES * end], source.counts[start:end])
        for source, start, end in pieces
        if source.units is not None
    ]
    if not parts:
        return Entries(keys, numbers, None)
    of_units, counts = map(b"".join, zip(*parts, strict=True))
    units = _numbers(of_units, "<u2")
    if (units >= np.repeat([source.count for source, _, _ in pieces], sizes)).any():
        raise ValueError("postings refer to missing units")
    return Entries(keys, numbers + units, _numbers(counts, "|u1"))
