"""Read the lines of a file around a row."""

from __future__ import annotations

import os
from collections.abc import Sequence

from winnow.errors import SearchError
from winnow.frontends.cli.picker.searches import Searches, SearchFailed
from winnow.frontends.cli.picker.state import Preview, Row
from winnow.storage.paths import real_path
from winnow.text.paths import open_regular
from winnow.text.reading import LineRange, NoText, ReadLimits, read_lines
from winnow.text.sanitize import printable

# More than a screen has, so that lines stay when it grows.
LINES_AROUND = 150
LIMITS = ReadLimits(lines=2 * LINES_AROUND + 1, line_characters=1_000, bytes=1_000_000)
TAB = 4


def read_preview(row: Row) -> Preview:
    """Return the preview of a row. Reads the file itself: the tool `read` would record that the
    user has opened it."""
    first = first_line(row)
    try:
        descriptor = open_regular(real_path(row.file), real_path(row.root))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            read = read_lines(file.read, [LineRange(first, (row.best or 1) + LINES_AROUND)], LIMITS)
    except NoText:
        return Preview(row, problem="not a text file")
    except SearchError as error:
        return Preview(row, problem=printable(error.message))
    except OSError as error:
        return Preview(row, problem=f"the file cannot be read: {error.strerror}")
    return preview_of(row, first, [line.text for line in read.lines])


async def read_shared_preview(row: Row, searches: Searches) -> Preview:
    """Return the preview of a row of the search cluster."""
    first = first_line(row)
    try:
        text = (await searches.read(row, first, LIMITS.lines)).text
    except SearchFailed as failed:
        return Preview(row, problem=printable(str(failed)))
    return preview_of(row, first, text.removesuffix("\n").split("\n") if text else [])


def first_line(row: Row) -> int:
    """Return the first line to show."""
    return max(1, (row.best or 1) - LINES_AROUND)


def preview_of(row: Row, first: int, lines: Sequence[str]) -> Preview:
    """Return the preview with these lines."""
    shown = [printable(line.expandtabs(TAB)) for line in lines]
    return Preview(row, first, shown, "" if shown else "the file has no such line")
