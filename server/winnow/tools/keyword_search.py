"""keyword_search: files that are relevant to a question, by search terms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from winnow.errors import (
    SEARCHING,
    EmptyQuery,
    InvalidPattern,
    LlmFailed,
    NoLlmAvailable,
    TermsTooBroad,
)
from winnow.ranking.providers import Usage
from winnow.search.answer.ranked_by import NotChosen, Payload, RankedBy
from winnow.search.answer.shorten import shorten
from winnow.search.keyword.rows import Match, RankedFile, TermReport
from winnow.search.shared.opened import opened_scope
from winnow.search.shared.scope import with_shared
from winnow.search.shared.wanted import Wanted
from winnow.text.paths import shown_folder
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, Effects, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import Style, seen_path
from winnow.types import (
    QUERY_CHARACTERS,
    Progress,
    Repositories,
    Result,
    SearchAnswer,
    SearchParams,
)
from winnow.workspace import EngineWorkspace

NOTHING = "No relevant files found"
# Maximum length of a line in a text.
LINE_CHARACTERS = 140
# Maximum number of files in a text that a model did not select.
SHOWN_OTHERS = 10
# Steps to shorten an answer: matching lines per file, and files that a model did not select; then
# fewer files.
LEAST_OTHERS = 5
SHORTER = ((3, None), (1, None), (1, 20), (0, 20), (0, LEAST_OTHERS))


class KeywordSearchParams(SearchParams, frozen=True, kw_only=True):
    """A query, and the terms that the code may use."""

    query: Annotated[
        str,
        Meta(
            description="A detailed statement of what you're trying to find or learn.",
            max_length=QUERY_CHARACTERS,
        ),
    ]
    search_terms: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=2_000)]],
        Meta(
            description="List of search terms in descending order of importance."
            " Each is a case-insensitive regular expression.",
            min_length=1,
            max_length=64,
        ),
    ]
    max_results: Annotated[
        int, Meta(description="Maximum number of files to return.", ge=1, le=1_000)
    ] = 20
    ranker: Annotated[
        Literal["auto", "llm", "local"],
        Meta(
            description="'auto': a language model if one is available, otherwise the local ranker;"
            " 'llm': a language model, or an error; 'local': nothing leaves this machine."
        ),
    ] = "auto"
    model: Annotated[
        str, Meta(description="Name of the model that ranks, instead of the preferred models.")
    ] = ""
    payload: Annotated[
        Literal["matches", "compact"],
        Meta(
            description="What a language model gets: 'matches', with ten lines of context, at most"
            " 128 KiB; 'compact': the passages of the best 20 files, at most 8,000 tokens."
        ),
    ] = "matches"
    broad_terms: Annotated[
        Literal["skip", "shrink"],
        Meta(
            description="For a term with more than 64 KiB of results: 'skip' omits it, 'shrink'"
            " keeps it with less context, fewer matches per file, or as a list of files."
        ),
    ] = "skip"
    include_documents: Annotated[
        bool,
        Meta(
            description="Also search the texts of documents: PDFs, office files, e-books, archives."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        Meta(description="Return the exact text that a model would get, and send nothing."),
    ] = False
    cursor: Annotated[
        str,
        Meta(
            description="Continue a truncated answer: its `cursor`, with otherwise equal params.",
            pattern="^[0-9]{0,9}$",
        ),
    ] = ""
    repositories: Repositories = []


class KeywordSearchResult(SearchAnswer, frozen=True, kw_only=True):
    """The relevant files. `total_found` counts the files that match and those that the index adds
    (`total_by_index`)."""

    files: Annotated[list[RankedFile], Meta(description="The files, most relevant first.")]
    no_relevant_files: Annotated[
        bool, Meta(description="True if no file is relevant, or none matches.")
    ]
    ranked_by: Annotated[RankedBy, Meta(description="The ranker that sorted them.")]
    not_chosen: Annotated[
        list[NotChosen] | None,
        Meta(
            description="If a model ranked: the files that it saw and did not select, in the order"
            " of the local ranker; only on the first page."
        ),
    ] = None
    total_not_chosen: Annotated[
        int | None,
        Meta(description="Their number, if `not_chosen` was shortened."),
    ] = None
    terms: Annotated[list[TermReport], Meta(description="How each search term was used.")]
    total_by_index: Annotated[
        int | None,
        Meta(
            description="Number of files in `total_found` that only the index found: no term that"
            " was used matches in them."
        ),
    ] = None
    usage: Annotated[Usage | None, Meta(description="The cost, if a model ranked.")] = None
    payload: Annotated[
        Payload | None, Meta(description="With `dry_run`: the request that a model would get.")
    ] = None
    redactions: Annotated[
        Mapping[str, int] | None,
        Meta(description="Number of secrets that were replaced in the text for a model, by kind."),
    ] = None


class KeywordSearchPartial(Result, frozen=True, kw_only=True):
    """A partial result. One of the local ranker replaces all earlier ones; one of a model adds to
    those of the model. The result repeats all files."""

    files: Annotated[list[RankedFile], Meta(description="All files so far, or the next file.")]
    ranked_by: Annotated[RankedBy, Meta(description="The ranker that sorted them.")]


# --- rendering -----------------------------------------------------------------------------


def plain(result: KeywordSearchResult) -> str:
    """Render lines ``/absolute/path: reason``, best first, then files that were not selected.
    The path of a file in a cluster follows its repository."""
    lines = []
    for file in result.files:
        path = f"{(file.root or result.root).rstrip('/')}/{file.path}"
        shown = f"{file.repository}:{file.path}" if file.repository else path
        lines.append(printable(f"{shown}: {file.reason}"))
    return "\n".join([*(lines or [NOTHING]), *_others(result)])


def others_line(others: Sequence[NotChosen], total: int | None) -> list[str]:
    """Return one line about the files that a model saw and did not select, if there are some;
    ``total`` is their number, if not all are known."""
    total = total or len(others)
    if not total:
        return []
    named = [
        f"{printable(other.path)}:{other.line}" if other.line else printable(other.path)
        for other in others[:SHOWN_OTHERS]
    ]
    more = [f"{total - len(named)} more"] if total > len(named) else []
    return [f"(not chosen by the model: {', '.join([*named, *more])})"]


def _others(result: KeywordSearchResult) -> list[str]:
    return others_line(result.not_chosen or [], result.total_not_chosen)


def text(result: KeywordSearchResult, style: Style, folder: str | None) -> str:
    """Render files with the reason and the best line of each, then what was skipped.

    Paths are relative to ``folder``.
    """
    if result.payload:
        payload = result.payload
        head = f"{payload.model} at {payload.endpoint}: {payload.bytes} bytes, about"
        return f"{head} {payload.estimated_tokens} tokens\n\n{payload.system}\n{payload.prompt}"
    blocks = [_file(file, result.root, style, folder) for file in result.files] or [NOTHING]
    notes = [*_others(result), *_notes(result)]
    return "\n".join([*blocks, "", *map(style.dim, notes)])


def _file(file: RankedFile, root: str, style: Style, folder: str | None) -> str:
    rows = [style.path(seen_path(file, root, folder)), f"    {file.reason}"]
    best = next((match for match in file.matches if match.line == file.line), None)
    if file.line:
        rows[0] += style.dim(f":{file.line}")
        shown = _highlighted(best, style) if best else (file.line_text or "").strip()
        rows += [f"    {style.dim(f'{file.line}:')} {shown}"] * bool(shown)
    return "\n".join(rows)


def _highlighted(match: Match, style: Style) -> str:
    """Return the line, cut around its match, with the match highlighted."""
    shift = match.text_column or 1
    start, end = (max(0, column - shift) for column in match.match_range)
    text = match.text
    first = max(0, start - LINE_CHARACTERS // 3)
    before, after = text[first:start].lstrip(), text[end : first + LINE_CHARACTERS].rstrip()
    dots = "…" if first else "", "…" if first + LINE_CHARACTERS < len(text) else ""
    return f"{dots[0]}{before}{style.match(text[start:end])}{after}{dots[1]}"


def _notes(result: KeywordSearchResult) -> list[str]:
    by = result.ranked_by
    who = f"{by.model} ({by.provider})" if by.kind == "llm" else "the local ranker"
    files = "files" if result.total_by_index else "matching files"
    notes = [f"{result.returned} of {result.total_found} {files}, ranked by {who}"]
    if joined := sum(file.by == "index" for file in result.files):
        notes.append(f"  ({joined} of them by the index alone)")
    if by.fallback_reason:
        notes.append(f"  ({by.fallback_reason})")
    if result.usage:
        usage = result.usage
        cost = f", ${usage.cost_usd:.6f}" if usage.cost_usd is not None else ""
        notes.append(f"tokens: {usage.input_tokens} in, {usage.output_tokens} out{cost}")
    notes.append("terms: " + "; ".join(map(_term, result.terms)))
    notes += [f"incomplete: {reason}" for reason in result.completeness.reasons]
    notes += [f"note: {warning}" for warning in result.warnings]
    if result.truncated:
        notes.append(f"more: --cursor {result.cursor}" if result.cursor else "shortened")
    return notes


def _term(term: TermReport) -> str:
    status = term.status.replace("_", " ")
    if term.status in ("used", "shrunk", "peeled"):
        lines, files = term.matches or 0, term.files or 0
        status += f", {counted(lines, 'line', 'lines')} in {counted(files, 'file', 'files')}"
    return f"{term.term} ({status})"


# --- the tool ------------------------------------------------------------------------------


@tool(
    plain=plain,
    text=text,
    command_help=CommandHelp(
        "Rank the files that matter for a question, given terms the code might use.\n"
        "Each term is a case-insensitive regular expression. List the most important first.",
        "winnow keyword-search 'how are plugins loaded' load_plugin 'entry_points?'",
        "winnow keyword-search 'where do uploads fail' upload retry --limit 5",
    ),
    example={
        "query": "how are plugins loaded",
        "search_terms": ["load_plugin", "register_plugin", "entry_points"],
        "ranker": "local",
        "max_results": 2,
    },
    raises=(EmptyQuery, InvalidPattern, TermsTooBroad, NoLlmAvailable, LlmFailed, *SEARCHING),
    partial=KeywordSearchPartial,
    learn=searches(
        lambda params, result: params.query,
        lambda result: in_workspace(result.files),
    ),
    uses_index=True,
    # A language model ranks, if there is a key for one.
    effects=Effects(reaches_out=True),
    of_open_documents=True,
    # People use plain words, which are in many files, and have no other terms at hand.
    for_people={"broad_terms": "shrink"},
)
async def keyword_search(
    workspace: EngineWorkspace, params: KeywordSearchParams, progress: Progress
) -> KeywordSearchResult:
    """keyword_search locates files with a search-and-filter approach.
    Use when navigating unfamiliar codebases with only conceptual understanding or vague user questions.

    Effective use:
    - Provide a detailed query for accurate relevance ranking
    - Prefer MANY SPECIFIC terms over FEW GENERAL ones (high precision beats high recall)
    - Order search terms by importance (most important first)
    - Supports regex search terms for flexible matching

    IMPORTANT: Do NOT use this tool if you have precise information like log lines, error messages, stack traces, filenames, or symbols. Use direct approaches (rg, cat, etc.) instead.
    """  # noqa: E501 - the design's own text, line by line
    if not params.query.strip():
        raise EmptyQuery
    patterns = [TextPattern(term, case_sensitive=False) for term in params.search_terms]
    wanted = Wanted(" ".join([params.query, *params.search_terms]), patterns)
    opened = opened_scope(workspace, filters_of(params), params.repositories, wanted)
    async with opened as scope:
        result = await _answered(workspace, scope, params, progress)
    # A next page might get other candidates of a cluster.
    return msgspec.structs.replace(result, cursor=None) if params.repositories else result


async def _answered(
    workspace: EngineWorkspace, scope: Scope, params: KeywordSearchParams, progress: Progress
) -> KeywordSearchResult:
    # Not needed to start a server or to print help.
    from winnow.search.answer.by_model import RankerOptions
    from winnow.search.index.begin import begin_index
    from winnow.search.keyword import result as matches
    from winnow.search.keyword.search import KeywordRequest, search_keywords

    def send(message: str, files: list[RankedFile], ranked_by: RankedBy) -> None:
        progress(message, partial=KeywordSearchPartial(files=files, ranked_by=ranked_by))

    await begin_index(workspace, progress)
    request = KeywordRequest(
        workspace,
        scope,
        params.query,
        list(dict.fromkeys(params.search_terms)),
        progress,
        shrink=params.broad_terms == "shrink",
        include_documents=params.include_documents,
        max_results=params.max_results,
        send=send if progress.streaming else None,
    )
    options = RankerOptions(
        *(params.ranker, params.model, params.dry_run, params.payload == "compact"),
        is_shared=bool(params.repositories),
    )
    found, chosen = await search_keywords(request, options)
    offset = int(params.cursor or 0)
    page = chosen.ranked[offset : offset + params.max_results]
    end = offset + len(page)
    has_more = end < len(chosen.ranked)
    rows = await asyncio.to_thread(request.rows, page)
    unchosen = await asyncio.to_thread(request.rows, [] if offset else chosen.others)
    others = [_not_chosen(file) for file in unchosen]
    result = KeywordSearchResult(
        root=shown_folder(scope.root),
        files=rows,
        no_relevant_files=not chosen.ranked,
        ranked_by=chosen.ranked_by,
        not_chosen=others or None,
        terms=[matches.term_report(term, found) for term in found.search.terms],
        total_found=len(found.candidates),
        total_by_index=sum(candidate.is_only_indexed for candidate in found.candidates) or None,
        returned=len(page),
        truncated=has_more,
        completeness=with_shared(matches.completeness_of_matches(found, chosen), scope),
        warnings=[*matches.warnings_of_matches(found), *chosen.warnings],
        cursor=str(end) if has_more else None,
        usage=chosen.usage,
        payload=chosen.payload,
        redactions=(chosen.sent.redactions or None) if chosen.sent else None,
    )
    steps = [_shorter(result, offset, lines, most) for lines, most in SHORTER]
    counts = range(len(page) - 1, 0, -1)
    steps += [_shorter(result, offset, 0, LEAST_OTHERS, count) for count in counts]
    steps += [_shorter(result, offset, 0, 0, 1 if counts else None)] * bool(result.not_chosen)
    return shorten(result, params.max_tokens, steps)


def _not_chosen(file: RankedFile) -> NotChosen:
    return NotChosen(
        path=file.path,
        line=file.line,
        preview_uri=file.preview_uri,
        root=file.root,
        uri=file.uri,
    )


def _shorter(
    result: KeywordSearchResult,
    offset: int,
    matches: int,
    others: int | None,
    count: int | None = None,
) -> Callable[[], KeywordSearchResult]:
    """Return a step that keeps ``matches`` lines of each file, ``others`` files that were not
    selected, and ``count`` files; None keeps all."""

    def step() -> KeywordSearchResult:
        files = [_with_matches(file, matches) for file in result.files[:count]]
        not_chosen = (result.not_chosen or [])[:others]
        total = len(result.not_chosen or ())
        return msgspec.structs.replace(
            result,
            files=files,
            not_chosen=not_chosen or None,
            total_not_chosen=total if len(not_chosen) < total else None,
            returned=len(files),
            truncated=True,
            cursor=result.cursor if count is None else str(offset + count),
        )

    return step


def _with_matches(file: RankedFile, count: int) -> RankedFile:
    total = file.total_matches or len(file.matches)
    # The line to open stays, whatever else goes.
    first = sorted(file.matches, key=lambda match: match.line != file.line)[:count]
    passage = file.passage
    if passage is not None and passage.snippet is not None:
        shown = "\n".join(passage.snippet.split("\n")[:count])
        passage = msgspec.structs.replace(passage, snippet=shown or None)
    return msgspec.structs.replace(
        file,
        matches=sorted(first, key=lambda match: match.line),
        passage=passage,
        total_matches=total if total > count else None,
    )
