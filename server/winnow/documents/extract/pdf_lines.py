"""Assemble the lines of a PDF page from the positions of its characters.

PDFium does this better. But on a page with few lines and individually placed characters, as
Chromium prints them, it may detect columns of vertical writing, and put each character on its own
line, without spaces.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

# A scattered page has this number of lines, and this share of them is a character or a ligature.
FEWEST_LINES = 8
SCATTERED = 0.75
_LINE_END = re.compile("\r\n|\r|\n")
# Shares of a line's height: the gap between words, and the offset of another line.
WORD_GAP = 0.15
ASIDE = 0.4


def is_scattered(text: str) -> bool:
    """Return True if PDFium seems to have put each character on its own line."""
    lines = [line for line in _LINE_END.split(text) if line.strip()]
    short = sum(len(line) <= 2 for line in lines)
    return len(lines) >= FEWEST_LINES and short >= SCATTERED * len(lines)


class _Char(Struct, frozen=True):
    text: str
    left: float
    right: float
    bottom: float
    top: float

    @property
    def height(self) -> float:
        return self.top - self.bottom


def text_by_places(textpage: Any) -> str:
    """Return the text of a page in lines, from the positions of characters in drawing order: from
    left to right, or top to bottom."""
    pieces: list[str] = []
    before: _Char | None = None
    for char in _chars(textpage):
        if before is not None:
            pieces.append(_between(before, char))
        pieces.append(char.text)
        before = char
    return "".join(pieces)


def _between(before: _Char, char: _Char) -> str:
    height = max(before.height, char.height)
    if abs(char.bottom - before.bottom) < ASIDE * height:
        gap = char.left - before.right
        if gap < -height:  # back to the start of another line
            return "\n"
        # A larger gap separates columns.
        return "\n" if gap > 3 * height else " " * (gap > WORD_GAP * height)
    center = (before.left + before.right - char.left - char.right) / 2
    gap = before.bottom - char.top
    return "" if abs(center) < ASIDE * height and abs(gap) < ASIDE * height else "\n"


def _chars(textpage: Any) -> Iterator[_Char]:
    """Yield the characters that are drawn, without those that PDFium inserts."""
    import pypdfium2.raw as pdfium

    box = pdfium.FS_RECTF()
    high = ""
    for index in range(textpage.count_chars()):
        code = pdfium.FPDFText_GetUnicode(textpage, index)
        generated = pdfium.FPDFText_IsGenerated(textpage, index) == 1
        if generated or code <= 32:
            continue
        if 0xD800 <= code < 0xDC00:  # the first half of a character beyond 16 bits
            high = chr(code)
            continue
        text = (
            (high + chr(code)).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        )
        high = ""
        if pdfium.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(box)):
            yield _Char(text, box.left, box.right, box.bottom, box.top)
