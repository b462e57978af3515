"""Texts of source files, with conversions between offsets, lines and columns."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from winnow.errors import SearchError
from winnow.storage.paths import real_path
from winnow.text.encodings import to_utf_8
from winnow.text.paths import PathResolver, containing_root, open_regular

_QUOTED = re.compile(rb"\"[^\"\\]*\"|'[^'\\]*'|`[^`\\]*`")
_WORD = re.compile(r"[^\W\d][\w$]*|\$[\w$]*")
_WORD_BEFORE = re.compile(r"[\w$]*\Z")
_WORD_AFTER = re.compile(r"[\w$]*")
_COUNTED_BYTES = 2048
# A file may be longer than its size in the file system.
_LEAST_PORTION = 1 << 16


class SourceText:
    """A text in UTF-8. Offsets are bytes from 0, lines count from 0."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def _starts(self) -> list[int]:
        lines = self.data.splitlines(keepends=True)
        if lines and lines[-1][-1] not in b"\r\n":
            lines.pop()  # the last line has no end, and no line begins behind it
        return list(accumulate(map(len, lines), initial=0))

    def line_at(self, at: int) -> int:
        """Return the line number of an offset."""
        return bisect_right(self._starts, at) - 1

    def line(self, number: int) -> str:
        """Return a line without its line end; empty if there is no such line."""
        if not 0 <= number < len(self._starts):
            return ""
        start = self._starts[number]
        end = self._starts[number + 1] if number + 1 < len(self._starts) else len(self.data)
        return self.data[start:end].decode("utf-8", "replace").rstrip("\r\n")

    def column(self, at: int, encoding: str) -> int:
        """Return the column of an offset, in units of "utf-8", "utf-16" or "utf-32"."""
        before = self.data[self._starts[self.line_at(at)] : at]
        if encoding == "utf-8" or before.isascii():
            return len(before)
        text = before.decode("utf-8", "replace")
        return len(text) if encoding == "utf-32" else len(text.encode("utf-16-le")) // 2

    def offset(self, line: int, column: int, encoding: str) -> int | None:
        """Return the offset of a position: the line's end for a column beyond it, None for a line
        beyond the last."""
        if not 0 <= line < len(self._starts):
            return None
        text = self.line(line)
        start = self._starts[line]
        if text.isascii():
            return start + min(column, len(text))
        if encoding == "utf-8":
            return start + min(column, len(text.encode()))
        if encoding == "utf-16":
            text = text.encode("utf-16-le")[: 2 * column].decode("utf-16-le", "ignore")
        else:
            text = text[:column]
        return start + len(text.encode())

    def word_at(self, at: int) -> tuple[int, str] | None:
        """Return the offset and text of the identifier at an offset or just before it; at a `#`,
        of the one after it."""
        number = self.line_at(at)
        text = self.line(number)
        column = len(self.data[self._starts[number] : at].decode("utf-8", "replace"))
        before = _WORD_BEFORE.search(text[:column])
        after = _WORD_AFTER.match(text[column:])
        assert before is not None
        assert after is not None
        word = before.group() + after.group()
        if not word and text[column : column + 1] == "#" and text[column + 1 :]:
            after = _WORD_AFTER.match(text[column + 1 :])
            return (at + 1, after.group()) if after and after.group() else None
        return (at - len(before.group().encode()), word) if word else None

    def string_at(self, at: int) -> tuple[int, str] | None:
        """Return the offset and text of the quoted string around an offset, on one line."""
        number = self.line_at(at)
        start, text = self._starts[number], self.line(number).encode()
        for found in _QUOTED.finditer(text):
            if found.start() < at - start < found.end():
                return start + found.start() + 1, found.group()[1:-1].decode("utf-8", "replace")
        return None

    def find(self, line: int, word: str) -> int | None:
        """Return the offset of the first occurrence of a word on a line."""
        if not 0 <= line < len(self._starts):
            return None
        found = re.search(rf"(?<![\w$]){re.escape(word)}(?![\w$])", self.line(line))
        return self.offset(line, found.start(), "utf-32") if found else None

    def words(self, line: int) -> list[tuple[int, str]]:
        """Return the identifiers of a line, and similar words, with their offsets."""
        if not 0 <= line < len(self._starts):
            return []
        text, at, place = self.line(line), self._starts[line], 0
        words = []
        for word in _WORD.finditer(text):
            at += len(text[place : word.start()].encode())
            place = word.start()
            words.append((at, word.group()))
        return words

    def holds(self, at: int, name: str) -> bool:
        """Return True if a name is at an offset."""
        return self.data.startswith(name.encode("utf-8", "surrogatepass"), at)


class SourceTexts:
    """The texts of files for one request, from open documents or the disk; each is read once."""

    def __init__(
        self,
        roots: Sequence[Path],
        buffers: Mapping[Path, str],
        max_bytes: int,
        resolved: PathResolver | None = None,
    ) -> None:
        self._roots = [real_path(root) for root in roots]
        self._buffers = buffers
        self._max_bytes = max_bytes
        self._texts: dict[str, SourceText | None] = {}
        self._resolved = resolved or PathResolver()

    def read(self, path: str) -> SourceText | None:
        """Return the text of a file by its absolute path; None if it cannot be read."""
        if path not in self._texts:
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> SourceText | None:
        text = self._buffers.get(Path(path)) if self._buffers else None
        if text is not None:
            return SourceText(text.encode("utf-8", "replace"))
        raw = self.raw(path, self._max_bytes)
        if raw is None or len(raw) > self._max_bytes:
            return None
        data = to_utf_8(raw)
        return None if data is None else SourceText(data)

    def raw(self, path: str, max_bytes: int) -> bytes | None:
        """Return the file's contents on disk, cut to ``max_bytes`` + 1; None if unreadable."""
        real = self._resolved.file(path)
        held = containing_root(real, self._roots)
        if held is None:
            return None
        try:
            descriptor = open_regular(real, self._roots[held[0]])
        except SearchError:
            return None
        try:
            return _beginning(descriptor, max_bytes + 1)
        except OSError:
            return None
        finally:
            os.close(descriptor)


def start_of_line(data: bytes, number: int) -> int | None:
    """Return the offset of a line, from 1; None if the text has fewer lines."""
    at, left = 0, number - 1
    # Counting the line ends of a block takes as long as finding two of them.
    while left > 0:
        count = data.count(b"\n", at, at + _COUNTED_BYTES)
        if count >= left:
            break
        left -= count
        at += _COUNTED_BYTES
        if at >= len(data):
            return None
    for _ in range(left):
        at = data.index(b"\n", at) + 1
    return at


def _beginning(descriptor: int, size: int) -> bytes:
    """Return the first bytes of a file, at most ``size``."""
    # A read allocates all that it may return, so don't ask for more than there is.
    portion = max(os.fstat(descriptor).st_size + 1, _LEAST_PORTION)
    pieces: list[bytes] = []
    while size > 0 and (piece := os.read(descriptor, min(size, portion))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
