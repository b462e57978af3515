"""Patterns among the words (`*.py`, `src/*/`), replaced by names as a shell does it.

Names are sorted; hidden ones are taken if their part of the pattern begins with a dot; a pattern
that nothing matches stays as it is. Unlike a shell's, a pattern never looks outside of the
workspace, and no name becomes an option.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.search.bash.bounds import Bounds
from winnow.search.bash.parse import Word
from winnow.storage.paths import shown_path

MOST_WORDS = 2_000
MOST_ENTRIES = 200_000  # of folders that are looked through for one pattern

OUTSIDE = "the pattern looks outside of the workspace"


class _Any(Struct, frozen=True):
    """`*`"""


class _One(Struct, frozen=True):
    """A character: one of the ``ranges``, or with ``negated`` none of them; `?` has no ranges."""

    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = True

    def takes(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated


Part = Sequence[tuple[str, bool]]  # the characters between two `/`, each with whether it is quoted
Tokens = list[_Any | _One]


def expand(word: Word, bounds: Bounds) -> list[str]:
    """The names that the word stands for, or its text. Raises NotAllowed for a pattern that leaves
    the workspace or matches too much."""
    if not word.finds("*?["):
        return [word.text]
    search = _Search(word, bounds)
    parts = _parts(word)
    absolute = not parts[0]
    found = [os.sep] if absolute else [""]
    for part in parts[1:] if absolute else parts:
        found = [longer for path in found for longer in search.step(path, part)]
        if len(found) > MOST_WORDS:
            raise NotAllowed(word.written, f"it matches more than {MOST_WORDS} names: use find")
    names = [f"./{name}" if name.startswith("-") else name for name in sorted(found)]
    return names or [word.text]


class _Search:
    """The way through the folders for one word."""

    def __init__(self, word: Word, bounds: Bounds) -> None:
        self._word = word
        self._bounds = bounds
        self._looked_at = 0
        self._matched = False

    def step(self, path: str, part: Part) -> Iterator[str]:
        """The path with each name that the next part of the pattern stands for."""
        text = "".join(char for char, _ in part)
        if not any(char in "*?[" and not quoted for char, quoted in part):
            longer = os.path.join(path, text)
            # What stands before the first pattern may be above the workspace: it is not looked at.
            if not self._matched or self._exists(longer):
                yield longer
            return
        self._matched = True
        tokens = _tokens(part)
        for name in self._names(path):
            if (text[0] == "." or not name.startswith(".")) and _matches(name, tokens):
                yield os.path.join(path, name)

    def _exists(self, path: str) -> bool:
        self._check(path)
        return os.path.lexists(os.path.join(self._bounds.folder, path))

    def _names(self, path: str) -> Iterator[str]:
        self._check(path)
        try:
            with os.scandir(os.path.join(self._bounds.folder, path)) as entries:
                for entry in entries:
                    self._looked_at += 1
                    if self._looked_at > MOST_ENTRIES:
                        raise NotAllowed(self._word.written, "too many files to match: use find")
                    yield entry.name
        except OSError:
            return

    def _check(self, path: str) -> None:
        if not self._bounds.contains(path):
            raise NotAllowed(self._word.written, f"{OUTSIDE}: {shown_path(path)[0]}")


def _parts(word: Word) -> list[Part]:
    parts: list[list[tuple[str, bool]]] = [[]]
    for char, quoted in zip(word.text, word.quoted, strict=True):
        if char == "/":
            parts.append([])
        else:
            parts[-1].append((char, quoted))
    # `a//b` is `a/b`; at the ends, an empty part means the root, or a folder.
    inner = [part for part in parts[1:-1] if part]
    return [parts[0], *inner, *parts[1:][-1:]]


def _tokens(part: Part) -> Tokens:
    tokens: Tokens = []
    at = 0
    while at < len(part):
        char, quoted = part[at]
        at += 1
        if quoted or char not in "*?[":
            tokens.append(_One(((char, char),), negated=False))
        elif char == "*":
            tokens.append(_Any())
        elif char == "?":
            tokens.append(_One())
        else:
            one, at = _class(part, at)
            tokens.append(one)
    return tokens


def _class(part: Part, start: int) -> tuple[_One, int]:
    """The `[..]` whose bracket stands before ``start``, and where it ends; the bracket itself if
    it is not closed."""
    at = start
    negated = at < len(part) and part[at] in (("!", False), ("^", False))
    at += negated
    ranges = []
    first = at
    while at < len(part) and (at == first or part[at] != ("]", False)):
        low = high = part[at][0]
        if at + 2 < len(part) and part[at + 1] == ("-", False) and part[at + 2] != ("]", False):
            high = part[at + 2][0]
            at += 2
        ranges.append((low, high))
        at += 1
    if at >= len(part):
        return _One((("[", "["),), negated=False), start
    return _One(tuple(ranges), negated), at + 1


def _matches(name: str, tokens: Tokens) -> bool:
    """Whether the pattern matches the whole name, in time proportional to both at most."""
    at = place = 0
    retry: tuple[int, int] | None = None  # after the last `*`: its place, and where it ends
    while at < len(name):
        token = tokens[place] if place < len(tokens) else None
        if isinstance(token, _Any):
            retry = place, at
            place += 1
        elif token is not None and token.takes(name[at]):
            place += 1
            at += 1
        elif retry is not None:
            retry = retry[0], retry[1] + 1
            place, at = retry[0] + 1, retry[1]
        else:
            return False
    return all(isinstance(token, _Any) for token in tokens[place:])
