"""Segments: what is written can be read, whatever becomes of the file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given

from segment_texts import DIMENSIONS, random_texts, some_texts
from winnow.postings.contents import FIELDS, Contents
from winnow.postings.segment import Segment, in_memory, write_segment
from winnow.postings.trigrams import Required


def read_back(segment: Segment, texts: Mapping[bytes, Contents]) -> dict[str, Any]:
    """All that a segment tells of some texts."""
    terms = {
        field.name: sorted({t for one in texts.values() for t in numbers(one, i)})
        for i, field in enumerate(FIELDS)
    }
    trigrams = sorted({t for one in texts.values() for t in of(one.trigrams, np.uint32)})
    return {
        "keys": list(segment.keys),
        "documents": segment.documents,
        "chunks": segment.chunks,
        "covered": segment.covered.tolist(),
        "chunk_documents": segment.chunk_documents.tolist(),
        "first_lines": segment.first_lines.tolist(),
        "last_lines": segment.last_lines.tolist(),
        "measures": segment.measures.tolist(),
        "vectors": None if segment.vectors is None else segment.vectors.tolist(),
        "document_vectors": listed(segment.document_vectors),
        "with_vectors": segment.with_vectors.tolist(),
        "lengths": {field.name: segment.lengths(field.name).tolist() for field in FIELDS},
        "postings": {
            (name, term): tuple(array.tolist() for array in segment.postings(name, term))
            for name, its in terms.items()
            for term in its
        },
        "trigrams": {
            trigram: segment.documents_with(Required((trigram,))).tolist() for trigram in trigrams
        },
    }


def expected(texts: Mapping[bytes, Contents]) -> dict[str, Any]:
    """The same from the texts themselves."""
    chunk_documents: list[int] = []
    lines: list[int] = []
    lengths: dict[str, list[int]] = {field.name: [] for field in FIELDS}
    postings: dict[tuple[str, int], tuple[list[int], list[int]]] = {}
    trigrams: dict[int, list[int]] = {}
    vectors: list[list[int]] = []
    document_vectors: list[list[int]] = []
    for document, one in enumerate(texts.values()):
        own = of(one.chunks, np.uint32)
        chunks = len(own) // 2
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
        lines += own
        data = one.vectors or bytes((chunks + 1) * DIMENSIONS)
        rows = np.frombuffer(data, np.int8).reshape(-1, DIMENSIONS)
        vectors += rows[:-1].tolist()
        document_vectors += rows[-1:].tolist()
        for trigram in of(one.trigrams, np.uint32):
            trigrams.setdefault(trigram, []).append(document)
    uncovered = {at for at, one in enumerate(texts.values()) if not one.covered}
    with_vectors = [bool(one.vectors) for one in texts.values()]
    return {
        "keys": list(texts),
        "documents": len(texts),
        "chunks": len(chunk_documents),
        "covered": [one.covered for one in texts.values()],
        "chunk_documents": chunk_documents,
        "first_lines": lines[::2],
        "last_lines": lines[1::2],
        "measures": [list(one.measures) for one in texts.values()],
        "vectors": vectors if any(with_vectors) else None,
        "document_vectors": document_vectors if any(with_vectors) else None,
        "with_vectors": with_vectors,
        "lengths": lengths,
        "postings": postings,
        "trigrams": {
            trigram: sorted({*documents, *uncovered}) for trigram, documents in trigrams.items()
        },
    }


def of(data: bytes, dtype: type[np.generic]) -> list[int]:
    return list(np.frombuffer(data, dtype).tolist())


def numbers(one: Contents, field: int) -> list[int]:
    return of(one.fields[field].terms, np.uint64)


def listed(array: Any) -> Any:
    return None if array is None else array.tolist()


@given(texts=some_texts())
def test_a_segment_tells_what_was_written(texts: dict[bytes, Contents]) -> None:
    segment = in_memory(texts)
    segment.verify()
    assert read_back(segment, texts) == expected(texts)


def test_a_file_is_what_a_segment_in_memory_is(tmp_path: Path) -> None:
    texts = random_texts(30)
    size = write_segment(tmp_path / "a", texts)
    segment = Segment(tmp_path / "a")
    segment.verify()
    assert read_back(segment, texts) == expected(texts)
    assert size == segment.size == (tmp_path / "a").stat().st_size
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
