"""Weigh the matches of search terms: the evidence of ripgrep for the ranker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from winnow.ranking.candidates import Candidate
from winnow.text.definition_lines import defines

# An earlier term counts more: the first twice as much as the fifth. The caller orders the terms by
# importance.
ORDER_DECAY = 0.25


class TermMatches(Struct, frozen=True):
    """The matches in a file: ``hits`` are the matching lines of each term, from 1.

    ``weights`` of the terms that match are at most 1 in sum, which is their ``share``. ``defined``
    is the same for definitions: a term counts by its share in the name.
    """

    weights: Mapping[str, float]
    hits: Mapping[str, Sequence[int]]
    defined: float = 0.0

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
    terms: Sequence[str], candidates: Iterable[Candidate], searched: int | None
) -> dict[str, TermMatches]:
    """Return the matches of each candidate, by path.

    ``terms`` are all search terms by descending importance, ``searched`` is the number of searched
    files, if known.
    """
    candidates = list(candidates)
    weights = _term_weights(terms, candidates, searched)
    return {
        file.path: TermMatches(
            {term: weights[term] for term in file.counts}, file.hits, _defined(file, weights)
        )
        for file in candidates
    }


def _defined(file: Candidate, weights: Mapping[str, float]) -> float:
    shares = {number: defines(line) for number, line in file.lines.items()}
    return sum(
        weights[term] * max((shares[number] for number in numbers), default=0.0)
        for term, numbers in file.hits.items()
    )


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
