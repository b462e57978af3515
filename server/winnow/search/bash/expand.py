"""Replace patterns (`*.py`, `src/*/`) with names, as a shell does.

Names are sorted. Hidden names match only a pattern that begins with a dot. A pattern without
matches is passed on unchanged. Unlike in a shell, patterns never match outside the workspace, and
no name becomes an option.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.parse import Word
from winnow.storage.paths import shown_path

MAX_WORDS = 2_000
MAX_ENTRIES = 200_000  # folder entries that are scanned for one pattern

OUTSIDE = "the pattern matches outside the workspace"


class _Any(Struct, frozen=True):
    """`*`"""


class _Character(Struct, frozen=True):
    """A character in one of the `ranges`, or if `negated` in none of them; `?` has no ranges."""

    ranges: tuple[tuple[str, str], ...] = ()
    negated: bool = True

    def matches(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) != self.negated


# The characters between two slashes, each with a flag that is True if it is quoted.
Part = Sequence[tuple[str, bool]]
Tokens = list[_Any | _Character]


def expand(word: Word, allowed: AllowedPaths) -> list[str]:
    """Return the names that a word matches, or its text if it is not a pattern or matches nothing.

    Raise NotAllowed for a pattern that leaves the workspace or matches too much.
    """
    if not word.has_unquoted("*?["):
        return [word.text]
    search = _Search(word, allowed)
    parts = _parts(word)
    absolute = not parts[0]
    found = [os.sep] if absolute else [""]
    for part in parts[1:] if absolute else parts:
        found = [longer for path in found for longer in search.step(path, part)]
        if len(found) > MAX_WORDS:
            raise NotAllowed(word.written, f"it matches more than {MAX_WORDS} names: use find")
    names = [f"./{name}" if name.startswith("-") else name for name in sorted(found)]
    return names or [word.text]


class _Search:
    """Matches one word against the folders, part by part."""

    def __init__(self, word: Word, allowed: AllowedPaths) -> None:
        self._word = word
        self._allowed = allowed
        self._scanned = 0
        self._matched = False

    def step(self, path: str, part: Part) -> Iterator[str]:
        """Yield the path extended by each name that the next part of the pattern matches."""
        text = "".join(char for char, _ in part)
        if not any(char in "*?[" and not quoted for char, quoted in part):
            longer = os.path.join(path, text)
            # The parts before the first pattern may be above the workspace: do not touch them.
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
        return os.path.lexists(os.path.join(self._allowed.folder, path))

    def _names(self, path: str) -> Iterator[str]:
        self._check(path)
        try:
            with os.scandir(os.path.join(self._allowed.folder, path)) as entries:
                for entry in entries:
                    self._scanned += 1
                    if self._scanned > MAX_ENTRIES:
                        raise NotAllowed(self._word.written, "too many files to match: use find")
                    yield entry.name
        except OSError:
            return

    def _check(self, path: str) -> None:
        if not self._allowed.contains(path):
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
            tokens.append(_Character(((char, char),), negated=False))
        elif char == "*":
            tokens.append(_Any())
        elif char == "?":
            tokens.append(_Character())
        else:
            token, at = _class(part, at)
            tokens.append(token)
    return tokens


def _class(part: Part, start: int) -> tuple[_Character, int]:
    """Parse a `[..]` from behind its bracket, and return it with the position behind it.

    A bracket that is not closed is a plain character.
    """
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
        return _Character((("[", "["),), negated=False), start
    return _Character(tuple(ranges), negated), at + 1


def _matches(name: str, tokens: Tokens) -> bool:
    """Match a pattern against a complete name, in time proportional to the product of lengths."""
    at = place = 0
    retry: tuple[int, int] | None = None  # the last `*`, and the end of its match
    while at < len(name):
        token = tokens[place] if place < len(tokens) else None
        if isinstance(token, _Any):
            retry = place, at
            place += 1
        elif token is not None and token.matches(name[at]):
            place += 1
            at += 1
        elif retry is not None:
            retry = retry[0], retry[1] + 1
            place, at = retry[0] + 1, retry[1]
        else:
            return False
    return all(isinstance(token, _Any) for token in tokens[place:])
