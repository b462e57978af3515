"""Where in a document a line of its text comes from, and the text as a reader sees it.

The text of a document is lines without any mark of ours, so that every match in it is one in the
document. What page or sheet they come from is kept beside it, in the order of lines; where it is
shown to a reader, each such part begins with a ruler, a line of its own, and line numbers count
these lines, too.
"""

from __future__ import annotations

import bisect
import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

import msgspec
from msgspec import Struct

RULER = "────"
PREVIEW_SCHEME = "winnow-doc"


class DocumentLocation(Struct, frozen=True, omit_defaults=True, array_like=True):
    """Where a line comes from, as far as the format has such places.

    ``page``, ``slide``, ``row`` and ``paragraph`` count from 1; ``row`` and ``paragraph`` are those
    of the first line: each further line is the next one. ``column`` is the number of the first cell
    in the line (1 is A), and cells are separated by tabs. ``columns`` are names of cells, of a
    table of a database. ``member`` is the file in an archive; ``!/`` leads into an inner archive.
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
    """From ``line`` on, up to the next anchor, lines come from ``place``. With a ``ruler``, a
    reader is shown that title before them."""

    line: int
    place: DocumentLocation
    ruler: str = ""


class UnreadPart(Struct, frozen=True, array_like=True):
    """A part of a document that could not be read: a member of an archive, pages, or the rest."""

    reason: str
    member: str = ""


class TextMap(Struct, frozen=True, dict=True):
    """What is known of a document's text; ``lines`` is their number, without rulers."""

    format: str
    lines: int
    anchors: tuple[Anchor, ...] = ()
    failed: tuple[UnreadPart, ...] = ()

    def anchor_at(self, line: int) -> Anchor | None:
        """The anchor that a line belongs to."""
        found = bisect.bisect_right(self.anchors, line, key=lambda anchor: anchor.line) - 1
        return self.anchors[found] if found >= 0 else None

    def place_at(self, line: int) -> DocumentLocation:
        """Where a line comes from, with the row and the paragraph that are its own."""
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
        """The first line of the part that a line is of, and the one behind the last."""
        ruled = self._ruled
        found = bisect.bisect_right(ruled, line)
        first = ruled[found - 1] if found else 1
        return first, ruled[found] if found < len(ruled) else self.lines + 1

    def shown_line(self, line: int) -> int:
        """The number of a line where rulers are lines, too."""
        return line + bisect.bisect_right(self._ruled, line)

    def text_line(self, shown: int) -> int:
        """The number without rulers of a line as it is shown."""
        rulers = [line + place for place, line in enumerate(self._ruled)]
        return shown - bisect.bisect_left(rulers, shown)

    @functools.cached_property
    def _ruled(self) -> list[int]:
        """The lines before which a reader sees rulers."""
        return [anchor.line for anchor in self.anchors if anchor.ruler]

    def shown(self, lines: Sequence[str]) -> Iterator[tuple[str, Anchor | None]]:
        """The text as a reader sees it: lines with rulers between them, each with the anchor that
        begins there."""
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


def location_fields(place: DocumentLocation) -> dict[str, Any]:
    """What every answer says of a place, by the names of the contract."""
    return {
        "page": place.page,
        "slide": place.slide,
        "sheet": place.sheet,
        "section": place.section,
        "member": place.member,
    }


def cell_at(place: DocumentLocation, before: str) -> str | None:
    """The cell of a match behind a part of its line: `B7`, or of a database `row 7, name`."""
    if place.row is None:
        return None
    column = place.column + before.count("\t")
    if place.columns:
        name = place.columns[column - 1] if column <= len(place.columns) else str(column)
        return f"row {place.row}, {name}"
    return f"{column_name(column)}{place.row}"


def column_name(number: int) -> str:
    """The name of a sheet's column: 1 is `A`, 27 is `AA`."""
    name = ""
    while number > 0:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def preview_uri(uri: str, engine: str, line: int | None = None) -> str:
    """The URI of a document's text, as an engine reads it, at a line."""
    which = "?engine=rga" if engine == "rga" else ""
    return f"{PREVIEW_SCHEME}{uri.removeprefix('file')}{which}" + (f"#L{line}" if line else "")


def file_uri(path: str) -> str:
    """The URI of a file, byte for byte, as pathlib has it, in a tenth of the time."""
    if os.sep == "/":
        return f"file://{quote_from_bytes(os.fsencode(path))}"
    return Path(path).as_uri()
