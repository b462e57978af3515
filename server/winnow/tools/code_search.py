"""code_search: one query for files, symbols, text and questions."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import SEARCHING, EmptyQuery, IndexUnavailable
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.semantic_search import numbered, offers
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.code_search import (
    CodeHit,
    CodeSearchParams,
    CodeSearchPartial,
    CodeSearchResult,
)
from winnow.workspace import Workspace


def plain(result: CodeSearchResult) -> str:
    """Results with their lines, numbered; then which search it was, and what was left out."""
    return _rendered(result, FOR_AGENTS, None)


def text(result: CodeSearchResult, style: Style, folder: str) -> str:
    """The same with colours, and paths as seen from ``folder``."""
    return _rendered(result, style, folder)


def _rendered(result: CodeSearchResult, style: Style, folder: str | None) -> str:
    blocks = [
        line
        for one in result.results
        for line in _block(one, seen_path(one, result.root, folder), style)
    ]
    least = "at least " * result.total_is_lower_bound
    of = f"{result.returned} of {least}{result.total_found}"
    summary = f"{of}, {result.search_type_used} search: "
    notes = notes_of(result, summary + printable(result.reason), style)
    return "\n".join([*blocks, *[""] * bool(blocks), *notes, *offers(result, style)])


def _block(hit: CodeHit, path: str, style: Style) -> Iterator[str]:
    lines = "" if hit.line is None else f":{hit.line}"
    if hit.line is not None and hit.end_line not in (None, hit.line):
        lines += f"-{hit.end_line}"
    about = [style.match(printable(hit.symbol))] if hit.symbol else []
    about += [style.dim(printable(hit.why))] if hit.why else []
    if hit.matches and hit.kind == "match":
        about.append(style.dim(f"{hit.matches} matching lines"))
    yield "  ".join([style.path(path) + style.dim(lines), *about])
    yield from numbered(hit.snippet, hit.snippet_line or hit.line or 1, style)


def _index_fallback(result: CodeSearchResult) -> str:
    """Why the index did not answer; that a name is none is nothing that it lacks."""
    fallback = result.fallback
    return fallback.reason if fallback and fallback.wanted == "semantic" else ""


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"query": "load_plugin", "limit": 2},
    raises=(EmptyQuery, *SEARCHING, IndexUnavailable),
    partial=CodeSearchPartial,
    learn=searches(
        lambda params, result: params.query,
        lambda result: result.results,
        _index_fallback,
    ),
    of_open_documents=True,
)
async def code_search(
    workspace: Workspace, params: CodeSearchParams, progress: Progress
) -> CodeSearchResult:
    """Search code and documentation with one query: chooses between files, symbols, text and meaning, and says what it chose.

    Effective use:
    - The first thing to try when you do not know which search is right; `reason` says why it was this one
    - `executor.py`, `src/**/*.tsx`: files. `AgentEngine`, `Client.send`: definitions. `"permission denied"` in quotes, `foo(`, `get_\\w+`: text. "how are retries scheduled": passages about it
    - Set `search_type` if it chose wrongly; use grep for every match of a text, find_references for uses of a symbol
    - One call takes milliseconds with an index and nothing leaves this machine
    - Text is searched where there is no index, and `fallback` says so; `index_offer` says how to have one (`enable_indexing`)
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.code.search import search_code

    return await search_code(workspace, params, progress)
