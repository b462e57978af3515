"""document_text: read a document as text."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from winnow.errors import (
    InvalidParams,
    NotAFile,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    ProgramNotInstalled,
    SearchFailed,
    SearchTimedOut,
    UnreadableDocument,
)
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.documents.rows import TextPart
from winnow.text.paths import shown_folder
from winnow.text.plural import counted
from winnow.text.sanitize import printable
from winnow.tools.recording import reads
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style, notes_of
from winnow.types import Answer, Completeness, PageParams, Progress, Skipped
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.search.documents.text import LocatedDocument

Engine = Literal["builtin", "rga"]


class DocumentTextParams(PageParams, frozen=True, kw_only=True):
    """The document, and the lines of its text."""

    path: Annotated[
        str,
        Meta(
            description="The document, absolute or relative to the root, or the `preview_uri` of a"
            " match.",
            min_length=1,
            max_length=8_000,
        ),
    ]
    start: Annotated[int, Meta(description="The first line, from 1.", ge=1)] = 1
    end: Annotated[
        int | None, Meta(description="The last line, inclusive. Default: the end of the text.")
    ] = None
    engine: Annotated[
        Engine,
        Meta(
            description="The extractor: Winnow's own, or ripgrep-all. A `preview_uri` overrides it."
        ),
    ] = "builtin"


class DocumentTextResult(Answer, frozen=True, kw_only=True):
    """The text of a document, with a ruler at the start of each page, sheet or other part.
    `total_found` and `returned` count lines."""

    path: Annotated[str, Meta(description="The document, relative to `root`.")]
    uri: Annotated[str, Meta(description="The URI of this text, for editors.")]
    format: Annotated[str, Meta(description="The format, such as 'pdf'.")]
    engine: Annotated[Engine, Meta(description="The extractor that was used.")]
    start: Annotated[int, Meta(description="The first line of `text`.")]
    text: Annotated[str, Meta(description="The lines, each with a line end.")]
    total_lines: Annotated[int, Meta(description="Number of lines of the complete text.")]
    line_map: Annotated[
        list[TextPart],
        Meta(description="The sources of the lines: of the first line, and wherever one begins."),
    ]
    failed: Annotated[
        list[str], Meta(description="Parts of the document that could not be read, and why.")
    ] = []


# --- rendering -----------------------------------------------------------------------------


def text(result: DocumentTextResult, style: Style, folder: str | None) -> str:
    """Render the lines with dimmed rulers, then notes."""
    rulers = {part.line for part in result.line_map if part.title is not None}
    lines = [
        style.dim(printable(line)) if number in rulers else printable(line)
        for number, line in enumerate(result.text.split("\n")[:-1], result.start)
    ]
    lines += [style.dim(f"[not read: {printable(part)}]") for part in result.failed]
    summary = f"{result.returned} of {result.total_found} lines, {result.format}"
    return "\n".join([*lines, *notes_of(result, summary, style)])


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    command_help=CommandHelp(
        "Print a document as text: PDF, office formats, e-books, mail, archives.",
        "winnow document-text legal/contract.pdf --start 40 --end 60",
        "winnow document-text report.docx --end 40",
    ),
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
    workspace: EngineWorkspace, params: DocumentTextParams, progress: Progress
) -> DocumentTextResult:
    """Read a document (PDF, office formats, e-books, mail, archives) as text, with a ruler at the start of each page, sheet or file.
    Use after `search_docs`: pass the path, and as `start` and `end` lines around a match.

    - Lines are numbered as in `search_docs`
    - `line_map` shows the page, slide, sheet or section of the lines
    """  # noqa: E501 - one sentence a line, as agents read it
    # Importing the document library takes 40 ms.
    from winnow.search.documents.text import read_document_at

    if params.end is not None and params.end < params.start:
        raise InvalidParams("end", f"it is before the start {params.start}")
    found = await read_document_at(workspace, params.path, params.engine, progress)
    limit = workspace.config.limits.answer_bytes
    return await asyncio.to_thread(_page, params, found, limit)


def _page(params: DocumentTextParams, found: LocatedDocument, limit: int) -> DocumentTextResult:
    """Return the requested lines, at most `limit` bytes and `max_tokens`."""
    document = found.text
    total = len(document.lines)
    first, stamp = cursor.decode(params, int) or (params.start, document.stamp)
    last = min(params.end or total, total)
    reasons = [CHANGED] if stamp != document.stamp else []
    failed = [
        f"{part.member}: {part.reason}" if part.member else part.reason
        for part in document.text_map.failed
    ]
    if failed:
        reasons.append(f"{len(failed)} parts could not be read: see `failed`")
    completeness = Completeness(
        complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=False
    )
    warnings = []
    if first > max(1, total):
        count = counted(total, "line", "lines")
        warnings.append(f"line {first} is beyond the end: the text has {count}")

    def lines_to(end: int) -> DocumentTextResult:
        more = end < last
        return DocumentTextResult(
            root=shown_folder(found.root),
            path=found.located.shown,
            uri=found.uri,
            format=document.document.format,
            engine=found.engine,
            start=first,
            text="".join(f"{line}\n" for line in document.lines[first - 1 : end]),
            total_lines=total,
            line_map=document.parts(first, end),
            failed=failed,
            total_found=max(0, last - params.start + 1),
            returned=max(0, end - first + 1),
            truncated=more,
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, end + 1, document.stamp) if more else None,
        )

    end = _fitting(document.lines, first, last, limit)
    fewer = fractions(end - first + 1)[1:]
    steps = [functools.partial(lines_to, first + count - 1) for count in fewer]
    return shorten(lines_to(end), params.max_tokens, steps)


def _fitting(lines: Sequence[str], first: int, last: int, limit: int) -> int:
    """Return the last line that fits into `limit` bytes."""
    for number in range(first, last + 1):
        limit -= 4 * len(lines[number - 1]) + 1
        if limit < 0 and number > first:
            return number - 1
    return last
