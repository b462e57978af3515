"""Chunks: the passages of a text that are found and shown, along its syntax.

A chunk ends where a definition of the text begins, as far as sizes allow: definitions that are too
long are cut, small neighbours stay together. What has no definitions is cut at headings, and behind
blank lines. The lines of all chunks follow each other without a gap.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from winnow.symbols.file_symbols import Definition

# About what a person takes in at a glance, and an embedding model tells apart.
CHUNK_BYTES = 1500
CHUNK_LINES = 60
# A chunk has at least this share of the size, unless the text ends.
FILLED = 0.4
MOST_CHUNKS = 65_535
# Of a line that is longer, the rest is data.
LINE_BYTES = 400

# How good a place is to begin a chunk.
_ANYWHERE, _AFTER_BLANK, _PARAGRAPH, _MEMBER, _DEFINITION = range(5)
_MEMBERS = frozenset(("method", "constructor", "property", "field", "enum_member", "operator"))
# Of a function or class, but not of a value, one line is enough to be worth a beginning.
_VALUES = frozenset(("variable", "constant", "property", "field", "enum_member"))
_VALUE_LINES = 3

# Lines that belong to what follows: comments, decorators, attributes.
_LEADING = re.compile(rb'\s*(?://|/\*|\*|#|--|;|%|@|"""|\[\w|<!--|\{-)')
_LEADING_LINES = 40
# In texts without definitions: of Markdown, of INI and TOML, of a diff.
_HEADING = re.compile(rb"#{1,6} |\[[^\]]+\]\s*$|=+ |@@ ")
_CONTINUED = re.compile(rb"[\s})\]]")


def chunks_of(text: bytes, definitions: Sequence[Definition]) -> list[tuple[int, int]]:
    """The first and the last line of each chunk, from 1; none of an empty text."""
    lines = text.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return []
    ends = list(accumulate(min(len(line), LINE_BYTES) + 1 for line in lines))
    # A text that is very long has longer chunks, not more of them.
    most_bytes = max(CHUNK_BYTES, round(3 / FILLED * ends[-1] / MOST_CHUNKS))
    most_lines = max(CHUNK_LINES, round(3 / FILLED * len(lines) / MOST_CHUNKS))
    places = _places(text, lines, definitions)
    chunks = []
    first, before = 0, 0
    while first < len(lines):
        most = min(bisect_right(ends, before + most_bytes), first + most_lines)
        after = min(max(most, first + 1), len(lines))
        if after < len(lines):
            after = _best(places, first, after)
        chunks.append((first + 1, after))
        first, before = after, ends[after - 1]
    return chunks


def _best(places: Sequence[int], first: int, most: int) -> int:
    """The best place to end a chunk that begins at ``first``: of equally good ones the last."""
    least = first + max(1, int((most - first) * FILLED))
    return max(range(least, most + 1), key=lambda line: (places[line], line))


def _places(
    text: bytes, lines: Sequence[bytes], definitions: Sequence[Definition]
) -> Sequence[int]:
    """How good each line is to begin a chunk, from 0."""
    places = bytearray(len(lines))
    blank = True
    for number, line in enumerate(lines):
        if blank and line:
            places[number] = _AFTER_BLANK if _CONTINUED.match(line) else _PARAGRAPH
        elif _HEADING.match(line):
            places[number] = _PARAGRAPH
        blank = not line.strip()
    for definition in definitions:
        if definition.local:
            continue
        rows = definition.end_line - definition.line
        if definition.kind in _VALUES and rows < _VALUE_LINES:
            continue
        start = definition.line - text.count(b"\n", definition.start, definition.at)
        start = _with_leading(lines, min(start, len(lines) - 1))
        member = definition.kind in _MEMBERS
        places[start] = max(places[start], _MEMBER if member else _DEFINITION)
    return places


def _with_leading(lines: Sequence[bytes], start: int) -> int:
    """Where the comments and decorators begin that stand before a line."""
    least = max(0, start - _LEADING_LINES)
    while start > least and _LEADING.match(lines[start - 1]):
        start -= 1
    return start
