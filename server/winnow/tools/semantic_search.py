"""semantic_search: passages by what they are about."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import SEARCHING, EmptyQuery
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.semantic_search import (
    LocalAnswer,
    Passage,
    SemanticSearchParams,
    SemanticSearchPartial,
    SemanticSearchResult,
)
from winnow.workspace import Workspace


def plain(result: SemanticSearchResult) -> str:
    """Passages with their lines, numbered; then what was left out."""
    return _rendered(result, FOR_AGENTS, None)


def text(result: SemanticSearchResult, style: Style, folder: str) -> str:
    """The same with colours, and paths as seen from ``folder``."""
    return _rendered(result, style, folder)


def _rendered(result: SemanticSearchResult, style: Style, folder: str | None) -> str:
    blocks = [
        "\n".join(_block(one, seen_path(one, result.root, folder), style)) for one in result.results
    ]
    by = f"{result.engine}, {result.model}" if result.model else result.engine
    least = "at least " * result.total_is_lower_bound
    summary = f"{result.returned} of {least}{result.total_found} passages, {by}"
    notes = notes_of(result, summary, style)
    return "\n".join([*blocks, *[""] * bool(blocks), *notes, *offers(result, style)])


def _block(passage: Passage, path: str, style: Style) -> Iterator[str]:
    place = style.dim(f":{passage.start_line}-{passage.end_line}")
    symbol = f"  {style.match(printable(passage.symbol))}" if passage.symbol else ""
    yield f"{style.path(path)}{place}{symbol}  {style.dim(printable(passage.why))}"
    yield from numbered(passage.snippet, passage.snippet_line or passage.start_line, style)


def numbered(snippet: str | None, first: int, style: Style) -> Iterator[str]:
    """The lines of a snippet with their numbers."""
    if snippet is None:
        return
    for number, line in enumerate(snippet.split("\n"), first):
        yield style.number(number) + line


def offers(result: LocalAnswer, style: Style) -> Iterator[str]:
    """Why text was searched, how to have an index, and what else to ask."""
    if result.fallback:
        yield style.dim(f"[{result.fallback.wanted} → {result.fallback.used}]")
    if result.index_offer:
        yield style.dim(f"[{printable(result.index_offer.text)}]")
    if result.suggestions:
        yield style.dim(f"[try: {', '.join(map(printable, result.suggestions))}]")


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"query": "how are plugins loaded", "top_k": 2},
    raises=(EmptyQuery, *SEARCHING),
    partial=SemanticSearchPartial,
    learn=searches(
        lambda params, result: params.query,
        lambda result: result.results,
        lambda result: result.fallback.reason if result.fallback else "",
    ),
)
async def semantic_search(
    workspace: Workspace, params: SemanticSearchParams, progress: Progress
) -> SemanticSearchResult:
    """Find code by what it does or is about, in plain words. Returns the best passages with their lines, ranked.

    Effective use:
    - Ask for a concept or a behaviour: "where are failed uploads retried", "how is a session ended"
    - Say it in one sentence and add names that the code may use: both count
    - Use find_symbol instead if you know a name, grep for exact text, glob for a file
    - Read around a result with its `path`, `start_line` and `end_line`
    - One call takes milliseconds and nothing leaves this machine: ask again in other words, or narrow `path`
    - `fallback` says that there is no index yet and the words of the query were looked for instead
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.code.semantic import search_meaning

    return await search_meaning(workspace, params, progress)
