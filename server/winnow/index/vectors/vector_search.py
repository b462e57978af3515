"""Compute the cosine similarity of texts and a query, see :mod:`winnow.index.vectors.embeddings`.

Products are exact, over 8-bit vectors that are mapped into memory, block by block: 100,000 take
some 15 ms. An HNSW graph (Malkov and Yashunin, 2018) answers in 1 ms, but misses one in twelve of
the nearest, takes 50 % more space, and 30 s of processor time to build, again after every merge of
segments. If there are very many vectors, those of documents select candidates instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import Segment, chunk_numbers
from winnow.index.vectors.best import best_of_each, top_of_each
from winnow.index.vectors.embeddings import Rows, scale_of

Numbers = npt.NDArray[np.int64]
Ranks = npt.NDArray[np.int32]

# Vectors multiplied at a time: as 32-bit numbers they fit into a processor's cache.
BLOCK = 1024
# With more chunks, documents are selected by one vector each; this number of them is searched.
MOST_CHUNKS = 200_000
CHOSEN = 2_000
# 32-bit floating-point numbers represent all integers up to this one.
_EXACT = 1 << 24


class Similarity(NamedTuple):
    """Cosines of files with the query, in order: of the best chunk, a third of the sum of the best
    three, and of the document. 0 for a file without vectors."""

    best: Rows
    top: Rows
    document: Rows


class _Here(NamedTuple):
    """The requested texts of a part: ``documents`` in the segment, and ``places`` among all
    files."""

    part: CorpusPart
    documents: Numbers
    places: Numbers


class Cosines:
    """The similarities of a corpus's texts to the vector of a ``query``. Products are cached
    between calls."""

    def __init__(self, corpus: Corpus, query: Rows) -> None:
        self._corpus = corpus
        self.query = query
        self._few = sum(part.segment.chunks for part in corpus.parts) <= MOST_CHUNKS
        self._of_chunks: dict[int, Rows] = {}  # of all chunks of a segment, by its id()

    def of_files(self, files: Sequence[int] | Numbers) -> Similarity:
        """Return the similarities of some files."""
        found = Similarity(*np.zeros((3, len(files)), np.float32))
        for part, documents, places in _located(self._corpus, self.query, files):
            segment = part.segment
            assert segment.document_vectors is not None
            found.document[places] = _products(segment.document_vectors, self.query, documents)
            firsts, counts = segment.chunks_of(documents)
            owners = np.repeat(np.arange(len(documents)), counts)
            cosines = self._chunks(segment, chunk_numbers(firsts, counts))
            found.best[places] = best_of_each(owners, cosines, len(documents))
            found.top[places] = top_of_each(owners, cosines, len(documents))
        return found

    def of_chunks(self, segment: Segment, chunks: Numbers) -> Rows:
        """Return the similarities of some chunks of a segment; 0 if it has no vectors."""
        if not _has_vectors(segment, self.query):
            return np.zeros(len(chunks), np.float32)
        return self._chunks(segment, chunks)

    def nearest(self, most: int, ranks: Ranks) -> tuple[Numbers, Rows]:
        """Return the files whose best chunks are nearest, nearest first; of equal ones, those with
        the lowest ranks; and the cosines of these chunks."""
        if self._few:
            cosines = self._of_all(by_document=False)
            nearest = _best(cosines, most, ranks)
            return nearest, cosines[nearest]
        chosen = _best(self._of_all(by_document=True), max(CHOSEN, most), ranks)
        near = self.of_files(chosen).best
        order = np.lexsort((ranks[chosen], -near))[:most]
        return chosen[order], near[order]

    def _of_all(self, *, by_document: bool) -> Rows:
        """Return the cosines of all files: of their best chunks, or of documents."""
        found = np.full(len(self._corpus.paths), -1, np.float32)
        for part in _with_vectors(self._corpus.parts, self.query):
            segment = part.segment
            assert segment.document_vectors is not None
            if by_document:
                cosines = _products(segment.document_vectors, self.query)
            else:
                of_chunks = self._chunks(segment)
                owners = segment.chunk_documents
                cosines = best_of_each(owners, of_chunks, segment.documents, none=-1)
            cosines[~segment.with_vectors] = -1
            found[part.files] = cosines[part.documents]
        return found

    def _chunks(self, segment: Segment, chosen: Numbers | None = None) -> Rows:
        """Return the cosines of all chunks of a segment, or of the chosen ones."""
        assert segment.vectors is not None
        if not self._few:
            return _products(segment.vectors, self.query, chosen)
        found = self._of_chunks.get(id(segment))
        if found is None:
            found = self._of_chunks[id(segment)] = _products(segment.vectors, self.query)
        return found if chosen is None else found[chosen]


def _best(cosines: Rows, most: int, ranks: Ranks) -> Numbers:
    """Return the files with the greatest positive cosines."""
    some = (cosines > 0).nonzero()[0]
    if len(some) > most:
        least = np.partition(cosines[some], len(some) - most)[len(some) - most]
        some = some[cosines[some] >= least]
    nearest: Numbers = some[np.lexsort((ranks[some], -cosines[some]))[:most]]
    return nearest


def _located(corpus: Corpus, query: Rows, files: Sequence[int] | Numbers) -> Iterator[_Here]:
    """Yield the texts of files that have vectors."""
    place_of = np.full(len(corpus.paths), -1, np.int64)
    place_of[files] = np.arange(len(files))
    for part in _with_vectors(corpus.parts, query):
        places = place_of[part.files]
        requested = (places >= 0) & part.segment.with_vectors[part.documents]
        if requested.any():
            yield _Here(part, part.documents[requested].astype(np.int64), places[requested])


def _with_vectors(parts: Iterable[CorpusPart], query: Rows) -> Iterator[CorpusPart]:
    """Yield the parts with vectors of the same model."""
    return (part for part in parts if _has_vectors(part.segment, query))


def _has_vectors(segment: Segment, query: Rows) -> bool:
    """Return True if a segment has vectors of the same model; others mean a damaged store."""
    vectors = segment.vectors
    return vectors is not None and vectors.shape[1] == len(query)


def _products(vectors: npt.NDArray[np.int8], query: Rows, chosen: Numbers | None = None) -> Rows:
    """Return the cosines of vectors, or of the chosen ones, with a query."""
    count = len(vectors) if chosen is None else len(chosen)
    found = np.empty(count, np.float32)
    numbers, factor = _integers(query)
    # BLAS multiplies 32-bit numbers; numpy multiplies 8-bit numbers itself, ten times slower.
    block = np.empty((min(BLOCK, count), len(query)), np.float32)
    for at in range(0, count, BLOCK):
        end = min(at + BLOCK, count)
        np.copyto(block[: end - at], vectors[at:end] if chosen is None else vectors[chosen[at:end]])
        np.dot(block[: end - at], numbers, out=found[at:end])
    found *= factor
    return found


def _integers(query: Rows) -> tuple[Rows, np.float32]:
    """Return a unit vector as integers, and the factor that turns their products with 8-bit vectors
    into cosines.

    The integers are so small that all sums of products are exact. Otherwise BLAS would round the
    product of a text differently in another place of a block.
    """
    scale, rounding = scale_of(len(query)), math.sqrt(len(query)) / 2
    size = _EXACT / (scale + rounding) - rounding
    return np.round(query * np.float32(size)), np.float32(1 / (size * scale))
