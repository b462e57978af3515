"""document_text: what a preview of a document shows."""

from __future__ import annotations

from winnow.errors import (
    NotAFile,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    ProgramNotInstalled,
    SearchFailed,
    SearchTimedOut,
    UnreadableDocument,
)
from winnow.text.sanitize import printable
from winnow.tools.recording import reads
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of
from winnow.types import Progress
from winnow.types.document_text import DocumentTextParams, DocumentTextResult
from winnow.workspace import Workspace


def plain(result: DocumentTextResult) -> str:
    """The lines, then what could not be read."""
    return text(result, FOR_AGENTS, "")


def text(result: DocumentTextResult, style: Style, folder: str) -> str:
    """The same, with quiet rulers and notes."""
    rulers = {part.line for part in result.line_map if part.title is not None}
    lines = [
        style.dim(printable(line)) if number in rulers else printable(line)
        for number, line in enumerate(result.text.split("\n")[:-1], result.start)
    ]
    lines += [style.dim(f"[not read: {printable(one)}]") for one in result.failed]
    summary = f"{result.returned} of {result.total_found} lines, {result.format}"
    return "\n".join([*lines, *notes_of(result, summary, style)])


@tool(
    plain=plain,
    text=text,
    example={"path": "docs/handbook.pdf"},
    raises=(
        NoWorkspace,
        NotFound,
        PathOutsideWorkspace,
        NotAFile,
        UnreadableDocument,
        ProgramNotInstalled,
        SearchTimedOut,
        SearchFailed,
    ),
    learn=reads,
)
async def document_text(
    workspace: Workspace, params: DocumentTextParams, progress: Progress
) -> DocumentTextResult:
    """Read a document (PDF, office formats, e-books, mail, archives) as text, with a ruler where each page, sheet or file begins.
    Use after `search_docs`: pass the path, and as `start` and `end` lines around a match.

    - Lines are numbered as `search_docs` numbers them
    - `line_map` tells which page, slide, sheet or section lines come from
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.documents.text import read_document

    return await read_document(workspace, params, progress)
