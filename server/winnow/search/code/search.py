"""code_search: one query, and the search that it is for: files, symbols, text, or meaning.

:mod:`winnow.search.code.query_kind` says in which ways a query can be read. They are tried in turn
until one finds something, and the answer says which one did and why not the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.errors import EmptyQuery, IndexUnavailable, InvalidPattern
from winnow.search.answer.completeness import CHANGED, incomplete, with_reasons
from winnow.search.answer.hits import (
    MOST_HITS,
    CurrentHit,
    CurrentTexts,
    HitList,
    page_start,
    paged,
    places_of,
    wanted_hits,
)
from winnow.search.code.files import files_named, is_meant
from winnow.search.code.query_kind import QueryReading, SearchType, as_pattern, readings
from winnow.search.code.ranked_text import files_with
from winnow.search.code.semantic import Meant, find_meant, suggestions
from winnow.search.index.build import begin_index, index_offer
from winnow.search.index.state import state_in_words
from winnow.search.symbols.rows import FoundSymbol
from winnow.search.symbols.search import find_symbols
from winnow.storage.paths import shown_path
from winnow.symbols.search.query import parse
from winnow.text.definition_patterns import definition_patterns
from winnow.text.definition_patterns import files_with as files_that_define
from winnow.text.paths import path_of_uri
from winnow.text.scope import Scope
from winnow.types import Hit, Progress, ScopeParams
from winnow.types.code_search import (
    CodeHit,
    CodeSearchParams,
    CodeSearchPartial,
    CodeSearchResult,
)
from winnow.types.semantic_search import SearchFallback
from winnow.workspace import Workspace

NOT_SEARCHED = (
    "ignored and hidden files are not searched here: `grep` and `glob` do with include_ignored and"
    " include_hidden"
)


class Tried(Struct, frozen=True):
    """A reading of the query, and what it finds; ``why_not`` says why that is not the answer."""

    reading: QueryReading
    meant: Meant
    why_not: str = ""


async def search_code(
    workspace: Workspace, params: CodeSearchParams, progress: Progress
) -> CodeSearchResult:
    """The best files, definitions, matches or passages for a query.

    Raises EmptyQuery, InvalidParams for a bad glob, file type or cursor, SearchTimedOut,
    IndexUnavailable where symbols are asked for, and what a scope may raise.
    """
    if not params.query.strip():
        raise EmptyQuery
    wanted = wanted_hits(params, params.limit)
    warnings = await begin_index(workspace, params.enable_indexing, progress)
    tried = await _try(workspace, params, wanted, progress)
    meant = tried[-1].meant
    found = meant.found
    first, changed = page_start(params, found)
    texts = CurrentTexts(found.scope, workspace.buffers)
    places = await asyncio.to_thread(places_of, texts, found, first, params.limit)
    if not found.hits:
        warnings.append(NOT_SEARCHED)
    fallback = _fallback(tried)
    needless = params.enable_indexing or tried[-1].reading.search == "file"
    offer = None if needless else await index_offer(workspace)

    def make(count: int, most: int, truncated: bool, position: str | None) -> CodeSearchResult:
        return CodeSearchResult(
            root=shown_path(str(found.scope.root))[0],
            search_type_used=_used(tried[-1]),
            reason=_reason(params, tried),
            results=[_result(found.scope, place, most) for place in places[:count]],
            engine=meant.engine if tried[-1].reading.search == "semantic" else None,
            fallback=fallback,
            index_offer=offer,
            suggestions=list(meant.suggestions),
            total_found=max(found.total, first + count),
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=truncated,
            completeness=with_reasons(found.completeness, *[CHANGED] * changed),
            warnings=[*found.warnings, *warnings],
            cursor=position,
        )

    result = paged(params, found, places, make)
    if progress.streaming and not params.max_tokens and result.results:
        progress(f"{result.returned} results", partial=CodeSearchPartial(results=result.results))
        return msgspec.structs.replace(result, results=[])
    return result


# --- which search --------------------------------------------------------------------------


def ways(params: CodeSearchParams) -> list[QueryReading]:
    """How the query is to be read, the likeliest way first."""
    query = params.query.strip()
    if params.search_type == "auto":
        return readings(query)
    why = f"search_type is '{params.search_type}'"
    if params.search_type == "text":
        return [as_pattern(params.query.strip("\r\n"), why)]
    if params.search_type == "file":
        paths = [one for one in readings(query) if one.search == "file"]
        return [msgspec.structs.replace(one, why=why) for one in paths[:1]] or [
            QueryReading("file", query, why)
        ]
    return [QueryReading(params.search_type, query, why)]


async def _try(
    workspace: Workspace, params: CodeSearchParams, wanted: int, progress: Progress
) -> list[Tried]:
    """The readings that were tried, the last of them with the answer."""
    tried: list[Tried] = []
    auto = params.search_type == "auto"
    for reading in ways(params):
        meant = await _search(workspace, params, reading, wanted, progress)
        why_not = _why_not(reading, meant.found) if auto else ""
        tried.append(Tried(reading, meant, why_not))
        if not why_not:
            break
    if not tried[-1].meant.found.hits:
        others = await suggestions(workspace, tried[0].reading.wanted)
        meant = msgspec.structs.replace(tried[-1].meant, suggestions=others)
        tried[-1] = msgspec.structs.replace(tried[-1], meant=meant)
    return tried


def _why_not(reading: QueryReading, found: HitList) -> str:
    """Why another reading is to be tried; empty for an answer."""
    if reading.search == "file" and not is_meant(found):
        return "no file has such a name"
    if found.hits:
        return ""
    if reading.search == "symbol":
        nothing = f"nothing is defined by the name {reading.wanted}"
        if not found.completeness.complete:
            nothing = f"as far as is known, {nothing}"
        but = [*found.completeness.reasons, *found.warnings]
        return f"{nothing} ({'; '.join(but)})" if but else nothing
    return "no text matches" if reading.search == "text" else "nothing was found"


def _used(tried: Tried) -> SearchType:
    """The search that the answer is of: by meaning only if the index had a part in it."""
    fallback = tried.meant.fallback
    if fallback is not None and not fallback.partly:
        return "text"
    return tried.reading.search


def _reason(params: CodeSearchParams, tried: Sequence[Tried]) -> str:
    """Why it was this search."""
    shown = params.query.strip()
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    says = tried[0].reading.why
    reason = says if says.startswith("search_type") else f"{shown!r}: {says}"
    return "; ".join([reason, *(one.why_not for one in tried[:-1])])


def _fallback(tried: Sequence[Tried]) -> SearchFallback | None:
    """What was wanted first, where the answer is of another search."""
    last = tried[-1]
    used = _used(last)
    if len(tried) == 1 or tried[0].reading.search == used:
        return last.meant.fallback
    reasons = [one.why_not for one in tried[:-1]]
    if last.meant.fallback is not None:
        reasons.append(last.meant.fallback.reason)
    return SearchFallback(wanted=tried[0].reading.search, used=used, reason="; ".join(reasons))


# --- the searches --------------------------------------------------------------------------


async def _search(
    workspace: Workspace,
    params: CodeSearchParams,
    reading: QueryReading,
    wanted: int,
    progress: Progress,
) -> Meant:
    if reading.search == "semantic":
        return await find_meant(workspace, params, reading.wanted, wanted, progress)
    if reading.search == "file":
        found = await files_named(workspace, params, reading.wanted, progress, reading.line)
    elif reading.search == "symbol":
        exact = params.search_type == "auto"
        found = await _symbols(workspace, params, reading.wanted, wanted, progress, exact=exact)
    else:
        found = await _texts(workspace, params, reading, progress)
    return Meant(found, "text")


async def _texts(
    workspace: Workspace, params: ScopeParams, reading: QueryReading, progress: Progress
) -> HitList:
    if reading.literal:
        return await files_with(workspace, params, reading.wanted, progress, literal=True)
    try:
        return await files_with(workspace, params, reading.wanted, progress, literal=False)
    except InvalidPattern as error:
        found = await files_with(workspace, params, reading.wanted, progress, literal=True)
        warning = f"taken as text, not as a regular expression: {error.data['detail']}"
        return msgspec.structs.replace(found, warnings=[*found.warnings, warning])


async def _symbols(
    workspace: Workspace,
    params: ScopeParams,
    name: str,
    wanted: int,
    progress: Progress,
    *,
    exact: bool,
) -> HitList:
    """Definitions by name; if ``exact``, only those that have it, its case included."""
    scope = workspace.scope(params)
    if exact and not await _may_be_defined(workspace, scope, name):
        known = state_in_words(workspace.index, workspace.index.state())
        reason = f"{known}: lines that look like a definition of it were looked for"
        return HitList(scope, [], 0, incomplete(reason))
    progress(f"Searching symbols: {name[:60]}")
    try:
        found = await find_symbols(
            *(workspace, scope, parse(name), Progress()),
            exact=exact,
            max_results=min(wanted, MOST_HITS),
        )
    except IndexUnavailable as error:
        if not exact:
            raise
        return HitList(scope, [], 0, incomplete(error.message))
    hits = [_symbol_hit(scope, symbol) for symbol in found.symbols()]
    return HitList(
        scope,
        hits,
        found.found.total,
        found.completeness(),
        warnings=[*scope.warnings, *found.warnings],
        all_seen=found.found.all_seen,
    )


async def _may_be_defined(workspace: Workspace, scope: Scope, name: str) -> bool:
    """Whether something may have the name: the index says so, or a line that looks like it."""
    if workspace.index.state().knows_all:
        return True
    terms = parse(name).terms
    if not terms or not terms[-1].text:
        return True
    look = definition_patterns(terms[-1].text, exact=True)[0]
    if any(re.search(look.pattern, text) for text in workspace.buffers.values()):
        return True
    async with workspace.search_slots:
        ripgrep = workspace.run_ripgrep()
        async with contextlib.aclosing(files_that_define(ripgrep, scope, look)) as found:
            async for _ in found:
                return True
    return False


def _symbol_hit(scope: Scope, symbol: FoundSymbol) -> Hit:
    root = symbol.root or str(scope.root)
    path = path_of_uri(symbol.uri) if symbol.uri else os.path.join(root, symbol.path)
    below = Path(path or symbol.path)
    if below.is_relative_to(scope.root):
        below = below.relative_to(scope.root)
    return Hit(
        below.as_posix() if not below.is_absolute() else str(below),
        "definition",
        symbol.score,
        f"{symbol.kind}{f' in a {symbol.place} file' if symbol.place else ''}",
        first=symbol.line,
        last=symbol.end_line,
        symbol=symbol.qualified_name,
    )


# --- the answer ----------------------------------------------------------------------------


def _result(scope: Scope, place: CurrentHit, most: int) -> CodeHit:
    hit = place.hit
    shown = scope.shown(hit.path)
    snippet, snippet_line = place.snippet(most)
    return CodeHit(
        path=shown.path,
        line=place.first,
        end_line=place.last,
        score=hit.score,
        snippet=snippet,
        snippet_line=snippet_line,
        kind=hit.kind,
        symbol=hit.symbol,
        matches=hit.matches,
        why=hit.why or None,
        root=shown.root,
        uri=shown.uri,
    )
