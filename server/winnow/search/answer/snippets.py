"""The most telling lines of a passage: what an answer shows of it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby, islice

from msgspec import Struct

from winnow.ranking.local import defines
from winnow.text.sanitize import printable
from winnow.types import Line

LINES = 12
FEW_LINES = 4
# A longer line is cut, around the first word that was asked for.
LINE_CHARACTERS = 240
# Lines below the last one that tells something, and above the first.
AFTER, BEFORE = 2, 1
# The same word once more on further lines adds this part of its weight.
AGAIN = 0.15
# A line that defines what was asked for is worth this much more.
DEFINITION = 1.5
# Of a passage with more lines than this that tell something, the first ones are weighed.
WEIGHED_LINES = 500


class Snippet(Struct, frozen=True):
    """Some lines, from the line ``first`` on."""

    first: int
    text: str


class Wanted:
    """What was asked for: words, in whatever case, with their weights."""

    def __init__(self, words: Mapping[str, float]) -> None:
        self.words = {word.casefold(): weight for word, weight in words.items() if word}
        # No line has a word with a line end.
        in_lines = [word for word in self.words if "\n" not in word]
        by_length = sorted(in_lines, key=len, reverse=True)
        self._pattern = "|".join(map(re.escape, by_length)) or r"(?!)"

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self._pattern, re.I)

    @cached_property
    def _any_lower(self) -> re.Pattern[str]:
        return re.compile(self._pattern)

    def in_lines(self, lines: Sequence[str]) -> Iterator[tuple[int, dict[str, float]]]:
        """The places of lines that have some of the words, and what these weigh there; more if the
        line defines one of them."""
        starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
        text = "\n".join(lines)
        # Where no case need be ignored, the words are found seven times as quickly.
        found = (
            self._any_lower.finditer(text.lower()) if text.isascii() else self._any.finditer(text)
        )
        for at, here in groupby(found, lambda one: bisect_right(starts, one.start()) - 1):
            spans = {}
            for one in here:
                spans[one.start() - starts[at], one.end() - starts[at]] = one[0].casefold()
            words = {word: self.words.get(word, 0.0) for word in spans.values()}
            if defines(Line(lines[at], 0, tuple(spans))):
                words = {word: weight * DEFINITION for word, weight in words.items()}
            yield at, words

    def place_in(self, text: str) -> int:
        """Where the first word stands in a line; 0 if there is none."""
        found = self._any.search(text)
        return found.start() if found else 0


class Excerpt:
    """Some lines of a text, from ``first`` to ``last``, and which of them say what is wanted.

    ``marks`` are lines that are known to match, with what they weigh; ``head`` says that the first
    lines tell what it is.
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
        said = wanted.in_lines(lines[self.first - 1 : self.last])
        told = {self.first + at: words for at, words in islice(said, WEIGHED_LINES)}
        for at, weight in (marks or {}).items():
            if self.first <= at <= self.last:
                told.setdefault(at, {})[""] = weight
        self._told = {at: told[at] for at in sorted(told)[:WEIGHED_LINES]}

    @property
    def says_something(self) -> bool:
        """Whether any line says anything of what is wanted."""
        return bool(self._told)

    def snippet(self, most: int) -> Snippet | None:
        """The part that says most, in so many lines; None if there are no lines."""
        if self.first > self.last:
            return None
        start, end = _part(self._told, self.first, self.last, most, head=self._head)
        while start < end and not self._lines[start - 1].strip():
            start += 1
        while end > start and not self._lines[end - 1].strip():
            end -= 1
        shown = (_cut(self._lines[at - 1], self._wanted) for at in range(start, end + 1))
        return Snippet(start, "\n".join(shown))


def _part(
    told: Mapping[int, Mapping[str, float]], first: int, last: int, most: int, *, head: bool
) -> tuple[int, int]:
    """The first and the last line of the part that says most, in ``most`` lines."""
    if not told:
        return first, min(last, first + most - 1)
    best, start, end = -1.0, first, first
    numbers = list(told)
    # No part says more than its lines do one by one.
    totals = list(accumulate((sum(one.values()) for one in told.values()), initial=0.0))
    for place, at in enumerate(numbers):
        if totals[bisect_left(numbers, at + most)] - totals[place] < best:
            continue
        weights: dict[str, float] = {}
        again, behind = 0.0, at
        for other in numbers[place:]:
            if other >= at + most:
                break
            behind = other
            for word, weight in told[other].items():
                known = weights.get(word, 0.0)
                again += AGAIN * min(known, weight)
                weights[word] = max(known, weight)
        value = sum(weights.values()) + again
        if value > best:
            best, start, end = value, at, behind
    # The head of a definition says what it is: it is shown if there is room.
    start = first if head and end - first < most else max(first, start - BEFORE)
    return start, min(last, max(end + AFTER, start + AFTER), start + most - 1)


def _cut(line: str, wanted: Wanted) -> str:
    if len(line) <= LINE_CHARACTERS:
        return printable(line.rstrip())
    start = max(0, wanted.place_in(line) - LINE_CHARACTERS // 3)
    part = line[start : start + LINE_CHARACTERS]
    dots = "…" * (start > 0), "…" * (start + LINE_CHARACTERS < len(line))
    return printable(f"{dots[0]}{part}{dots[1]}")
