"""semantic_search: passages about a question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, EmptyQuery
from winnow.search.answer.completeness import CHANGED, with_reasons
from winnow.search.answer.hits import (
    CurrentHit,
    CurrentTexts,
    Engine,
    SearchFallback,
    current_hits,
    page_start,
    paged,
    wanted_hits,
)
from winnow.search.code.explanation import Explanation, explain, explained
from winnow.search.shared.opened import opened_scope
from winnow.search.shared.scope import with_shared
from winnow.search.shared.wanted import Wanted
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import Style, notes_of, seen_path
from winnow.types import (
    QUERY_CHARACTERS,
    IndexOffer,
    InRepository,
    Progress,
    Repositories,
    Result,
    ScopeParams,
    SearchAnswer,
)
from winnow.workspace import EngineWorkspace

EXPLAIN = Meta(
    description="Return how the query was understood: its parts, and the words that were searched"
    " for, with their weights."
)


class SemanticSearchParams(ScopeParams, frozen=True, kw_only=True):
    """A question in words."""

    query: Annotated[
        str,
        Meta(
            description="What the code does or is about, in plain words: 'where are retries of"
            " failed uploads scheduled'. Add names and words that the code may use.",
            max_length=QUERY_CHARACTERS,
        ),
    ]
    top_k: Annotated[
        int, Meta(description="Maximum number of passages to return.", ge=1, le=200)
    ] = 10
    explain: Annotated[bool, EXPLAIN] = False
    repositories: Repositories = []


class LocalAnswer(SearchAnswer, frozen=True, kw_only=True):
    """The answer of a search that uses the index."""

    total_is_lower_bound: Annotated[
        bool, Meta(description="True if there may be more: the search finds only the best.")
    ] = False
    fallback: Annotated[
        SearchFallback | None,
        Meta(
            description="If another search was requested or tried first: which, and why it was not"
            " used."
        ),
    ] = None
    index_offer: Annotated[
        IndexOffer | None, Meta(description="If there is no index: how to build one.")
    ] = None
    suggestions: Annotated[
        list[str],
        Meta(description="If few results were found: words of the code base to search for."),
    ] = []
    unknown_words: Annotated[
        list[str],
        Meta(
            description="The words of a question that are in no text, if they are a third of its"
            " words or more: the code may use others."
        ),
    ] = []
    explanation: Annotated[
        Explanation | None, Meta(description="With `explain`: how the query was understood.")
    ] = None


class Passage(InRepository, frozen=True, kw_only=True):
    """Lines of a file that are about the question: a definition or a paragraph. Lines start at
    1."""

    start_line: Annotated[int, Meta(description="The first line of the passage.")]
    end_line: Annotated[int, Meta(description="The last line.")]
    best_line: Annotated[
        int | None,
        Meta(
            description="The line to show: that of the definition, or the one with the most of the"
            " question, if it is not `start_line`."
        ),
    ] = None
    score: Annotated[float, Meta(description="For comparison within one answer; higher is better.")]
    snippet: Annotated[
        str | None,
        Meta(description="The most relevant lines, from the current file; at most twelve."),
    ] = None
    snippet_line: Annotated[
        int | None,
        Meta(description="First line of the snippet, if it is not `start_line`."),
    ] = None
    symbol: Annotated[
        str | None,
        Meta(description="Qualified name of the symbol that the lines define, or are part of."),
    ] = None
    why: Annotated[str, Meta(description="Why it matches: where the words of the question are.")]


class SemanticSearchResult(LocalAnswer, frozen=True, kw_only=True):
    """The passages, best first."""

    results: Annotated[
        list[Passage], Meta(description="The passages; empty if they were streamed.")
    ]
    engine: Annotated[
        Engine,
        Meta(
            description="'lexical': words, names and paths in the index, with a trained ranker;"
            " 'lexical+embeddings': embeddings as well; 'text': all files were searched for the"
            " words of the query."
        ),
    ]
    model: Annotated[
        str | None,
        Meta(description="The embedding model, if one was used. It runs on this machine."),
    ] = None


class SemanticSearchPartial(Result, frozen=True, kw_only=True):
    """Further passages, which the result does not repeat."""

    results: Annotated[list[Passage], Meta(description="The next passages.")]


# --- rendering -----------------------------------------------------------------------------


def text(result: SemanticSearchResult, style: Style, folder: str | None) -> str:
    """Render passages with numbered lines, then what was skipped."""
    blocks = [
        "\n".join(_block(passage, seen_path(passage, result.root, folder), style))
        for passage in result.results
    ]
    by = f"{result.engine}, {result.model}" if result.model else result.engine
    least = "at least " * result.total_is_lower_bound
    summary = f"{result.returned} of {least}{result.total_found} passages, {by}"
    notes = notes_of(result, summary, style)
    return "\n".join([*blocks, *[""] * bool(blocks), *notes, *offers(result, style)])


def _block(passage: Passage, path: str, style: Style) -> Iterator[str]:
    place = style.dim(f":{passage.start_line}-{passage.end_line}")
    symbol = f"  {style.match(printable(passage.symbol))}" if passage.symbol else ""
    why = style.dim(printable(reason_beside(passage.symbol, passage.why)))
    yield f"{style.path(path)}{place}{symbol}  {why}"
    yield from numbered(passage.snippet, passage.snippet_line or passage.start_line, style)


def reason_beside(symbol: str | None, why: str) -> str:
    """Return the reason as shown next to the symbol: without "defines" and its name,
    unless that is all of it."""
    first, _, rest = why.partition("; ")
    return rest if rest and symbol and first == f"defines {symbol.rpartition('.')[2]}" else why


def numbered(snippet: str | None, first: int, style: Style) -> Iterator[str]:
    """Yield the lines of a snippet with their numbers."""
    if snippet is None:
        return
    for number, line in enumerate(snippet.split("\n"), first):
        yield style.number(number) + style.code(line)


def offers(result: LocalAnswer, style: Style) -> Iterator[str]:
    """Yield how to build an index, words that no text has, other queries to try, and the
    explanation of this one."""
    if result.index_offer:
        yield style.dim(f"[{printable(result.index_offer.text)}]")
    yield from (style.dim(f"[{note}]") for note in unknown_words_note(result))
    if result.suggestions:
        yield style.dim(f"[try: {', '.join(map(printable, result.suggestions))}]")
    yield from map(style.dim, explained(result.explanation))


def unknown_words_note(result: LocalAnswer) -> list[str]:
    """Return a note about the words of the question that are in no text, if there are any."""
    words = " or ".join(f'"{printable(word)}"' for word in result.unknown_words)
    return [f"no text file contains {words}"] if words else []


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Find passages by what the code does, in plain words.",
        "winnow semantic-search 'how are failed requests retried' -n 5",
        "winnow semantic-search 'where are uploads resumed' src tests",
    ),
    example={"query": "how are plugins loaded", "top_k": 2},
    raises=(EmptyQuery, *SEARCHING),
    partial=SemanticSearchPartial,
    learn=searches(
        lambda params, result: params.query,
        lambda result: in_workspace(result.results),
        lambda result: result.fallback.reason if result.fallback else "",
    ),
    uses_index=True,
)
async def semantic_search(
    workspace: EngineWorkspace, params: SemanticSearchParams, progress: Progress
) -> SemanticSearchResult:
    """Find code by what it does or is about, in plain words. Returns the best passages with their lines, ranked.

    Effective use:
    - Ask for a concept or a behavior: "where are failed uploads retried", "how does a session end"
    - Write one sentence and add names that the code may use: both count
    - Use find_symbol instead if you know a name, grep for exact text, glob for a file
    - Read around a result with its `path`, `start_line` and `end_line`
    - A call takes milliseconds and nothing leaves this machine: try other words, or narrow `path`
    - `fallback` means that the index is missing or still being built, so files were searched for the words of the query
    """  # noqa: E501 - one sentence a line, as agents read it
    if not params.query.strip():
        raise EmptyQuery
    opened = opened_scope(workspace, filters_of(params), params.repositories, Wanted(params.query))
    async with opened as scope:
        return await _answered(workspace, scope, params, progress)


async def _answered(
    workspace: EngineWorkspace, scope: Scope, params: SemanticSearchParams, progress: Progress
) -> SemanticSearchResult:
    # Costs the import of numpy.
    from winnow.ranking.suggestions import found_little
    from winnow.search.code.semantic import find_passages, suggestions
    from winnow.search.index.begin import open_and_begin_index
    from winnow.search.index.build import index_offer

    wanted = wanted_hits(params, params.top_k)
    await open_and_begin_index(workspace, progress, waits=True)
    passages = await find_passages(workspace, scope, params.query, wanted, progress)
    found = passages.found
    others = []
    if found_little([min(hit.score, 1.0) for hit in found.hits]):
        others = await suggestions(workspace, params.query)
    first, changed = page_start(params, found)
    texts = CurrentTexts(scope, workspace.buffers)
    hits = await asyncio.to_thread(current_hits, texts, found, first, params.top_k)
    offer = await index_offer(workspace)
    explanation = await explain(workspace, params.query) if params.explain else None
    completeness = with_shared(with_reasons(found.completeness, *[CHANGED] * changed), scope)

    def make(count: int, most: int, truncated: bool, position: str | None) -> SemanticSearchResult:
        return SemanticSearchResult(
            root=shown_folder(scope.root),
            results=[_passage(scope, hit, most) for hit in hits[:count]],
            engine=passages.engine,
            model=passages.model,
            fallback=passages.fallback,
            index_offer=offer,
            suggestions=others,
            unknown_words=list(found.unknown_words),
            explanation=explanation if most else None,
            total_found=max(found.total, first + count),
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=truncated,
            completeness=completeness,
            warnings=list(found.warnings),
            # A next page might get other candidates.
            cursor=None if params.repositories else position,
        )

    result = paged(params, found, hits, make)
    if progress.streaming and not params.max_tokens and result.results:
        partial = SemanticSearchPartial(results=result.results)
        progress(f"{result.returned} passages", partial=partial)
        return msgspec.structs.replace(result, results=[])
    return result


def _passage(scope: Scope, current: CurrentHit, most: int) -> Passage:
    hit, shown = current.hit, scope.shown(current.hit.path)
    snippet, snippet_line = current.snippet(most)
    return Passage(
        start_line=current.first or 1,
        end_line=current.last or current.first or 1,
        best_line=current.best if current.best != current.first else None,
        score=hit.score,
        snippet=snippet,
        snippet_line=snippet_line,
        symbol=current.symbol,
        why=current.why,
        **msgspec.structs.asdict(shown),
    )
