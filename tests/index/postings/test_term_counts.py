"""The terms of a text's fields: the same as if each unit were counted by itself."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from winnow.index.postings.term_counts import Postings, TermCounts
from winnow.index.postings.terms import pack_terms, term_number, terms_of

WORDS = ("get", "Getter", "getHTTPCookie", "http_cookie", "a", "the", "_", "Öl", "検索", "x1")


def counted(units: list[list[str]]) -> Postings:
    """Count each unit by itself."""
    entries = []
    lengths = []
    for unit, found in enumerate(units):
        numbers = [term_number(term) for word in found for term in terms_of(word)]
        lengths.append(len(numbers))
        entries += [(n, unit, min(many, 255)) for n, many in Counter(numbers).items()]
    terms, numbers_of_units, counts = zip(*sorted(entries), strict=True) if entries else ((),) * 3
    return Postings(
        np.array(terms, np.uint64).tobytes(),
        np.array(numbers_of_units, np.uint16).tobytes(),
        np.array(counts, np.uint8).tobytes(),
        np.array(lengths, np.uint32).tobytes(),
    )


def test_terms_are_counted_by_field_and_unit() -> None:
    chance = random.Random(1)
    for _ in range(200):
        fields: list[list[list[str]]] = [[], [], []]
        counts = TermCounts(len(fields))
        for _ in range(chance.randrange(8)):
            field = chance.randrange(len(fields))
            unit = chance.choices(WORDS, k=chance.choice((0, 1, 5, 700)))
            fields[field].append(unit)
            counts.add(field, pack_terms(unit))
        assert counts.postings() == [counted(units) for units in fields]
