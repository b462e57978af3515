"""Matching lines that are read from a document's text only on access.

A search may match thousands of lines, of which an answer contains a page. The hits therefore store
the positions that ripgrep reports.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import overload

import msgspec
from msgspec import Struct

from winnow.documents.library.locations import DocumentLocation, TextMap, cell_at
from winnow.documents.library.request import DocumentHit, DocumentQuery
from winnow.documents.library.texts import TextStore
from winnow.text.ripgrep import Line, cut_line


class _Span(Struct):
    start: int
    end: int


class _Position(Struct):
    """The end of a record of `rg --json`; the offset and the spans are in bytes."""

    line_number: int
    absolute_offset: int
    submatches: list[_Span]


class _Lines(Struct):
    text: str


class _Match(_Position):
    lines: _Lines


class _Record(Struct):
    """A record of `rg --json`."""

    data: _Match


_decode = msgspec.json.Decoder(_Position).decode
_decode_record = msgspec.json.Decoder(_Record).decode


def records_by_line(record: bytes) -> Iterator[bytes]:
    """Yield the end of a record for each line of a block in which a match starts. ripgrep joins
    matches in adjacent lines to a block when they may have several lines."""
    block = _decode_record(record).data
    content = block.lines.text.encode()
    number, before = block.line_number, 0
    starts = itertools.groupby(
        block.submatches, lambda span: content.rfind(b"\n", 0, span.start) + 1
    )
    for start, spans in starts:
        number += content.count(b"\n", before, start)
        before = start
        shifted = [_Span(span.start - start, span.end - start) for span in spans]
        position = _Position(number, block.absolute_offset + start, shifted)
        yield msgspec.json.encode(position)[1:] + b"}"


class TextGone(Exception):
    """A text was deleted before its lines were read."""


class LazyHits(Sequence[DocumentHit]):
    """The hits in a text, from the ends of ripgrep's records. Access raises TextGone if the text
    has been deleted."""

    def __init__(
        self, texts: TextStore, key: str, records: Sequence[bytes], query: DocumentQuery
    ) -> None:
        self._texts = texts
        self._key = key
        self._records = records
        self._query = query

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> DocumentHit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[DocumentHit]: ...
    def __getitem__(self, place: int | slice) -> DocumentHit | Sequence[DocumentHit]:
        if not isinstance(place, slice):
            return self[place : place + 1 or None][0]
        # The text is not cached: a search may have hundreds.
        text, text_map = self._text()
        return [self._hit(record, text, text_map) for record in self._records[place]]

    @property
    def marks(self) -> Sequence[bytes]:
        """The records, to compare hits without reading them."""
        return self._records

    def _text(self) -> tuple[bytes, TextMap]:
        try:
            return self._texts.read(self._key), self._texts.map_of(self._key)
        except OSError:
            raise TextGone from None

    def _hit(self, record: bytes, content: bytes, text_map: TextMap) -> DocumentHit:
        # `"line_number":…}}`, of which the last brace closes the record.
        position = _decode(b"{" + record[:-1])
        number, start = position.line_number, position.absolute_offset
        stop = _line_end(content, start)
        raw = content[start:stop]
        text = raw.decode("utf-8", "replace")
        ranges = [_code_points(raw, span) for span in position.submatches]
        place = text_map.place_at(number)
        first, end = text_map.part_of(number)
        context = self._query.context
        before = _lines_before(content, start, min(context, number - first))
        after = _lines_after(content, stop, min(context, end - 1 - number))
        return DocumentHit(
            text_map.shown_line(number),
            self._line(text, ranges),
            tuple(map(self._shown, before)),
            tuple(map(self._shown, after)),
            place,
            _cells(place, text, ranges),
        )

    def _line(self, text: str, ranges: Sequence[tuple[int, int]]) -> Line:
        if len(text) > self._query.width:
            return cut_line(text, ranges, self._query.width)
        return Line(text, 0, tuple(ranges))

    def _shown(self, raw: bytes) -> str:
        return self._line(raw.decode("utf-8", "replace"), ()).text


def _line_end(text: bytes, start: int) -> int:
    end = text.find(b"\n", start)
    return end if end >= 0 else len(text)


def _lines_before(text: bytes, start: int, count: int) -> list[bytes]:
    """Return the last lines before the start of a line."""
    lines: list[bytes] = []
    while len(lines) < count and start > 0:
        end, start = start - 1, text.rfind(b"\n", 0, start - 1) + 1
        lines.append(text[start:end])
    return lines[::-1]


def _lines_after(text: bytes, stop: int, count: int) -> list[bytes]:
    """Return the next lines after the end of a line."""
    lines: list[bytes] = []
    while len(lines) < count and stop + 1 < len(text):
        start, stop = stop + 1, _line_end(text, stop + 1)
        lines.append(text[start:stop])
    return lines


def _code_points(raw: bytes, span: _Span) -> tuple[int, int]:
    if raw.isascii():
        return min(span.start, len(raw)), min(span.end, len(raw))
    before = len(raw[: span.start].decode("utf-8", "replace"))
    return before, before + len(raw[span.start : span.end].decode("utf-8", "replace"))


def _cells(
    place: DocumentLocation, text: str, ranges: Sequence[tuple[int, int]]
) -> tuple[str, ...]:
    cells = (cell_at(place, text[:start]) for start, _ in ranges)
    return tuple(dict.fromkeys(cell for cell in cells if cell))
