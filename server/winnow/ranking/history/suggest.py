"""Suggestions for a search that has found little: what is there, near what was asked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from winnow.index.postings.terms import asked_words, stem

if TYPE_CHECKING:
    from winnow.symbols.search.names import Names
    from winnow.symbols.view import SymbolView

# Of some words, what the index has that is spelled like one of them, `MOST` at most.
KnownTerms = Callable[[Sequence[str]], Sequence[str]]

# With so few results, or none that scores well, a search has found little.
FEW = 3
LOW_SCORE = 0.3
MOST = 5
# A longer word may have two letters wrong; a shorter one is another word then.
LONG = 6
# What two words begin with in common makes them kin from this length on.
PREFIX = 4
# Of the names that have nearly the letters of a word, so many are held against it: some 1 ms.
JUDGED = 400

_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")


def found_little(scores: Sequence[float]) -> bool:
    """Whether a search has found little, by the scores of its results from 0 to 1."""
    return len(scores) < FEW or max(scores) < LOW_SCORE


def suggested(query: str, helped: Iterable[str], known_terms: KnownTerms) -> list[str]:
    """What to ask instead: terms that are there, those nearest to the query's first, then earlier
    queries that have ``helped``. Nothing that the query says already."""
    words = asked_words(query)
    said = {query.strip().lower(), *map(str.lower, words)}
    found = [*known_terms(list(dict.fromkeys(words)))]
    found += [one for one in helped if one.strip().lower() not in said][: MOST - len(found)]
    return [one for one in dict.fromkeys(found) if one.lower() not in said]


def terms_of_index(view: SymbolView, tables: Sequence[Names]) -> KnownTerms:
    """What the index has, by the names of its definitions; for use while the view is open.

    ``tables`` have all names that there ever were: what is not defined any more is left out.
    """

    def known(words: Sequence[str]) -> list[str]:
        near = [near_names(tables, word) for word in words]
        # The nearest of each word come first.
        ordered = sorted((one for some in near for one in some), key=lambda one: -one[0])
        names = dict.fromkeys(name for _, name in ordered)
        there = (name for name in names if next(iter(view.definitions(name)), None) is not None)
        return list(islice(there, MOST))

    return known


def near_names(tables: Iterable[Names], word: str, most: int = MOST) -> list[tuple[float, str]]:
    """The names that are nearest to a word, the nearest first, with how near they are."""
    found: dict[str, float] = {}
    asked = Asked(word)
    for table in tables:
        for name in table.like(asked.stem, mistakes(word), JUDGED):
            near = asked.nearness(name)
            if near > 0 and name != word:
                found[name] = near
    return sorted(
        ((near, name) for name, near in found.items()),
        key=lambda one: (-one[0], len(one[1]), one[1]),
    )[:most]


class Asked:
    """A word that is asked for, to be held against names."""

    def __init__(self, word: str) -> None:
        self._word = word.lower()
        self._letters, self._mistakes = set(self._word), mistakes(self._word)
        self._begins = {self._word[:1], self._word[:1].upper()}
        self._known: dict[str, float] = {}  # names have parts in common
        self.stem = stem(self._word)

    def nearness(self, name: str) -> float:
        """How near a name, or a part of it, is to the word, from 0 to 1: spelled alike, of the same
        stem, one the beginning of the other, or a letter or two apart."""
        parts = _PART.findall(name)
        near = 0.0
        for part in (*parts, name, name.replace("_", "")):
            # No stem has another first letter, and who mistypes a word seldom does so in its first.
            if part[:1] in self._begins:
                near = max(near, self._near(part.lower()))
        # A name of many parts is about other things, too.
        return near * (0.8 + 0.2 / max(1, len(parts)))

    def _near(self, other: str) -> float:
        if other not in self._known:
            self._known[other] = self._judged(other)
        return self._known[other]

    def _judged(self, other: str) -> float:
        if self._word == other:
            return 1.0
        # Words of a stem differ in its last letter at most.
        if other.startswith(self.stem[:-1]) and self.stem == stem(other):
            return 0.9
        word, most = self._word, self._mistakes
        begins = other.startswith(word) or word.startswith(other)
        if begins and min(len(word), len(other)) >= PREFIX:
            return 0.8
        # Each letter that only one of them has takes a change.
        letters = set(other)
        if len(self._letters - letters) > most or len(letters - self._letters) > most:
            return 0.0
        if not _may_be_misspelled(word, other):
            return 0.0
        apart = distance(word, other, most)
        return 0.0 if apart is None else 0.85 - 0.15 * apart


def _may_be_misspelled(word: str, other: str) -> bool:
    """Whether a word may have been meant for another that begins like it. Short words are often a
    letter apart and have nothing to do with each other, as `note` and `node`: one of two has to
    have all letters of the other."""
    if len(other) < PREFIX:
        return False
    if len(word) >= LONG:
        return True
    return not (Counter(word) - Counter(other) and Counter(other) - Counter(word))


def mistakes(word: str) -> int:
    """How many letters of a word may be wrong."""
    return 0 if len(word) < PREFIX else 1 if len(word) < LONG else 2


def distance(one: str, other: str, most: int) -> int | None:
    """How many letters have to be changed, added, taken out or swapped with the next to make one
    word of the other (optimal string alignment); None for more than ``most``."""
    if abs(len(one) - len(other)) > most:
        return None
    before, row = list[int](), list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        above, before, row = before, row, [place]
        for at, its in enumerate(other, 1):
            cost = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != its))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == its:
                cost = min(cost, above[at - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
