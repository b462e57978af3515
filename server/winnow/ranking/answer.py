"""What a model answered, read tolerantly and believed in nothing.

One parser takes JSON and plain lines, whole or as they stream in. Only ids and paths that were
sent count; a reason is cleaned of everything but one line of text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from winnow.text.sanitize import clean_line
from winnow.types import Candidate, Ranked

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
    """What the model says of one file, as it said it."""

    name: str
    lines: str
    reason: str


class AnswerReader:
    """Reads an answer piece by piece; ``nothing_relevant`` is set when the model says so."""

    def __init__(self) -> None:
        self._text = ""
        self._position = 0
        self._list_start = 0
        self.nothing_relevant = False

    def feed(self, text: str) -> Iterator[NamedFile]:
        """The files that are complete with this further piece of the answer."""
        self._text += text
        # Nothing else can complete a file, and reading all anew for every piece would be quadratic.
        if "}" in text or "\n" in text:
            yield from self._read(final=False)

    def finish(self) -> Iterator[NamedFile]:
        """The files that remain when the answer has ended."""
        yield from self._read(final=True)

    def _read(self, *, final: bool) -> Iterator[NamedFile]:
        # An opened thinking block hides all that follows until it is closed.
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
            except (json.JSONDecodeError, RecursionError):
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
    """Whether the text may be the first letters of a thinking tag."""
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
    """Turns what a model named into ranked candidates; ``unknown`` counts what it was not sent."""

    def __init__(self, sent: Mapping[str, Candidate], root: str) -> None:
        self._sent = sent
        self._by_path = {candidate.path: candidate for candidate in sent.values()}
        self._root = root.replace("\\", "/").rstrip("/") + "/"
        self._seen: set[str] = set()
        self.unknown = 0

    def accept(self, named: NamedFile) -> Ranked | None:
        """The candidate that is meant, or None for one that was not sent or was named before."""
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
    """The lines that the model pointed at, as far as it was shown them."""
    found = _LINES.search(text)
    if not found or not candidate.lines:
        return None, None
    first = int(found[1])
    last = int(found[2] or found[1])
    shown = [number for number in candidate.lines if first <= number <= last]
    return (min(shown), max(shown)) if shown else (None, None)


def clean_reason(text: str) -> str:
    """One line of plain text of at most 160 characters: no links, no markup, nothing invisible."""
    return clean_line(text, REASON_CHARACTERS)
