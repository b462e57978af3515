"""Cut texts into chunks, the passages that are found and shown, along their syntax.

A chunk ends where a definition begins, if sizes allow: long definitions are cut, small neighbors
stay together. A text without definitions is cut at headings and after blank lines. The chunks cover
all lines without gaps.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, count
from operator import add

from winnow.symbols.file_symbols import Definition

# About what a reader takes in at a glance, and what an embedding model can tell apart.
CHUNK_BYTES = 1500
CHUNK_LINES = 60
# Every chunk but the last has at least this share of the size.
FILLED = 0.4
MOST_CHUNKS = 65_535
# The rest of a longer line is data.
LINE_BYTES = 400

# How good a line is to begin a chunk.
_ANYWHERE, _AFTER_BLANK, _PARAGRAPH, _MEMBER, _DEFINITION = range(5)
_MEMBERS = frozenset(("method", "constructor", "property", "field", "enum_member", "operator"))
# A function or class of one line is worth a chunk, but a value is not.
_VALUES = frozenset(("variable", "constant", "property", "field", "enum_member"))
_VALUE_LINES = 3

# Lines that belong to the next line: comments, decorators, attributes.
_LEADING = re.compile(rb'\s*(?://|/\*|\*|#|--|;|%|@|"""|\[\w|<!--|\{-)')
_LEADING_LINES = 40
# In texts without definitions: headings of Markdown, of INI and TOML, and of a diff.
_HEADING = re.compile(rb"#{1,6} |\[[^\]]+\]\s*$|=+ |@@ ")
# Few lines begin like a heading, and a look-up is faster than a match.
_HEADING_STARTS = frozenset((b"#", b"[", b"=", b"@"))
# How a line begins that continues what is before a blank line.
_CONTINUED = frozenset(b" \t\n\r\f\v})]")


def chunks_of(text: bytes, definitions: Sequence[Definition]) -> list[tuple[int, int]]:
    """Return the first and the last line of each chunk, from 1; none for an empty text."""
    lines = text.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    if not lines:
        return []
    lengths = list(map(len, lines))
    if max(lengths) > LINE_BYTES:
        lengths = [min(length, LINE_BYTES) for length in lengths]
    # With the line end of each line.
    ends = list(map(add, accumulate(lengths), count(1)))
    # A very long text gets longer chunks, not more of them.
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


def _best(places: bytearray, first: int, most: int) -> int:
    """Return the best line to end a chunk that begins at ``first``: the last of equally good
    ones."""
    least = first + max(1, int((most - first) * FILLED))
    return places.rindex(max(places[least : most + 1]), least, most + 1)


def _places(text: bytes, lines: Sequence[bytes], definitions: Sequence[Definition]) -> bytearray:
    """Return how good each line is to begin a chunk, from 0."""
    places = bytearray(len(lines))
    after_blank = [number for number, line in enumerate(map(bytes.strip, lines), 1) if not line]
    for number in [0, *after_blank]:
        if number < len(lines) and (line := lines[number]):
            places[number] = _AFTER_BLANK if line[0] in _CONTINUED else _PARAGRAPH
    for number, line in enumerate(lines):
        if line[:1] in _HEADING_STARTS and _HEADING.match(line):
            places[number] = _PARAGRAPH
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
    """Return where the comments and decorators before a line begin."""
    least = max(0, start - _LEADING_LINES)
    while start > least and _LEADING.match(lines[start - 1]):
        start -= 1
    return start
