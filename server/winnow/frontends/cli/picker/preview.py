"""Read the lines of a file around a row."""

from __future__ import annotations

import os

from winnow.errors import SearchError
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
    best = row.best or 1
    first = max(1, best - LINES_AROUND)
    try:
        descriptor = open_regular(real_path(row.file), real_path(row.root))
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            read = read_lines(file.read, [LineRange(first, best + LINES_AROUND)], LIMITS)
    except NoText:
        return Preview(row, problem="not a text file")
    except SearchError as error:
        return Preview(row, problem=printable(error.message))
    except OSError as error:
        return Preview(row, problem=f"the file cannot be read: {error.strerror}")
    lines = [printable(line.text.expandtabs(TAB)) for line in read.lines]
    return Preview(row, first, lines, "" if lines else "the file has no such line")
