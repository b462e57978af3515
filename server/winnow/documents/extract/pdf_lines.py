"""Lines of a page of a PDF, put together from its characters and where these stand.

PDFium does that itself, and better; but where a page has few lines, each character of which is
placed by itself, it may take them for columns of vertical writing, and gives each character a line
of its own, without spaces. Chromium prints such pages.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

# A page with so many lines, most of which are no more than a character or a ligature.
FEWEST_LINES = 8
SCATTERED = 0.75
_LINE_END = re.compile("\r\n|\r|\n")
# Of a line's height: what is further apart is another word; what is less aside is the same line.
WORD_GAP = 0.15
ASIDE = 0.4


def is_scattered(text: str) -> bool:
    """Whether a text of PDFium's looks as if characters of one line stood in lines of their own."""
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
    """The text of a page, in lines as its characters stand in the order in which they were drawn:
    from left to right, or one below the other."""
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
        if gap < -height:  # back to where another line begins
            return "\n"
        # As far as that, it is another column.
        return "\n" if gap > 3 * height else " " * (gap > WORD_GAP * height)
    center = (before.left + before.right - char.left - char.right) / 2
    gap = before.bottom - char.top
    return "" if abs(center) < ASIDE * height and abs(gap) < ASIDE * height else "\n"


def _chars(textpage: Any) -> Iterator[_Char]:
    """The characters that are drawn, without those that PDFium puts between them."""
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
