"""Write the rows of sheets as lines, with the location of their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from winnow.documents.extract.output import TextOutput
from winnow.documents.library.locations import DocumentLocation

# A larger gap between cells starts a new line, because a row of two cells may have 16,384 columns.
WIDEST_GAP = 64


def raw_and_displayed(raw: str, displayed: str) -> str:
    """Return the value of a cell and how it is displayed, or the one that contains the other."""
    if displayed in raw:
        return raw
    return displayed if raw in displayed else f"{raw} ({displayed})"


class SheetWriter:
    """Writes the rows of a sheet, except those without text."""

    def __init__(self, output: TextOutput, name: str) -> None:
        self._output = output
        self._name = name
        self._begun = False
        self._next: tuple[int, int] | None = None

    def row(self, number: int, cells: Iterable[tuple[int, str]]) -> None:
        """Write a row. ``cells`` has the columns and texts of its cells, from left to right. Rows
        and columns count from 1."""
        line: list[str] = []
        first = following = 0
        for column, text in cells:
            if not text:
                continue
            if line and column - following > WIDEST_GAP:
                self._write(number, first, line)
                line = []
            if not line:
                first = following = column
            line.extend([""] * (column - following))
            line.append(text.replace("\t", " "))
            following = column + 1
        if line:
            self._write(number, first, line)

    def _write(self, row: int, column: int, texts: list[str]) -> None:
        place = DocumentLocation(sheet=self._name, row=row, column=column)
        if not self._begun:
            self._output.part(f"Sheet {self._name}", place)
            self._begun = True
        elif (row, column) != self._next:
            self._output.at(place)
        self._output.line("\t".join(texts))
        self._next = (row + 1, column)

    def drawings(self, lines: Sequence[str]) -> None:
        """Write the lines of shapes and charts that cover cells."""
        if lines:
            self._output.part(f"Sheet {self._name}: drawings", DocumentLocation(sheet=self._name))
        for line in lines:
            self._output.line(line)

    def notes(self, notes: Iterable[tuple[int, int, str]]) -> None:
        """Write the notes of cells, given by row and column, after all rows."""
        for index, (row, column, text) in enumerate(notes):
            place = DocumentLocation(sheet=self._name, row=row, column=column)
            if index == 0:
                self._output.part(f"Sheet {self._name}: notes", place)
            else:
                self._output.at(place)
            self._output.line(text.replace("\t", " "))
