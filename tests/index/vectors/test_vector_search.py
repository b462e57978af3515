"""Search by vectors: the same result as from products computed one by one."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from segment_texts import contents, random_texts
from winnow.index.postings.contents import FIELDS, MEASURES, Contents
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import in_memory
from winnow.index.postings.term_counts import Postings
from winnow.index.vectors import vector_search
from winnow.index.vectors.embeddings import Rows, quantized, scale_of
from winnow.index.vectors.vector_search import Cosines, Ranks

DIMENSIONS = 8


def unit(chance: np.random.Generator, count: int) -> Rows:
    rows = chance.standard_normal((count, DIMENSIONS), np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def a_text(vectors: Rows) -> Contents:
    """Return contents with these vectors, the document's vector last, or without vectors."""
    chunks = max(len(vectors) - 1, 0)
    fields = [
        Postings(lengths=bytes(4 * (chunks if field.unit == "chunk" else 1))) for field in FIELDS
    ]
    lines = [(number + 1, number + 1, 0, 0, 0, 0) for number in range(chunks)]
    return contents([set()], lines, fields, [0.0] * len(MEASURES), quantized(vectors).tobytes())


class Made:
    """Return a random corpus, and the vectors of each file; empty for a file without any."""

    def __init__(self, seed: int, sizes: Sequence[int], split: int) -> None:
        chance, shuffled = np.random.default_rng(seed), random.Random(seed)
        # Documents of several files, and documents without a file.
        of_files = [shuffled.choice((0, 1, 1, 2)) for _ in sizes]
        numbers = list(range(sum(of_files) + 1))  # and a file that is in no part
        shuffled.shuffle(numbers)
        self.vectors: dict[int, Rows] = {}
        parts = []
        for start in range(0, len(sizes), split):
            texts: dict[bytes, Contents] = {}
            documents: list[int] = []
            files: list[int] = []
            for place in range(start, min(start + split, len(sizes))):
                vectors = unit(chance, sizes[place] + 1 if sizes[place] >= 0 else 0)
                texts[place.to_bytes(16, "little")] = a_text(vectors)
                for _ in range(of_files[place]):
                    documents.append(place - start)
                    files.append(numbers.pop())
                    self.vectors[files[-1]] = vectors
            parts.append(
                CorpusPart(
                    in_memory(texts), np.array(documents, np.uint16), np.array(files, np.int32)
                )
            )
        [rest] = numbers
        self.vectors[rest] = unit(chance, 0)
        count = len(self.vectors)
        self.corpus = Corpus(
            parts, [f"{n}.py" for n in range(count)], ["/"], np.zeros(count, np.int32),
            lambda name: (), {},
        )  # fmt: skip
        self.query = unit(chance, 1)[0]

    def cosines(self, file: int) -> list[float]:
        """Compute similarities with dequantized vectors."""
        rows = quantized(self.vectors[file]).astype(np.float64) / scale_of(DIMENSIONS)
        return [float(row @ self.query.astype(np.float64)) for row in rows]

    def features(self, file: int) -> tuple[float, float, float]:
        *chunks, document = self.cosines(file) or [0.0]
        best = sorted(chunks, reverse=True)
        return (best[0] if best else 0.0, sum(best[:3]) / 3, document)


def ranks_of(corpus: Corpus) -> Ranks:
    return np.arange(len(corpus.paths), dtype=np.int32)


# -1 for a text without vectors; 0 for a text without chunks, which still has a document vector.
made = st.builds(
    Made, st.integers(0, 1000), st.lists(st.integers(-1, 6), max_size=12), st.integers(1, 5)
)


@settings(deadline=None)
@given(made, st.data())
def test_similarities_equal_products_computed_one_by_one(made: Made, data: st.DataObject) -> None:
    files = data.draw(st.permutations(sorted(made.vectors)))[: data.draw(st.integers(0, 12))]
    found = Cosines(made.corpus, made.query).of_files(files)
    expected = np.array([made.features(file) for file in files]).reshape(-1, 3).T
    assert np.allclose(np.stack(found), expected, atol=1e-5)


@settings(deadline=None)
@given(made, st.integers(1, 8))
def test_the_nearest_files_are_those_with_the_nearest_chunks(made: Made, most: int) -> None:
    found, cosines = Cosines(made.corpus, made.query).nearest(most, ranks_of(made.corpus))
    best = {
        file: max(made.cosines(file)[:-1]) for file in made.vectors if len(made.vectors[file]) > 1
    }
    order = sorted((cosine for cosine in best.values() if cosine > 0), reverse=True)
    assert np.allclose([best[file] for file in found], order[:most], atol=1e-5)
    assert np.allclose(cosines, order[:most], atol=1e-5)
    assert len(set(found.tolist())) == len(found)


@settings(deadline=None)
@given(made, st.integers(1, 8))
def test_with_many_chunks_document_vectors_select_candidates(made: Made, most: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(vector_search, "MOST_CHUNKS", -1)
        patched.setattr(vector_search, "CHOSEN", 3)
        found, _ = Cosines(made.corpus, made.query).nearest(most, ranks_of(made.corpus))
    whole = {file: made.cosines(file)[-1] for file in made.vectors if len(made.vectors[file])}
    near = sorted((cosine for cosine in whole.values() if cosine > 0), reverse=True)
    chosen = near[: max(most, 3)]
    assert len(found) == min(most, len(chosen))
    assert all(any(abs(whole[file] - one) < 1e-5 for one in chosen) for file in found)
    best = [made.features(file)[0] for file in found]
    assert np.allclose(best, sorted(best, reverse=True), atol=1e-5)


def test_vectors_are_multiplied_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Made(7, [5] * 40, 9)
    files = sorted(made.vectors)
    whole = Cosines(made.corpus, made.query).of_files(files)
    nearest, _ = Cosines(made.corpus, made.query).nearest(20, ranks_of(made.corpus))
    monkeypatch.setattr(vector_search, "BLOCK", 7)
    parts = Cosines(made.corpus, made.query).of_files(files)
    assert np.allclose(np.stack(whole), np.stack(parts), atol=1e-6)
    again, _ = Cosines(made.corpus, made.query).nearest(20, ranks_of(made.corpus))
    assert np.array_equal(again, nearest)


def test_products_do_not_depend_on_the_place_of_a_vector() -> None:
    chance = np.random.default_rng(3)
    vectors = quantized(chance.standard_normal((300, 256), np.float32) * np.float32(1 / 16))
    query = chance.standard_normal(256).astype(np.float32)
    query /= np.linalg.norm(query)
    whole = vector_search._products(vectors, query)
    for size in (1, 2, 3, 7, 100, 299):
        for start in (0, 1, 3):
            part = vector_search._products(vectors[start : start + size], query)
            assert part.tolist() == whole[start : start + size].tolist()


def test_vectors_of_another_model_are_skipped() -> None:
    other = {key: replace(text, vectors=b"") for key, text in random_texts(3).items()}
    for texts in (random_texts(3), other):
        part = CorpusPart(
            in_memory(texts), np.arange(3, dtype=np.uint16), np.arange(3, dtype=np.int32)
        )
        paths = ["a.py", "b.py", "c.py"]
        corpus = Corpus([part], paths, ["/"], np.zeros(3, np.int32), lambda name: (), {})
        query = unit(np.random.default_rng(1), 1)[0]
        assert not np.stack(Cosines(corpus, query).of_files([0, 1, 2])).any()
        assert not len(Cosines(corpus, query).nearest(3, ranks_of(corpus))[0])
