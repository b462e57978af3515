"""Read lines of a file by number without loading the file.

A file is read in chunks from its start. Line ends are counted, and only the requested lines are
stored. A line ends at a line feed, as in ripgrep, so that numbers agree: a lone carriage return, a
form feed and Unicode's separators are text.
"""

from __future__ import annotations

import bisect
import codecs
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct

from winnow.text.encodings import SAMPLE_BYTES, Encoding, detect, utf_8_or_latin_1

CHUNK_BYTES = 1024 * 1024
# The maximum length of a character in any encoding.
CHARACTER_BYTES = 4


class LineRange(Struct, frozen=True):
    """A range of lines, including both ends. Without ``end``, it goes to the last line."""

    start: int
    end: int | None = None


class ReadLine(Struct, frozen=True):
    """A line. ``end`` is its line feed, perhaps with a carriage return, or empty.

    ``cut`` is True if it was too long, ``invalid`` if it has bytes that the encoding forbids.
    """

    number: int
    text: str
    end: str
    cut: bool = False
    invalid: bool = False


class ReadLimits(Struct, frozen=True, kw_only=True):
    """The maximum number of lines, of characters per line, and of bytes (approximately)."""

    lines: int
    line_characters: int
    bytes: int


class ReadResult(Struct, frozen=True):
    """The lines that were read. ``seen`` counts all lines up to the end of reading, which is the
    end of the file if ``ended``.

    ``missed`` is True if reading stopped before further requested lines.
    """

    lines: list[ReadLine]
    encoding: Encoding
    seen: int
    ended: bool
    missed: bool


def merge_ranges(ranges: Sequence[LineRange]) -> list[LineRange]:
    """Return the ranges in order, with those merged that overlap or touch; all lines if empty."""
    joined: list[LineRange] = []
    for lines in sorted(ranges, key=lambda lines: lines.start) or [LineRange(1)]:
        last = joined[-1] if joined else None
        if last is None or (last.end is not None and lines.start > last.end + 1):
            joined.append(lines)
        elif last.end is not None:
            end = None if lines.end is None else max(last.end, lines.end)
            joined[-1] = LineRange(last.start, end)
    return joined


def first_line_from(number: int, ranges: Sequence[LineRange]) -> int | None:
    """Return the first line in the merged ranges from a line on."""
    place = bisect.bisect_left(ranges, number, key=lambda lines: lines.end or sys.maxsize)
    return max(number, ranges[place].start) if place < len(ranges) else None


def count_within(ranges: Sequence[LineRange], lines: int) -> int:
    """Return the number of lines in the merged ranges, for a file with ``lines`` lines."""
    ends = ((part, lines if part.end is None else min(part.end, lines)) for part in ranges)
    return sum(max(0, end - part.start + 1) for part, end in ends)


def read_lines(
    read: Callable[[int], bytes],
    ranges: Sequence[LineRange],
    limits: ReadLimits,
    *,
    first: int = 1,
    encoding: Encoding | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> ReadResult:
    """Return the lines of the merged ranges, from line ``first`` on, within the limits.

    ``read`` returns the next bytes of the file, at most the given number. Reading ends with the
    file, or when ``stopped`` returns True, which is called before each further megabyte. If no
    ``encoding`` is given, it is detected. Raises NoText.
    """
    sample = _full(read, SAMPLE_BYTES)
    undecided = encoding is None and sample.isascii() and b"\0" not in sample
    ended = len(sample) < SAMPLE_BYTES
    if encoding is None:
        encoding = detect(sample, ended)
        if encoding is None:
            raise NoText(sample)
    collector = _Collector(encoding, ranges, limits, first)
    collector.feed(sample.removeprefix(encoding.mark))
    while not ended and not stopped():
        chunk = _full(read, CHUNK_BYTES)
        ended = len(chunk) < CHUNK_BYTES
        # The bytes before it are the same in UTF-8 and Latin-1.
        if undecided and not chunk.isascii():
            collector.encoding = utf_8_or_latin_1(chunk, ended)
            undecided = False
        collector.feed(chunk)
    if ended:
        collector.finish()
    return collector.result(ended)


class NoText(Exception):
    """A file is not text; ``sample`` is its start."""

    def __init__(self, sample: bytes) -> None:
        super().__init__("no text")
        self.sample = sample


def _full(read: Callable[[int], bytes], size: int) -> bytes:
    """Read ``size`` bytes, fewer only at the end."""
    piece = read(size)
    while 0 < len(piece) < size and (more := read(size - len(piece))):
        piece += more
    return piece


class _Collector:
    """Collects the requested lines from a file's chunks, within the limits.

    ``encoding`` may change to another one with code units of the same width.
    """

    def __init__(
        self, encoding: Encoding, ranges: Sequence[LineRange], limits: ReadLimits, first: int
    ) -> None:
        self.encoding = encoding
        self._newline = encoding.newline
        self._return = encoding.carriage_return
        self._ranges = ranges
        self._limits = limits
        # A longer line certainly has too many characters; one more is for a carriage return.
        self._line_bytes = (limits.line_characters + 1) * CHARACTER_BYTES
        self._number = 1  # of the current line
        self._next = first_line_from(first, ranges)
        self._lines: list[ReadLine] = []
        self._bytes = 0
        self._piece = bytearray()
        self._long = False
        self._tail = self._newline  # the last code unit of the previous chunk

    def feed(self, chunk: bytes) -> None:
        """Process the next chunk, which ends between two code units unless it is the last."""
        place = 0
        while place < len(chunk):
            if self._is_full or self._next is None:
                self._number += self._count(chunk, place)
                break
            if self._number < self._next:
                place = self._skip(chunk, place, self._next - self._number)
                continue
            end = self._find(chunk, place)
            self._append(chunk, place, len(chunk) if end < 0 else end)
            if end < 0:
                break
            # A line end at the start of a chunk follows the end of the previous chunk.
            unit = self.encoding.unit
            before = chunk[end - unit : end] if end else self._tail
            self._add("\r\n" if before == self._return else "\n")
            self._number += 1
            place = end + unit
        if chunk:
            unit = self.encoding.unit
            self._tail = chunk[-(len(chunk) % unit or unit) :]

    def finish(self) -> None:
        """Process the end of the file, which also ends its last line."""
        if self._number == self._next and self._tail != self._newline and not self._is_full:
            self._add("")

    def result(self, ended: bool) -> ReadResult:
        seen = self._number - (self._tail == self._newline)
        missed = not ended and self._next is not None and not self._is_full
        return ReadResult(self._lines, self.encoding, seen, ended, missed)

    @property
    def _is_full(self) -> bool:
        return len(self._lines) >= self._limits.lines or self._bytes >= self._limits.bytes

    def _skip(self, chunk: bytes, place: int, lines: int) -> int:
        """Return the place that many lines later, or the chunk's end."""
        count = self._count(chunk, place)
        if count < lines:
            self._number += count
            return len(chunk)
        self._number += lines
        for _ in range(lines):
            place = self._find(chunk, place) + self.encoding.unit
        return place

    def _count(self, chunk: bytes, place: int) -> int:
        if self.encoding.unit == 1:
            return chunk.count(b"\n", place)
        # The newline's bytes may span two characters. Decoding is faster than checking each.
        return chunk[place:].decode(self.encoding.codec, "replace").count("\n")

    def _find(self, chunk: bytes, place: int) -> int:
        """Return the place of the next line end, from a place between two code units; or -1."""
        found = chunk.find(self._newline, place)
        while found % self.encoding.unit and found >= 0:
            found = chunk.find(self._newline, found + 1)
        return found

    def _append(self, chunk: bytes, start: int, end: int) -> None:
        room = self._line_bytes - len(self._piece)
        self._piece += chunk[start : min(end, start + room)]
        self._long = self._long or end - start > room

    def _add(self, end: str) -> None:
        """Add the line of the collected bytes."""
        piece = bytes(self._piece)
        if end == "\r\n" and not self._long:
            piece = piece[: -self.encoding.unit]
        text, invalid = _decoded(piece, self.encoding.codec, self._long)
        limit = self._limits.line_characters
        cut = len(text) > limit
        text = text[:limit] + "…" if cut else text
        self._lines.append(ReadLine(self._number, text, end, cut, invalid))
        self._bytes += len(piece)
        self._piece.clear()
        self._long = False
        self._next = first_line_from(self._number + 1, self._ranges)


def _decoded(piece: bytes, codec: str, cut: bool) -> tuple[str, bool]:
    """Return the text, and True if bytes are invalid; with ``cut``, the last may be incomplete."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(piece, not cut), False
    except UnicodeDecodeError:
        return piece.decode(codec, "replace"), True
