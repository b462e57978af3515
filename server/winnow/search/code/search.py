"""Choose a search for a query: files, symbols, text or meaning, and run it.

:mod:`winnow.search.code.query_kind` returns the ways to read a query. They are tried in order until
one finds something; the answer says which, and why not the others.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from winnow.errors import IndexUnavailable, InvalidParams, InvalidPattern
from winnow.search.answer.completeness import incomplete
from winnow.search.answer.hits import MOST_HITS, Engine, HitList, SearchFallback
from winnow.search.answer.telling_words import MOST_TERMS, MOST_TEXT
from winnow.search.code.entry_points import find_entry_points
from winnow.search.code.files import files_named, has_name, is_meant
from winnow.search.code.handlers import find_declarations, find_mentions, find_serving
from winnow.search.code.orientation import asks_for_history
from winnow.search.code.query_kind import (
    COMPILED,
    DEFINITIONS,
    HYPHENATED,
    LAST_PART,
    WORD,
    QueryReading,
    SearchType,
    as_pattern,
    readings,
)
from winnow.search.code.ranked_text import files_with, is_aside, is_data
from winnow.search.code.semantic import Passages, find_passages, suggestions, with_state
from winnow.search.code.uses import find_related
from winnow.search.index.state import state_in_words
from winnow.search.shared.wanted import Wanted
from winnow.search.symbols.rows import FoundSymbol
from winnow.search.symbols.search import find_symbols
from winnow.symbols.search.query import parse
from winnow.text.definition_patterns import definition_patterns
from winnow.text.definition_patterns import files_with as files_that_define
from winnow.text.plural import with_article
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

NO_ROUTE = "no such route is declared"
# A model reads what is found as the answer.
HISTORY = "the history was not searched, only the files as they are: use git log or git blame"
# A name that a text search finds as well, where it is defined.
_NAME = re.compile(r"\w+")


class CodeAnswer(Struct, frozen=True):
    """The hits of the search that found something, and why it was this search."""

    search: SearchType
    reason: str
    found: HitList
    engine: Engine | None
    fallback: SearchFallback | None
    suggestions: Sequence[str]


class _Attempt(Struct, frozen=True):
    """A reading of the query, and what it finds; ``why_not`` is why that is not the answer."""

    reading: QueryReading
    result: Passages
    why_not: str = ""


async def search_code(
    workspace: EngineWorkspace,
    scope: Scope,
    query: str,
    search_type: SearchType | None,
    wanted: int,
    progress: Progress,
) -> CodeAnswer:
    """Return the best files, definitions, matches or passages for a query, at least ``wanted``.

    A ``search_type`` of None selects the search by the query. Raises InvalidParams for a bad glob
    or file type, SearchTimedOut, and IndexUnavailable if the caller requests symbols.
    """
    attempts: list[_Attempt] = []
    left = _readings(query, search_type)
    while left:
        reading, *left = left
        result = await _search(workspace, scope, reading, search_type, wanted, progress)
        why_not = _why_not(reading, result.found) if search_type is None else ""
        attempts.append(_Attempt(reading, result, why_not))
        if not why_not:
            break
        if reading.why == WORD and result.found.hits:
            # Text search would begin with the same tests and data.
            left = [QueryReading("semantic", reading.wanted, WORD)]
    if len(attempts) > 1 and not result.found.hits and attempts[-2].result.found.hits:
        attempts.pop()
        result = attempts[-1].result
    if search_type is None and not result.found.hits and len(query.split()) == 1:
        part = QueryReading("file", query.strip(), "it may be a part of the name of a file")
        result = await _search(workspace, scope, part, None, wanted, progress)
        if is_meant(result.found):
            attempts.append(_Attempt(part, result))
    last = attempts[-1]
    found = last.result.found
    asks_history = search_type is None and asks_for_history(query.strip())
    if found.hits and (warning := HISTORY if asks_history else _warning(last.reading, attempts[0])):
        found = msgspec.structs.replace(found, warnings=[*found.warnings, warning])
        last = _with_found(last, found)
    for attempt in attempts[:-1]:
        state = attempt.result.found.completeness.index
        if state is not None and state.state in ("opening", "building", "stale"):
            # The index does not know all definitions, or not as they are now.
            last = _with_found(last, with_state(last.result.found, state, attempt.why_not))
    others: Sequence[str] = ()
    if not last.result.found.hits:
        others = await suggestions(workspace, attempts[0].reading.wanted)
    return CodeAnswer(
        _used(last),
        _reason(query, attempts),
        last.result.found,
        last.result.engine if last.reading.search == "semantic" else None,
        _fallback(attempts),
        others,
    )


def needs_index(query: str, search_type: SearchType | None) -> bool:
    """Return True if the likeliest search for a query is by meaning, which only an index allows."""
    return any(reading.search == "semantic" for reading in _readings(query, search_type)[:1])


def wanted_texts(query: str, search_type: SearchType | None) -> Wanted:
    """Return what a cluster searches for: what any reading of the query finds."""
    found = _readings(query, search_type)
    patterns = [
        TextPattern(line.strip(), literal=reading.literal, case_sensitive=False)
        for reading in found
        if reading.search == "text"
        for line in reading.wanted.split("\n")[:MOST_TERMS]
        if line.strip()
    ]
    names = [
        part
        for reading in found
        if reading.search == "symbol"
        for part in parse(reading.wanted).parts
    ]
    return Wanted(query, patterns, names, must_match=found[0].search == "text")


def _with_found(attempt: _Attempt, found: HitList) -> _Attempt:
    result = msgspec.structs.replace(attempt.result, found=found)
    return msgspec.structs.replace(attempt, result=result)


# --- which search --------------------------------------------------------------------------


def _readings(query: str, search_type: SearchType | None) -> list[QueryReading]:
    """Return the ways to read the query, the likeliest first."""
    stripped = query.strip()
    if search_type is None:
        return readings(stripped)
    why = f"search_type is '{search_type}'"
    if search_type == "text":
        if len(query) > MOST_TEXT:
            raise InvalidParams(
                "query",
                f"exact text has at most {MOST_TEXT:,} characters: use search_type='semantic'",
            )
        return [as_pattern(query.strip("\r\n"), why)]
    if search_type == "file":
        paths = [reading for reading in readings(stripped) if reading.search == "file"]
        return [msgspec.structs.replace(path, why=why) for path in paths[:1]] or [
            QueryReading("file", stripped, why)
        ]
    return [QueryReading(search_type, stripped, why)]


def _warning(used: QueryReading, first: _Attempt) -> str:
    """Return how an answer differs from what was wanted first; empty if it does not."""
    if used.why == LAST_PART:
        return first.why_not.partition(" (")[0]  # without the limits of the search
    if used.why == COMPILED:
        return f"no file is named {first.reading.wanted}: {COMPILED}, whose lines differ"
    return ""


def _why_not(reading: QueryReading, found: HitList) -> str:
    """Return why to try another reading; empty if this is the answer."""
    if reading.search == "file" and reading.request is None:
        if reading.why == HYPHENATED:
            return "" if has_name(found) else "no file has exactly that name"
        return "" if is_meant(found) else "no file has that name"
    if found.hits:
        return _defined_aside(reading, found)
    if reading.relation is not None:
        own = [warning for warning in found.warnings if warning not in found.scope.warnings]
        return "; ".join([*own, *found.completeness.reasons])
    if reading.is_start:
        return "no function or file has a usual name for it"
    if reading.search == "symbol":
        nothing = f"nothing is defined with the name {reading.wanted}"
        if not found.completeness.complete:
            nothing = f"{nothing} in the files read so far"
        limits = [*found.completeness.reasons, *found.warnings]
        return f"{nothing} ({'; '.join(limits)})" if limits else nothing
    if reading.route or reading.request:
        return NO_ROUTE
    return "no text matches" if reading.search == "text" else "nothing was found"


def _defined_aside(reading: QueryReading, found: HitList) -> str:
    """Return why the definitions of a name are not the answer: only files that are rarely meant
    have them, and other places say more about the name. Empty if they are the answer.

    The uses of a name in data are not resolved: templates and scripts have them as text.
    """
    if not all(is_aside(hit.path) for hit in found.hits):
        return ""
    is_name = reading.search == "symbol" and not (reading.relation or reading.is_start)
    asks_for_uses = is_name and reading.why != DEFINITIONS and _NAME.fullmatch(reading.wanted)
    of_data = asks_for_uses and any(is_data(hit.path) for hit in found.hits)
    if reading.why == WORD or of_data:
        return f"only tests, examples, data and code of others define {reading.wanted}"
    return ""


def _used(attempt: _Attempt) -> SearchType:
    """Return the search that was used: semantic only if the index contributed."""
    fallback = attempt.result.fallback
    if fallback is not None and not fallback.partly:
        return "text"
    return attempt.reading.search


def _reason(query: str, attempts: Sequence[_Attempt]) -> str:
    """Return why it was this search."""
    shown = query.strip()
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    why = attempts[0].reading.why
    reason = why if why.startswith("search_type") else f"{shown!r}: {why}"
    if _finds_route(attempts[-1].reading):  # as another reading of the request
        return reason
    return _joined([reason, *(attempt.why_not for attempt in attempts[:-1])])


def _finds_route(reading: QueryReading) -> bool:
    return reading.route == "declared" or reading.request is not None


def _fallback(attempts: Sequence[_Attempt]) -> SearchFallback | None:
    """Return the first choice, if the answer comes from another search."""
    last = attempts[-1]
    used = _used(last)
    first = attempts[0].reading.search
    if len(attempts) == 1 or first == used or _finds_route(last.reading):
        return last.result.fallback
    reasons = [attempt.why_not for attempt in attempts[:-1]]
    if last.result.fallback is not None:
        reasons.append(last.result.fallback.reason)
    return SearchFallback(wanted=first, used=used, reason=_joined(reasons))


def _joined(reasons: Sequence[str]) -> str:
    """Return reasons as one text, without those that others begin with."""
    distinct = dict.fromkeys(reasons)
    return "; ".join(
        reason
        for reason in distinct
        if not any(other != reason and other.startswith(reason) for other in distinct)
    )


# --- the searches --------------------------------------------------------------------------


async def _search(
    workspace: EngineWorkspace,
    scope: Scope,
    reading: QueryReading,
    search_type: SearchType | None,
    wanted: int,
    progress: Progress,
) -> Passages:
    if reading.search == "semantic":
        return await find_passages(workspace, scope, reading.wanted, wanted, progress)
    if reading.request is not None:
        found = await find_serving(workspace, scope, reading.request, progress)
    elif reading.search == "file":
        found = await files_named(workspace, scope, reading.wanted, progress, reading.line)
    elif reading.relation is not None:
        found = await find_related(workspace, scope, reading.relation, progress)
    elif reading.is_start:
        found = await find_entry_points(workspace, scope, progress)
    elif reading.search == "symbol":
        is_exact = search_type is None
        found = await _symbols(workspace, scope, reading, wanted, progress, exact=is_exact)
    else:
        found = await _texts(workspace, scope, reading, progress)
    return Passages(found, "text")


async def _texts(
    workspace: EngineWorkspace, scope: Scope, reading: QueryReading, progress: Progress
) -> HitList:
    if reading.route == "declared":
        return await find_declarations(workspace, scope, reading.wanted, progress)
    if reading.route == "named":
        return await find_mentions(workspace, scope, reading.wanted, progress)
    if reading.literal:
        return await files_with(workspace, scope, reading.wanted, progress, literal=True)
    try:
        return await files_with(workspace, scope, reading.wanted, progress, literal=False)
    except InvalidPattern as error:
        found = await files_with(workspace, scope, reading.wanted, progress, literal=True)
        warning = f"searched as text, not as a regular expression: {error.data['detail']}"
        return msgspec.structs.replace(found, warnings=[*found.warnings, warning])


async def _symbols(
    workspace: EngineWorkspace,
    scope: Scope,
    reading: QueryReading,
    wanted: int,
    progress: Progress,
    *,
    exact: bool,
) -> HitList:
    """Find definitions by name; if ``exact``, only those with this name, case-sensitive."""
    name = reading.wanted
    if exact and not await _may_be_defined(workspace, scope, name):
        state = workspace.index.state()
        searched = "files were searched for lines that look like a definition"
        reason = f"{state_in_words(workspace.index, state)}: {searched}"
        return with_state(HitList(scope, [], 0, incomplete()), state, reason)
    progress(f"Searching symbols: {name[:60]}")
    try:
        search = await find_symbols(
            *(workspace, scope, name, Progress()),
            exact=exact,
            # All of them, to put those with the keyword first.
            max_results=MOST_HITS if reading.definer else min(wanted, MOST_HITS),
        )
    except IndexUnavailable as error:
        if not exact:
            raise
        return HitList(scope, [], 0, incomplete(error.message))
    located = search.located()
    if reading.definer:
        located.sort(key=lambda found: not _begins_with(found[1], reading.definer))
    return HitList(
        scope,
        [_symbol_hit(path, symbol) for path, symbol in located],
        search.found.total,
        search.completeness(),
        warnings=[*scope.warnings, *search.warnings],
        all_seen=search.found.all_seen,
    )


async def _may_be_defined(workspace: EngineWorkspace, scope: Scope, name: str) -> bool:
    """Return True if the index is complete, or a line looks like a definition of the name."""
    if workspace.index.state().knows_all:
        return True
    terms = parse(name).terms
    if not terms or not terms[-1].text:
        return True
    pattern = definition_patterns(terms[-1].text, exact=True)[0]
    if any(re.search(pattern.pattern, text) for text in workspace.buffers.values()):
        return True
    async with workspace.search_slots:
        ripgrep = workspace.run_ripgrep()
        async with contextlib.aclosing(files_that_define(ripgrep, scope, pattern)) as found:
            async for _ in found:
                return True
    return False


def _begins_with(symbol: FoundSymbol, keyword: str) -> bool:
    """Return True if a keyword is before the name in the definition: `struct` in `pub struct A`."""
    return keyword in (symbol.signature or "").partition(symbol.name)[0].split()


def _symbol_hit(path: str, symbol: FoundSymbol) -> Hit:
    return Hit(
        path,
        "definition",
        symbol.score,
        f"{symbol.kind} in {with_article(symbol.place)} file" if symbol.place else symbol.kind,
        first=symbol.line,
        last=symbol.end_line,
        symbol=symbol.qualified_name,
    )
