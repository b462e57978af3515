"""Find names in the index that are spelled like the words of a query."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from winnow.index.postings.terms import stem

if TYPE_CHECKING:
    from winnow.symbols.search.name_table import NameTable
    from winnow.symbols.view import SymbolView

# Returns names of the index that are spelled like one of some words, MAX_NAMES at most and the
# nearest first.
KnownTerms = Callable[[Sequence[str]], Sequence[str]]

MAX_NAMES = 5
# A word of this length may have two wrong letters; in a shorter word that gives another word.
LONG = 6
# From this length on, a word with two wrong letters is no other word, but probably misspelled.
VERY_LONG = 8
# Two words are related if they share a beginning of this length.
PREFIX = 4
# Words of a query that are compared, the first ones: each takes milliseconds.
MOST_WORDS = 12
# Limit of the names with nearly the letters of a word that are compared with it: about 1 ms.
MAX_COMPARED = 400

_NAME = re.compile(r"[\w$#@~.:!?-]{1,100}")
_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])|\d+")


def terms_of_index(view: SymbolView, tables: Sequence[NameTable]) -> KnownTerms:
    """Return a function that finds names of definitions, for use while the view is open.

    ``tables`` also hold names that are no longer defined; the function leaves those out.
    """

    def known(words: Sequence[str]) -> list[str]:
        distinct = list(dict.fromkeys(words))[:MOST_WORDS]
        near = [pair for word in distinct for pair in near_names(tables, word)]
        # The nearest of each word come first.
        names = dict.fromkeys(name for _, name in sorted(near, key=lambda pair: -pair[0]))
        # Selectors and headings are texts, which nobody takes for a name.
        plain = (name for name in names if _NAME.fullmatch(name))
        defined = (name for name in plain if next(iter(view.definitions(name)), None) is not None)
        return list(islice(defined, MAX_NAMES))

    return known


def near_names(
    tables: Iterable[NameTable], word: str, limit: int = MAX_NAMES
) -> list[tuple[float, str]]:
    """Return the names nearest to a word with their nearness, the nearest first."""
    matcher = WordMatcher(word)
    alike = (table.like(matcher.stem, mistakes(word), MAX_COMPARED) for table in tables)
    names = dict.fromkeys(name for some in alike for name in some if name != word)
    # Others are compared only if the word is in no name: it may be misspelled then.
    first = [name for name in names if matcher.beginning in name.lower().replace("_", "")]
    found = {name: matcher.nearness(name) for name in first}
    if not matcher.is_in_name:
        found |= {name: matcher.nearness(name) for name in names if name not in found}
    pairs = [(near, name) for name, near in found.items() if near > 0]
    return sorted(pairs, key=lambda pair: (-pair[0], len(pair[1]), pair[1]))[:limit]


def respelled(tables: Sequence[NameTable], word: str) -> str | None:
    """Return the word of names for which a word is probably misspelled, None if there is none."""
    word = word.lower()
    if len(word) < LONG:
        return None
    limit = 1 if len(word) < VERY_LONG else 2
    counts = Counter(
        part.lower()
        for _, name in near_names(tables, word, MAX_COMPARED)
        for part in _PART.findall(name)
    )
    near = [
        (apart, -count, part)
        for part, count in counts.items()
        if part[0] == word[0] and (apart := distance(word, part, limit))
    ]
    return min(near)[2] if near else None


class WordMatcher:
    """A word of a query, to be compared with many names."""

    def __init__(self, word: str) -> None:
        self._word = word.lower()
        self._letters, self._mistakes = set(self._word), mistakes(self._word)
        self._initials = {self._word[:1], self._word[:1].upper()}
        self._nearness: dict[str, float] = {}  # names share parts
        self.stem = stem(self._word)
        # What each part begins with that is the word, has its stem, or begins it.
        self.beginning = self._word[: min(PREFIX, len(self.stem) - 1)]
        self.is_in_name = False  # whether one of the names so far has such a part

    def nearness(self, name: str) -> float:
        """Return how near a name or a part of it is to the word, from 0 to 1: the same spelling or
        stem, a common beginning, or a distance of a letter or two."""
        parts = _PART.findall(name)
        near = 0.0
        for part in (*parts, name, name.replace("_", "")):
            # A stem keeps the first letter, and people seldom mistype it.
            if part[:1] in self._initials:
                lower = part.lower()
                if lower not in self._nearness:
                    self._nearness[lower] = self._compare(lower)
                near = max(near, self._nearness[lower])
        # A name of many parts is also about other things.
        return near * (0.8 + 0.2 / max(1, len(parts)))

    def _compare(self, other: str) -> float:
        if self._word == other:
            self.is_in_name = True
            return 1.0
        # Words with the same stem differ at most in its last letter.
        if other.startswith(self.stem[:-1]) and self.stem == stem(other):
            self.is_in_name = True
            return 0.9
        word, limit = self._word, self._mistakes
        is_prefix = other.startswith(word) or word.startswith(other)
        if is_prefix and min(len(word), len(other)) >= PREFIX:
            return 0.8
        # Each letter that only one word has costs a change.
        letters = set(other)
        if len(self._letters - letters) > limit or len(letters - self._letters) > limit:
            return 0.0
        if not _may_be_misspelled(word, other):
            return 0.0
        apart = distance(word, other, limit)
        return 0.0 if apart is None else 0.85 - 0.15 * apart


def _may_be_misspelled(word: str, other: str) -> bool:
    """Return True if a word may be meant for another with the same first letter. Short words are
    often a letter apart and unrelated, such as `note` and `node`, so one of them must have all
    letters of the other."""
    if len(other) < PREFIX:
        return False
    if len(word) >= LONG:
        return True
    return not (Counter(word) - Counter(other) and Counter(other) - Counter(word))


def mistakes(word: str) -> int:
    """Return the number of letters of a word that may be wrong."""
    return 0 if len(word) < PREFIX else 1 if len(word) < LONG else 2


def distance(word: str, other: str, limit: int) -> int | None:
    """Return the number of letters to change, insert, delete or swap with the next to turn one word
    into the other (optimal string alignment); None if it is over the limit."""
    if abs(len(word) - len(other)) > limit:
        return None
    before, row = list[int](), list(range(len(other) + 1))
    for i, letter in enumerate(word, 1):
        above, before, row = before, row, [i]
        for j, other_letter in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != other_letter))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == other_letter:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return None
    return row[-1] if row[-1] <= limit else None
