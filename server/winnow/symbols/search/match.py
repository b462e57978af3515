"""How well a name matches what was typed for it.

One function judges one name. :mod:`winnow.symbols.search.names` finds, among a million, those few
that are worth being judged, and agrees with it on what matches at all.

Classes of matches, the better first: the name itself, its beginning, the initials of its words
("qsf" of `QuerySetFilter` and `query_set_filter`), words from their beginning on ("getobjor404" of
`get_object_or_404`), a part of it, letters of it in order. Within a class, equal case counts, then
how much of the name was typed.
"""

from __future__ import annotations

from collections.abc import Iterator

EXACT = 1.0
EXACT_BUT_CASE = 0.97
PREFIX = 0.86
INITIALS = 0.76
BOUNDARY = 0.68
WORDS = 0.60
PART = 0.46
LETTERS = 0.20
# What is given within a class: less than what lies between two of them.
CASE = 0.03
LENGTH = 0.04
TIGHTNESS = 0.16


def fold(text: str) -> str:
    """The text without the difference of case, as long as it was."""
    if text.isascii():
        return text.lower()
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(one if len(one) == 1 else char for char in text for one in (char.casefold(),))


def boundaries(name: str) -> list[bool]:
    """For each character, whether a word of the name begins there."""
    begins = []
    before = ""
    for place, char in enumerate(name):
        if not char.isalnum():
            begins.append(False)
        elif not before.isalnum():
            begins.append(True)
        elif char.isupper():
            # `HTTPServer` is two words, and so is `getURL`.
            after = name[place + 1 : place + 2]
            begins.append(not before.isupper() or after.islower())
        else:
            begins.append(char.isdigit() and not before.isdigit())
        before = char
    return begins


class Pattern:
    """What is typed for a name. ``start``, ``end`` and ``together`` confine it to exactly these
    letters at the name's beginning, end, or anywhere; case then counts if there is a capital
    letter, or if ``sensitive``."""

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
        """How well the name matches, up to 1.0 for the very same; 0.0 if it does not."""
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
        """The score of a name that is not the same; ``text`` is looked for in ``folded``."""
        share = LENGTH * len(text) / len(name) if name else 0.0
        at = folded.find(text)
        if at == 0:
            if len(folded) == len(text):
                return EXACT_BUT_CASE
            return PREFIX + share + CASE * name.startswith(self.text)
        if not is_subsequence(text, folded):
            return 0.0
        begins = boundaries(name)
        initials = "".join(folded[place] for place in _true(begins))
        # From the first word on; some may be left out behind it.
        if len(text) > 1 and initials.startswith(text[0]) and is_subsequence(text, initials):
            return INITIALS + LENGTH * len(text) / len(initials)
        if at > 0:
            where = next((one for one in _places(text, folded) if begins[one]), None)
            if where is not None:
                same = name.startswith(self.text, where)
                return BOUNDARY + share + CASE * same
        if (first := _by_words(text, folded, begins)) is not None:
            return WORDS + share + CASE * (first == next(_true(begins)))
        if at > 0:
            return PART + share + CASE * (self.text in name)
        return LETTERS + share + TIGHTNESS / (1 + _gaps(text, folded))


def is_subsequence(text: str, name: str) -> bool:
    """Whether the name has all letters of a text, in their order."""
    place = -1
    for char in text:
        place = name.find(char, place + 1)
        if place < 0:
            return False
    return True


def _true(begins: list[bool]) -> Iterator[int]:
    return (place for place, one in enumerate(begins) if one)


def _places(text: str, name: str) -> Iterator[int]:
    place = name.find(text)
    while place >= 0:
        yield place
        place = name.find(text, place + 1)


def _by_words(text: str, name: str, begins: list[bool]) -> int | None:
    """Where the text begins, if it is made of beginnings of the name's words; else None.

    All ways of reading it are followed at once: after each letter, ``ends`` are the places in the
    name where it may have been, each with the place of the first letter.
    """
    ends = {place: place for place in _true(begins) if name[place] == text[0]}
    for char in text[1:]:
        if not ends:
            return None
        earliest = min(ends)
        origin = ends[earliest]
        following: dict[int, int] = {}
        for place in range(earliest + 1, len(name)):
            if name[place] == char:
                if place - 1 in ends:
                    following[place] = ends[place - 1]
                if begins[place]:
                    following[place] = min(origin, following.get(place, origin))
        ends = following
    return min(ends.values()) if ends else None


def _gaps(text: str, name: str) -> int:
    """How many letters of the name stand between those of the text, read from its end."""
    end = place = -1
    for char in text:
        place = name.find(char, place + 1)
    end = place
    for char in reversed(text):
        place = name.rfind(char, 0, place + 1) - 1
    return end - place - len(text)
