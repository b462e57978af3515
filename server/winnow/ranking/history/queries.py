"""Queries: the words they are made of, how alike two are, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Set

from winnow.index.postings.terms import query_terms
from winnow.types import QueryForm

# Queries that are this alike ask the same.
SIMILAR = 0.5
# A statement of many words is known by its first ones.
WORDS = 32

_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)\w+)*(?:\(\))?", re.ASCII)
_PATH = re.compile(r"[\w.*?{},\[\]~-]*(?:/[\w.*?{},\[\]~-]*)+|[\w*-]+\.[a-z0-9]{1,5}|\*\.?\S+")
_REGEX = re.compile(r"\\[wsdbWSDB.(\[]|\.[*+]|[\])][*+?{]|\(\?|^\^|\$$|\w\|\w|\[[^\]]+\]")


def words_of(query: str) -> tuple[str, ...]:
    """The terms of a query that are looked at, each once."""
    return tuple(query_terms(query)[:WORDS])


def likeness(one: Set[str], other: Set[str], shared: int | None = None) -> float:
    """How alike two sets of words are, from 0 to 1 (the coefficient of Dice); ``shared`` is how
    many both have, where that is known."""
    if not one or not other:
        return 0.0
    shared = len(one & other) if shared is None else shared
    return 2 * shared / (len(one) + len(other))


def kind_of(query: str) -> QueryForm:
    """What a query looks like."""
    text = query.strip()
    if _SYMBOL.fullmatch(text):
        return "symbol"
    if _PATH.fullmatch(text):
        return "path"
    if _REGEX.search(text):
        return "regex"
    return "question" if text.endswith("?") or len(text.split()) > 3 else "words"
