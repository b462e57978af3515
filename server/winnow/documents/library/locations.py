"""The location of each line of a document's text, and the text as the preview shows it.

The text of a document contains only its own lines, so that every match in the text is a match in
the document. A separate map gives the page or sheet of each line. The preview starts each part with
a ruler, which is an additional line, and line numbers in answers count rulers.
"""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import msgspec
from msgspec import Struct

RULER = "────"
PREVIEW_SCHEME = "winnow-doc"


class DocumentLocation(Struct, frozen=True, omit_defaults=True, array_like=True):
    """The location of lines in a document; each format sets the fields that it has.

    ``page``, ``slide``, ``row`` and ``paragraph`` count from 1. ``row`` and ``paragraph`` are those
    of the first line, and each following line is the next row or paragraph. ``column`` is the
    number of the first cell in the line (1 is A); tabs separate cells. ``columns`` are the column
    names of a database table. ``member`` is the file in an archive; ``!/`` separates nested
    archives.
    """

    page: int | None = None
    slide: int | None = None
    sheet: str | None = None
    row: int | None = None
    column: int = 1
    columns: tuple[str, ...] = ()
    section: str | None = None
    paragraph: int | None = None
    member: str | None = None


class Anchor(Struct, frozen=True, array_like=True):
    """The location of the lines from ``line`` up to the next anchor. The preview shows ``ruler`` as
    a title before them."""

    line: int
    place: DocumentLocation
    ruler: str = ""


class UnreadPart(Struct, frozen=True, array_like=True):
    """An unreadable part of a document: a member of an archive, pages, or the rest of the text."""

    reason: str
    member: str = ""


class TextMap(Struct, frozen=True, dict=True):
    """The locations of a document's lines; ``lines`` is their number, without rulers."""

    format: str
    lines: int
    anchors: tuple[Anchor, ...] = ()
    failed: tuple[UnreadPart, ...] = ()

    def anchor_at(self, line: int) -> Anchor | None:
        """Return the last anchor at or before a line."""
        found = bisect.bisect_right(self.anchors, line, key=lambda anchor: anchor.line) - 1
        return self.anchors[found] if found >= 0 else None

    def place_at(self, line: int) -> DocumentLocation:
        """Return the location of a line, with its row and paragraph."""
        anchor = self.anchor_at(line)
        if anchor is None:
            return DocumentLocation()
        place, further = anchor.place, line - anchor.line
        return msgspec.structs.replace(
            place,
            row=None if place.row is None else place.row + further,
            paragraph=None if place.paragraph is None else place.paragraph + further,
        )

    def part_of(self, line: int) -> tuple[int, int]:
        """Return the first line of the part that contains a line, and the line after its end."""
        ruled = self._ruled
        found = bisect.bisect_right(ruled, line)
        first = ruled[found - 1] if found else 1
        return first, ruled[found] if found < len(ruled) else self.lines + 1

    def shown_line(self, line: int) -> int:
        """Return the number of a line when rulers count as lines."""
        return line + bisect.bisect_right(self._ruled, line)

    def text_line(self, shown: int) -> int:
        """Return the number of a preview line without rulers."""
        rulers = [line + place for place, line in enumerate(self._ruled)]
        return shown - bisect.bisect_left(rulers, shown)

    @functools.cached_property
    def _ruled(self) -> list[int]:
        """The lines that follow a ruler."""
        return [anchor.line for anchor in self.anchors if anchor.ruler]

    def shown(self, lines: Sequence[str]) -> Iterator[tuple[str, Anchor | None]]:
        """Yield the lines of the preview, including rulers, each with the anchor that starts
        there."""
        anchors = iter(self.anchors)
        waiting = next(anchors, None)
        for number, line in enumerate(lines, 1):
            begins = None
            while waiting is not None and waiting.line <= number:
                if waiting.ruler:
                    yield f"{RULER} {waiting.ruler} {RULER}", waiting
                else:
                    begins = waiting
                waiting = next(anchors, None)
            yield line, begins
        while waiting is not None:  # parts without any text
            if waiting.ruler:
                yield f"{RULER} {waiting.ruler} {RULER}", waiting
            waiting = next(anchors, None)


class DocumentOverlay(Struct, frozen=True):
    """Extracted documents that are placed in the search tree: the map of each text by path.

    ``pending`` counts the documents that were not read yet, ``unreadable`` those that cannot be
    read.
    """

    documents: Mapping[str, TextMap] = {}
    pending: int = 0
    unreadable: int = 0


def location_fields(place: DocumentLocation) -> dict[str, Any]:
    """Return the fields of a location that every answer contains, by their wire names."""
    return {
        "page": place.page,
        "slide": place.slide,
        "sheet": place.sheet,
        "section": place.section,
        "member": place.member,
    }


def cell_at(place: DocumentLocation, before: str) -> str | None:
    """Return the cell of a match from the text before it: `B7`, or `row 7, name` in a database."""
    if place.row is None:
        return None
    column = place.column + before.count("\t")
    if place.columns:
        name = place.columns[column - 1] if column <= len(place.columns) else str(column)
        return f"row {place.row}, {name}"
    return f"{column_name(column)}{place.row}"


def column_name(number: int) -> str:
    """Return the name of a column in a sheet: 1 is `A`, 27 is `AA`."""
    name = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def preview_uri(uri: str, engine: str, line: int | None = None) -> str:
    """Return the URI of a preview: the text of a document as an engine reads it, at a line."""
    query = "?engine=rga" if engine == "rga" else ""
    return f"{PREVIEW_SCHEME}{uri.removeprefix('file')}{query}" + (f"#L{line}" if line else "")


def file_uri(path: str) -> str:
    """Return the same URI as ``Path.as_uri``, in a tenth of the time."""
    if os.sep == "/":
        return f"file://{quote_from_bytes(os.fsencode(path))}"
    return Path(path).as_uri()
