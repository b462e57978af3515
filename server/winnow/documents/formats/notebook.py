"""Notebooks of Jupyter, versions 3 and 4: cells with the text that they have put out.

By msgspec, which Winnow has anyway and which does not build what is not asked for: pictures, in
base64, are most of many notebooks. nbformat builds everything, and validates it.
"""

from __future__ import annotations

import codecs
import re
from typing import Union

import msgspec
from msgspec import Struct, field

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

MOST_BYTES = 100 * 1024**2
# Colours of tracebacks, and other sequences for terminals.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

Text = Union[str, list[str], None]  # noqa: UP007  # msgspec evaluates it, in Python 3.10, too


class Data(Struct):
    """What a cell shows, in several types of which only text is one."""

    text: Text = field(default=None, name="text/plain")


class CellOutput(Struct):
    """An output of a cell: of a stream, a result, or an error."""

    text: Text = None
    data: Data | None = None
    traceback: Text = None


class Cell(Struct):
    """A cell; its text is its ``input`` in code of version 3."""

    cell_type: str
    source: Text = None
    input: Text = None
    outputs: list[CellOutput] | None = None


class Worksheet(Struct):
    """What version 3 has cells in."""

    cells: list[Cell] = []


class Notebook(Struct):
    """A notebook of any version."""

    cells: list[Cell] | None = None
    worksheets: list[Worksheet] | None = None


def read(source: DocumentInput, output: TextOutput) -> None:
    """Cells in their order, each with its text outputs."""
    cells = _cells(source)
    for number, cell in enumerate(cells, 1):
        output.part(f"Cell {number}", DocumentLocation(section=f"cell {number} ({cell.cell_type})"))
        output.text(_joined(cell.source) + _joined(cell.input))
        for one in cell.outputs or ():
            shown = one.data.text if one.data else None
            for text in (_joined(one.text), _joined(shown), _joined(one.traceback, "\n")):
                output.text(_ESCAPES.sub("", text))


def _cells(source: DocumentInput) -> list[Cell]:
    raw = source.file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise Unreadable(f"it is a notebook of more than {MOST_BYTES // 1024**2} MiB")
    try:
        notebook = msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8), type=Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"it is no notebook: {error}") from error
    if notebook.cells is not None:
        return notebook.cells
    if notebook.worksheets is None:
        raise Unreadable("it is no notebook: it has no cells")
    return [cell for sheet in notebook.worksheets for cell in sheet.cells]


def _joined(text: Text, between: str = "") -> str:
    """Lines of a notebook keep their ends; those of a traceback have none."""
    if isinstance(text, list):
        return between.join(text)
    return text or ""


FORMATS = (DocumentFormat(name="ipynb", extensions=(".ipynb",), read=read, is_text=True),)
