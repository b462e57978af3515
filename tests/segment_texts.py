"""Create contents of texts for tests, including random ones."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from winnow.index.postings.contents import CHUNK_COLUMNS, FIELDS, MEASURES, Contents
from winnow.index.postings.term_counts import Postings
from winnow.index.postings.trigrams import in_blocks

DIMENSIONS = 4


def postings(entries: dict[tuple[int, int], int], lengths: list[int]) -> Postings:
    """Build postings from counts by term and unit."""
    order = sorted(entries)
    return Postings(
        np.array([term for term, _ in order], np.uint64).tobytes(),
        np.array([unit for _, unit in order], np.uint16).tobytes(),
        np.array([entries[at] for at in order], np.uint8).tobytes(),
        np.array(lengths, np.uint32).tobytes(),
    )


def contents(
    blocks: Sequence[set[int]],
    chunks: Sequence[tuple[int, ...]],
    fields: list[Postings],
    measures: list[float],
    vectors: bytes = b"",
    covered: bool = True,
) -> Contents:
    return Contents(
        in_blocks([np.array(sorted(block), np.uint32) for block in blocks]),
        np.array(chunks, np.uint32).tobytes(),
        fields,
        measures,
        vectors,
        covered,
    )


@st.composite
def some_contents(draw: st.DrawFn) -> Contents:
    count = draw(st.integers(0, 5))
    numbers = st.tuples(*[st.integers(1, 2**32 - 1)] * CHUNK_COLUMNS)
    lines = draw(st.lists(numbers, min_size=count, max_size=count))
    fields = []
    for field in FIELDS:
        units = count if field.unit == "chunk" else 1
        places = st.tuples(
            st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)), st.integers(0, units - 1)
        )
        entries: dict[tuple[int, int], int] = {}
        if units:
            entries = draw(st.dictionaries(places, st.integers(1, 255), max_size=12))
        lengths = st.lists(st.integers(0, 2**32 - 1), min_size=units, max_size=units)
        fields.append(postings(entries, draw(lengths)))
    trigrams = st.sets(st.one_of(st.integers(0, 40), st.integers(0, 2**32 - 1)), max_size=12)
    finite = st.floats(width=32, allow_nan=False)
    vector_bytes = (count + 1) * DIMENSIONS
    return contents(
        draw(st.lists(trigrams, min_size=1, max_size=3)),
        lines,
        fields,
        draw(st.lists(finite, min_size=len(MEASURES), max_size=len(MEASURES))),
        draw(st.one_of(st.just(b""), st.binary(min_size=vector_bytes, max_size=vector_bytes))),
        draw(st.booleans()),
    )


def some_texts(most: int = 8) -> st.SearchStrategy[dict[bytes, Contents]]:
    return st.dictionaries(st.binary(min_size=16, max_size=16), some_contents(), max_size=most)


def random_texts(count: int, chunks: int = 3, vocabulary: int = 30) -> dict[bytes, Contents]:
    """Generate texts that share terms and trigrams; the same in every run."""
    chance = random.Random(count)
    texts = {}
    for document in range(count):
        fields = []
        for field in FIELDS:
            units = chunks if field.unit == "chunk" else 1
            entries = {
                (chance.randrange(vocabulary) ** 3, unit): chance.choice((1, 1, 2, 255))
                for unit in range(units)
                for _ in range(8)
            }
            fields.append(postings(entries, [8] * units))
        texts[document.to_bytes(16, "big")] = contents(
            [
                {chance.randrange(vocabulary) for _ in range(20)} | {1000 + document}
                for _ in range(1 + document % 2)
            ],
            [(1 + 10 * chunk, 10 + 10 * chunk, chunk, chunk, 0, 0) for chunk in range(chunks)],
            fields,
            [float(document)] * len(MEASURES),
            chance.randbytes((chunks + 1) * DIMENSIONS),
        )
    return texts
