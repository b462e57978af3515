"""Blank out macros that the grammar of C++ parses wrongly: statements without a semicolon, labels,
and words before calls. Replace `= default`, too.

The text keeps its length, so offsets stay valid. Names in blanked text still count as uses.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.symbols.extract.chains import UNKNOWN
from winnow.symbols.file_symbols import ATTRIBUTE
from winnow.symbols.scopes import c

if TYPE_CHECKING:
    from winnow.symbols.extract.extraction import Extraction

Span = tuple[int, int]


class Blanked(Struct, frozen=True):
    """A text without macros, the names in the macros, and the offsets of those that are members of
    an unknown object."""

    text: bytes
    names: tuple[Span, ...] = ()
    members: tuple[int, ...] = ()


_ARGUMENTS = rb"\((?:[^(){};]|\((?:[^(){};]|\([^(){};]*\))*\))*\)"
_MACRO = rb"[A-Z][A-Z0-9_]{2,}"
_STATEMENT = _MACRO + rb"(?P<arguments>[ \t]*" + _ARGUMENTS + rb")?"
# `signals:`, or the second word of `public slots:`.
_LABEL = (
    rb"(?:(?P<access>public|private|protected)[ \t]+)?"
    rb"(?!(?:public|private|protected)\b)(?P<label>\w+)(?P<colon>[ \t]*:)"
)
_PART = re.compile(
    rb"[{};]|^[ \t]*(?:(?P<statement>" + _STATEMENT + rb")|" + _LABEL + rb")[ \t\r]*$"
    rb"|^[ \t]*(?P<call>(?P<called>" + _MACRO + rb")[ \t]*" + _ARGUMENTS + rb"[ \t]*;)",
    re.MULTILINE,
)
# `class EXPORTED("x") Name {`
_EXPORT = rb"[ \t]+(?P<macro>" + _MACRO + rb"[ \t]*" + _ARGUMENTS + rb")(?=[ \t]+\w)"
_EXPORTED = re.compile(rb"\b(?:class|struct|union)" + _EXPORT)
# `A::~A() = default;` is parsed as an assignment.
_DEFAULTED = re.compile(
    rb"::\s*(?:~?\w+|operator\s*[^\s\w(]+)[ \t]*"
    + _ARGUMENTS
    + rb"[\w\s]*(?P<default>=\s*default\s*;)"
)
# Qt's words before a call that sends a signal, and its names of signals and slots.
_SENT = re.compile(rb"\b(?:emit|Q_EMIT)\b(?=[ \t]+[A-Za-z_:(][^;=\n]*\()")
_BEFORE_SENT = re.compile(rb"(?:[;{}):]|\belse|^)[ \t]*\Z", re.MULTILINE)
# The text before such a word in which to look for the end of a statement.
_NEAR = 80
_SIGNAL = re.compile(rb"\b(?:SIGNAL|SLOT)[ \t]*\(\s*(?P<member>\w+)[ \t]*" + _ARGUMENTS + rb"\s*\)")
_CANDIDATE = re.compile(
    rb"^[ \t]*(?:[A-Z][A-Z0-9_]{2,}[ \t\r]*(?:$|[(/])|\w[\w \t]*:\s*$)"
    rb"|\b(?:(?:class|struct|union)[ \t]+[A-Z][A-Z0-9_]{2,}[ \t]*\(|(?:Q_EMIT|emit|SIGNAL|SLOT)\b)"
    rb"|=\s*default\b",
    re.MULTILINE,
)
_UNREAD = re.compile(
    rb"^[ \t]*\#(?:[^\\\n]|\\\r?\n|\\)*"
    rb"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/",
    re.DOTALL | re.MULTILINE,
)
_INKED = re.compile(rb"\S")
_NAME = re.compile(rb"\b[A-Za-z_]\w*")
# The text before the brace of a class or namespace; `extern "C" {` without its string.
_CLASS = re.compile(rb"\b(?:class|struct|union)\b(?:" + _EXPORT + rb")?[^()=]*$")
_NAMESPACE = re.compile(rb"\b(?:namespace\b[^()=]*|extern\s*)$")
_ENUM = re.compile(rb"\benum\b")
# The start of what can follow a statement.
_FOLLOWING = re.compile(rb"\s*(?:[A-Za-z_~}\[]|::|\Z)")
_FUNCTION = re.compile(rb"\s*\w+\s*\(")


def clean(source: bytes) -> bytes:
    """Do the same as for C, and blank out macros that only C++ has."""
    return _blanked(source).text


def read(extraction: Extraction) -> None:
    """Add the names in blanked text."""
    blanked = _blanked(extraction.source)
    extraction.tokens += blanked.names
    for at in blanked.members:
        extraction.flags[at] = ATTRIBUTE
        extraction.owners[at] = UNKNOWN


@functools.lru_cache(maxsize=1)  # called twice per text
def _blanked(source: bytes) -> Blanked:
    cleaned = c.clean(source)
    if not _CANDIDATE.search(cleaned):
        return Blanked(cleaned)
    text = _UNREAD.sub(lambda unread: _INKED.sub(b" ", unread.group()), cleaned)
    signals = [*_SIGNAL.finditer(text)]
    spans = [*_statements(text), *_sent(text), *(signal.span() for signal in signals)]
    spans += (found.span("macro") for found in _EXPORTED.finditer(text))
    result = bytearray(cleaned)
    for start, end in spans:
        result[start:end] = _INKED.sub(b" ", cleaned[start:end])
    for signal in signals:
        result[signal.start()] = ord("0")  # an argument; a name would make the call a declaration
    for defaulted in _DEFAULTED.finditer(text):
        start, end = defaulted.span("default")
        result[start:end] = b"{" + _INKED.sub(b" ", cleaned[start + 1 : end - 1]) + b"}"
    names = tuple(name for span in sorted(spans) for name in _names(text, *span))
    return Blanked(bytes(result), names, tuple(signal.start("member") for signal in signals))


def _names(text: bytes, start: int, end: int) -> Iterator[Span]:
    for name in _NAME.finditer(text, start, end):
        if name.group() not in c.KEYWORDS:
            yield name.span()


def _sent(text: bytes) -> Iterator[Span]:
    """Yield words before the call of a signal."""
    for word in _SENT.finditer(text):
        if _BEFORE_SENT.search(text[max(0, word.start() - _NEAR) : word.start()]):
            yield word.span()


def _statements(text: bytes) -> Iterator[Span]:
    """Yield macros that stand for a statement or a label in a class or namespace."""
    # The kinds of the open braces, and the names before them.
    around: list[tuple[str, Collection[bytes]]] = [("namespace", ())]
    begin = 0  # the end of the last statement
    for part in _PART.finditer(text):
        sign, (start, end) = part.group(), part.span()
        if sign == b"{":
            kind = _kind(text[begin:start])
            names = _NAME.findall(text, begin, start) if kind == "class" else ()
            around.append((kind, frozenset(names)))
        elif sign == b"}":
            if len(around) > 1:
                around.pop()
        elif sign != b";":
            span = _blank(text, *around[-1], part, text[begin:start].strip())
            if span is not None:
                yield span
            elif not part["call"]:
                continue
        begin = end


def _blank(
    text: bytes, kind: str, names: Collection[bytes], part: re.Match[bytes], before: bytes
) -> Span | None:
    """Return the part of a line to blank out, or None if the line belongs to something else."""
    if not kind or (before and not before.endswith(b":")):
        return None
    if part["call"]:
        is_macro = kind == "class" and part["called"] not in names
        return part.span("call") if is_macro else None  # else a constructor
    if part["label"]:
        if kind != "class":
            return None
        start, end = part.span("label")
        return start, end if part["access"] else part.end("colon")
    start, end = part.span("statement")
    if not _FOLLOWING.match(text, end):
        return None
    if kind == "namespace" and part["arguments"] and _FUNCTION.match(text, end):
        return None  # the type of a function
    return start, end


def _kind(header: bytes) -> str:
    """Return "class", "namespace" or "" for the text before a brace."""
    if _ENUM.search(header):
        return ""
    if _CLASS.search(header):
        return "class"
    return "namespace" if _NAMESPACE.search(header) else ""
