"""Score a name against the text typed for it.

One function scores one name. :mod:`winnow.symbols.search.name_table` selects candidates among a
million names, and agrees with it on what matches.

Classes of matches, best first: the name itself, its start, the initials of its words ("qsf" for
`QuerySetFilter` and `query_set_filter`), starts of words ("getobjor404" for `get_object_or_404`), a
part of it, its letters in order. Within a class, equal case counts, then the share of the name that
was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

EXACT = 1.0
EXACT_BUT_CASE = 0.97
PREFIX = 0.86
INITIALS = 0.76
BOUNDARY = 0.68
WORDS = 0.60
PART = 0.46
LETTERS = 0.20
# Bonuses within a class: smaller than the distance between two classes.
CASE = 0.03
LENGTH = 0.04
TIGHTNESS = 0.16


def fold(text: str) -> str:
    """Return the text in lower case, with the same length."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low) == 1 else char for char in text for low in (char.casefold(),))


def _kind(code: int) -> str:
    """Return the kind of a character: upper or lower case, a digit, another letter, or a sign."""
    char = chr(code)
    if not char.isalnum():
        return "."
    return "A" if char.isupper() else "a" if char.islower() else "0" if char.isdigit() else "x"


class _Kinds(dict[int, str]):
    """The kinds of characters by code, for `str.translate`; only those of ASCII are stored."""

    def __missing__(self, code: int) -> str:
        return _kind(code)


_KINDS = _Kinds((code, _kind(code)) for code in range(128))
# `HTTPServer` is two words, and so is `getURL`.
_WORD = re.compile(r"(?:A+(?!a)|0+|[Aax])[ax]*")


def boundaries(name: str) -> list[int]:
    """Return the positions of the characters that start a word."""
    return [word.start() for word in _WORD.finditer(name.translate(_KINDS))]


class Pattern:
    """The text typed for a name.

    ``start``, ``end`` and ``together`` require exactly these letters at the start, at the end, or
    anywhere in the name. Case then matters if there is a capital letter, or if ``sensitive``.
    """

    def __init__(
        self,
        text: str,
        *,
        start: bool = False,
        end: bool = False,
        together: bool = False,
        sensitive: bool = False,
    ) -> None:
        self.text = text
        self.folded = fold(text)
        self.start = start
        self.end = end
        self.strict = start or end or together
        self.sensitive = sensitive or (self.strict and self.folded != text)

    def score(self, name: str) -> float:
        """Return the quality of a match: 1.0 for the name itself, 0.0 for no match."""
        if not self.text:
            return LETTERS
        if name == self.text:
            return EXACT
        if self.sensitive:
            return self._within(name, self.text, name) if self._allows(name, self.text) else 0.0
        folded = fold(name)
        if self.strict and not self._allows(folded, self.folded):
            return 0.0
        return self._within(name, self.folded, folded)

    def _allows(self, name: str, text: str) -> bool:
        if self.start and self.end:
            return name == text
        if self.start:
            return name.startswith(text)
        return name.endswith(text) if self.end else text in name

    def _within(self, name: str, text: str, folded: str) -> float:
        """Score a name that is not equal; ``text`` is searched in ``folded``."""
        share = LENGTH * len(text) / len(name) if name else 0.0
        at = folded.find(text)
        if at == 0:
            if len(folded) == len(text):
                return EXACT_BUT_CASE
            return PREFIX + share + CASE * name.startswith(self.text)
        if not is_subsequence(text, folded):
            return 0.0
        starts = boundaries(name)
        initials = "".join([folded[position] for position in starts])
        # The first initial must match; later ones may be skipped.
        if len(text) > 1 and initials.startswith(text[0]) and is_subsequence(text, initials):
            return INITIALS + LENGTH * len(text) / len(initials)
        if at > 0:
            where = next((found for found in _positions(text, folded) if found in starts), None)
            if where is not None:
                same = name.startswith(self.text, where)
                return BOUNDARY + share + CASE * same
        if (first := _by_words(text, folded, starts)) is not None:
            return WORDS + share + CASE * (first == starts[0])
        if at > 0:
            return PART + share + CASE * (self.text in name)
        return LETTERS + share + TIGHTNESS / (1 + _gaps(text, folded))


def is_subsequence(text: str, name: str) -> bool:
    """Return True if the name has all letters of a text, in order."""
    position = -1
    for char in text:
        position = name.find(char, position + 1)
        if position < 0:
            return False
    return True


def _positions(text: str, name: str) -> Iterator[int]:
    position = name.find(text)
    while position >= 0:
        yield position
        position = name.find(text, position + 1)


def _by_words(text: str, name: str, starts: Sequence[int]) -> int | None:
    """Return the start of the match if the text consists of starts of the name's words, else None.

    All readings are followed at once: after each letter, ``ends`` maps the positions where it can
    be to the position of the first letter.
    """
    ends = {position: position for position in starts if name[position] == text[0]}
    for char in text[1:]:
        if not ends:
            return None
        earliest = min(ends)
        origin = ends[earliest]
        following: dict[int, int] = {}
        for position in range(earliest + 1, len(name)):
            if name[position] == char:
                if position - 1 in ends:
                    following[position] = ends[position - 1]
                if position in starts:
                    following[position] = min(origin, following.get(position, origin))
        ends = following
    return min(ends.values()) if ends else None


def _gaps(text: str, name: str) -> int:
    """Count the letters of the name between those of the text, matched from the end."""
    end = position = -1
    for char in text:
        position = name.find(char, position + 1)
    end = position
    for char in reversed(text):
        position = name.rfind(char, 0, position + 1) - 1
    return end - position - len(text)
