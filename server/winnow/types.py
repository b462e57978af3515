"""The vocabulary: params and results of every tool, and what the parts of the engine hand on.

Params and results are what a caller sees, at every door: the descriptions here are the interface.
Everything is frozen. An optional field of a result that was not taken is absent, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol

from msgspec import Meta, Struct

# --- shared by every tool ------------------------------------------------------------------


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Params of a tool; unknown fields are refused, so that a typing mistake is heard of."""


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result, or a part of one."""


class Skipped(Result, frozen=True, kw_only=True):
    """How many files were passed over, by reason; a reason that was not counted is absent."""

    ignored: int | None = None
    hidden: int | None = None
    binary: int | None = None
    too_large: int | None = None
    unreadable: int | None = None
    symlink: int | None = None
    secret: int | None = None


class Completeness(Result, frozen=True, kw_only=True):
    """Whether the answer covers everything that was asked for, and if not, why."""

    complete: bool
    reasons: list[str]
    skipped: Skipped
    timed_out: bool


# Patterns and paths go on a command line.
Pattern = Annotated[str, Meta(min_length=1, max_length=1_000)]


class SearchParams(Params, frozen=True, kw_only=True):
    """Scope: where to search. The same names in every tool."""

    path: Annotated[
        str,
        Meta(
            description="File or folder to search in, absolute or relative to the root.",
            max_length=4_000,
        ),
    ] = ""
    include: Annotated[
        list[Pattern],
        Meta(description="Glob patterns of files to search, such as '*.py'.", max_length=100),
    ] = []
    exclude: Annotated[
        list[Pattern],
        Meta(
            description="Glob patterns of files to leave out, such as 'vendor/**'.", max_length=100
        ),
    ] = []
    file_types: Annotated[
        list[Pattern],
        Meta(description="ripgrep file types to search, such as 'py' or 'rust'.", max_length=100),
    ] = []
    include_ignored: Annotated[
        bool, Meta(description="Search files that .gitignore and similar files exclude, too.")
    ] = False
    include_hidden: Annotated[bool, Meta(description="Search hidden files and folders, too.")] = (
        False
    )
    max_tokens: Annotated[
        int,
        Meta(
            description="Shorten the answer in steps until it is estimated to fit this many"
            " tokens; `truncated` says so. 0 is no limit.",
            ge=0,
        ),
    ] = 0
    cursor: Annotated[
        str,
        Meta(
            description="Continue a truncated answer: its `cursor`, with otherwise equal params.",
            pattern="^[0-9]{0,9}$",
        ),
    ] = ""


# --- keyword_search ------------------------------------------------------------------------

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


class KeywordSearchResult(Result, frozen=True, kw_only=True):
    search_id: str
    root: str
    files: list[RankedFile]
    no_relevant_files: bool
    ranked_by: RankedBy
    terms: list[TermReport]
    total_found: int
    returned: int
    truncated: bool
    completeness: Completeness
    warnings: list[str]
    cursor: str | None = None
    usage: Usage | None = None
    payload: Payload | None = None


class KeywordSearchPartial(Result, frozen=True, kw_only=True):
    """A partial result. One by the local ranker replaces all before it; one by a model adds to
    those of the model."""

    files: list[RankedFile]
    ranked_by: RankedBy


# --- tools ---------------------------------------------------------------------------------


class ToolsParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class ToolDescription(Result, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: dict[str, object]
    method: str


class ToolsResult(Result, frozen=True, kw_only=True):
    tools: list[ToolDescription]


# --- inside the engine ---------------------------------------------------------------------


class Line(Struct, frozen=True):
    """A line of a file, as the search saw it.

    ``ranges`` are the matches, as offsets in code points into the whole line (empty for a context
    line). ``start`` is the offset of ``text`` in it, if the line was too long and was ``cut``.
    ``size`` is what ripgrep's plain output spends on the line besides the path and the number, in
    bytes.
    """

    text: str
    size: int
    ranges: tuple[tuple[int, int], ...] = ()
    start: int = 0
    cut: bool = False


class Candidate(Struct, frozen=True):
    """A file that matches, with the evidence: what a ranker gets to see.

    ``counts`` says for each term how many lines match; ``lines`` holds the matching lines
    and their context, ``hits`` the numbers of the matching ones by term. A term that was shrunk to
    a list of files has a count and no lines.
    """

    path: str
    lines: Mapping[int, Line]
    hits: Mapping[str, tuple[int, ...]]
    counts: Mapping[str, int]


class Ranked(Struct, frozen=True):
    """A candidate that a ranker chose; ``first`` and ``last`` are the lines it pointed at."""

    candidate: Candidate
    reason: str
    score: float | None = None
    first: int | None = None
    last: int | None = None


class Progress(Protocol):
    """How long work tells what it does; each door binds it.

    ``partial`` is a piece of the result that can be shown already.
    """

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None: ...


def no_progress(
    message: str, *, percentage: int | None = None, partial: Result | None = None
) -> None:
    """Progress that nobody listens to."""
