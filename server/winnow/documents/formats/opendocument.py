"""OpenDocument, the format of LibreOffice and others: texts, workbooks, presentations.

Read with the standard library (zipfile and expat): odfpy builds the tree of the complete document.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from winnow.documents.extract.cells import SheetWriter, raw_and_displayed
from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import (
    FlowReader,
    Sections,
    title_of,
    write_part,
    write_slide,
)
from winnow.documents.extract.xml import Attributes, read_xml
from winnow.documents.extract.zipped import Package
from winnow.documents.format import DocumentFormat
from winnow.documents.unreadable import Unreadable

_CELLS = "table:table-cell table:covered-table-cell"
_SPACES = re.compile(r"[ \t\r\n]+")
MOST_SPACES = 1000
# More repetitions of a cell are useless to a reader.
MOST_REPEATED_COLUMNS = 64
MOST_REPEATED_ROWS = 100
# Elements that are not text of the document: deleted text, images, scripts, forms, and the author
# and date of a note.
_IGNORED = (
    *("text:tracked-changes", "office:binary-data", "office:scripts", "office:forms"),
    *("office:meta", "office:settings", "office:styles", "office:automatic-styles"),
    *("office:font-face-decls", "text:note-citation", "text:ruby-text"),
    *("http://purl.org/dc/elements/1.1/ creator", "http://purl.org/dc/elements/1.1/ date"),
    *("text:sender-initials", "text:page-number", "text:sequence-decls", "table:tracked-changes"),
    *("table:shapes", "table:table-source"),
)


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the content of a document, in parts that depend on its kind."""
    reader = ContentReader(output)
    if source.file.read(2) == b"PK":
        package = Package(source)
        _refuse_encrypted(package)
        package.read("content.xml", reader)
        reader.write_asides()
        if reader.is_text and "styles.xml" in package:
            _read_headers(package, output)
    else:
        source.file.seek(0)
        if not source.file.read(200).lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"<"):
            Package(source)  # raises Unreadable with the reason
        source.file.seek(0)
        read_xml(source.file, reader)
        reader.write_asides()
    output.require_text()


def _refuse_encrypted(package: Package) -> None:
    manifest = "META-INF/manifest.xml"
    if manifest in package and any(package.elements(manifest, "encryption-data")):
        raise Unreadable("it is encrypted: a password is needed")


def _read_headers(package: Package, output: TextOutput) -> None:
    headers = _Headers()
    if reason := package.try_read("styles.xml", headers):
        output.failed(f"headers: {reason}")
    write_part(output, "Headers", list(headers.headers))
    write_part(output, "Footers", list(headers.footers))


class _TextReader(FlowReader):
    """The paragraphs of OpenDocument, for all kinds of documents."""

    def __init__(self, emit: Callable[[str, int | None], object]) -> None:
        super().__init__(emit)
        # For each open paragraph, True if its text ends with a space so far.
        self._spaced: list[bool] = []
        self.starts |= dict.fromkeys(_IGNORED, self.skip)
        self.on("text:p", self._paragraph, self._end_paragraph)
        self.on("text:h", self._heading, self._end_paragraph)
        self.on("text:s", self._spaces)
        self.on("text:tab", lambda _: self.flow.add("\t"))
        self.on("text:line-break", lambda _: self.flow.add(" "))
        self.on("draw:text-box", self.flow.begin_box, self.flow.end_box)

    def text(self, data: str) -> None:
        if self._spaced:
            # White space collapses to a single space, across elements.
            data = _SPACES.sub(" ", data)
            self.flow.add(data[1:] if self._spaced[-1] and data[0] == " " else data)
            self._spaced[-1] = data[-1] == " "

    def _paragraph(self, attributes: Attributes) -> None:
        self._spaced.append(False)
        self.flow.begin_paragraph(attributes)

    def _heading(self, attributes: Attributes) -> None:
        self._paragraph(attributes)
        self.flow.level(_number(attributes, "text:outline-level"))

    def _end_paragraph(self) -> None:
        self._spaced.pop()
        self.flow.end_paragraph()

    def _spaces(self, attributes: Attributes) -> None:
        self.flow.add(" " * min(_number(attributes, "text:c"), MOST_SPACES))


def _number(attributes: Attributes, name: str) -> int:
    value = attributes.get(name, "")
    return int(value) if value.isdecimal() and len(value) < 10 else 1


def _value(attributes: Attributes) -> str:
    """Return the value of a cell, for programs that do not write the formatted text."""
    for name in ("string-value", "date-value", "time-value", "boolean-value", "value"):
        value = attributes.get(f"office:{name}")
        if value is not None:
            return value
    return ""


class _Headers(_TextReader):
    """The headers and footers of all page styles."""

    def __init__(self) -> None:
        super().__init__(lambda text, _: self._into.setdefault(text))
        self.headers: dict[str, None] = {}
        self.footers: dict[str, None] = {}
        self._into: dict[str, None] = {}  # lines outside of headers and footers
        for suffix in ("", "-left", "-first"):
            self.on(f"style:header{suffix}", lambda _: self._begin(self.headers))
            self.on(f"style:footer{suffix}", lambda _: self._begin(self.footers))

    def _begin(self, lines: dict[str, None]) -> None:
        self._into = lines


class ContentReader(_TextReader):
    """The content of a document: the paragraphs and tables of a text, the sheets of a workbook, or
    the slides of a presentation. ``write`` gets the lines, with their heading level."""

    def __init__(self, output: TextOutput) -> None:
        super().__init__(self._line)
        self.is_text = False
        self.write: Callable[[str, int | None], object] = Sections(output).paragraph
        self._output = output
        self._asides: dict[str, list[str]] = {"Footnotes": [], "Endnotes": [], "Comments": []}
        self._note = "Footnotes"
        self.on("office:master-styles", self.skip)
        self.on("office:text", self._text)
        self.on("office:spreadsheet", lambda _: _Sheets(self, output))
        self.on("office:presentation", lambda _: _Slides(self, output))
        self.on("text:note", self._begin_note)
        self.on("text:note-body", self.flow.begin_box, lambda: self._end_aside(self._note))
        self.on("office:annotation", self.flow.begin_box, lambda: self._end_aside("Comments"))

    def _line(self, text: str, level: int | None) -> None:
        self.write(text, level)

    def write_asides(self) -> None:
        """Write notes and comments, which the document contains at their references."""
        for title, lines in self._asides.items():
            write_part(self._output, title, lines)

    def _text(self, _attributes: Attributes) -> None:
        self.is_text = True
        self.on_table("table:table-row", _CELLS)

    def _begin_note(self, attributes: Attributes) -> None:
        self._note = "Endnotes" if attributes.get("text:note-class") == "endnote" else "Footnotes"

    def _end_aside(self, title: str) -> None:
        self._asides[title].extend(self.flow.end_aside())


class _Slides:
    """Writes the slides of a presentation, each at its end, because its title may be anywhere."""

    def __init__(self, reader: ContentReader, output: TextOutput) -> None:
        self._reader = reader
        self._output = output
        self._write_outside = reader.write
        self._number = 0
        self._frame = self._title = ""
        self._lines: list[str] = []
        self._notes: list[str] = []
        self._in_notes = False
        reader.on_table("table:table-row", _CELLS)
        reader.on("draw:page", self._begin, self._end)
        reader.on("draw:frame", self._begin_frame)
        reader.on("presentation:notes", lambda _: self._switch(True), lambda: self._switch(False))

    def _begin(self, _attributes: Attributes) -> None:
        self._number += 1
        self._frame = self._title = ""
        self._lines, self._notes = [], []
        self._reader.write = self._line

    def _begin_frame(self, attributes: Attributes) -> None:
        self._frame = attributes.get("presentation:class", "")

    def _switch(self, in_notes: bool) -> None:
        self._in_notes = in_notes

    def _line(self, text: str, _level: int | None) -> None:
        if self._frame == "title" and not (self._title or self._in_notes):
            self._title = title_of(text)
        (self._notes if self._in_notes else self._lines).append(text)

    def _end(self) -> None:
        write_slide(self._output, self._number, self._title, self._lines, self._notes)
        self._reader.write = self._write_outside


class _Sheets:
    """Writes the sheets of a workbook; a row or cell may stand for thousands of repetitions."""

    def __init__(self, reader: ContentReader, output: TextOutput) -> None:
        self._reader = reader
        self._output = output
        self._write_outside = reader.write
        self._sheet: SheetWriter | None = None
        self._row = self._column = 0
        self._row_repeats = self._column_repeats = 1
        self._value = self._raw = ""
        self._cells: list[tuple[int, str]] = []
        self._notes: list[tuple[int, int, str]] = []
        self._drawn: list[str] = []
        reader.on("table:table", self._begin, self._end)
        reader.on("table:table-row", self._begin_row, self._end_row)
        reader.on(_CELLS, self._begin_cell, self._end_cell)
        reader.on("office:annotation", reader.flow.begin_box, self._end_note)

    def _begin(self, attributes: Attributes) -> None:
        self._sheet = SheetWriter(self._output, attributes.get("table:name", ""))
        self._row = self._column = 0
        self._cells, self._notes, self._drawn = [], [], []
        self._reader.write = lambda text, _: self._drawn.append(text)  # shapes over the cells

    def _begin_row(self, attributes: Attributes) -> None:
        self._row_repeats = _number(attributes, "table:number-rows-repeated")
        self._column = 0
        self._cells.clear()

    def _begin_cell(self, attributes: Attributes) -> None:
        self._reader.flow.begin_box(attributes)
        self._column_repeats = _number(attributes, "table:number-columns-repeated")
        self._value = _value(attributes)
        self._raw = attributes.get("office:date-value", attributes.get("office:value", ""))

    def _end_note(self) -> None:
        self._notes.append((self._row + 1, self._column + 1, self._box()))

    def _end_cell(self) -> None:
        displayed = self._box()
        if text := raw_and_displayed(self._raw, displayed) if displayed else self._value:
            for column in range(min(self._column_repeats, MOST_REPEATED_COLUMNS)):
                self._cells.append((self._column + column + 1, text))
        self._column += self._column_repeats

    def _box(self) -> str:
        return " ".join(self._reader.flow.end_aside())

    def _end_row(self) -> None:
        if self._cells and self._sheet is not None:
            for row in range(min(self._row_repeats, MOST_REPEATED_ROWS)):
                self._sheet.row(self._row + row + 1, self._cells)
        self._row += self._row_repeats

    def _end(self) -> None:
        if self._sheet is not None:
            self._sheet.notes(self._notes)
            self._sheet.drawings(self._drawn)
        self._sheet = None
        self._reader.write = self._write_outside


FORMATS = (
    DocumentFormat(name="odt", extensions=(".odt", ".ott"), read=read),
    DocumentFormat(name="ods", extensions=(".ods", ".ots"), read=read),
    DocumentFormat(name="odp", extensions=(".odp", ".otp"), read=read),
    DocumentFormat(name="fodt", extensions=(".fodt", ".fods", ".fodp"), read=read),
)
