"""search_docs: lines of PDFs, office documents, e-books and archives."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import SEARCHING, EmptyQuery, InvalidPattern
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.search_docs import (
    DocumentMatch,
    DocumentMatches,
    SearchDocsParams,
    SearchDocsPartial,
    SearchDocsResult,
    UnreadDocument,
)
from winnow.workspace import Workspace


def text(result: SearchDocsResult, style: Style, folder: str) -> str:
    """Documents, each with its lines under it behind the place that they stand in; then what could
    not be read. Paths are shown as seen from ``folder``."""
    return _rendered(result, style, folder)


def plain(result: SearchDocsResult) -> str:
    """The same without colours, with paths as the result has them."""
    return _rendered(result, FOR_AGENTS, None)


def _rendered(result: SearchDocsResult, style: Style, folder: str | None) -> str:
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
            lines.append(style.dim("[only so many lines of a document: there may be more]"))
    lines += [result.message] if result.message else [""]
    for one in result.failed:
        name = shown(one) + (f"!/{printable(one.member)}" if one.member else "")
        lines.append(style.dim(f"[not read: {name}: {printable(one.reason)}]"))
    return "\n".join([*lines, *_notes(result, style)])


def place_of(match: DocumentMatch) -> str:
    """Where a line stands, in words: `report.pdf, page 7`."""
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
    read_by = ", ".join(f"{name} by {engine}" for name, engine in sorted(result.engines.items()))
    searched = f"{result.statistics.files} documents searched" + f" ({read_by})" * bool(read_by)
    summary = f"{result.returned} of {result.total_found} matching lines; {searched}"
    return notes_of(result, summary, style)


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Search PDFs, office documents, e-books, mail, archives and databases.",
        "winnow search-docs 'termination clause' 'legal/*.pdf'",
    ),
    example={"query": "retention", "path": "docs/*.pdf", "engine": "builtin", "context_lines": 1},
    raises=(EmptyQuery, InvalidPattern, *SEARCHING),
    partial=SearchDocsPartial,
    learn=searches(lambda params, result: params.query, lambda result: result.documents),
)
async def search_docs(
    workspace: Workspace, params: SearchDocsParams, progress: Progress
) -> SearchDocsResult:
    """Search through documents (PDF, Word, Excel, PowerPoint, OpenDocument, e-books, mail, archives, databases).
    Use this when you need to find content in non-text files; `grep` searches texts and code.

    - The query is a case-insensitive regular expression; `literal` takes it as text
    - `path` may be a glob such as 'legal/*.pdf'
    - Matches say the page, slide, sheet and cell, section, or file in the archive they stand in
    - What could not be read, or was not read yet, is listed: ask again for what is pending
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.documents.search import search_documents

    return await search_documents(workspace, params, progress)
