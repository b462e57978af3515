"""Queries: the words they are made of, how alike two are, and what they look like."""

from __future__ import annotations

import re
from collections.abc import Set

from winnow.learning.records import Kind

# Queries that are this alike ask the same.
SIMILAR = 0.5
# A statement of many words is known by its first ones.
WORDS = 32

WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")
_SYMBOL = re.compile(r"[^\W\d]\w*(?:(?:\.|::|#|->)\w+)*(?:\(\))?", re.ASCII)
_PATH = re.compile(r"[\w.*?{},\[\]~-]*(?:/[\w.*?{},\[\]~-]*)+|[\w*-]+\.[a-z0-9]{1,5}|\*\.?\S+")
_REGEX = re.compile(r"\\[wsdbWSDB.(\[]|\.[*+]|[\])][*+?{]|\(\?|^\^|\$$|\w\|\w|\[[^\]]+\]")
# What questions are made of, and what says nothing of them.
IDLE = frozenset(
    """
    a an and are as at be by can code did do does find for from get has have how i if in into is it
    its my of on or our show that the their there these they this to use used uses using via was we
    what when where which who why will with would you your
    """.split()
)
# Ends of words that do not change what they are about. The longest that leaves three letters goes.
_ENDS = ("ations", "ation", "ings", "ing", "ers", "ies", "ed", "er", "es", "s", "e", "y")


def words_of(query: str) -> tuple[str, ...]:
    """The words of a query in lower case, those of identifiers apart, without their ends, each
    once; idle ones only where there are no others."""
    found = [word.lower() for word in WORD.findall(query)]
    telling = [word for word in found if word not in IDLE] or found
    return tuple(dict.fromkeys(map(stem, telling)))[:WORDS]


def stem(word: str) -> str:
    """A word without its end."""
    for end in _ENDS:
        if word.endswith(end) and len(word) - len(end) >= 3:
            return word[: -len(end)]
    return word


def likeness(one: Set[str], other: Set[str], shared: int | None = None) -> float:
    """How alike two sets of words are, from 0 to 1 (the coefficient of Dice); ``shared`` is how
    many both have, where that is known."""
    if not one or not other:
        return 0.0
    shared = len(one & other) if shared is None else shared
    return 2 * shared / (len(one) + len(other))


def kind_of(query: str) -> Kind:
    """What a query looks like."""
    text = query.strip()
    if _SYMBOL.fullmatch(text):
        return "symbol"
    if _PATH.fullmatch(text):
        return "path"
    if _REGEX.search(text):
        return "regex"
    return "question" if text.endswith("?") or len(text.split()) > 3 else "words"
