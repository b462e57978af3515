"""Workbooks of Microsoft Excel.

Workbooks since 2007 are read row by row with the standard library (zipfile and expat).
python-calamine is ten times as fast, but holds all cells of a sheet, including empty ones: a cell
in the last column of the last row makes it request half a terabyte and crash. It does not support
percentages either. openpyxl is slower than this reader, and holds twice the size of the shared
texts.

Older and binary workbooks are read with python-calamine.
"""

from __future__ import annotations

import datetime
import functools
import re
from array import array
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from winnow.documents.extract.cells import SheetWriter, raw_and_displayed
from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.number_formats import DisplayFormat, display_formats
from winnow.documents.extract.output import TextFull, TextOutput
from winnow.documents.extract.xml import Attributes, XmlReader
from winnow.documents.extract.zipped import OLE, Package
from winnow.documents.format import DocumentFormat
from winnow.documents.formats.slides import DrawingReader
from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

SHARED_TEXT_BYTES = 64 * 1024**2
LONGEST_CELL = 1024**2  # Excel's limit is 32,767 characters
OLD_WORKBOOK_BYTES = 64 * 1024**2  # calamine holds the file and all cells
_MOST_NOTES = 100_000


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write sheet by sheet, including hidden sheets. The content decides the kind of workbook."""
    beginning = source.file.read(8)
    source.file.seek(0)
    if beginning == OLE and not source.name.lower().endswith((".xlsx", ".xlsm", ".xltx", ".xltm")):
        read_by_calamine(source, output)
    else:
        package = Package(source)
        if "xl/workbook.bin" in package:
            read_by_calamine(source, output)
        else:
            _read_package(source, package, output)
    output.require_text()


# --- workbooks in XML ----------------------------------------------------------------------------


def _read_package(source: DocumentInput, package: Package, output: TextOutput) -> None:
    main = package.main_part("xl/workbook.xml")
    sheets: list[tuple[str, str]] = []
    since_1904 = False
    for element, attributes in package.elements(main, "sheet", "workbookPr"):
        if element == "sheet":
            sheets.append((attributes.get("name", ""), attributes.get("r:id", "")))
        else:
            since_1904 = attributes.get("date1904") in ("1", "true")
    related = package.relations(main)
    shared = _SharedTexts()
    styles: dict[str, NumberFormat] = {}
    for part in package.targets(main, "sharedStrings"):
        _read_or_fail(package, part, shared, output)
    for part in package.targets(main, "styles"):
        styles |= _cell_styles(package, part, output)
    if shared.full:
        output.failed(f"it has more than {SHARED_TEXT_BYTES // 1024**2} MiB of texts")
    for name, reference in sheets:
        if reference in related and related[reference].kind != "chartsheet":
            sheet = SheetWriter(output, name)
            rows = _Rows(sheet, shared, styles, since_1904)
            _read_sheet(package, related[reference].target, sheet, rows, output)
            source.budget.spend(0)


def _read_or_fail(package: Package, part: str, reader: XmlReader, output: TextOutput) -> None:
    if reason := package.try_read(part, reader):
        output.failed(reason)


def _read_sheet(
    package: Package, part: str, sheet: SheetWriter, rows: _Rows, output: TextOutput
) -> None:
    _read_or_fail(package, part, rows, output)
    for relation in package.relations(part).values():
        if relation.kind == "comments":
            notes = _CellNotes()
            _read_or_fail(package, relation.target, notes, output)
            sheet.notes(notes.found)
        elif relation.kind == "drawing":
            shapes = DrawingReader()
            _read_or_fail(package, relation.target, shapes, output)
            for chart in package.targets(relation.target, "chart"):
                _read_or_fail(package, chart, shapes, output)
            sheet.drawings(shapes.lines)


class _SharedTexts(XmlReader):
    """The texts that cells refer to, in one buffer: separate strings need three times the
    memory."""

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self._bytes = bytearray()
        self._ends = array("L", [0])
        self._pieces: list[str] = []
        self.on_text("t")
        self.on("rPh", self.skip)
        self.on("si", end=self._end_item)

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def _end_item(self) -> None:
        encoded = "".join(self._pieces).encode("utf-8", "replace")
        self._pieces.clear()
        if len(self._bytes) + len(encoded) > SHARED_TEXT_BYTES:
            self.full = True
        else:
            self._bytes += encoded
        self._ends.append(len(self._bytes))

    def get(self, index: int) -> str:
        """Return a text, or an empty string for an invalid index."""
        if not 0 <= index < len(self._ends) - 1:
            return ""
        return self._bytes[self._ends[index] : self._ends[index + 1]].decode()


class NumberFormat(Struct, frozen=True):
    """The meaning of a number: a day, a time of day or a duration in hours; and how a workbook
    displays positive and negative ones, if that is common."""

    day: bool = False
    time: bool = False
    span: bool = False
    positive: DisplayFormat | None = None
    negative: DisplayFormat | None = None


GENERAL = NumberFormat()
_BUILT_IN = {
    **dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47), "hh:mm:ss"),
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    9: "0%",
    10: "0.00%",
    22: "yyyy-mm-dd hh:mm",
    46: "[h]:mm:ss",
}
# Quoted and escaped characters, colors, conditions and locales, which are not codes.
_NO_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]', re.IGNORECASE)


def number_format(code: str) -> NumberFormat:
    """Parse an Excel number format."""
    positive, negative = display_formats(code)
    code = _NO_CODES.sub("", code.partition(";")[0]).lower()
    if "general" in code:
        return GENERAL
    if re.search(r"\[(h+|m+|s+)\]", code):
        return NumberFormat(span=True)
    time = bool(re.search("[hs]|am/pm", code))
    # Next to hours, m means minutes.
    day = bool(re.search("[yd]", code)) or ("m" in code and not time)
    return NumberFormat(day=day, time=time, positive=positive, negative=negative)


def _cell_styles(package: Package, part: str, output: TextOutput) -> dict[str, NumberFormat]:
    """Return the number formats of cell styles, by the index of the style."""
    codes = {str(number): code for number, code in _BUILT_IN.items()}
    formats: dict[str, NumberFormat] = {}
    in_cells = False
    try:
        for name, attributes in package.elements(part, "numFmt", "cellXfs", "xf", "dxfs"):
            if name == "numFmt":
                codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            elif name != "xf":
                in_cells = name == "cellXfs"
            elif in_cells:
                code = codes.get(attributes.get("numFmtId", "0"), "General")
                formats[str(len(formats))] = number_format(code)
    except Unreadable as reason:
        output.failed(str(reason))
    return formats


class _Rows(XmlReader):
    """Writes the cells of a sheet, row by row."""

    def __init__(
        self,
        sheet: SheetWriter,
        shared: _SharedTexts,
        styles: Mapping[str, NumberFormat],
        since_1904: bool,
    ) -> None:
        super().__init__()
        self._sheet = sheet
        self._shared = shared
        self._styles = styles
        self._since_1904 = since_1904
        self._row = 0
        self._cells: list[tuple[int, str]] = []
        self._held = 0
        self._column = 0
        self._type = "n"
        self._style = "0"
        self._pieces: list[str] = []
        self.on("row", self._begin_row, self._end_row)
        self.on("c", self._begin_cell, self._end_cell)
        self.on_text("v t")
        self.on("f rPh", self.skip)

    def text(self, data: str) -> None:
        self._held += len(data)
        if self._held > LONGEST_CELL * 16:
            raise TextFull
        self._pieces.append(data)

    def _begin_row(self, attributes: Attributes) -> None:
        number = _number(attributes.get("r", ""))
        self._row = self._row + 1 if number is None else number
        self._column = 0
        self._held = 0

    def _end_row(self) -> None:
        self._sheet.row(self._row, self._cells)
        self._cells.clear()

    def _begin_cell(self, attributes: Attributes) -> None:
        reference = attributes.get("r")
        column = column_number(reference) if reference else 0
        # No program writes a cell to the left of the cell before it.
        self._column = column if column > self._column else self._column + 1
        self._type = attributes.get("t", "n")
        self._style = attributes.get("s", "0")
        self._pieces.clear()

    def _end_cell(self) -> None:
        if self._pieces:
            pieces = self._pieces
            value = pieces[0] if len(pieces) == 1 else "".join(pieces)
            self._cells.append((self._column, self._text(value)))
            self._pieces.clear()

    def _text(self, value: str) -> str:
        if self._type == "s":
            index = _number(value)
            return "" if index is None else self._shared.get(index)
        if self._type == "n":
            return number_text(value, self._styles.get(self._style, GENERAL), self._since_1904)
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        return value


def _number(digits: str) -> int | None:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


def column_number(reference: str) -> int:
    """Return the column of a cell: 27 for `AA7`, 0 for an invalid reference."""
    return _column_number(reference.rstrip("0123456789"))


@functools.lru_cache(maxsize=16_384)  # as many as a sheet has columns
def _column_number(name: str) -> int:
    number = 0
    for char in name[:3]:
        if not "A" <= char <= "Z":
            return 0
        number = number * 26 + ord(char) - ord("A") + 1
    return number


def number_text(value: str, style: NumberFormat, since_1904: bool = False) -> str:
    """Return a number as users search for it: a date in ISO 8601, or the digits without separators;
    then as the workbook displays it, if that differs: `1234.5 (1,234.50 EUR)`."""
    if style is GENERAL and value.isdecimal():
        return value
    try:
        number = float(value)
        if style.span:
            return _hours(number)
        if (style.day or style.time) and number >= 0:
            moment = _moment(number, since_1904)
            shown = _shown(style.positive, lambda display: display.moment(moment))
            return raw_and_displayed(_moment_text(number, moment, style), shown)
    except (ValueError, OverflowError):
        return value
    display = style.negative if number < 0 else style.positive
    shown = _shown(display, lambda display: display.number(value))
    return raw_and_displayed(plain_number(number), shown)


def _shown(display: DisplayFormat | None, show: Callable[[DisplayFormat], str]) -> str:
    try:
        return "" if display is None else show(display)
    except ValueError:
        return ""


def plain_number(number: float) -> str:
    """Format a number with up to fifteen digits, as Excel does."""
    if number.is_integer() and abs(number) < 1e15:
        return str(int(number))
    return f"{number:.15g}"


def _moment(number: float, since_1904: bool) -> datetime.datetime:
    if since_1904:
        zero = datetime.datetime(1904, 1, 1)
    else:
        # Excel's 1900 has a February 29, which is day 60.
        zero = datetime.datetime(1899, 12, 30 if number >= 60 else 31)
    return zero + datetime.timedelta(seconds=round(number * 86400))


def _moment_text(number: float, moment: datetime.datetime, style: NumberFormat) -> str:
    clock = moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    if not style.day and number < 1:
        return clock
    day = moment.date().isoformat()
    return f"{day} {clock}" if style.time else day


def _hours(number: float) -> str:
    minutes, seconds = divmod(round(abs(number) * 86400), 60)
    sign = "-" if number < 0 else ""
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{seconds:02}"


class _CellNotes(XmlReader):
    """The notes of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, int, str]] = []
        self._cell = (0, 0)
        self._pieces: list[str] = []
        self.on("comment", self._begin, self._end)
        self.on_text("t")
        self.on("rPh", self.skip)

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def _begin(self, attributes: Attributes) -> None:
        reference = attributes.get("ref", "")
        row = _number(reference.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        self._cell = (row or 1, column_number(reference) or 1)
        self._pieces.clear()

    def _end(self) -> None:
        if len(self.found) < _MOST_NOTES and self._pieces:
            self.found.append((*self._cell, "".join(self._pieces)))


# --- old and binary workbooks --------------------------------------------------------------------


def read_by_calamine(source: DocumentInput, output: TextOutput) -> None:
    """Read an old or binary workbook; calamine holds all of its cells."""
    from python_calamine import CalamineError, PasswordError, load_workbook

    if source.size > OLD_WORKBOOK_BYTES:
        raise Unreadable(f"it is larger than {OLD_WORKBOOK_BYTES // 1024**2} MiB")
    source.file.seek(0)
    try:
        book = load_workbook(source.file)
    except PasswordError as error:
        raise Unreadable("it is encrypted: a password is needed") from error
    except CalamineError as error:
        raise Unreadable(f"it is damaged: {error}") from error
    for name in book.sheet_names:
        try:
            _write_rows(book, name, output)
        except CalamineError as error:
            output.failed(f"sheet {name}: {error}")


def _write_rows(book: CalamineWorkbook, name: str, output: TextOutput) -> None:
    calamine = book.get_sheet_by_name(name)
    if calamine.start is None:
        return
    first_row, first_column = calamine.start
    sheet = SheetWriter(output, name)
    # The rows start with the first row of the sheet, even if it has no text.
    for number, row in enumerate(calamine.to_python(), first_row + 1):
        sheet.row(number, _texts(row, first_column + 1))


_Value = int | float | str | bool | datetime.time | datetime.date | datetime.timedelta


def _texts(row: list[_Value], first: int) -> Iterator[tuple[int, str]]:
    for column, value in enumerate(row, first):
        text = _text(value)
        if text:
            yield column, text


def _text(value: _Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return plain_number(float(value))
    if isinstance(value, datetime.timedelta):
        return _hours(value.total_seconds() / 86400)
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S").removesuffix(":00").removesuffix(" 00:00")
    return value.isoformat().removesuffix(":00")


FORMATS = (
    DocumentFormat(name="xlsx", extensions=(".xlsx", ".xlsm", ".xltx", ".xltm"), read=read),
    DocumentFormat(name="xls", extensions=(".xls", ".xlt", ".xlsb"), read=read),
)
