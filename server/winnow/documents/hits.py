"""Matching lines of a document, made of its text when somebody asks for them.

A search may match thousands of lines of which a page of an answer holds some: ripgrep's word for
where they are is kept, and the lines are read once they are wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec
from msgspec import Struct

from winnow.documents.found import DocumentHit, DocumentQuery
from winnow.documents.places import Place, TextMap, cell_at
from winnow.documents.texts import Texts
from winnow.text.ripgrep import cut_line
from winnow.types import Line


class _Span(Struct):
    start: int
    end: int


class _Where(Struct):
    """The end of a record of `rg --json`: spans are in bytes."""

    line_number: int
    submatches: list[_Span]


_decode = msgspec.json.Decoder(_Where).decode


class Hits(Sequence[DocumentHit]):
    """The hits in one text, from the ends of ripgrep's records.

    A text that is deleted before they are asked for leaves lines that are empty.
    """

    def __init__(
        self, texts: Texts, key: str, records: Sequence[bytes], query: DocumentQuery
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
        # Not kept: there may be hundreds of texts.
        lines, text_map = self._text()
        return [self._hit(record, lines, text_map) for record in self._records[place]]

    @property
    def marks(self) -> Sequence[bytes]:
        """What tells whether these are the same hits as others, at no cost."""
        return self._records

    def _text(self) -> tuple[Sequence[bytes], TextMap]:
        text_map = self._texts.load_map(self._key)
        try:
            lines = self._texts.raw_lines(self._key)
        except OSError:
            lines = []
        return lines, text_map or TextMap("", len(lines))

    def _hit(self, record: bytes, lines: Sequence[bytes], text_map: TextMap) -> DocumentHit:
        # `"line_number":…}}`, of which the last brace closes the record.
        where = _decode(b"{" + record[:-1])
        number = where.line_number
        raw = lines[number - 1] if number <= len(lines) else b""
        text = raw.decode("utf-8", "replace")
        ranges = [_code_points(raw, one) for one in where.submatches]
        place = text_map.place_at(number)
        first, end = text_map.part_of(number)
        context = self._query.context
        return DocumentHit(
            text_map.shown_line(number),
            self._line(text, ranges),
            tuple(map(self._shown, lines[max(first, number - context) - 1 : number - 1])),
            tuple(map(self._shown, lines[number : min(end - 1, number + context)])),
            place,
            _cells(place, text, ranges),
        )

    def _line(self, text: str, ranges: Sequence[tuple[int, int]]) -> Line:
        if len(text) > self._query.width:
            return cut_line(text, ranges, self._query.width)
        return Line(text, 0, tuple(ranges))

    def _shown(self, raw: bytes) -> str:
        text = raw.decode("utf-8", "replace")
        return (
            text if len(text) <= self._query.width else cut_line(text, (), self._query.width).text
        )


def _code_points(raw: bytes, span: _Span) -> tuple[int, int]:
    if raw.isascii():
        return min(span.start, len(raw)), min(span.end, len(raw))
    before = len(raw[: span.start].decode("utf-8", "replace"))
    return before, before + len(raw[span.start : span.end].decode("utf-8", "replace"))


def _cells(place: Place, text: str, ranges: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    cells = (cell_at(place, text[:start]) for start, _ in ranges)
    return tuple(dict.fromkeys(cell for cell in cells if cell))
