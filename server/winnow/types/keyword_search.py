"""Params and results of keyword_search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, Result, SearchParams

Ranker = Literal["auto", "llm", "local"]
BroadTerms = Literal["skip", "shrink"]
TermStatus = Literal["used", "shrunk", "too_broad", "peeled", "no_match", "invalid", "timed_out"]


class KeywordSearchParams(SearchParams, frozen=True, kw_only=True):
    """What to look for, and in which words the code may say it."""

    query: Annotated[
        str,
        Meta(
            description="A detailed statement of what you're trying to find or learn.",
            max_length=20_000,
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
    max_results: Annotated[int, Meta(description="The most files to answer.", ge=1, le=1_000)] = 20
    ranker: Annotated[
        Ranker,
        Meta(
            description="'auto': a language model if one is available, else the local ranker;"
            " 'llm': a language model or an error; 'local': nothing leaves this machine."
        ),
    ] = "auto"
    model: Annotated[
        str, Meta(description="Name of the model to rank with, instead of the preferred ones.")
    ] = ""
    broad_terms: Annotated[
        BroadTerms,
        Meta(
            description="A term with more than 64 KiB of results: 'skip' leaves it out, 'shrink'"
            " keeps it with less context, fewer matches a file, or as a list of files."
        ),
    ] = "skip"
    dry_run: Annotated[
        bool,
        Meta(description="Answer the exact text that a model would be sent, and send nothing."),
    ] = False
    cursor: Annotated[
        str,
        Meta(
            description="Continue a truncated answer: its `cursor`, with otherwise equal params.",
            pattern="^[0-9]{0,9}$",
        ),
    ] = ""


class Match(Result, frozen=True, kw_only=True):
    """A matching line; columns are 1-based and count code points, the end is exclusive."""

    line: int
    column: int
    text: str
    match_range: tuple[int, int]
    # The column of the first character of `text`, if a long line was cut around the match.
    text_column: int | None = None


class RankedFile(Result, frozen=True, kw_only=True):
    path: str
    reason: str
    terms: list[str]
    matches: list[Match]
    # The line to open: a definition if one matches, or where the model pointed.
    line: int | None = None
    # How many lines of the file match, if `matches` does not hold them all.
    total_matches: int | None = None
    score: float | None = None
    # The workspace folder, where there are several.
    root: str | None = None
    # Only where the path is not valid Unicode: the exact name, percent-encoded.
    uri: str | None = None


class RankedBy(Result, frozen=True, kw_only=True):
    kind: Literal["llm", "local"]
    model: str | None = None
    provider: str | None = None
    fallback_reason: str | None = None


class TermReport(Result, frozen=True, kw_only=True):
    """The fate of one search term."""

    term: str
    status: TermStatus
    bytes: int | None = None
    files: int | None = None
    matches: int | None = None
    detail: str | None = None


class Usage(Result, frozen=True, kw_only=True):
    input_tokens: int
    output_tokens: int
    cached_tokens: int | None = None
    cost_usd: float | None = None


class Payload(Result, frozen=True, kw_only=True):
    """What a model would be sent."""

    model: str
    provider: str
    endpoint: str
    system: str
    prompt: str
    bytes: int
    estimated_tokens: int


class KeywordSearchResult(Answer, frozen=True, kw_only=True):
    search_id: str
    files: list[RankedFile]
    no_relevant_files: bool
    ranked_by: RankedBy
    terms: list[TermReport]
    usage: Usage | None = None
    payload: Payload | None = None


class KeywordSearchPartial(Result, frozen=True, kw_only=True):
    """A partial result. One by the local ranker replaces all before it; one by a model adds to
    those of the model."""

    files: list[RankedFile]
    ranked_by: RankedBy
