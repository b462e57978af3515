"""Replace patterns (`*.py`, `src/*/`) with names, as a shell does.

Names are sorted. Hidden names match only a pattern that begins with a dot. A pattern without
matches is passed on unchanged. Unlike in a shell, patterns never match outside the workspace, and
no name becomes an option.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
from collections.abc import Iterator, Sequence

from winnow.errors import NotAllowed
from winnow.search.bash.allowed_paths import AllowedPaths
from winnow.search.bash.parse import Word
from winnow.storage.paths import shown_path

MAX_WORDS = 2_000
MAX_ENTRIES = 200_000  # folder entries that are scanned for one pattern

OUTSIDE = "the pattern matches outside the workspace"


# The characters between two slashes, each with a flag that is True if it is quoted.
Part = Sequence[tuple[str, bool]]

# Stands for a quoted character that is special in a pattern, shifted by its code.
_QUOTED = 0xE000


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
        pattern = _pattern(part)
        for name in self._names(path):
            if (text[0] == "." or not name.startswith(".")) and pattern.match(name):
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


def _pattern(part: Part) -> re.Pattern[str]:
    """Return the regular expression of a part of a pattern."""
    text = "".join(
        chr(_QUOTED + ord(char)) if quoted and char in "*?[]!^-" else char for char, quoted in part
    )
    translated = fnmatch.translate(text.replace("[^", "[!"))
    with contextlib.suppress(re.error):
        return re.compile(
            re.sub("[\ue000-\ue0ff]", lambda at: re.escape(chr(ord(at[0]) - _QUOTED)), translated)
        )
    return re.compile("(?!)")  # the end of a range is before its beginning
