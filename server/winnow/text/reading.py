"""Lines of a file by their numbers, without holding the file.

A file is read from its beginning, piece by piece; line ends are counted, and only the lines that
are asked for are kept. A line ends at a line feed, as for ripgrep, so that numbers agree: a lone
carriage return, a form feed and Unicode's separators are text.
"""

from __future__ import annotations

import bisect
import codecs
import sys
from collections.abc import Callable, Sequence

from msgspec import Struct

from winnow.text.encodings import SAMPLE_BYTES, Encoding, detect, eight_bit

CHUNK_BYTES = 1024 * 1024
# The most bytes of a character, in every encoding.
CHARACTER_BYTES = 4


class LineRange(Struct, frozen=True):
    """A range of lines, both ends included; without ``end``, to the last line."""

    start: int
    end: int | None = None


class ReadLine(Struct, frozen=True):
    """A line. ``end`` is how it ends: a line feed, with a carriage return or not; or not at all.

    ``cut``: it was too long; ``invalid``: not all of it is what the encoding allows.
    """

    number: int
    text: str
    end: str
    cut: bool = False
    invalid: bool = False


class ReadLimits(Struct, frozen=True, kw_only=True):
    """How much to keep: so many lines, of so many characters each, and about so many bytes."""

    lines: int
    line_characters: int
    bytes: int


class ReadResult(Struct, frozen=True):
    """What was read. ``seen`` lines were counted, which are all of the file's if ``ended``.

    ``missed``: it was stopped before it came to lines that there was room for.
    """

    lines: list[ReadLine]
    encoding: Encoding
    seen: int
    ended: bool
    missed: bool


def merged(ranges: Sequence[LineRange]) -> list[LineRange]:
    """The ranges in order, those that overlap or touch joined; no range is every line."""
    joined: list[LineRange] = []
    for one in sorted(ranges, key=lambda one: one.start) or [LineRange(1)]:
        last = joined[-1] if joined else None
        if last is None or (last.end is not None and one.start > last.end + 1):
            joined.append(one)
        elif last.end is not None:
            end = None if one.end is None else max(last.end, one.end)
            joined[-1] = LineRange(last.start, end)
    return joined


def first_from(number: int, ranges: Sequence[LineRange]) -> int | None:
    """The first line of the merged ranges that is not before a line."""
    place = bisect.bisect_left(ranges, number, key=lambda one: one.end or sys.maxsize)
    return max(number, ranges[place].start) if place < len(ranges) else None


def count_within(ranges: Sequence[LineRange], lines: int) -> int:
    """How many of so many lines the merged ranges hold."""
    ends = ((one, lines if one.end is None else min(one.end, lines)) for one in ranges)
    return sum(max(0, end - one.start + 1) for one, end in ends)


def read_lines(
    read: Callable[[int], bytes],
    ranges: Sequence[LineRange],
    bounds: ReadLimits,
    *,
    first: int = 1,
    encoding: Encoding | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> ReadResult:
    """The lines of the merged ranges, from line ``first`` on, within the bounds.

    ``read`` gives the next bytes of the file, at most so many. It is read to its end, or until
    ``stopped``, which is asked before each further megabyte. Without an ``encoding`` it is
    detected. Raises NoText.
    """
    sample = _full(read, SAMPLE_BYTES)
    undecided = encoding is None and sample.isascii() and b"\0" not in sample
    ended = len(sample) < SAMPLE_BYTES
    if encoding is None:
        encoding = detect(sample, ended)
        if encoding is None:
            raise NoText(sample)
    collector = _Collector(encoding, ranges, bounds, first)
    collector.feed(sample.removeprefix(encoding.mark))
    while not ended and not stopped():
        chunk = _full(read, CHUNK_BYTES)
        ended = len(chunk) < CHUNK_BYTES
        # What came before is the same in UTF-8 and Latin-1.
        if undecided and not chunk.isascii():
            collector.encoding = eight_bit(chunk, ended)
            undecided = False
        collector.feed(chunk)
    if ended:
        collector.finish()
    return collector.reading(ended)


class NoText(Exception):
    """The bytes at the beginning, which are no text, are ``sample``."""

    def __init__(self, sample: bytes) -> None:
        super().__init__("no text")
        self.sample = sample


def _full(read: Callable[[int], bytes], size: int) -> bytes:
    """So many bytes, fewer only at the end."""
    piece = read(size)
    while 0 < len(piece) < size and (more := read(size - len(piece))):
        piece += more
    return piece


class _Collector:
    """Goes through a file's chunks, and keeps of each line asked for no more than its bounds.

    ``encoding`` may be changed to another one with code units of the same width.
    """

    def __init__(
        self, encoding: Encoding, ranges: Sequence[LineRange], bounds: ReadLimits, first: int
    ) -> None:
        self.encoding = encoding
        self._newline = encoding.newline
        self._return = encoding.carriage_return
        self._ranges = ranges
        self._bounds = bounds
        # A longer line has more characters than are shown, whatever they are; one is its return.
        self._line_bytes = (bounds.line_characters + 1) * CHARACTER_BYTES
        self._number = 1  # of the line at the place that was reached
        self._wanted = first_from(first, ranges)
        self._lines: list[ReadLine] = []
        self._bytes = 0
        self._piece = bytearray()
        self._long = False
        self._tail = self._newline  # the last code unit before the place that was reached

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk, which ends between two code units unless it is the last."""
        place = 0
        while place < len(chunk):
            if self._enough or self._wanted is None:
                self._number += self._count(chunk, place)
                break
            if self._number < self._wanted:
                place = self._skip(chunk, place, self._wanted - self._number)
                continue
            end = self._find(chunk, place)
            self._keep(chunk, place, len(chunk) if end < 0 else end)
            if end < 0:
                break
            # Before a line end at the chunk's beginning stands what the last one ended with.
            unit = self.encoding.unit
            before = chunk[end - unit : end] if end else self._tail
            self._add("\r\n" if before == self._return else "\n")
            self._number += 1
            place = end + unit
        if chunk:
            unit = self.encoding.unit
            self._tail = chunk[-(len(chunk) % unit or unit) :]

    def finish(self) -> None:
        """Take the end of the file, which ends its last line if nothing else did."""
        if self._number == self._wanted and self._tail != self._newline and not self._enough:
            self._add("")

    def reading(self, ended: bool) -> ReadResult:
        seen = self._number - (self._tail == self._newline)
        missed = not ended and self._wanted is not None and not self._enough
        return ReadResult(self._lines, self.encoding, seen, ended, missed)

    @property
    def _enough(self) -> bool:
        return len(self._lines) >= self._bounds.lines or self._bytes >= self._bounds.bytes

    def _skip(self, chunk: bytes, place: int, lines: int) -> int:
        """Where the line is that many lines on, or the chunk's end."""
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
        # The newline's bytes may stand across two characters; decoding is faster than looking.
        return chunk[place:].decode(self.encoding.codec, "replace").count("\n")

    def _find(self, chunk: bytes, place: int) -> int:
        """Where the next line end is, from a place between two code units; or -1."""
        found = chunk.find(self._newline, place)
        while found % self.encoding.unit and found >= 0:
            found = chunk.find(self._newline, found + 1)
        return found

    def _keep(self, chunk: bytes, start: int, end: int) -> None:
        room = self._line_bytes - len(self._piece)
        self._piece += chunk[start : min(end, start + room)]
        self._long = self._long or end - start > room

    def _add(self, end: str) -> None:
        """Keep the line whose bytes are there."""
        piece = bytes(self._piece)
        if end == "\r\n" and not self._long:
            piece = piece[: -self.encoding.unit]
        text, invalid = _decoded(piece, self.encoding.codec, self._long)
        limit = self._bounds.line_characters
        cut = len(text) > limit
        text = text[:limit] + "…" if cut else text
        self._lines.append(ReadLine(self._number, text, end, cut, invalid))
        self._bytes += len(piece)
        self._piece.clear()
        self._long = False
        self._wanted = first_from(self._number + 1, self._ranges)


def _decoded(piece: bytes, codec: str, cut: bool) -> tuple[str, bool]:
    """The text, and whether it had to be mended; ``cut`` if the last character may be a part."""
    try:
        return codecs.getincrementaldecoder(codec)("strict").decode(piece, not cut), False
    except UnicodeDecodeError:
        return piece.decode(codec, "replace"), True
