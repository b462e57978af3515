"""Static embeddings: compute vectors of texts from a table of vectors of terms.

The vector of a text is the sum of the vectors of its terms, each times 1 + log of its frequency. So
it costs a few look-ups and no neural network, and follows from the postings of the text. The table
is part of the package. It was trained so that the subjects of commits are near to the code that
they changed, and comments near to the code below them: see `benchmarks/train_embeddings.py`.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

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
        self._other = np.float32(length_of_others / np.sqrt(self.dimensions))

    def embed(self, texts: Sequence[str]) -> Rows:
        """Return a unit vector for each text; zeros for a text without terms."""
        counts = TermCounts(1)
        for text in texts:
            counts.add(0, pack_terms(words(text)))
        terms, owners, frequencies = _entries(counts.postings()[0])
        return self._of_entries(terms, owners.astype(np.int64), frequencies, len(texts))

    def with_vectors(self, contents: Contents) -> Contents:
        """Return the contents of a text with the vectors of its chunks and of the document."""
        rows = self.of_fields(contents.fields)
        return msgspec.structs.replace(contents, vectors=quantized(rows).tobytes())

    def of_fields(self, fields: Sequence[Postings]) -> Rows:
        """Return a unit vector for each chunk of a text, and one for the document: that of the
        names it defines and of its own description."""
        chunks = len(fields[BODY].lengths) // _LENGTH_BYTES
        entries = [_entries(fields[field]) for field in (BODY, DEFINITION, HEAD)]
        terms, units, counts = map(np.concatenate, zip(*entries, strict=True))
        texts = units.astype(np.int64)
        texts[len(entries[0][0]) :] = chunks  # the document
        return self._of_entries(terms, texts, counts, chunks + 1)

    def _of_entries(
        self,
        terms: Numbers,
        texts: npt.NDArray[np.int64],
        counts: npt.NDArray[np.uint8],
        size: int,
    ) -> Rows:
        """Return the vectors of ``size`` texts, from their terms and frequencies."""
        found = np.zeros((size, self.dimensions), np.float32)
        order = np.argsort(texts, kind="stable")
        weights = 1 + np.log(counts, dtype=np.float32)
        for at in range(0, len(order), _TOGETHER):
            here = order[at : at + _TOGETHER]
            distinct, columns = np.unique(terms[here], return_inverse=True)
            # Texts without terms need no row: a text may have thousands of empty chunks.
            owners, rows = np.unique(texts[here], return_inverse=True)
            shape = (len(owners), len(distinct))
            places = rows * shape[1] + columns
            table = np.bincount(places, weights[here], shape[0] * shape[1]).astype(np.float32)
            found[owners] += table.reshape(shape) @ self._rows(distinct)
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), _LEAST_LENGTH)
        return found

    def _rows(self, terms: Numbers) -> Rows:
        """Return the vector of each term."""
        places = np.searchsorted(self._terms, terms)
        places[places == len(self._terms)] = 0
        known = self._terms[places] == terms
        rows = np.empty((len(terms), self.dimensions), np.float32)
        rows[known] = self._table[places[known]]
        rows[~known] = _signs(terms[~known], self.dimensions) * self._other
        return rows


def _entries(
    postings: Postings,
) -> tuple[Numbers, npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    return (
        np.frombuffer(postings.terms, np.uint64),
        np.frombuffer(postings.units, np.uint16),
        np.frombuffer(postings.counts, np.uint8),
    )


def _signs(terms: Numbers, count: int) -> npt.NDArray[np.int8]:
    """Return ``count`` pseudorandom signs for each term, 1 or -1."""
    columns = np.arange(1, -(-count // 64) + 1, dtype=np.uint64) * _SPREAD
    mixed = terms[:, None] + columns
    mixed = (mixed ^ mixed >> np.uint64(30)) * _FIRST
    mixed = (mixed ^ mixed >> np.uint64(27)) * _SECOND
    mixed ^= mixed >> np.uint64(31)
    bits = np.unpackbits(mixed.astype("<u8").view(np.uint8), axis=1)[:, :count]
    return 2 * bits.astype(np.int8) - 1


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
