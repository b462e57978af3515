"""Segments: whatever is written can be read, even after the file is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from segment_texts import DIMENSIONS, contents, random_texts, some_texts
from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.segment import (
    MOST_DOCUMENTS,
    MOST_LISTS,
    Segment,
    in_memory,
    write_segment,
)
from winnow.index.postings.term_counts import Postings
from winnow.index.postings.trigrams import Condition, TrigramQuery, in_blocks

NOTHING = [0.0] * len(MEASURES)


def read_back(segment: Segment, texts: Mapping[bytes, Contents]) -> dict[str, Any]:
    """Return all contents of a segment of these texts."""
    terms = {
        field.name: sorted({t for one in texts.values() for t in numbers(one, i)})
        for i, field in enumerate(FIELDS)
    }
    trigrams = sorted({t for one in texts.values() for block in blocks(one) for t in block})
    return {
        "keys": list(segment.keys),
        "documents": segment.documents,
        "chunks": segment.chunks,
        "covered": segment.covered.tolist(),
        "chunk_documents": segment.chunk_documents.tolist(),
        "described": segment.described.ravel().tolist(),
        "measures": segment.measures.tolist(),
        "vectors": None if segment.vectors is None else segment.vectors.tolist(),
        "document_vectors": listed(segment.document_vectors),
        "with_vectors": segment.with_vectors.tolist(),
        "lengths": {field.name: segment.lengths(field.name).tolist() for field in FIELDS},
        "postings": {
            (name, term): tuple(array.tolist() for array in segment.postings(name, [term])[0])
            for name, its in terms.items()
            for term in its
        },
        "block_documents": segment.block_documents.tolist(),
        "trigrams": {
            trigram: segment.documents_with(Condition(TrigramQuery((trigram,)))).tolist()
            for trigram in trigrams
        },
    }


def expected(texts: Mapping[bytes, Contents]) -> dict[str, Any]:
    """Return the expected contents, computed from the texts."""
    chunk_documents: list[int] = []
    described: list[int] = []
    lengths: dict[str, list[int]] = {field.name: [] for field in FIELDS}
    postings: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    block_documents: list[int] = []
    trigrams: dict[int, list[int]] = {}
    vectors: list[list[int]] = []
    document_vectors: list[list[int]] = []
    for document, one in enumerate(texts.values()):
        own = of(one.chunks, np.uint32)
        chunks = len(own) // CHUNK_COLUMNS
        for i, field in enumerate(FIELDS):
            lengths[field.name] += of(one.fields[i].lengths, np.uint32)
            first = len(chunk_documents) if field.unit == "chunk" else document
            for term, unit, count in zip(
                numbers(one, i),
                of(one.fields[i].units, np.uint16),
                of(one.fields[i].counts, np.uint8),
                strict=True,
            ):
                units, counts = postings.setdefault((field.name, term), ([], []))
                units.append(first + unit)
                counts.append(count)
        chunk_documents += [document] * chunks
        described += own
        data = one.vectors or bytes((chunks + 1) * DIMENSIONS)
        rows = np.frombuffer(data, np.int8).reshape(-1, DIMENSIONS)
        vectors += rows[:-1].tolist()
        document_vectors += rows[-1:].tolist()
        of_blocks = blocks(one)
        block_documents += [document] * len(of_blocks)
        for trigram in set().union(*of_blocks):
            trigrams.setdefault(trigram, []).append(document)
    uncovered = {at for at, one in enumerate(texts.values()) if not one.covered}
    with_vectors = [bool(one.vectors) for one in texts.values()]
    return {
        "keys": list(texts),
        "documents": len(texts),
        "chunks": len(chunk_documents),
        "covered": [one.covered for one in texts.values()],
        "chunk_documents": chunk_documents,
        "described": described,
        "measures": [list(one.measures) for one in texts.values()],
        "vectors": vectors if any(with_vectors) else None,
        "document_vectors": document_vectors if any(with_vectors) else None,
        "with_vectors": with_vectors,
        "lengths": lengths,
        "postings": postings,
        "block_documents": block_documents,
        "trigrams": {
            trigram: sorted({*documents, *uncovered}) for trigram, documents in trigrams.items()
        },
    }


def blocks(one: Contents) -> list[set[int]]:
    """Return the trigrams of each block of a text."""
    numbers = iter(of(one.trigrams.numbers, np.uint32))
    return [set(islice(numbers, size)) for size in of(one.trigrams.sizes, np.uint32)]


def of(data: bytes, dtype: type[np.generic]) -> list[int]:
    return list(np.frombuffer(data, dtype).tolist())


def numbers(one: Contents, field: int) -> list[int]:
    return of(one.fields[field].terms, np.uint64)


def listed(array: Any) -> Any:
    return None if array is None else array.tolist()


@pytest.mark.slow
@settings(max_examples=15)
@given(texts=some_texts())
def test_a_segment_returns_the_written_texts(texts: dict[bytes, Contents]) -> None:
    segment = in_memory(texts)
    segment.verify()
    assert read_back(segment, texts) == expected(texts)


def test_segments_in_files_and_in_memory_are_equal(tmp_path: Path) -> None:
    texts = random_texts(30)
    size = write_segment(tmp_path / "a", texts)
    segment = Segment(tmp_path / "a")
    segment.verify()
    assert read_back(segment, texts) == expected(texts)
    assert size == segment.size == (tmp_path / "a").stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize(
    "texts", [{}, {b"a" * 16: contents([set()], [], [Postings()] * len(FIELDS), NOTHING)}]
)
def test_an_empty_segment_finds_nothing(texts: dict[bytes, Contents]) -> None:
    segment = in_memory(texts)
    everything = list(range(len(texts)))
    assert segment.documents_with(Condition(TrigramQuery((1, 2)))).tolist() == []
    assert (
        segment.documents_with(Condition(TrigramQuery(either=((TrigramQuery((1,)),),)))).tolist()
        == []
    )
    assert segment.documents_with(Condition(TrigramQuery())).tolist() == everything
    assert [len(array) for array in segment.postings("body", [1])[0]] == [0, 0]
    assert segment.chunk_documents.tolist() == []
    assert segment.lengths("comment").tolist() == [0 for _ in texts]


def test_threads_can_read_one_segment_at_once(tmp_path: Path) -> None:
    texts = random_texts(40)
    write_segment(tmp_path / "a", texts)
    segment = Segment(tmp_path / "a")
    with ThreadPoolExecutor(4) as threads:
        read = [threads.submit(read_back, segment, texts) for _ in range(8)]
    assert [one.result() == expected(texts) for one in read] == [True] * 8


def test_arrays_outlive_their_segment(tmp_path: Path) -> None:
    texts = random_texts(40)
    write_segment(tmp_path / "a", texts)
    segment = Segment(tmp_path / "a")
    measures = segment.measures
    segment.close()
    assert measures.tolist() == [list(one.measures) for one in texts.values()]
    with pytest.raises(ValueError, match="read-only"):
        measures[0, 0] = 1


def test_chunk_numbers_may_exceed_16_bits() -> None:
    units = np.arange(60_000, dtype=np.uint16)
    rare = units[::20_000]
    terms = np.concatenate([np.full(len(units), 1, np.uint64), np.full(len(rare), 2, np.uint64)])
    counts = np.concatenate([units % 3 + 1, np.full(len(rare), 200)]).astype(np.uint8)
    body = Postings(terms.tobytes(), np.concatenate([units, rare]).tobytes(), counts.tobytes())
    fields = [body if field.name == "body" else Postings() for field in FIELDS]
    one = Contents(
        in_blocks([np.empty(0, np.uint32)]),
        np.ones(CHUNK_COLUMNS * len(units), np.uint32).tobytes(),
        fields,
        NOTHING,
    )
    segment = in_memory({b"a" * 16: one, b"b" * 16: one})
    chunks, found = segment.postings("body", [1])[0]
    assert chunks.tolist() == list(range(120_000))
    assert found.tolist() == (units % 3 + 1).tolist() * 2
    chunks, found = segment.postings("body", [2])[0]
    assert chunks.tolist() == [0, 20_000, 40_000, 60_000, 80_000, 100_000]
    assert found.tolist() == [200] * 6


def conditions() -> st.SearchStrategy[TrigramQuery]:
    trigrams = st.lists(st.integers(0, 12), max_size=3).map(tuple)

    def several(
        inner: st.SearchStrategy[TrigramQuery],
    ) -> st.SearchStrategy[tuple[TrigramQuery, ...]]:
        return st.lists(inner, max_size=3).map(tuple)

    return st.recursive(
        st.builds(TrigramQuery, trigrams),
        lambda inner: st.builds(
            TrigramQuery,
            trigrams,
            st.lists(st.lists(inner, max_size=3).map(tuple), max_size=2).map(tuple),
        ),
        max_leaves=6,
    )


def holds(required: TrigramQuery, trigrams: set[int]) -> bool:
    return set(required.trigrams) <= trigrams and all(
        any(holds(one, trigrams) for one in alternatives) for alternatives in required.either
    )


SMALL = {
    bytes([document]) * 16: contents(
        [{document * step % 13 for step in range(at, at + 4)} for at in range(document % 4 + 1)],
        [], [Postings()] * len(FIELDS), NOTHING, covered=document % 16 != 5,
    )
    for document in range(60)
}  # fmt: skip


@given(
    condition=st.builds(Condition, conditions(), st.booleans()),
    limit=st.sampled_from([0, 1, 3, MOST_LISTS]),
)
def test_no_matching_document_is_missed(condition: Condition, limit: int) -> None:
    documents = list(SMALL.values())
    wanted = {
        at
        for at, one in enumerate(documents)
        if any(
            holds(condition.required, block)
            for block in ([set().union(*blocks(one))] if condition.over_lines else blocks(one))
        )
    }
    uncovered = {at for at, one in enumerate(documents) if not one.covered}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("winnow.index.postings.segment.MOST_LISTS", limit)
        found = in_memory(SMALL).documents_with(condition).tolist()
    assert found == sorted(set(found))
    assert set(found) >= wanted | uncovered
    if limit == MOST_LISTS:
        assert set(found) == wanted | uncovered


FIT = next(iter(random_texts(1).values()))


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({b"short": FIT}, "does not have 16 bytes"),
        (
            dict.fromkeys((at.to_bytes(16, "big") for at in range(MOST_DOCUMENTS + 1)), FIT),
            "too many",
        ),
        ({b"a" * 16: replace(FIT, vectors=b"123")}, "dimensions"),
        ({b"a" * 16: FIT, b"b" * 16: replace(FIT, vectors=bytes(40))}, "dimensions"),
        ({b"a" * 16: replace(FIT, chunks=b"")}, "missing units"),
        (
            {b"a" * 16: replace(FIT, fields=[replace(FIT.fields[0], units=b""), *FIT.fields[1:]])},
            "different lengths",
        ),
        (
            {
                b"a" * 16: replace(
                    FIT, fields=[replace(FIT.fields[0], lengths=bytes(4))] * len(FIELDS)
                )
            },
            "lengths do not match",
        ),
    ],
)
def test_contents_that_do_not_fit_are_rejected(
    texts: dict[bytes, Contents], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=reason):
        write_segment(tmp_path / "a", texts)
    assert list(tmp_path.iterdir()) == []
