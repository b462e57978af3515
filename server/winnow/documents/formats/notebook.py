"""Jupyter notebooks, versions 3 and 4: cells with their text output.

Read with msgspec, which skips unknown fields: images in base64 are the larger part of many
notebooks. nbformat decodes and validates everything.
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
# Colors of tracebacks and other terminal escape sequences.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

Text = Union[str, list[str], None]  # noqa: UP007  # msgspec evaluates it in Python 3.10


class Data(Struct):
    """The result of a cell in several media types, of which only text is read."""

    text: Text = field(default=None, name="text/plain")


class CellOutput(Struct):
    """An output of a cell: a stream, a result or an error."""

    text: Text = None
    data: Data | None = None
    traceback: Text = None


class Cell(Struct):
    """A cell; version 3 stores code in ``input``."""

    cell_type: str
    source: Text = None
    input: Text = None
    outputs: list[CellOutput] | None = None


class Worksheet(Struct):
    """The container of cells in version 3."""

    cells: list[Cell] = []


class Notebook(Struct):
    """A notebook of any version."""

    cells: list[Cell] | None = None
    worksheets: list[Worksheet] | None = None


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the cells in order, each followed by its text outputs."""
    cells = _cells(source)
    for number, cell in enumerate(cells, 1):
        output.part(f"Cell {number}", DocumentLocation(section=f"cell {number} ({cell.cell_type})"))
        output.text(_joined(cell.source) + _joined(cell.input))
        for result in cell.outputs or ():
            shown = result.data.text if result.data else None
            for text in (_joined(result.text), _joined(shown), _joined(result.traceback, "\n")):
                output.text(_ESCAPES.sub("", text))


def _cells(source: DocumentInput) -> list[Cell]:
    raw = source.file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise Unreadable(f"it is a notebook of more than {MOST_BYTES // 1024**2} MiB")
    try:
        notebook = msgspec.json.decode(raw.removeprefix(codecs.BOM_UTF8), type=Notebook)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"it is not a notebook: {error}") from error
    if notebook.cells is not None:
        return notebook.cells
    if notebook.worksheets is None:
        raise Unreadable("it is not a notebook: it has no cells")
    return [cell for sheet in notebook.worksheets for cell in sheet.cells]


def _joined(text: Text, between: str = "") -> str:
    """Join lines. The lines of a notebook include line breaks; those of a traceback do not."""
    if isinstance(text, list):
        return between.join(text)
    return text or ""


FORMATS = (DocumentFormat(name="ipynb", extensions=(".ipynb",), read=read, is_text=True),)
