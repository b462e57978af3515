"""Limit the matches of ripgrep: 64 KiB per term, 128 KiB in total. Pure functions.

Sizes are those of ripgrep's plain output with ``--line-number --with-filename``: each line costs
its path, its number, two separators and its text, and ``--`` stands between groups of lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from winnow.text.ripgrep import Line

SEPARATOR = 3  # "--\n"

Files = Mapping[str, Mapping[int, Line]]


def file_size(path: str, lines: Mapping[int, Line]) -> int:
    """Return the size of the lines of a file in bytes, with a separator after each group."""
    path_bytes = len(path.encode("utf-8", "surrogateescape"))
    size = 0
    previous = -1
    for number in sorted(lines):
        size += path_bytes + len(str(number)) + 2 + lines[number].size
        if number != previous + 1:
            size += SEPARATOR
        previous = number
    return size


def merge(into: dict[int, Line], lines: Mapping[int, Line]) -> None:
    """Add lines of the same file; a line that matches in both keeps both matches."""
    for number, line in lines.items():
        known = into.get(number)
        if known is None or not known.ranges:
            into[number] = line
        elif line.ranges and line.start == known.start:
            ranges = tuple(sorted({*known.ranges, *line.ranges}))
            into[number] = replace(known, ranges=ranges)


def terms_that_fit(found: Sequence[Files], limit: int) -> int:
    """Return how many terms, from the first, have a joint output of less than ``limit`` bytes.

    The design searches for all terms together, drops the last and searches again until the output
    fits. Output only grows with a further term, so the longest beginning that fits is the same.
    """
    union: dict[str, dict[int, Line]] = {}
    sizes: dict[str, int] = {}
    for count, files in enumerate(found):
        for path, lines in files.items():
            merge(union.setdefault(path, {}), lines)
            sizes[path] = file_size(path, union[path])
        if sum(sizes.values()) - SEPARATOR >= limit:
            return count
    return len(found)


def union_of(found: Iterable[Files]) -> dict[str, dict[int, Line]]:
    """Return the lines of all terms, by file."""
    union: dict[str, dict[int, Line]] = {}
    for files in found:
        for path, lines in files.items():
            merge(union.setdefault(path, {}), lines)
    return union
