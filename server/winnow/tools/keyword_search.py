"""keyword_search: where something is, asked by concept."""

from __future__ import annotations

from winnow.errors import (
    SEARCHING,
    EmptyQuery,
    InvalidPattern,
    LlmFailed,
    NoLlmAvailable,
    TermsTooBroad,
)
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import Effects, tool
from winnow.tools.terminal import Style, seen_path
from winnow.types import Progress
from winnow.types.keyword_search import (
    KeywordSearchParams,
    KeywordSearchPartial,
    KeywordSearchResult,
    Match,
    RankedFile,
    TermReport,
)
from winnow.workspace import Workspace

NOTHING = "No relevant files found"
# Of a long line, what is shown around its match.
LINE_CHARACTERS = 140
# Of the files that a model did not choose, so many are named in a text.
SHOWN_OTHERS = 10


def plain(result: KeywordSearchResult) -> str:
    """The design's lines, ``/absolute/path: reason``, best first; then what was not chosen."""
    lines = [
        printable(f"{(file.root or result.root).rstrip('/')}/{file.path}: {file.reason}")
        for file in result.files
    ]
    return "\n".join([*(lines or [NOTHING]), *_others(result)])


def _others(result: KeywordSearchResult) -> list[str]:
    """One line for the files that a model was sent and did not choose, if there are any."""
    others = result.not_chosen or []
    total = result.total_not_chosen or len(others)
    if not total:
        return []
    named = [
        f"{printable(one.path)}:{one.line}" if one.line else printable(one.path)
        for one in others[:SHOWN_OTHERS]
    ]
    more = [f"{total - len(named)} more"] if total > len(named) else []
    return [f"(not chosen by the model: {', '.join([*named, *more])})"]


def text(result: KeywordSearchResult, style: Style, folder: str) -> str:
    """Ranked files with the reason and the best line of each, then what was left out.

    Paths are shown as seen from ``folder``.
    """
    if result.payload:
        payload = result.payload
        head = f"{payload.model} at {payload.endpoint}: {payload.bytes} bytes, about"
        return f"{head} {payload.estimated_tokens} tokens\n\n{payload.system}\n{payload.prompt}"
    blocks = [_file(file, result.root, style, folder) for file in result.files] or [NOTHING]
    notes = [*_others(result), *_notes(result)]
    return "\n".join([*blocks, "", *map(style.dim, notes)])


def _file(file: RankedFile, root: str, style: Style, folder: str) -> str:
    rows = [style.path(seen_path(file, root, folder)), f"    {file.reason}"]
    best = next((match for match in file.matches if match.line == file.line), None)
    if best:
        rows[0] += style.dim(f":{best.line}")
        rows.append(f"    {style.dim(f'{best.line}:')} {_highlighted(best, style)}")
    elif file.line:
        rows[0] += style.dim(f":{file.line}")
    return "\n".join(rows)


def _highlighted(match: Match, style: Style) -> str:
    """The line, cut to a terminal's width around its match, which is emphasised."""
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
        status += f", {term.matches} lines in {term.files} files"
    return f"{term.term} ({status})"


@tool(
    plain=plain,
    text=text,
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
        lambda result: result.files,
    ),
    # A language model ranks, if there is a key for one.
    effects=Effects(reaches_out=True),
    of_open_documents=True,
    # A person asks in plain words, which are in many files, and has no other terms at hand.
    for_people={"broad_terms": "shrink"},
)
async def keyword_search(
    workspace: Workspace, params: KeywordSearchParams, progress: Progress
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
    # Not needed to start a server or to print help.
    from winnow.search.keyword.search import search_keywords

    return await search_keywords(workspace, params, progress)
