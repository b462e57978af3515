"""Weigh the matches of search terms: the evidence of ripgrep for the ranker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from winnow.index.postings.terms import stem, words
from winnow.ranking.candidates import Candidate
from winnow.text.definition_lines import defines, definition_in

# An earlier term counts more: the first twice as much as the fifth. The caller orders the terms by
# importance.
ORDER_DECAY = 0.25
# The share of a term whose words are those of the query: the ranker counts these already.
KNOWN = 0.17
# From this share on, a term is a name.
NAMED = 0.5


class MatchedTerms(Struct, frozen=True):
    """The matches in a file: ``hits`` are the matching lines of each term, from 1.

    ``weights`` of the terms that match are at most 1 in sum, which is their ``share``; a term whose
    words are those of the query has a small one. ``defined`` is the same for definitions: a term
    counts by its share in the name. ``names`` are the defined names of which it is at least half,
    with their lines.
    """

    weights: Mapping[str, float]
    hits: Mapping[str, Sequence[int]]
    defined: float = 0.0
    names: Mapping[str, int] = {}

    @property
    def share(self) -> float:
        return sum(self.weights.values())

    def lines(self) -> dict[int, float]:
        """Return the matching lines, each with the weights of its terms in sum."""
        lines: dict[int, float] = {}
        for term, numbers in self.hits.items():
            for number in numbers:
                lines[number] = lines.get(number, 0.0) + self.weights[term]
        return lines


def matches_of(
    query: str, terms: Sequence[str], candidates: Iterable[Candidate], searched: int | None
) -> dict[str, MatchedTerms]:
    """Return the matches of each candidate, by path.

    ``terms`` are all search terms by descending importance, ``searched`` is the number of searched
    files, if known.
    """
    candidates = list(candidates)
    in_query = _stems(query)
    weights = {
        term: weight * (KNOWN if _stems(term) <= in_query else 1.0)
        for term, weight in _term_weights(terms, candidates, searched).items()
    }
    return {file.path: _matches(file, weights) for file in candidates}


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word.lower()) for word in words(text))


def _matches(file: Candidate, weights: Mapping[str, float]) -> MatchedTerms:
    shares = {number: defines(line) for number, line in file.lines.items() if line.ranges}
    defined = 0.0
    names: dict[str, int] = {}
    for term in sorted(file.hits, key=lambda term: -weights[term]):
        best = max(file.hits[term], key=lambda number: (shares[number], -number), default=None)
        if best is None or not shares[best]:
            continue
        defined += weights[term] * shares[best]
        found = definition_in(file.lines[best].text)
        if found is not None and shares[best] >= NAMED:
            names[found.name] = best
    own = {term: weights[term] for term in file.counts}
    return MatchedTerms(own, file.hits, defined, names)


def _term_weights(
    terms: Sequence[str], candidates: Sequence[Candidate], searched: int | None
) -> dict[str, float]:
    """Return the weight of each term: its position among the terms times its rarity, 1 in sum."""
    files = {term: sum(term in file.counts for file in candidates) for term in terms}
    largest = max(files.values(), default=0)
    total = max(searched or max(1000, 10 * largest), largest)
    weights = {
        term: math.log(1 + (total - n + 0.5) / (n + 0.5)) / (1 + ORDER_DECAY * place)
        for place, (term, n) in enumerate(files.items())
        if n
    }
    weight_sum = sum(weights.values())
    return {term: weight / weight_sum for term, weight in weights.items()}
