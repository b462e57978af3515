"""Static embeddings: compute vectors of texts from a table of vectors of terms.

The vector of a text is the sum of the vectors of its terms, each times 1 + log of its frequency. So
it costs a few look-ups and no neural network, and follows from the postings of the text. The table
is part of the package. It was trained so that the subjects of commits are near to the code that
they changed, and comments near to the code below them: see `benchmarks/train_embeddings.py`.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from winnow.index.postings.contents import BODY, DEFINITION, HEAD, Contents
from winnow.index.postings.term_counts import Postings, TermCounts
from winnow.index.postings.terms import pack_terms, words
from winnow.index.store.file_record import NO_VECTORS

Rows = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.uint64]

# The files of the table: the sorted numbers of its terms, their vectors, and the length of the
# vectors of all other terms.
_FOLDER, _FILES = Path(__file__).parent / "model", ("terms", "vectors", "others")
# Each number of a unit vector of n numbers is about 1/√n, and hardly any exceeds four times that:
# the limit of 8 bits.
_MOST_DEVIATIONS = 4.0
_MOST_NUMBER = 127
# Terms of texts that are multiplied at a time: their weights take at most 50 MB, mostly much less.
_TOGETHER = 1 << 11
_LEAST_LENGTH = 1e-9
# The weight of a term in a text, by its frequency.
_WEIGHTS = 1 + np.log(np.arange(256, dtype=np.float32).clip(1))
_LENGTH_BYTES = 4  # of a number in `Postings.lengths`
# Constants of splitmix64's finalizer (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
# Generators", 2014).
_SPREAD, _FIRST, _SECOND = (
    np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class EmbeddingModel:
    """A table of vectors; thread-safe. ``name`` changes with the vectors; ``dimensions`` is the
    length of a vector."""

    def __init__(
        self, terms: Numbers, table: npt.NDArray[np.int8], length_of_others: float
    ) -> None:
        """``table`` has a row for each of the sorted ``terms``. Each other term has a vector of its
        own, too, which is random: so that texts with the same rare words are near."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (terms, table, np.float32(length_of_others)):
            digest.update(np.ascontiguousarray(array).tobytes())
        self.name = f"terms-{digest.hexdigest()}"
        self.dimensions = table.shape[1]
        self._terms = terms
        self._table = table
        # The numbers of random vectors for 8 random bits.
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)
        size = np.float32(length_of_others / np.sqrt(self.dimensions))
        self._others: Rows = (2 * bits.astype(np.float32) - 1) * size

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return a unit vector for each text; zeros for a text without terms."""
        counts = TermCounts(1)
        for text in texts:
            counts.add(0, pack_terms(words(text)))
        found = np.zeros((len(texts), self.dimensions), np.float32)
        self._add_terms(found, *_entries(counts.postings()[0]))
        return _unit(found)

    def with_vectors(self, contents: Contents) -> Contents:
        """Return the contents of a text with the vectors of its chunks and of the document."""
        rows = self.of_fields(contents.fields)
        return msgspec.structs.replace(contents, vectors=quantized(rows).tobytes())

    def of_fields(self, fields: Sequence[Postings]) -> Rows:
        """Return a unit vector for each chunk of a text, and one for the document: that of the
        names it defines and of its own description."""
        body, *names = (_entries(fields[field]) for field in (BODY, DEFINITION, HEAD))
        chunks = len(fields[BODY].lengths) // _LENGTH_BYTES
        found = np.zeros((chunks + 1, self.dimensions), np.float32)
        self._add_terms(found[:chunks], *body)
        terms, _, counts = map(np.concatenate, zip(*names, strict=True))
        for at in range(0, len(terms), _TOGETHER):
            some = slice(at, at + _TOGETHER)
            found[chunks] += _WEIGHTS[counts[some]] @ self._rows(terms[some])
        return _unit(found)

    def _add_terms(
        self,
        sums: Rows,
        terms: Numbers,
        texts: npt.NDArray[np.uint16],
        counts: npt.NDArray[np.uint8],
    ) -> None:
        """Add the vectors of terms, times their weights, to the rows of the texts that contain
        them. The entries are sorted by term, and a text has one for each of its terms."""
        weights = _WEIGHTS[counts]
        for here in _together(texts):
            of_here = terms[here]
            is_first = np.ones(len(of_here), np.bool_)
            np.not_equal(of_here[1:], of_here[:-1], out=is_first[1:])
            distinct = of_here[is_first]
            owners, rows = _rows_of(texts[here])
            size = owners.stop - owners.start if isinstance(owners, slice) else len(owners)
            table = np.zeros((size, len(distinct)), np.float32)
            table[rows, np.cumsum(is_first) - 1] = weights[here]
            sums[owners] += table @ self._rows(distinct)

    def _rows(self, terms: Numbers) -> Rows:
        """Return the vector of each term."""
        places = self._terms.searchsorted(terms)
        places[places == len(self._terms)] = 0
        rows: Rows = self._table[places].astype(np.float32)
        unknown = np.flatnonzero(self._terms[places] != terms)
        if len(unknown):
            rows[unknown] = self._random_rows(terms[unknown])
        return rows

    def _random_rows(self, terms: Numbers) -> Rows:
        """Return a pseudorandom vector for each term."""
        columns = np.arange(1, -(-self.dimensions // 64) + 1, dtype=np.uint64) * _SPREAD
        mixed = terms[:, None] + columns
        mixed = (mixed ^ mixed >> np.uint64(30)) * _FIRST
        mixed = (mixed ^ mixed >> np.uint64(27)) * _SECOND
        mixed ^= mixed >> np.uint64(31)
        eights = self._others[mixed.astype("<u8", copy=False).view(np.uint8)]
        rows: Rows = eights.reshape(len(terms), -1)[:, : self.dimensions]
        return rows


def _together(texts: npt.NDArray[np.uint16]) -> Iterator[slice | npt.NDArray[np.int64]]:
    """Yield the places of entries that are multiplied at a time, ascending: those of whole texts,
    so that their table is small."""
    if len(texts) <= _TOGETHER:
        if len(texts):
            yield slice(None)
        return
    order = np.argsort(texts, kind="stable")
    for at in range(0, len(order), _TOGETHER):
        yield np.sort(order[at : at + _TOGETHER])


def _rows_of(
    texts: npt.NDArray[np.uint16],
) -> tuple[slice | npt.NDArray[np.uint16], npt.NDArray[np.integer[Any]]]:
    """Return the texts that get rows of a table, and the row of the text of each entry."""
    first, last = int(texts.min()), int(texts.max())
    if last - first < _TOGETHER:
        return slice(first, last + 1), texts - np.uint16(first)
    # Texts without terms get no row: a text may have thousands of empty chunks.
    return np.unique(texts, return_inverse=True)


def _unit(rows: Rows) -> Rows:
    """Scale rows to unit length; rows of zeros stay."""
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), _LEAST_LENGTH)
    return rows


def _entries(
    postings: Postings,
) -> tuple[Numbers, npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    return (
        np.frombuffer(postings.terms, np.uint64),
        np.frombuffer(postings.units, np.uint16),
        np.frombuffer(postings.counts, np.uint8),
    )


@functools.lru_cache(1)
def _built_in() -> EmbeddingModel:
    terms, vectors, others = (np.load(_FOLDER / f"{name}.npy") for name in _FILES)
    return EmbeddingModel(terms, vectors, float(others))


def load_model(setting: str) -> EmbeddingModel | None:
    """Load the model that `index.embeddings` asks for; None if vectors are off."""
    return None if setting == NO_VECTORS else _built_in()


def quantized(rows: Rows) -> npt.NDArray[np.int8]:
    """Quantize unit vectors to 8 bits: products of the result are those of the vectors times
    `scale_of` squared."""
    scaled = np.rint(rows * scale_of(rows.shape[1]))
    small: npt.NDArray[np.int8] = np.clip(scaled, -_MOST_NUMBER, _MOST_NUMBER).astype(np.int8)
    return small


def scale_of(dimensions: int) -> float:
    """Return the factor from unit vectors to 8 bits."""
    return float(_MOST_NUMBER * dimensions**0.5 / _MOST_DEVIATIONS)
