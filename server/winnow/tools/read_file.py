"""read_file: lines of a file, by their numbers."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import (
    BinaryFile,
    NotAFile,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    SearchTimedOut,
    UnreadableDocument,
)
from winnow.text.sanitize import printable
from winnow.tools.recording import reads
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style
from winnow.types import Progress
from winnow.types.read_file import Chunk, ReadFileParams, ReadFileResult
from winnow.workspace import Workspace


def plain(result: ReadFileResult) -> str:
    """The lines with their numbers, then notes in square brackets."""
    more = [f"more with the cursor {result.cursor}"] if result.cursor else []
    notes = (f"[{note}]" for note in [*_notes(result), *more])
    return "\n".join([*_rows(result, FOR_AGENTS), *notes])


def text(result: ReadFileResult, style: Style, folder: str) -> str:
    """The same, with quiet numbers in a column, as `cat -n` shows them, and quiet notes."""
    more = [f"more: --cursor {result.cursor}"] if result.cursor else []
    notes = (style.dim(f"[{note}]") for note in [*_notes(result), *more])
    return "\n".join([*_rows(result, style), *notes])


def _rows(result: ReadFileResult, style: Style) -> Iterator[str]:
    for place, chunk in enumerate(result.chunks):
        if place:
            yield style.dim("...")
        for line, content in enumerate(_lines(chunk), chunk.start):
            yield style.number(line) + content


def _lines(chunk: Chunk) -> list[str]:
    """The chunk's lines as a terminal can take them; a carriage return at the end shows as one."""
    lines = chunk.content.removesuffix("\n").split("\n")
    return [
        printable(line[:-1]) + "\N{SYMBOL FOR CARRIAGE RETURN}"
        if line.endswith("\r")
        else printable(line)
        for line in lines
    ]


def _notes(result: ReadFileResult) -> Iterator[str]:
    if result.total_lines == 0:
        yield "the file is empty"
    if result.document:
        yield f"the text of a document: {result.document}"
    if result.unsaved:
        yield "the editor's text, which is not saved"
    if result.encoding != "utf-8":
        yield f"encoding: {result.encoding}"
    if result.line_endings not in (None, "lf"):
        yield f"line endings: {result.line_endings}"
    yield from (f"incomplete: {reason}" for reason in result.completeness.reasons)
    yield from (f"note: {warning}" for warning in result.warnings)
    if result.cursor:
        whole = f" of {result.total_lines:,} in the file" if result.total_lines else ""
        yield f"{result.returned:,} of {result.total_found:,} lines asked for{whole}"


@tool(
    plain=plain,
    text=text,
    command="read",
    example={"path": "src/loader.py", "spans": [{"start": 8, "end": 10}, {"start": 18}]},
    raises=(
        NoWorkspace,
        NotFound,
        PathOutsideWorkspace,
        NotAFile,
        BinaryFile,
        UnreadableDocument,
        SearchTimedOut,
    ),
    learn=reads,
    of_open_documents=True,
)
async def read_file(
    workspace: Workspace, params: ReadFileParams, progress: Progress
) -> ReadFileResult:
    """Read line ranges of a file, several in one call.
    Use after a search: pass the path as it was answered, and as `spans` the lines around each hit.

    - Without `spans` it reads from the first line on, up to `max_lines`; `cursor` continues
    - Lines are numbered from 1, as the search tools number them; ranges outside of the file are fine
    - What is open and unsaved in the editor is read as it is there, not from disk
    - Files of any size; binary files are refused, lines of more than 2,000 characters are cut
    - Documents (PDF, Word, Excel, archives, …) are read as their text, with a ruler before each page or part
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.files.read import read

    return await read(workspace, params, progress)
