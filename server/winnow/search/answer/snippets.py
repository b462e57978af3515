"""Select the most relevant lines of a passage, for an answer."""

from __future__ import annotations

import copy
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, islice

from msgspec import Struct

from winnow.index.postings.imports import is_import
from winnow.text.definition_lines import defines, definition_in
from winnow.text.ripgrep import Line
from winnow.text.sanitize import printable

LINES = 12
# In an answer that must be shorter, one after the other.
FEWER_LINES = (8, 4, 2, 1)
# A longer line is cut around the first word of the query.
LINE_CHARACTERS = 240
# Lines to show after the last relevant line, and before the first.
AFTER, BEFORE = 2, 1
# A word on further lines adds this share of its weight.
AGAIN = 0.15
# The factor for a line that defines a word of the query.
DEFINITION = 1.5
# Maximum number of relevant lines of a passage to weigh.
WEIGHED_LINES = 500
# A longer line is data, as large as thousands of lines: its part from the first word on counts.
WEIGHED_CHARACTERS = 4_000


# A longer word is data.
WORD_CHARACTERS = 60
_WORD_AROUND = re.compile(r"\w{1,60}")


class Snippet(Struct, frozen=True):
    """Consecutive lines, from line ``first``."""

    first: int
    text: str


class Wanted:
    """The words of a query with their weights, case-insensitive."""

    def __init__(self, words: Mapping[str, float]) -> None:
        self.words = {word.casefold(): weight for word, weight in words.items() if word}
        # No line has a word with a line end.
        self._pattern = any_of(word for word in self.words if "\n" not in word)

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.I)

    @cached_property
    def _any_lower(self) -> re.Pattern[str]:
        return re.compile(self._pattern)

    def in_lines(self, lines: Sequence[str]) -> Iterator[tuple[int, dict[str, float]]]:
        """Yield the indexes of lines with any of the words, and the weights of these; higher if the
        line defines one of them."""
        text = "\n".join(lines)
        for at, start, matches in _by_line(text, self._found_in(text)):
            spans = {
                (match.start() - start, match.end() - start): match[0].casefold()
                for match in matches
            }
            words = {word: self.words.get(word, 0.0) for word in spans.values()}
            if defines(Line(lines[at], 0, tuple(spans))):
                words = {word: weight * DEFINITION for word, weight in words.items()}
            yield at, words

    def words_in(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the words of the query in a text, each with the word that has it there. Single
        letters and digits are in too many words."""
        for found in self._found_in(text):
            start = found.start()
            if len(found[0].encode()) > 1 and _begins_part(text, start):
                least = max(0, start - WORD_CHARACTERS)
                while start > least and (text[start - 1].isalnum() or text[start - 1] == "_"):
                    start -= 1
                if around := _WORD_AROUND.match(text, start):
                    yield found[0].casefold(), around[0]

    def _found_in(self, text: str) -> Iterator[re.Match[str]]:
        # A case-sensitive search is seven times as fast.
        if text.isascii():
            return self._any_lower.finditer(text.lower())
        return self._any.finditer(text)

    def place_in(self, text: str) -> int:
        """Return the offset of the first word in a line; 0 if there is none."""
        found = self._any.search(text)
        return found.start() if found else 0


def any_of(words: Iterable[str]) -> str:
    """Return a regular expression for any of some words, the longest first.

    Words with the same first letter are together, so that few are tried at each place of a text: a
    bug report has hundreds.
    """
    endings: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        endings.setdefault(word[0], []).append(re.escape(word[1:]))
    together = (f"{re.escape(first)}(?:{'|'.join(some)})" for first, some in endings.items())
    return "|".join(together) or r"(?!)"


class Excerpt:
    """The lines of a text from ``first`` to ``last``, and their relevance.

    ``marks`` are matching lines with their weights. ``head`` is True if the first lines describe
    the passage.
    """

    def __init__(
        self,
        lines: Sequence[str],
        first: int,
        last: int,
        wanted: Wanted,
        marks: Mapping[int, float] | None = None,
        *,
        head: bool = True,
    ) -> None:
        self._lines = lines
        self._wanted = wanted
        self._head = head
        self.first, self.last = max(1, first), min(last, len(lines))
        inside = lines[self.first - 1 : self.last]
        if any(map(WEIGHED_CHARACTERS.__lt__, map(len, inside))):
            inside = list(map(self._weighed, inside))
        relevant = wanted.in_lines(inside)
        weights = {self.first + at: words for at, words in islice(relevant, WEIGHED_LINES)}
        for at, weight in (marks or {}).items():
            if self.first <= at <= self.last:
                weights.setdefault(at, {})[""] = weight
        self._weights = {at: weights[at] for at in sorted(weights)[:WEIGHED_LINES]}

    def _weighed(self, line: str) -> str:
        """Return the part of a line in which words are looked for."""
        if len(line) <= WEIGHED_CHARACTERS:
            return line
        start = self._wanted.place_in(line)
        return line[start : start + WEIGHED_CHARACTERS]

    def part(self, first: int, last: int, best: int) -> Excerpt:
        """Return the excerpt of some of the lines; snippets contain the ``best`` of them."""
        part = copy.copy(self)
        part.first, part.last = first, last
        part._weights = {at: words for at, words in self._weights.items() if first <= at <= last}
        everything = sum(sum(words.values()) for words in part._weights.values())
        part._weights[best] = {**part._weights.get(best, {}), "": everything + 1}
        part._weights = dict(sorted(part._weights.items()))
        return part

    @property
    def weights(self) -> Mapping[int, Mapping[str, float]]:
        """The relevant lines, each with its words and their weights."""
        return self._weights

    @property
    def is_relevant(self) -> bool:
        """True if any line is relevant."""
        return bool(self._weights)

    def best_line(self) -> int | None:
        """Return the line that says most: the best definition, else the best of all lines, if
        possible none that imports; None without a relevant line."""

        def worth(at: int) -> tuple[bool, bool, float, int]:
            line = self._lines[at - 1]
            found = definition_in(line)
            # A namespace is the place of the file, not what it defines.
            is_definition = found is not None and found.kind != "module"
            return is_definition, not is_import(line), sum(self._weights[at].values()), -at

        return max(self._weights, key=worth, default=None)

    def text_of(self, line: int) -> str:
        """Return a line of the text, cut if it is long."""
        return _cut(self._lines[line - 1], self._wanted)

    def snippet(self, most: int) -> Snippet | None:
        """Return the most relevant part, of at most ``most`` lines; None if there are no lines."""
        if self.first > self.last:
            return None
        start, end = _part(self._weights, self.first, self.last, most, head=self._head)
        while start < end and not self._lines[start - 1].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        shown = (_cut(self._lines[at - 1], self._wanted) for at in range(start, end + 1))
        return Snippet(start, "\n".join(shown))


def _part(
    weights_of: Mapping[int, Mapping[str, float]], first: int, last: int, most: int, *, head: bool
) -> tuple[int, int]:
    """Return the first and the last line of the most relevant part of ``most`` lines."""
    if not weights_of:
        return first, min(last, first + most - 1)
    best, start, end = -1.0, first, first
    numbers = list(weights_of)
    # The weight of a part is at most the sum of its lines.
    totals = list(accumulate((sum(line.values()) for line in weights_of.values()), initial=0.0))
    for place, at in enumerate(numbers):
        if totals[bisect_left(numbers, at + most)] - totals[place] < best:
            continue
        weights: dict[str, float] = {}
        again, behind = 0.0, at
        for other in numbers[place:]:
            if other >= at + most:
                break
            behind = other
            for word, weight in weights_of[other].items():
                known = weights.get(word, 0.0)
                again += AGAIN * min(known, weight)
                weights[word] = max(known, weight)
        value = sum(weights.values()) + again
        if value > best:
            best, start, end = value, at, behind
    # Show the head of a definition, or a line before, if there is room.
    if head and end - first < most:
        start = first
    elif end - start + BEFORE < most:
        start = max(first, start - BEFORE)
    return start, min(last, max(end + AFTER, start + AFTER), start + most - 1)


def _by_line(
    text: str, found: Iterable[re.Match[str]]
) -> Iterator[tuple[int, int, list[re.Match[str]]]]:
    """Yield the index and the offset of each line with matches, and these. Counting the lines up to
    a match is much faster than splitting a text of which few lines match."""
    at = start = place = 0
    matches: list[re.Match[str]] = []
    for match in found:
        if ends := text.count("\n", place, match.start()):
            if matches:
                yield at, start, matches
            at, start, matches = at + ends, text.rindex("\n", place, match.start()) + 1, []
        matches.append(match)
        place = match.start()
    if matches:
        yield at, start, matches


def _begins_part(text: str, at: int) -> bool:
    """Return True if a part of an identifier begins here, or a word."""
    before = text[at - 1 : at]
    return not before.isalpha() or (before.islower() and text[at].isupper())


def _cut(line: str, wanted: Wanted) -> str:
    if len(line) <= LINE_CHARACTERS:
        return printable(line.rstrip())
    start = max(0, wanted.place_in(line) - LINE_CHARACTERS // 3)
    part = line[start : start + LINE_CHARACTERS]
    dots = "…" * (start > 0), "…" * (start + LINE_CHARACTERS < len(line))
    return printable(f"{dots[0]}{part}{dots[1]}")
