"""semantic_search: passages that are about a question, from the index, or else by the words.

Nothing here uses the network. Without an index, or before it is complete, text is searched for the
question's words, and the answer says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from winnow.errors import EmptyQuery, IndexUnavailable
from winnow.index.postings.terms import content_words
from winnow.ranking.suggestions import found_little, terms_of_index
from winnow.search.answer.completeness import CHANGED, with_reasons
from winnow.search.answer.hits import (
    SPARE_HITS,
    CurrentHit,
    CurrentTexts,
    HitList,
    page_start,
    paged,
    places_of,
    wanted_hits,
)
from winnow.search.code.indexed import IndexHits, lacking, merged, search_index
from winnow.search.code.ranked_text import files_about, telling_words
from winnow.search.index.build import begin_index, index_offer
from winnow.search.index.retry import again_if_damaged
from winnow.search.index.state import left_out_in_words, state_in_words
from winnow.storage.paths import shown_path
from winnow.text.scope import Scope
from winnow.types import Completeness, IndexState, Progress, ScopeParams, Skipped
from winnow.types.semantic_search import (
    Engine,
    Passage,
    SearchFallback,
    SemanticSearchParams,
    SemanticSearchPartial,
    SemanticSearchResult,
)
from winnow.workspace import Workspace


class Meant(Struct, frozen=True):
    """What was found about a question, and by what."""

    found: HitList
    engine: Engine
    model: str | None = None
    fallback: SearchFallback | None = None
    suggestions: Sequence[str] = ()


async def search_meaning(
    workspace: Workspace, params: SemanticSearchParams, progress: Progress
) -> SemanticSearchResult:
    """The passages that are about a question, the best first.

    Raises EmptyQuery, InvalidParams for a bad glob, file type or cursor, SearchTimedOut, and what a
    scope may raise.
    """
    if not params.query.strip():
        raise EmptyQuery
    wanted = wanted_hits(params, params.top_k)
    await begin_index(workspace, False, progress)
    meant = await find_meant(workspace, params, params.query, wanted, progress)
    found = meant.found
    if found_little([min(hit.score, 1.0) for hit in found.hits]):
        others = await suggestions(workspace, params.query)
        meant = msgspec.structs.replace(meant, suggestions=others)
    first, changed = page_start(params, found)
    texts = CurrentTexts(found.scope, workspace.buffers)
    places = await asyncio.to_thread(places_of, texts, found, first, params.top_k)
    offer = await index_offer(workspace)

    def make(count: int, most: int, truncated: bool, position: str | None) -> SemanticSearchResult:
        return SemanticSearchResult(
            root=shown_path(str(found.scope.root))[0],
            results=[_passage(found.scope, place, most) for place in places[:count]],
            engine=meant.engine,
            model=meant.model,
            fallback=meant.fallback,
            index_offer=offer,
            suggestions=list(meant.suggestions),
            total_found=max(found.total, first + count),
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=truncated,
            completeness=with_reasons(found.completeness, *[CHANGED] * changed),
            warnings=list(found.warnings),
            cursor=position,
        )

    result = paged(params, found, places, make)
    if progress.streaming and not params.max_tokens and result.results:
        progress(
            f"{result.returned} passages", partial=SemanticSearchPartial(results=result.results)
        )
        return msgspec.structs.replace(result, results=[])
    return result


async def find_meant(
    workspace: Workspace, params: ScopeParams, query: str, wanted: int, progress: Progress
) -> Meant:
    """The passages about a question, at least so many if there are.

    Raises InvalidParams, SearchTimedOut, and what a scope may raise.
    """
    trouble, scope = "", workspace.scope(params)
    try:
        indexed = await _from_index(workspace, params, scope, query, wanted, progress)
    except IndexUnavailable as error:
        indexed, trouble = None, error.data["detail"]
    state = indexed.state if indexed is not None else workspace.index.state()
    if indexed is not None and state.state == "ready" and indexed.settled:
        found = _only_indexed(scope, query, indexed, wanted)
        return Meant(found, _engine(indexed), indexed.model)
    reason = _why_not_indexed(workspace, state, trouble)
    texts = await files_about(workspace, params, query, progress)
    # What was read for other requests, where there is none, is no index.
    none = state.state == "none" and not workspace.index.has_complete_folder
    if indexed is None or none or not indexed.knows:
        fallback = SearchFallback(wanted="semantic", used="text", reason=reason)
        return Meant(_with_state(texts, state, reason), "text", None, fallback)
    lacks = await lacking(workspace, texts.scope, texts.hits, indexed.knows)
    hits = merged(indexed.hits, texts.hits, lacks)
    words = {**telling_words(query), **texts.words}
    found = msgspec.structs.replace(texts, hits=hits, total=len(hits), words=words)
    fallback = SearchFallback(wanted="semantic", used="text", reason=reason, partly=True)
    found = _with_state(found, state, reason)
    return Meant(found, _engine(indexed), indexed.model, fallback)


def _engine(indexed: IndexHits) -> Engine:
    return "lexical+embeddings" if indexed.model is not None else "lexical"


async def _from_index(
    workspace: Workspace,
    params: ScopeParams,
    scope: Scope,
    query: str,
    wanted: int,
    progress: Progress,
) -> IndexHits | None:
    """What the index has; None where there is to be none."""
    if not (workspace.config.index.enabled or workspace.index.state().knows_all):
        return None
    async with workspace.search_slots:
        progress("Searching the index")
        boosts = await workspace.history.boosts(query)
        return await search_index(
            workspace, params, scope, query, wanted, shown=wanted - SPARE_HITS, boosts=boosts
        )


def _only_indexed(scope: Scope, query: str, indexed: IndexHits, wanted: int) -> HitList:
    """The index's own answer, with what it leaves out."""
    left_out = indexed.left_out
    reasons, warnings = left_out_in_words(left_out)
    skipped = Skipped(
        binary=left_out.binary,
        too_large=left_out.too_large,
        unreadable=left_out.unreadable,
        secret=left_out.secret,
    )
    completeness = Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=skipped,
        timed_out=False,
        index=indexed.state,
    )
    hits, all_seen = indexed.hits, len(indexed.hits) < wanted
    words = telling_words(query)
    warnings = [*scope.warnings, *warnings]
    return HitList(scope, hits, len(hits), completeness, words, warnings, all_seen)


async def suggestions(workspace: Workspace, query: str) -> list[str]:
    """What to ask instead of a query that has found little, as far as the index knows."""
    names = await names_near(workspace, query)
    return await workspace.history.suggestions(query, lambda words: names)


@again_if_damaged
async def names_near(workspace: Workspace, query: str) -> Sequence[str]:
    """The names of definitions that are nearest to the words of a query; none before the index
    knows all files."""
    if not workspace.index.state().knows_all:
        return ()
    async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
        tables = await view.read(view.names, workspace.names)
        return await view.read(terms_of_index(view, tables), content_words(query))


def _with_state(found: HitList, state: IndexState, reason: str) -> HitList:
    completeness = msgspec.structs.replace(with_reasons(found.completeness, reason), index=state)
    return msgspec.structs.replace(found, completeness=completeness)


def _why_not_indexed(workspace: Workspace, state: IndexState, trouble: str) -> str:
    """Why an index cannot answer, or not alone."""
    searched = "files were searched for the words of the query"
    if not workspace.config.index.enabled:
        return f"index.enabled is off: {searched}"
    lacks = state_in_words(workspace.index, state)
    if state.state == "building":
        return f"{lacks}: the other {searched}"
    if state.knows_all:
        return f"{lacks}: {searched}, too"
    problem_messages = [trouble] if trouble else workspace.index.problem_messages()
    because = f" ({'; '.join(problem_messages)})" if problem_messages else ""
    return f"{lacks}{because}: {searched}"


def _passage(scope: Scope, place: CurrentHit, most: int) -> Passage:
    shown = scope.shown(place.hit.path)
    snippet, snippet_line = place.snippet(most)
    return Passage(
        path=shown.path,
        start_line=place.first or 1,
        end_line=place.last or place.first or 1,
        score=place.hit.score,
        snippet=snippet,
        snippet_line=snippet_line,
        symbol=place.hit.symbol,
        why=place.hit.why,
        root=shown.root,
        uri=shown.uri,
    )
