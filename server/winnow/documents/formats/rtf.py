"""Documents in Rich Text Format.

Read without a library: striprtf omits footnotes, comments, headers and text boxes, breaks the table
rows that pandoc writes, and parses images, which are hexadecimal digits, one digit at a time.
"""

from __future__ import annotations

import codecs
import re

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextFull, TextOutput
from winnow.documents.extract.paragraphs import MOST_HELD, Sections, write_part
from winnow.documents.format import DocumentFormat
from winnow.documents.formats.word import BODY_TEXT_LEVEL
from winnow.documents.unreadable import Unreadable

LARGEST_FILE = 64 * 1024**2
_TOKEN = re.compile(
    rb"\\(?:([a-zA-Z]{1,32})(-?\d{1,10})? ?|'([0-9a-fA-F]{2})|([^a-zA-Z]))"
    rb"|([{}])|([^\\{}\r\n]+)|[\r\n]+|\\"
)
_CHARS = {
    "tab": "\t",
    "line": " ",
    "softline": " ",
    "lbr": " ",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
}
_SYMBOLS = {b"~": " ", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\", b"\t": "\t"}
_PARAGRAPH_ENDS = frozenset(("par", "page", "sect", "column"))
_HEADING = re.compile(rb"heading ([1-9]);", re.IGNORECASE)  # the name of a style
# Groups that are not text of the document.
_IGNORED = frozenset(
    "colortbl info pict filetbl revtbl listtext pntext nonesttables shprslt sp xe tc rxe"
    " nonshppict fldinst datafield ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn objdata objclass"
    " objname bkmkstart bkmkend themedata colorschememapping datastore latentstyles".split()
)
# Groups that are text although older programs must ignore them.
_KNOWN = frozenset(("shpinst", "moMath", "moMathPara"))
_BESIDE = {
    "footnote": "Footnotes",
    "annotation": "Comments",
    **dict.fromkeys(("header", "headerl", "headerr", "headerf"), "Headers"),
    **dict.fromkeys(("footer", "footerl", "footerr", "footerf"), "Footers"),
    **dict.fromkeys(("shptxt", "dptxbxtext"), "Text boxes"),
}
_CODE_PAGES = {"ansi": "cp1252", "mac": "mac-roman", "pc": "cp437", "pca": "cp850"}
# The encodings of fonts, by the numbers of Windows character sets.
_CHARSETS = {
    77: "mac-roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
    0: "cp1252",
}


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the text, and then notes, comments, headers and text boxes."""
    data = source.file.read(LARGEST_FILE + 1)
    if not data[:100].lstrip(b"\xef\xbb\xbf \r\n\t\0").startswith(b"{\\rtf"):
        raise Unreadable(
            "it is damaged: it does not match its file extension" if data else "it is empty"
        )
    reader = _Rtf(Sections(output))
    reader.read(data)
    for title, lines in reader.beside.items():
        write_part(output, title, list(lines))
    if len(data) > LARGEST_FILE:
        output.failed(f"only its first {LARGEST_FILE // 1024**2} MiB are read")
    output.require_text()


class _Group:
    """The properties that a group inherits and may change."""

    __slots__ = ("beside", "font", "hidden", "ignored", "in_table", "level", "skip")

    def __init__(self, outer: _Group | None = None) -> None:
        self.skip: int = outer.skip if outer else 1
        self.font: int | None = outer.font if outer else None
        self.hidden: bool = outer.hidden if outer else False
        self.ignored: bool = outer.ignored if outer else False
        self.in_table: bool = outer.in_table if outer else False
        self.level: int | None = outer.level if outer else None
        # The text that a footnote or similar group interrupts.
        self.beside: tuple[str, list[str], list[str]] | None = None


class _Rtf:
    def __init__(self, sections: Sections) -> None:
        self.beside: dict[str, dict[str, None]] = {}
        self._sections = sections
        self._outer: list[_Group] = []
        self._group = _Group()
        self._title = ""  # of the part beside the text
        self._cells: list[str] = []
        self._pieces: list[str] = []
        self._raw = bytearray()  # characters in the current code page
        self._held = 0
        self._to_skip = 0
        self._starred = False
        self._code_page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._in_table_of = ""  # the table of fonts or styles, whose names are not text
        self._defined = 0  # the current font or style of that table
        self._levels: dict[int, int] = {}  # of heading styles

    def read(self, data: bytes) -> None:
        """Read all tokens. A truncated file is read to its end."""
        at, size = 0, len(data)
        while at < size:
            token = _TOKEN.match(data, at)
            if token is None:
                break
            at = token.end()
            word, number, code, symbol, brace, chars = token.groups()
            if chars is not None:
                self._chars(chars)
            elif word is not None:
                if word == b"bin":
                    at += max(int(number or 0), 0)
                else:
                    self._word(word.decode(), None if number is None else int(number))
            elif code is not None:
                self._chars(bytes([int(code, 16)]))
            elif brace is not None:
                self._to_skip = 0
                self._begin_group() if brace == b"{" else self._end_group()
            elif symbol is not None:
                self._symbol(symbol)
        while self._outer:
            self._end_group()
        self._end_paragraph()

    # --- characters ------------------------------------------------------------------------

    def _chars(self, chars: bytes) -> None:
        if self._to_skip:
            # The replacement of a Unicode character for older programs.
            self._to_skip, chars = max(self._to_skip - len(chars), 0), chars[self._to_skip :]
        if self._in_table_of == "stylesheet":
            heading = _HEADING.match(chars)
            if heading:
                self._levels[self._defined] = int(heading[1]) - 1
        elif chars and not (self._group.ignored or self._group.hidden or self._in_table_of):
            self._raw += chars
            self._hold(len(chars))

    def _hold(self, size: int) -> None:
        self._held += size
        if self._held > MOST_HELD:
            raise TextFull

    def _add(self, text: str) -> None:
        if not (self._group.ignored or self._group.hidden or self._in_table_of):
            self._flush()
            self._pieces.append(text)
            self._hold(len(text) + 8)

    def _flush(self) -> None:
        if self._raw:
            encoding = self._fonts.get(self._group.font or 0, "")
            raw = bytes(self._raw)
            self._raw.clear()
            if raw.isascii():
                self._pieces.append(raw.decode("ascii"))
            else:
                self._pieces.append(raw.decode(encoding or self._code_page, "replace"))

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._starred = True
        elif symbol in b"\r\n":
            self._end_paragraph()
        elif symbol in _SYMBOLS:
            self._add(_SYMBOLS[symbol])

    # --- groups ----------------------------------------------------------------------------

    def _begin_group(self) -> None:
        self._flush()
        self._starred = False
        self._outer.append(self._group)
        self._group = _Group(self._group)

    def _end_group(self) -> None:
        self._flush()
        if len(self._outer) <= 2:
            self._in_table_of = ""
        if self._group.beside is not None:
            self._end_paragraph()
            self._title, self._pieces, self._cells = self._group.beside
        if self._outer:
            self._group = self._outer.pop()

    def _begin_beside(self, title: str) -> None:
        self._group.beside = (self._title, self._pieces, self._cells)
        self._title, self._pieces, self._cells = title, [], []
        self._group.in_table = False
        self._group.level = None

    # --- control words ---------------------------------------------------------------------

    def _word(self, word: str, number: int | None) -> None:
        self._to_skip = 0
        starred, self._starred = self._starred, False
        group = self._group
        unknown = starred and word not in _KNOWN and word not in _BESIDE
        if unknown or word in _IGNORED or word.endswith("Pr"):
            self._flush()
            group.ignored = True
        elif group.ignored:
            return
        elif word == "u":
            if number is not None:
                self._add(chr(number & 0xFFFF))
                self._to_skip = group.skip
        elif word in _CHARS:
            self._add(" " if word == "tab" and group.in_table else _CHARS[word])
        elif word in _BESIDE:
            self._flush()
            self._begin_beside(_BESIDE[word])
        elif word in _PARAGRAPH_ENDS:
            self._flush()
            if group.in_table:
                self._pieces.append(" ")
            else:
                self._end_paragraph()
        else:
            self._flush()
            self._table_word(word)
            self._property(word, number)

    def _table_word(self, word: str) -> None:
        if word == "cell":
            self._cells.append(self._take_text())
        elif word in ("nestcell", "nestrow"):
            self._pieces.append(" ")
        elif word == "row":
            self._end_paragraph()

    def _property(self, word: str, number: int | None) -> None:
        group = self._group
        if word == "pard":
            group.in_table, group.level = False, None
        elif word == "intbl":
            group.in_table = True
        elif word == "outlinelevel" and number is not None:
            level = number if number < BODY_TEXT_LEVEL else None
            group.level = level
            if self._in_table_of == "stylesheet" and level is not None:
                self._levels[self._defined] = level
        elif word == "s" and number is not None:
            self._defined = number
            group.level = self._levels.get(number)
        elif word in ("v", "deleted"):
            group.hidden = number != 0
        elif word == "plain":
            group.hidden = False
        elif word == "uc":
            group.skip = max(number or 0, 0)
        else:
            self._encoding(word, number)

    def _encoding(self, word: str, number: int | None) -> None:
        if word == "ansicpg" and number:
            self._code_page = _known_encoding(f"cp{number}")
        elif word in _CODE_PAGES:
            self._code_page = _CODE_PAGES[word]
        elif word in ("fonttbl", "stylesheet"):
            self._in_table_of = word
        elif word == "f" and number is not None:
            if self._in_table_of == "fonttbl":
                self._defined = number
            elif not self._in_table_of:
                self._group.font = number
        elif word == "fcharset" and self._in_table_of and number in _CHARSETS and number:
            self._fonts[self._defined] = _CHARSETS[number]

    # --- lines -----------------------------------------------------------------------------

    def _take_text(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        if any("\ud800" <= char <= "\udfff" for char in text):
            # Characters beyond the basic plane are surrogate pairs.
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return text.strip().replace("\t", " ") if self._group.in_table else text.strip()

    def _end_paragraph(self) -> None:
        self._flush()
        text = self._take_text()
        if self._cells:
            # The last cell of the row has no end mark.
            text = "\t".join([*self._cells, text]).rstrip()
            self._cells.clear()
        self._held = 0
        if not text.strip():
            return
        if self._title:
            self.beside.setdefault(self._title, {}).setdefault(text)
        else:
            self._sections.paragraph(text, self._group.level)


def _known_encoding(name: str) -> str:
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name


FORMATS = (DocumentFormat(name="rtf", extensions=(".rtf",), read=read),)
