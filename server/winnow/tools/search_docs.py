"""search_docs: lines of PDFs, office documents, e-books and archives."""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, EmptyQuery, InvalidPattern, NotFound
from winnow.search.answer import cursor
from winnow.search.answer.completeness import fractions
from winnow.search.answer.shorten import shorten
from winnow.search.documents.rows import DocumentMatch, DocumentMatches, UnreadDocument
from winnow.text.paths import shown_folder
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern
from winnow.text.sanitize import printable
from winnow.text.scope import path_order
from winnow.tools.recording import searches
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import Style, notes_of, seen_path
from winnow.types import (
    Completeness,
    Pattern,
    Progress,
    Result,
    SearchAnswer,
    SearchParams,
    Skipped,
)
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.search.documents.results import DocumentSearch

NO_MATCHES = "No matches found"
FEW_FAILED = 3
NAMES_OF_A_REASON = 3  # documents that could not be read, as text


class SearchDocsParams(SearchParams, frozen=True, kw_only=True):
    """A pattern, and the documents to search."""

    query: Annotated[
        str,
        Meta(
            description="The search query/pattern to find in documents: a regular expression or,"
            " with `literal`, text.",
            max_length=2_000,
        ),
    ]
    path: Annotated[
        str,
        Meta(
            description="File, folder or glob pattern to search in, such as 'legal/*.pdf', absolute"
            " or relative to the root.",
            max_length=4_000,
        ),
    ] = ""
    file_types: Annotated[
        list[Pattern],
        Meta(description="Formats to search, such as 'pdf', 'docx' or 'zip'.", max_length=100),
    ] = []
    literal: Annotated[
        bool, Meta(description="Treat the query as text, not as a regular expression.")
    ] = False
    case_sensitive: Annotated[bool, Meta(description="Distinguish upper and lower case.")] = False
    context_lines: Annotated[
        int, Meta(description="Number of lines to show before and after each match.", ge=0, le=20)
    ] = 2
    max_count: Annotated[
        int, Meta(description="Maximum number of matching lines per document.", ge=1, le=10_000)
    ] = 100
    max_results: Annotated[
        int, Meta(description="Maximum number of matching lines to return.", ge=1, le=1_000_000)
    ] = 200
    engine: Annotated[
        Literal["auto", "rga", "builtin"],
        Meta(
            description="The engine that reads documents. 'rga': ripgrep-all, or an error if it is"
            " not installed. 'builtin': Winnow itself, which caches their texts. 'auto': Winnow"
            " itself, or with the setting `documents.engine` = 'rga', ripgrep-all for its formats."
        ),
    ] = "auto"
    timeout: Annotated[
        float,
        Meta(description="Time limit, in seconds; the results so far are returned.", gt=0, le=600),
    ] = 30


class Statistics(Result, frozen=True, kw_only=True):
    """Figures about the search."""

    files: Annotated[int, Meta(description="Number of documents searched.")]
    matches: Annotated[int, Meta(description="Number of matching lines.")]
    seconds: Annotated[float, Meta(description="Duration.")]


class SearchDocsResult(SearchAnswer, frozen=True, kw_only=True):
    """The documents that match; `total_found` and `returned` count matching lines."""

    documents: Annotated[
        list[DocumentMatches],
        Meta(description="The documents that match, by path; empty if they were streamed."),
    ]
    failed: Annotated[
        list[UnreadDocument],
        Meta(description="Documents that could not be read, and why; the first hundred."),
    ]
    engine: Annotated[
        Literal["rga", "builtin", "both", "none"],
        Meta(description="The engine that read the documents; 'none' if there are none."),
    ]
    engines: Annotated[
        dict[str, Literal["rga", "builtin", "both"]],
        Meta(description="The engine for each format."),
    ]
    statistics: Annotated[Statistics, Meta(description="Figures about the search.")]
    pending: Annotated[
        int | None,
        Meta(
            description="Number of documents not read in time: try again. Winnow continues to read"
            " them in the background."
        ),
    ] = None
    message: Annotated[str | None, Meta(description="'No matches found'.")] = None


class SearchDocsPartial(Result, frozen=True, kw_only=True):
    """Further documents, which the result does not repeat."""

    documents: Annotated[
        list[DocumentMatches], Meta(description="The next documents, in no particular order.")
    ]


# --- rendering -----------------------------------------------------------------------------


def text(result: SearchDocsResult, style: Style, folder: str | None) -> str:
    """Render documents with their lines and places, then what could not be read.

    Paths are relative to ``folder``.
    """

    def shown(found: DocumentMatches | UnreadDocument) -> str:
        return seen_path(found, result.root, folder)

    lines: list[str] = []
    for document in result.documents:
        lines += [""] * bool(lines) + [style.path(shown(document))]
        for match in document.matches:
            lines += [style.dim(f"  {printable(line)}") for line in match.before]
            lines.append(f"{style.good(printable(place_of(match)))}: {printable(match.text)}")
            lines += [style.dim(f"  {printable(line)}") for line in match.after]
        if document.total_is_lower_bound:
            lines.append(style.dim("[more lines may match: see max_count]"))
    lines += [result.message] if result.message else [""]
    unread: dict[str, list[str]] = {}
    for each in result.failed:
        name = shown(each) + (f"!/{printable(each.member)}" if each.member else "")
        unread.setdefault(printable(each.reason), []).append(name)
    for reason, names in unread.items():
        lines.append(style.dim(f"[not read: {_some_of(names)}: {reason}]"))
    return "\n".join([*lines, *_notes(result, style)])


def _some_of(names: Sequence[str]) -> str:
    more = len(names) - NAMES_OF_A_REASON
    some = ", ".join(names[:NAMES_OF_A_REASON])
    return f"{some} and {more} more" if more > 0 else some


def place_of(match: DocumentMatch) -> str:
    """Return the place of a line in words: `report.pdf, page 7`."""
    cells = match.cells or ([match.cell] if match.cell else [])
    words = [
        match.member,
        f"page {match.page}" if match.page else None,
        f"slide {match.slide}" if match.slide else None,
        match.sheet,
        ", ".join(cells) or None,
        match.section if match.section != f"Page {match.page}" else None,
        f"paragraph {match.paragraph}" if match.paragraph else None,
    ]
    return ", ".join(word for word in words if word) or f"line {match.line}"


def _notes(result: SearchDocsResult, style: Style) -> Iterator[str]:
    # Winnow's own readers need no mention.
    others = ((name, engine) for name, engine in sorted(result.engines.items()))
    read_by = ", ".join(f"{name} by {engine}" for name, engine in others if engine != "builtin")
    searched = f"{counted(result.statistics.files, 'document', 'documents')} searched"
    searched += f" ({read_by})" * bool(read_by)
    summary = f"{result.returned} of {result.total_found} matching lines; {searched}"
    return notes_of(result, summary, style)


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Search documentation, PDFs, office documents, e-books, mail, archives and databases.",
        "winnow search-docs 'termination clause' 'legal/*.pdf'",
        "winnow search-docs 'notice period' legal -n 5",
    ),
    example={"query": "retention", "path": "docs/*.pdf", "engine": "builtin", "context_lines": 1},
    raises=(EmptyQuery, InvalidPattern, *SEARCHING),
    partial=SearchDocsPartial,
    learn=searches(lambda params, result: params.query, lambda result: result.documents),
)
async def search_docs(
    workspace: EngineWorkspace, params: SearchDocsParams, progress: Progress
) -> SearchDocsResult:
    """Search through documents (PDF, Word, Excel, PowerPoint, OpenDocument, e-books, mail, archives, databases).
    Also searches documentation in plain text (txt, Markdown, reST, AsciiDoc, org); `grep` searches all text and code.

    - The query is a case-insensitive regular expression, or text with `literal`; a phrase may continue in the next line
    - `path` may be a glob such as 'legal/*.pdf'
    - Matches have the page, slide, sheet and cell, section, or file in the archive
    - Documents that could not be read, or are not read yet, are listed: try again for pending ones
    """  # noqa: E501 - one sentence a line, as agents read it
    if not params.query.strip():
        raise EmptyQuery
    # Not needed to start a server or to print help.
    from winnow.search.documents.results import DocumentOptions
    from winnow.search.documents.search import search_documents

    def send(message: str, document: DocumentMatches) -> None:
        progress(message, partial=SearchDocsPartial(documents=[document]))

    pattern = TextPattern(
        params.query, literal=params.literal, case_sensitive=params.case_sensitive
    )
    options = DocumentOptions(
        engine=params.engine,
        timeout=params.timeout,
        max_results=params.max_results,
        context=params.context_lines,
        max_count=params.max_count,
        by_format=bool(params.file_types),
    )
    streams = progress.streaming and not params.max_tokens and not params.cursor
    search_in = search_documents(
        *(workspace, filters_of(params), pattern, options, progress), send if streams else None
    )
    try:
        async with search_in as search:
            room = workspace.config.limits.answer_bytes
            return await asyncio.to_thread(_result_of, params, search, room)
    except NotFound as error:
        return _nothing(workspace, error)


def _nothing(workspace: EngineWorkspace, error: NotFound) -> SearchDocsResult:
    """Return the answer for a path that matches nothing."""
    return SearchDocsResult(
        root=workspace.shown_root,
        documents=[],
        failed=[],
        engine="none",
        engines={},
        statistics=Statistics(files=0, matches=0, seconds=0.0),
        message=NO_MATCHES,
        total_found=0,
        returned=0,
        truncated=False,
        completeness=Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False),
        warnings=[error.message],
    )


class DocumentPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last line on a page: its document, and its index among the lines of that."""

    path: bytes
    place: int


def _result_of(params: SearchDocsParams, search: DocumentSearch, room: int) -> SearchDocsResult:
    """Return the page after the cursor, in at most ``max_tokens`` and about ``room`` bytes."""
    from winnow.search.documents.results import HitsGone

    while True:
        try:
            return _page(params, search, room)
        except HitsGone:
            pass  # its document is pending now


def _page(params: SearchDocsParams, search: DocumentSearch, room: int) -> SearchDocsResult:
    from winnow.search.documents.results import MOST_FAILED, stamp

    rows = search.rows()
    key = path_order(search.scope)

    def passed(position: DocumentPosition) -> int:
        last = (key(os.fsdecode(position.path)), position.place)
        return sum((key(found.document.path), place) <= last for found, place in rows)

    def cursor_at(end: int) -> str:
        found, place = rows[end - 1]
        position = DocumentPosition(os.fsencode(found.document.path), place)
        return cursor.encode(params, position, stamp(rows[:end]))

    first, changed = cursor.resume(
        params, DocumentPosition, passed, lambda first: stamp(rows[:first])
    )
    base = SearchDocsResult(
        root=shown_folder(search.scope.root),
        documents=[],
        failed=search.failed(),
        engine=search.engine,
        engines=search.engines,
        statistics=Statistics(
            files=len(search.searched),
            matches=len(rows),
            seconds=round(time.monotonic() - search.started, 3),
        ),
        pending=len(search.pending) or None,
        message=None if rows else NO_MATCHES,
        total_found=len(rows),
        returned=search.sent,
        truncated=search.sent < len(rows),
        completeness=search.completeness(changed=changed),
        warnings=search.all_warnings(),
    )
    if search.send is not None:
        return base
    end = min(first + params.max_results, len(rows))
    documents = search.matches(rows[first:end], room)
    end = first + sum(len(document.matches) for document in documents)

    def page_to(end: int, *, bare: bool = False, failures: int = MOST_FAILED) -> SearchDocsResult:
        more = end < len(rows)
        return msgspec.structs.replace(
            base,
            documents=list(_first(documents, end - first, bare=bare)),
            failed=base.failed[:failures],
            returned=end - first,
            truncated=more or (bare and end > first) or failures < len(base.failed),
            cursor=cursor_at(end) if more and end else None,
        )

    fewer = fractions(end - first)[1:]
    steps = [functools.partial(page_to, end, bare=True)]
    steps += [
        functools.partial(page_to, first + count, bare=True, failures=FEW_FAILED)
        for count in (end - first, *fewer)
    ]
    return shorten(page_to(end), params.max_tokens, steps)


def _first(
    documents: Iterable[DocumentMatches], count: int, *, bare: bool
) -> Iterator[DocumentMatches]:
    """Yield the first ``count`` lines of documents, without their context if ``bare``."""
    for document in documents:
        if count <= 0:
            return
        matches = document.matches[:count]
        count -= len(matches)
        if bare:
            matches = [msgspec.structs.replace(match, before=[], after=[]) for match in matches]
        yield msgspec.structs.replace(document, matches=matches)
