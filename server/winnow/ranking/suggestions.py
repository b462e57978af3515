"""Suggestions for a search that found little: names near the query, and earlier queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from winnow.index.postings.terms import content_words
from winnow.index.similar_names import KnownTerms

# A search with so few results, or none with a good score, has found little.
FEW = 3
LOW_SCORE = 0.3
MAX_SUGGESTIONS = 5


def found_little(scores: Sequence[float]) -> bool:
    """Return True if a search with these scores, from 0 to 1, has found little."""
    return len(scores) < FEW or max(scores) < LOW_SCORE


def suggest(query: str, useful: Iterable[str], known_terms: KnownTerms) -> list[str]:
    """Return terms near a query, then ``useful`` earlier queries, without words of the query."""
    words = content_words(query)
    present = {query.strip().lower(), *map(str.lower, words)}
    found = [*known_terms(list(dict.fromkeys(words)))]
    earlier = [past for past in useful if past.strip().lower() not in present]
    found += earlier[: MAX_SUGGESTIONS - len(found)]
    return [term for term in dict.fromkeys(found) if term.lower() not in present]
