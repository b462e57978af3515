"""Parse a model's answer tolerantly and trust none of it.

One parser reads JSON and plain lines, complete or as they stream in. It accepts only ids and paths
that were sent, and reduces each reason to one line of plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from winnow.ranking.candidates import Candidate, Ranked
from winnow.text.sanitize import clean_line

REASON_CHARACTERS = 160

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
_JSON = re.compile(r'\{\s*"')
_ENVELOPE = re.compile(r'\{\s*"[a-z_ ]+"\s*:\s*\[', re.I)
_NOTHING = re.compile(r"no relevant files", re.I)
# "f07: reason", "- [f07] (12-30): reason", "2. `src/a.py:12-30` - reason"
_PLAIN = re.compile(
    r"^\s*(?:[-*•]\s+|\d+[.)]\s+)?[`*\[\"']*(?P<name>[^\s`*\]\"']+?)[`*\]\"']*"
    r"(?:[\s:(]+(?:lines?\s+)?(?P<lines>\d+(?:\s*[-–]\s*\d+)?)\)?)?"
    r"[`*\])]*\s*(?::|\s[-–—])\s+(?P<reason>\S.*)$"
)
_LINES = re.compile(r"(\d{1,9})(?:\s*[-–:,]\s*(\d{1,9}))?")


class NamedFile(Struct, frozen=True):
    """A file of the answer, in the model's words."""

    name: str
    lines: str
    reason: str


class AnswerReader:
    """A reader of an answer in pieces; ``nothing_relevant`` is True if the model found no file."""

    def __init__(self) -> None:
        self._text = ""
        self._position = 0
        self._list_start = 0
        self.nothing_relevant = False

    def feed(self, text: str) -> Iterator[NamedFile]:
        """Yield the files that this piece of the answer completes."""
        self._text += text
        # Only these end a file; parsing from the start after each piece would be quadratic.
        if "}" in text or "\n" in text:
            yield from self._read(final=False)

    def finish(self) -> Iterator[NamedFile]:
        """Yield the files that remain at the end of the answer."""
        yield from self._read(final=True)

    def _read(self, *, final: bool) -> Iterator[NamedFile]:
        # An open thinking block hides all text until it is closed.
        text = _THINKING.sub("", self._text)
        if not final and _opening(text):
            return
        if _JSON.search(text):
            yield from self._objects(text, final)
        elif final or "\n" in text:
            yield from self._plain_lines(text, final)

    def _objects(self, text: str, final: bool) -> Iterator[NamedFile]:
        decoder = json.JSONDecoder(strict=False)
        if final and self._list_start:
            self.nothing_relevant = text[self._list_start :].lstrip().startswith("]")
        while (start := text.find("{", self._position)) >= 0:
            if envelope := _ENVELOPE.match(text, start):
                self._position = self._list_start = envelope.end()
                continue
            try:
                found, self._position = decoder.raw_decode(text, start)
            except (ValueError, RecursionError):  # also for a number with too many digits
                if not final:
                    return
                self._position = start + 1
                continue
            yield from _named(found)

    def _plain_lines(self, text: str, final: bool) -> Iterator[NamedFile]:
        end = len(text) if final else text.rfind("\n") + 1
        for line in text[self._position : end].splitlines():
            if _NOTHING.search(line):
                self.nothing_relevant = True
            elif found := _PLAIN.match(line[:2000]):
                yield NamedFile(found["name"], found["lines"] or "", found["reason"])
        self._position = max(end, self._position)


def _opening(text: str) -> bool:
    """Return True if the text may end in the first letters of a thinking tag."""
    tail = text[text.rfind("<") :] if "<" in text else ""
    return bool(tail) and any(
        f"<{tag}>".startswith(tail.lower()) for tag in ("think", "thinking", "reasoning")
    )


def _named(found: Any) -> Iterator[NamedFile]:
    if not isinstance(found, dict):
        return
    name = found.get("id") or found.get("path") or found.get("file")
    if isinstance(name, str):
        reason = found.get("reason") or found.get("why") or found.get("explanation") or ""
        yield NamedFile(name, _lines_text(found.get("lines")), str(reason))


def _lines_text(lines: Any) -> str:
    if isinstance(lines, list):
        return "-".join(str(part) for part in lines[:2])
    return "" if lines is None else str(lines)


class Validator:
    """A check of named files against those that were sent; ``unknown`` counts the others."""

    def __init__(self, sent: Mapping[str, Candidate], root: str) -> None:
        self._sent = sent
        self._by_path = {candidate.path: candidate for candidate in sent.values()}
        self._root = root.replace("\\", "/").rstrip("/") + "/"
        self._seen: set[str] = set()
        self.unknown = 0

    def accept(self, named: NamedFile) -> Ranked | None:
        """Return the candidate of a named file; None if it was not sent or was already named."""
        candidate = self._candidate(named.name)
        if candidate is None:
            self.unknown += 1
            return None
        if candidate.path in self._seen:
            return None
        self._seen.add(candidate.path)
        first, last = _line_span(named.lines, candidate)
        return Ranked(candidate, clean_reason(named.reason), None, first, last)

    def _candidate(self, name: str) -> Candidate | None:
        name = name.strip().strip("[]`\"'")
        by_id = self._sent.get(name.lower())
        if by_id is not None:
            return by_id
        path = name.removeprefix(self._root).removeprefix("./")
        return self._by_path.get(path)


def _line_span(text: str, candidate: Candidate) -> tuple[int | None, int | None]:
    """Return the first and last of the lines that the model named and was shown."""
    found = _LINES.search(text)
    if not found or not candidate.lines:
        return None, None
    first = int(found[1])
    last = int(found[2] or found[1])
    shown = [number for number in candidate.lines if first <= number <= last]
    return (min(shown), max(shown)) if shown else (None, None)


def clean_reason(text: str) -> str:
    """Return one line of plain text of at most 160 characters, without links or markup."""
    return clean_line(text, REASON_CHARACTERS)
