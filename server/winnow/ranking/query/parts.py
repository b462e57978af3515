"""Split a query into its parts: prose, code, diffs, logs, stack traces, error messages and names.

A query may be a word, a question, or a bug report of a megabyte. The time is linear in its length:
lines are classified one by one, and no pattern has ambiguous repetitions. What says nothing about
the code is left out: versions, addresses of memory, hashes, timestamps and URLs.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

from winnow.ranking.query.errors import ErrorMessage
from winnow.ranking.query.frames import Frame, places_in
from winnow.ranking.query.logs import is_log
from winnow.ranking.query.pasted import with_line_breaks
from winnow.ranking.query.traces import MOST_FRAMES, Traces, is_traceback
from winnow.symbols.language import language_of
from winnow.types import QUERY_CHARACTERS

# The beginning of a line that tells its kind. Prose may be longer.
LINE_CHARACTERS = 1_000
TITLE_CHARACTERS = 300
# More of a kind are a repetition, or data.
MOST_NAMES = 500
# Only the beginning and the end of a longer text are split into lines.
MOST_LINES = 20_000
# A search parses its query to choose a search, to find errors, and to rank.
CACHED_QUERIES = 2


class QueryParts(Struct, frozen=True):
    """The parts of a query, in the order of the text, each part once.

    ``title`` is the first line, if it is prose or an error, without versions and addresses;
    ``written_title`` has them. ``prose`` are paragraphs without it, ``code`` the contents of code
    blocks, ``diffs`` patches, and ``logs`` entries of logs. ``frames`` are the places of stack
    traces, the deepest first, then other places with a line, and ``calls`` the functions in frames
    without a place; ``errors`` are messages, in the order of their traces. Of a chain of traces,
    the last is first.
    ``paths`` are files and folders, ``names`` names of code as written: quoted, dotted, or of
    several words. ``quotes`` are quoted texts of several words. ``options`` are options of
    commands, environment variables and keys of configurations.
    """

    title: str = ""
    written_title: str = ""
    prose: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    diffs: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    calls: tuple[str, ...] = ()
    errors: tuple[ErrorMessage, ...] = ()
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


@functools.lru_cache(CACHED_QUERIES)
def parse_query(query: str) -> QueryParts:
    """Return the parts of a query. A megabyte takes up to half a second: parse it in a thread."""
    return _Parser().parse(query)


# --- lines ---------------------------------------------------------------------------------

_FENCE = re.compile(r"[ >]{0,6}(```+|~~~+)\s*(\w*)")
_CONFIGURATION = frozenset("cfg conf env ini json json5 jsonc properties toml yaml yml".split())
_DIFF = re.compile(r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|diff --git |--- [ab]/\S|\+\+\+ [ab]/\S")
_DIFF_LINE = re.compile(
    r"[ +\-@\\]|index [0-9a-f]|(?:new|deleted) file|(?:rename|similarity|old mode|new mode) "
)
_DIFF_PATH = re.compile(r"(?:\+\+\+|---) (?:[ab]/)?(\S+)")
_PROMPT = re.compile(r">>> |\.\.\. |In \[\d+\]: |\$ \S")
_HEADING = re.compile(r"^(?:#{1,6} +|\*\*|[Tt]itle: *)")
# An indented line is code if no other kind of indented line precedes it, such as a list.
_INDENT = re.compile(r"(?: {4}|\t)")

# A terminal draws boxes around messages.
_BOX = re.compile(r"\s{0,6}│ ?")

# --- what says nothing about the code ------------------------------------------------------

# A file on a site for code.
BLOB = re.compile(
    r"https?://[^\s/]{1,100}/[^\s/]{1,100}/[^\s/]{1,100}/(?:-/)?blob/[^\s/]{1,100}/"
    r"([^\s)\]>#\"'`]{1,300})(?:#L(\d{1,7}))?"
)
_NOISE = re.compile(
    r"\b(?:https?|ftp|git|ssh)://[^\s)\]>\"'`]*[\w/]|\bwww\.[^\s)\]>]+|"
    r"\b0x[0-9a-fA-F]+\b|"
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|"
    r"\b(?=[a-f]{0,40}\d)[0-9a-f]{7,64}\b|"
    r"\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?|"
    r"\b\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\b|"
    r"(?<![\w.])(?:[<>=~^!]=? ?|v|version )?\d{1,5}(?:\.\d{1,8}){1,4}"
    r"(?:[-+.]?(?:rc|alpha|beta|dev|post|a|b)[.\d]{0,9})?(?!\w)"
)

# --- names ---------------------------------------------------------------------------------

_QUOTED = re.compile(
    r"`([^`\n]{1,200})`|\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_NAME = r"[^\W\d][\w$]{0,80}[?!]?"
_PLAIN_NAME = re.compile(rf"[@$]?{_NAME}(?:(?:\.|::|->|#|\\){_NAME}){{0,12}}(?:\(\))?")
_WRITTEN_NAME = re.compile(rf"(?<![\w$./\\-]){_PLAIN_NAME.pattern}")
# What tells a name of code from a word of prose.
_IS_CODE = re.compile(
    r"[a-z0-9][A-Z]|[^\W_]_+[^\W_]|[A-Z]{2,}[a-z]{2}|\w(?:\.|::|->|#|\\)[^\W\d]|\(\)$|^_|^[@$]\w"
)
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|a\.k\.a|etc|vs)\b", re.I)
_PATH = re.compile(
    r"(?<![\w./\\-])(?:[A-Za-z]:[\\/]|~/|\.{1,2}/|/)?"
    r"[\w@.+-]{1,120}(?:[\\/][\w@.+()\[\]-]{1,120}){0,30}"
)
_OPTION = re.compile(
    r"(?<![\w-])--[A-Za-z][\w-]{1,60}(?:\.[\w-]{1,60}){0,6}|"
    r"\b[A-Z][A-Z\d]{1,40}(?:_[A-Z\d]{1,40}){1,8}\b"
)
_KEY = re.compile(r"\s*[\"']?([A-Za-z][\w-]{1,60}(?:\.[\w-]{1,60}){0,8})[\"']?\s{0,8}[=:]")


class _Parser:
    """The state while the lines of a query are read."""

    def __init__(self) -> None:
        self._title = self._written_title = ""
        self._blocks: dict[str, list[list[str]]] = {"": [], "code": [], "diff": [], "log": []}
        self._last: str | None = None  # the kind of the line before
        self._is_first = True
        self._traces = Traces()
        self._places: dict[Frame, None] = {}
        self._paths: dict[str, None] = {}
        self._names: dict[str, None] = {}
        self._quotes: dict[str, None] = {}
        self._options: dict[str, None] = {}

    def parse(self, query: str) -> QueryParts:
        """Return the parts of a query."""
        fence = language = before = ""
        for line in _lines(query):
            if (found := _FENCE.match(line)) and (not fence or found[1].startswith(fence)):
                fence, language = ("", "") if fence else (found[1], found[2].lower())
                self._last = None
                self._is_first = False
            elif text := line.strip():
                self._line(line, text, before, language if fence else None)
                before = line[:LINE_CHARACTERS]
            elif not fence and self._last != "diff":
                self._last = None
        frames = dict.fromkeys([*self._traces.frames(), *self._places])
        errors = tuple(dict.fromkeys(self._traces.errors()))
        for error in errors:
            self._read_names(error.text)
        return QueryParts(
            title=self._title,
            written_title=self._written_title,
            prose=self._joined(""),
            code=self._joined("code"),
            diffs=self._joined("diff"),
            logs=self._joined("log"),
            frames=tuple(frames)[:MOST_FRAMES],
            calls=tuple(dict.fromkeys(self._traces.calls())),
            errors=errors,
            paths=tuple(self._paths),
            names=tuple(self._names),
            quotes=tuple(self._quotes),
            options=tuple(self._options),
        )

    def _joined(self, kind: str) -> tuple[str, ...]:
        return tuple("\n".join(lines) for lines in self._blocks[kind])

    def _line(self, line: str, text: str, before: str, language: str | None) -> None:
        """Read a line; ``language`` is that of its code block, None outside of one."""
        is_first, self._is_first = self._is_first, False
        head = text[:LINE_CHARACTERS]
        if (self._last == "diff" and _DIFF_LINE.match(line)) or _DIFF.match(head):
            self._add("diff", line)
            if found := _DIFF_PATH.match(head):
                self._add_path(found[1])
        elif is_log(head):
            self._traces.read(head, before)
            self._add("log", text)
        elif self._traces.read(line[:LINE_CHARACTERS], before):
            self._last = None
            if is_first and not (any(self._traces.frames()) or is_traceback(text)):
                self._title = self._written_title = text[:TITLE_CHARACTERS]
        elif language is not None or _PROMPT.match(head) or self._is_indented_code(line):
            self._add("code", line)
            if language in _CONFIGURATION and (found := _KEY.match(head)):
                _add(self._options, found[1])
        else:
            self._read_prose(text, is_first)

    def _is_indented_code(self, line: str) -> bool:
        return self._last in (None, "code") and bool(_INDENT.match(line)) and not self._is_first

    def _add(self, kind: str, line: str) -> None:
        blocks = self._blocks[kind]
        if self._last != kind or not blocks:
            blocks.append([])
        blocks[-1].append(line)
        self._last = kind

    def _read_prose(self, text: str, is_first: bool) -> None:
        for path, number in BLOB.findall(text):
            self._add_path(path)
            if number:
                _add(self._places, Frame(path, int(number)))
        for place in places_in(text):
            _add(self._places, place)
            self._add_path(place.path)
        plain = self._read_names(text)
        if is_first and len(text) <= TITLE_CHARACTERS:
            self._title = _HEADING.sub("", plain).strip()
            self._written_title = _HEADING.sub("", text).strip()
        elif plain:
            self._add("", plain)

    def _read_names(self, text: str) -> str:
        """Read the names, paths, options and quotes of a line. Return it without what says
        nothing about code."""
        plain = _NOISE.sub(" ", text).strip()
        for found in _QUOTED.finditer(plain):
            quoted = found[found.lastindex or 0].strip()
            if _PLAIN_NAME.fullmatch(quoted):
                _add(self._names, quoted.removesuffix("()"))
            elif " " in quoted:
                _add(self._quotes, quoted)
        if "/" in plain or "\\" in plain or "." in plain:
            # A full stop may follow.
            for path in dict.fromkeys(path.rstrip(".") for path in _PATH.findall(plain)):
                if path and _is_path(path):
                    self._add_path(path)
        for option in _OPTION.findall(plain):
            _add(self._options, option)
        for name in dict.fromkeys(_WRITTEN_NAME.findall(plain)):
            if _IS_CODE.search(name) and name not in self._paths and not _ABBREVIATION.match(name):
                _add(self._names, name.removesuffix("()"))
        return plain

    def _add_path(self, path: str) -> None:
        _add(self._paths, path.replace("\\", "/").removeprefix("./"))


def _lines(query: str) -> list[str]:
    """Return the lines of a query, without comments of issue templates."""
    lines = "".join(_without_comments(query[:QUERY_CHARACTERS])).splitlines()
    if len(lines) == 1:
        lines = with_line_breaks(lines[0])
    lines = [_BOX.sub("", line, count=1) if "│" in line[:8] else line for line in lines]
    half = MOST_LINES // 2
    return lines if len(lines) <= MOST_LINES else lines[:half] + lines[-half:]


def _without_comments(text: str) -> Iterator[str]:
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        yield text[at:start]
        at = end + len("-->")
    yield text[at:]


def _is_path(text: str) -> bool:
    """Return True if a word is a path: of a file with a known extension, or of folders."""
    name = re.split(r"[\\/]", text)[-1]
    if language_of(name) is not None:
        return True
    separators = text.count("/") + text.count("\\")
    return separators > (text[0] not in "./~") and bool(name.strip("."))


T = TypeVar("T")


def _add(known: dict[T, None], item: T) -> None:
    if len(known) < MOST_NAMES:
        known[item] = None
