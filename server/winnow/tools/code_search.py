"""code_search: one query for files, symbols, text and questions."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from winnow.errors import SEARCHING, EmptyQuery, IndexUnavailable, LlmFailed, NoLlmAvailable
from winnow.ranking.providers import Usage
from winnow.search.answer.completeness import CHANGED, with_reasons
from winnow.search.answer.hits import (
    CurrentHit,
    CurrentTexts,
    Engine,
    current_hits,
    page_start,
    paged,
    wanted_hits,
)
from winnow.search.answer.ranked_by import NotChosen, RankedBy
from winnow.search.answer.snippets import LINES
from winnow.search.code.explanation import explain, explained
from winnow.search.code.query_kind import SearchType
from winnow.search.shared.opened import opened_scope
from winnow.search.shared.scope import with_shared
from winnow.search.shared.wanted import Wanted
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.tools.keyword_search import others_line
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, Effects, ShortTool, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.semantic_search import (
    EXPLAIN,
    LocalAnswer,
    numbered,
    offers,
    reason_beside,
    unknown_words_note,
)
from winnow.tools.terminal import FOR_AGENTS, Style, closing_line, notes_of, seen_path
from winnow.types import (
    QUERY_CHARACTERS,
    HitKind,
    InRepository,
    Progress,
    Repositories,
    Result,
    ScopeParams,
)
from winnow.workspace import EngineWorkspace, Lifetime

if TYPE_CHECKING:
    from winnow.search.code.search import CodeAnswer

# Lines of code for people: of all results together, and at least of each result.
LINES_FOR_PEOPLE, LEAST_LINES = 20, 4
# The query at the beginning of the reason for a search.
_QUOTED_QUERY = re.compile(r"\A(['\"]).*?\1: ", re.S)
# A part of the warning about templates that may use what no code uses.
_UNSEARCHED = "not searched for uses"
NOT_SEARCHED = (
    "ignored and hidden files are not searched here: use `grep` with include_ignored and"
    " include_hidden"
)


class CodeSearchParams(ScopeParams, frozen=True, kw_only=True):
    """A query; `search_type` is chosen by the query by default."""

    query: Annotated[
        str,
        Meta(
            description="A question, a name ('Client.send'), a file ('executor.py',"
            " 'src/**/*.tsx'), text in quotes, a regular expression, or an error message or stack"
            " trace as printed.",
            max_length=QUERY_CHARACTERS,
        ),
    ]
    search_type: Annotated[
        Literal["auto", "text", "semantic", "symbol", "file"],
        Meta(
            description="'auto' chooses by the query and reports its choice; 'text': lines with"
            " this text, or a regular expression; 'semantic': passages about it; 'symbol':"
            " definitions by name; 'file': files by name or glob."
        ),
    ] = "auto"
    ranker: Annotated[
        Literal["local", "auto", "llm"],
        Meta(
            description="'local': nothing leaves this machine. 'auto': a language model, if one is"
            " available, chooses among the best 20 places, of which it gets at most 8,000 tokens;"
            " not for a name or a path. 'llm': a language model, or an error. Further pages are in"
            " local order."
        ),
    ] = "local"
    model: Annotated[
        str, Meta(description="Name of the model that ranks, instead of the preferred models.")
    ] = ""
    limit: Annotated[
        int, Meta(description="Maximum number of results to return.", ge=1, le=200)
    ] = 20
    explain: Annotated[bool, EXPLAIN] = False
    enable_indexing: Annotated[
        bool | UnsetType,
        Meta(
            description="True: build an index if there is none, whatever the size of the folder. A"
            " server builds it in the background and searches text meanwhile; the command line"
            " builds it first. False: begin no index; one that exists is used and kept current."
            " By default, the first search begins the index of a folder with fewer files than"
            " `index.auto_index_threshold`."
        ),
    ] = UNSET
    repositories: Repositories = []


class CodeHit(InRepository, frozen=True, kw_only=True):
    """A file, or lines of a file. Lines start at 1."""

    line: Annotated[
        int | None, Meta(description="The first line; for a file only if the query names a line.")
    ] = None
    end_line: Annotated[int | None, Meta(description="The last line.")] = None
    best_line: Annotated[
        int | None,
        Meta(
            description="The line to show: that of the definition, or the one with the most of the"
            " query, if it is not `line`."
        ),
    ] = None
    score: Annotated[float, Meta(description="For comparison within one answer; higher is better.")]
    snippet: Annotated[
        str | None,
        Meta(
            description="The most relevant of these lines, from the current file; at most twelve."
        ),
    ] = None
    snippet_line: Annotated[
        int | None, Meta(description="First line of the snippet, if it is not `line`.")
    ] = None
    kind: Annotated[
        HitKind,
        Meta(
            description="'file': by its name; 'definition' of a symbol; 'match': lines with the"
            " text; 'passage': lines that are about the query."
        ),
    ]
    symbol: Annotated[
        str | None,
        Meta(description="Qualified name of the symbol that the lines define, or are part of."),
    ] = None
    matches: Annotated[
        int | None, Meta(description="For a match: total number of matching lines in the file.")
    ] = None
    why: Annotated[
        str | None, Meta(description="Why it matches: where the words of the query are.")
    ] = None


class CodeSearchResult(LocalAnswer, frozen=True, kw_only=True):
    """The results, best first. `total_found` counts files, definitions, matching files or passages,
    depending on the search."""

    search_type_used: Annotated[SearchType, Meta(description="The search that was used.")]
    reason: Annotated[str, Meta(description="Why this search was used, in a sentence.")]
    results: Annotated[
        list[CodeHit],
        Meta(description="The results; empty if they were streamed and `ranker` is 'local'."),
    ]
    ranked_by: Annotated[RankedBy, Meta(description="The ranker that sorted them.")]
    not_chosen: Annotated[
        list[NotChosen] | None,
        Meta(
            description="If a model ranked: the files that it saw and did not select, in the order"
            " of the local ranker, with the line that it saw."
        ),
    ] = None
    total_not_chosen: Annotated[
        int | None, Meta(description="Their number, if `not_chosen` was left out.")
    ] = None
    usage: Annotated[Usage | None, Meta(description="The cost, if a model ranked.")] = None
    redactions: Annotated[
        Mapping[str, int] | None,
        Meta(description="Number of secrets that were replaced in the text for a model, by kind."),
    ] = None
    engine: Annotated[
        Engine | None,
        Meta(description="For a semantic search: the engine, see `semantic_search`."),
    ] = None


class CodeSearchPartial(Result, frozen=True, kw_only=True):
    """Results so far. The result does not repeat them if `ranker` is 'local'. Otherwise, the first
    are those of the local ranker, and each of a model adds to those of the model."""

    results: Annotated[list[CodeHit], Meta(description="The next results.")]
    ranked_by: Annotated[RankedBy, Meta(description="The ranker that sorted them.")]


# --- rendering -----------------------------------------------------------------------------


def plain(result: CodeSearchResult) -> str:
    """Render results with numbered lines, then the search that was used, and what was skipped."""
    blocks = [
        line
        for hit in result.results
        for line in _block(hit, seen_path(hit, result.root, None), hit.snippet, FOR_AGENTS)
    ]
    # An agent knows its query.
    reason = _QUOTED_QUERY.sub("", result.reason)
    for limited in result.completeness.reasons:  # the limits are in the notes
        reason = reason.replace(limited, limited.partition(" (")[0])
    about = f"{_count(result)}, {_search(result)}: {printable(reason)}"
    # Binary files and secrets are worth a word only if nothing is found.
    notes = [*notes_of(result, about, FOR_AGENTS, with_skipped=not result.results)]
    if result.ranked_by.fallback_reason:
        notes.append(f"[ranked locally: {printable(result.ranked_by.fallback_reason)}]")
    others = others_line(result.not_chosen or [], result.total_not_chosen)
    offered = offers(result, FOR_AGENTS)
    return "\n".join([*blocks, *[""] * bool(blocks), *others, *notes, *offered])


def text(result: CodeSearchResult, style: Style, folder: str | None) -> str:
    """Render each result with a few lines, and all notes on one line. Paths are relative to
    ``folder``."""
    most = max(LEAST_LINES, LINES_FOR_PEOPLE // max(1, result.returned))
    blocks = [
        "\n".join(_block(shown, seen_path(hit, result.root, folder), shown.snippet, style))
        for hit in result.results
        for shown in [_with_few_lines(hit, most)]
    ]
    more = [*_why_not(result), *unknown_words_note(result)]
    more += others_line(result.not_chosen or [], result.total_not_chosen)
    if result.ranked_by.fallback_reason:
        more.append(f"ranked locally: {result.ranked_by.fallback_reason}")
    more += [f"{style.options}limit {4 * result.returned} shows more"] * bool(result.cursor)
    more += advice(result)
    last = closing_line(result, summary(result), more, style)
    explanation = "\n".join(map(style.dim, explained(result.explanation)))
    return "\n\n".join(filter(None, [*blocks, explanation, last]))


def summary(result: CodeSearchResult) -> str:
    """Return the number of results and the search that found them, in a few words."""
    count = _count(result) if result.results else "nothing found"
    return f"{count}, {_search(result)}"


def advice(result: CodeSearchResult) -> list[str]:
    """Return what people can do for a better answer."""
    offer = [f"{result.index_offer.command} makes answers better"] if result.index_offer else []
    return offer + [f"try {', '.join(result.suggestions)}"] * bool(result.suggestions)


def _why_not(result: CodeSearchResult) -> list[str]:
    """Return why the first reading of the query was not the answer: "nothing calls f". If that is
    also why the answer is incomplete, return the whole reason, so that it is shown once."""
    _, *failed = _QUOTED_QUERY.sub("", result.reason).split("; ")
    telling = [*failed[:1], *(why for why in failed[1:] if _UNSEARCHED in why)]
    parts = [why.partition(" (")[0] for why in telling]
    whole = result.completeness.reasons
    return [next((one for one in whole if one.startswith(part)), part) for part in parts]


def _count(result: CodeSearchResult) -> str:
    return f"{result.returned} of {'at least ' * result.total_is_lower_bound}{result.total_found}"


def _search(result: CodeSearchResult) -> str:
    by = result.ranked_by
    ranked = f", ranked by {by.model}" if by.kind == "llm" else ""
    return f"{result.search_type_used} search{ranked}"


def _with_few_lines(hit: CodeHit, most: int) -> CodeHit:
    """Return the hit with up to ``most`` lines of its snippet: one before the best, and those from
    it on. Neither the first nor the last is empty."""
    if hit.snippet is None:
        return hit
    lines, first = hit.snippet.split("\n"), hit.snippet_line or hit.line or 1
    best = (hit.best_line or hit.line or first) - first
    start = max(0, min(best - 1, len(lines) - LEAST_LINES))
    while start < best and not lines[start]:
        start += 1
    few = "\n".join(lines[start : start + most]).rstrip("\n")
    return msgspec.structs.replace(hit, snippet=few, snippet_line=first + start)


def _block(hit: CodeHit, path: str, snippet: str | None, style: Style) -> Iterator[str]:
    lines = "" if hit.line is None else f":{hit.line}"
    if hit.line is not None and hit.end_line not in (None, hit.line):
        lines += f"-{hit.end_line}"
    about = [style.match(printable(hit.symbol))] if hit.symbol else []
    why = reason_beside(hit.symbol, hit.why or "")
    about += [style.dim(printable(why))] if why else []
    if hit.matches and hit.kind == "match":
        about.append(style.dim(f"{hit.matches} matching line{'s' * (hit.matches != 1)}"))
    yield "  ".join([style.path(path) + style.dim(lines), *about])
    yield from numbered(snippet, hit.snippet_line or hit.line or 1, style)


def _index_fallback(result: CodeSearchResult) -> str:
    """Why the index did not answer; that a name is none is nothing that it lacks."""
    fallback = result.fallback
    return fallback.reason if fallback and fallback.wanted == "semantic" else ""


# --- the tool ------------------------------------------------------------------------------


@tool(
    plain=plain,
    text=text,
    command="search",
    old_commands=("code-search",),
    positional=("path",),
    for_people={"limit": 5},
    command_help=CommandHelp(
        "Find a file, a symbol, text or an answer with one query.\n"
        "Winnow picks the kind of search from the query and reports which one it ran. The word\n"
        "`search` can be left out: winnow 'where are sessions expired'",
        "winnow search 'where are sessions expired' src -n 10",
        "winnow search 'OOM command not allowed when used memory' src",
    ),
    example={"query": "load_plugin", "limit": 2},
    raises=(EmptyQuery, *SEARCHING, IndexUnavailable, NoLlmAvailable, LlmFailed),
    partial=CodeSearchPartial,
    learn=searches(
        lambda params, result: params.query,
        lambda result: in_workspace(result.results),
        _index_fallback,
    ),
    uses_index=True,
    # A language model ranks, if `ranker` asks for one.
    effects=Effects(reaches_out=True),
    of_open_documents=True,
    short=ShortTool(
        "search",
        "Find code. Takes a question ('how is a session deleted', 'who calls delete_session'), a"
        " name ('Client.send'), a file name, or an error message, log line, stack trace or bug"
        " report as it is. Returns the best places with their most telling lines; read them with"
        " `read`. Use this first, and `grep` only for every match of a text.",
        {
            "query": "The question, name, file name or error message.",
            "path": "File or folder to search in.",
            "limit": "Number of results. Default: 5.",
            "cursor": "Continues an answer.",
        },
        {"limit": 5, "max_tokens": 500},
    ),
)
async def code_search(
    workspace: EngineWorkspace, params: CodeSearchParams, progress: Progress
) -> CodeSearchResult:
    """Search code and documentation with one query: chooses between files, symbols, text and meaning, and reports its choice.

    Effective use:
    - The first tool to try if you do not know which search is right; `reason` explains the choice
    - `executor.py`, `src/**/*.tsx`: files. `AgentEngine`, `Client.send`: definitions. `"permission denied"` in quotes, `foo(`, `get_\\w+`: text. "how are retries scheduled": passages about it
    - Paste error messages, log lines, stack traces and bug reports as they are: the code that raises or logs a message and the frames in this workspace come first
    - "who calls Client.send", "where is MAX_SIZE used", "subclasses of Base": the functions that use the name
    - "tests for the parser", "which files import numpy", "what does this project do", "find all TODOs": tests, import lines, the README, comments
    - Set `search_type` if the choice was wrong; use grep for every match of a text, find_references for every use of a symbol
    - A call takes milliseconds with an index, and nothing leaves this machine unless `ranker` asks for a language model
    - The first search begins the index in the background: until it is complete, text is searched, too, and `completeness` says how much is indexed
    - Without an index, text is searched: `fallback` says so, and `index_offer` how to build one (`enable_indexing`)
    """  # noqa: E501 - one sentence a line, as agents read it
    if not params.query.strip():
        raise EmptyQuery
    wanted = Wanted(params.query)
    if params.repositories:
        # Costs the import of numpy.
        from winnow.search.code.search import wanted_texts

        wanted = await asyncio.to_thread(wanted_texts, params.query, _search_type(params))
    opened = opened_scope(workspace, filters_of(params), params.repositories, wanted)
    async with opened as scope:
        return await _answered(workspace, scope, params, progress)


async def _answered(
    workspace: EngineWorkspace, scope: Scope, params: CodeSearchParams, progress: Progress
) -> CodeSearchResult:
    # Costs the import of numpy.
    from winnow.search.answer.by_model import ModelRanking, RankerOptions, choose_models, warming
    from winnow.search.code.choice import MOST_PLACES, RankedPlaces, choose_places, models_for
    from winnow.search.index.build import index_offer

    options = RankerOptions(
        params.ranker, params.model, compact=True, is_shared=bool(params.repositories)
    )
    usable, by_local = choose_models(workspace, options)
    size = max(params.limit, MOST_PLACES) if usable else params.limit
    async with warming(workspace, usable):
        answer, warnings = await _searched(workspace, scope, params, size, progress)
    found = answer.found
    first, changed = page_start(params, found)
    texts = CurrentTexts(scope, workspace.buffers)
    places = await asyncio.to_thread(current_hits, texts, found, first, size)
    streams = progress.streaming and not params.max_tokens and bool(places)

    def send(ranked_by: RankedBy, ranked: Sequence[CurrentHit]) -> None:
        if not streams:
            return
        rows = [_code_hit(scope, place, LINES) for place in ranked[: params.limit]]
        progress(
            f"{ranked_by.model}: {rows[0].path}" if ranked_by.model else f"{len(rows)} results",
            partial=CodeSearchPartial(results=rows, ranked_by=ranked_by),
        )

    models, why_none = models_for(usable, options, answer.search, is_first_page=not first)
    if why_none:
        by_local = RankedBy(kind="local", fallback_reason=why_none)
    if models:
        send(RankedBy(kind="local"), places)
    asked = ModelRanking(workspace, scope, params.query, progress)
    chosen = await choose_places(asked, options, RankedPlaces(places, by_local), models, send)
    shown = chosen.places[: params.limit]
    others = [_not_chosen(scope, place) for place in chosen.others]
    is_offered = params.enable_indexing is UNSET and answer.search != "file"
    offer = await index_offer(workspace) if is_offered else None
    explanation = await explain(workspace, params.query) if params.explain else None
    completeness = with_reasons(found.completeness, *[CHANGED] * changed, *chosen.reasons)
    completeness = with_shared(completeness, scope)

    def make(count: int, most: int, truncated: bool, position: str | None) -> CodeSearchResult:
        # A next page would leave out what the model has chosen.
        lacks = chosen.seen is not None and count < len(chosen.places)
        return CodeSearchResult(
            root=shown_folder(scope.root),
            search_type_used=answer.search,
            reason=answer.reason,
            results=[_code_hit(scope, hit, most) for hit in shown[:count]],
            ranked_by=chosen.ranked_by,
            not_chosen=(others or None) if most else None,
            total_not_chosen=(len(others) or None) if not most else None,
            engine=answer.engine,
            fallback=answer.fallback,
            index_offer=offer,
            suggestions=list(answer.suggestions),
            unknown_words=list(found.unknown_words),
            explanation=explanation if most else None,
            total_found=max(found.total, first + count),
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=truncated or lacks,
            completeness=completeness,
            warnings=[*found.warnings, *warnings, *chosen.warnings, *chosen.left_out(count)],
            usage=chosen.usage,
            redactions=chosen.redactions,
            # A next page might get other candidates of a cluster.
            cursor=None if lacks or params.repositories else position,
        )

    result = paged(params, found, shown, make, chosen.seen)
    if streams and not models:
        partial = CodeSearchPartial(results=result.results, ranked_by=RankedBy(kind="local"))
        progress(f"{result.returned} results", partial=partial)
    is_sent = streams and params.ranker == "local"
    return msgspec.structs.replace(result, results=[]) if is_sent else result


def _search_type(params: CodeSearchParams) -> SearchType | None:
    return None if params.search_type == "auto" else params.search_type


async def _searched(
    workspace: EngineWorkspace,
    scope: Scope,
    params: CodeSearchParams,
    size: int,
    progress: Progress,
) -> tuple[CodeAnswer, list[str]]:
    """Return what the local search finds, for pages of this size, and warnings."""
    from winnow.search.code.search import needs_index, search_code
    from winnow.search.index.begin import open_and_begin_index

    wanted = wanted_hits(params, size)
    search_type = _search_type(params)
    enable = None if params.enable_indexing is UNSET else params.enable_indexing
    with workspace.index.beginning_none() if enable is False else contextlib.nullcontext():
        # A server never waits.
        waits = workspace.lifetime is Lifetime.COMMAND and await asyncio.to_thread(
            needs_index, params.query, search_type
        )
        warnings = await open_and_begin_index(workspace, progress, enable=enable, waits=waits)
        answer = await search_code(workspace, scope, params.query, search_type, wanted, progress)
    return answer, warnings if answer.found.hits else [*warnings, NOT_SEARCHED]


def _not_chosen(scope: Scope, place: CurrentHit) -> NotChosen:
    shown = scope.shown(place.hit.path)
    return NotChosen(
        path=shown.path, line=place.best or place.first, root=shown.root, uri=shown.uri
    )


def _code_hit(scope: Scope, current: CurrentHit, most: int) -> CodeHit:
    hit, shown = current.hit, scope.shown(current.hit.path)
    snippet, snippet_line = current.snippet(most)
    return CodeHit(
        line=current.first,
        end_line=current.last,
        best_line=current.best if current.best != current.first else None,
        score=hit.score,
        snippet=snippet,
        snippet_line=snippet_line,
        kind=hit.kind,
        symbol=current.symbol,
        matches=hit.matches,
        why=current.why or None,
        **msgspec.structs.asdict(shown),
    )
