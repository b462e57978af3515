"""The vocabulary: params and results of every tool, and what the parts of the engine hand on.

Params and results are what a caller sees, at every door: the descriptions here are the interface.
Everything is frozen. An optional field of a result that was not taken is absent, never 0.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

# --- shared by every tool ------------------------------------------------------------------


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Params of a tool; unknown fields are refused, so that a typing mistake is heard of."""


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result, or a part of one."""


class InFile(Result, frozen=True, kw_only=True):
    """A file, or something in it."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class Skipped(Result, frozen=True, kw_only=True):
    """How much was passed over, by reason; a reason that was not counted is absent, never 0.

    A folder that is left out as a whole counts once.
    """

    ignored: Annotated[
        int | None, Meta(description="Excluded by .gitignore and similar files.")
    ] = None
    hidden: Annotated[int | None, Meta(description="Names that begin with a dot.")] = None
    binary: Annotated[int | None, Meta(description="Files with NUL bytes.")] = None
    too_large: Annotated[
        int | None,
        Meta(
            description="Files larger than `limits.file_bytes`; for an index, than"
            " `limits.parse_bytes`."
        ),
    ] = None
    unreadable: Annotated[int | None, Meta(description="What may not be read, or has gone.")] = None
    symlink: Annotated[
        int | None, Meta(description="Symlinks, which are not followed unless asked for.")
    ] = None
    secret: Annotated[int | None, Meta(description="Files that look like secrets.")] = None


class IndexState(Result, frozen=True, kw_only=True):
    """The state of the index of symbols."""

    state: Annotated[
        Literal["none", "opening", "building", "ready", "stale"],
        Meta(
            description="'none': there is none. 'opening': there is one on disk, which is being"
            " compared with the files. 'building': it does not know all files yet."
            " 'stale': some files have changed since, and are being read again."
        ),
    ]
    files_indexed: Annotated[int, Meta(description="Files that it knows.")]
    files_total: Annotated[int, Meta(description="Files that it is to know, as far as listed.")]
    updated_at: Annotated[
        float, Meta(description="When it was changed last, in seconds since 1970; 0 for never.")
    ]

    @property
    def knows_all(self) -> bool:
        """Whether it knows all files, though perhaps some as they were before."""
        return self.state in ("ready", "stale")


class Completeness(Result, frozen=True, kw_only=True):
    """Whether the answer covers everything that was asked for, and if not, why."""

    complete: Annotated[
        bool, Meta(description="Whether there are no reasons to doubt that this is all.")
    ]
    reasons: Annotated[list[str], Meta(description="Why it is not complete, in words.")]
    skipped: Annotated[
        Skipped, Meta(description="How much was passed over, as the scope of the request has it.")
    ]
    timed_out: Annotated[bool, Meta(description="Whether time ran out before the end.")]
    index: Annotated[
        IndexState | None, Meta(description="Of answers from the index: how true it is.")
    ] = None


COMPLETE = Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)
"""The completeness of an answer that cannot miss anything."""


class Answer(Result, frozen=True, kw_only=True):
    """What every answer of a tool says beside what it found."""

    root: Annotated[str, Meta(description="The folder that paths are relative to, absolute.")]
    total_found: Annotated[int, Meta(description="How many there are in all, as far as is known.")]
    returned: Annotated[int, Meta(description="How many of them this answer holds.")]
    truncated: Annotated[bool, Meta(description="Whether there is more than this answer holds.")]
    completeness: Annotated[
        Completeness, Meta(description="What was not looked at, by reason, and why.")
    ]
    warnings: Annotated[list[str], Meta(description="What a reader should know, in words.")]
    cursor: Annotated[
        str | None, Meta(description="Pass it, with otherwise equal params, to get what follows.")
    ] = None


def new_search_id() -> str:
    """An id that nobody else has, and that nobody can guess."""
    return os.urandom(6).hex()


class SearchAnswer(Answer, frozen=True, kw_only=True):
    """What every answer of a search says: it can be referred to, see `feedback`."""

    search_id: Annotated[
        str,
        Meta(
            description="Another one for every answer: `feedback` takes it, to say what was of use."
        ),
    ] = msgspec.field(default_factory=new_search_id)


class IndexOffer(Result, frozen=True, kw_only=True):
    """An offer to build an index, which gives better and faster answers."""

    text: Annotated[str, Meta(description="The offer, in words.")]
    param: Annotated[str, Meta(description="The param that builds the index with the next search.")]
    command: Annotated[str, Meta(description="The command that builds it.")]
    files: Annotated[int, Meta(description="Number of files to index.")]
    seconds: Annotated[float, Meta(description="Estimated time, in seconds.")]


HitKind = Literal["file", "definition", "match", "passage"]
# Patterns and paths go on a command line.
Pattern = Annotated[str, Meta(min_length=1, max_length=1_000)]
Scoped = Literal["workspace", "changed", "open"]
# How a caller reacts to a result. A thumb is explicit, the other actions are implied.
FeedbackAction = Literal["opened", "kept", "dismissed", "up", "down"]
# The form of a query.
QueryForm = Literal["path", "regex", "symbol", "words", "question"]


class PageParams(Params, frozen=True, kw_only=True):
    """How much to answer. The same names in every tool."""

    max_tokens: Annotated[
        int,
        Meta(
            description="Shorten the answer in steps until it is estimated to fit this many"
            " tokens; `truncated` says so. One result is left at least, and a warning says where"
            " that takes more. 0 is no limit.",
            ge=0,
        ),
    ] = 0
    cursor: Annotated[
        str,
        Meta(
            description="Continue a truncated answer: its `cursor`, with otherwise equal params.",
            max_length=12_000,
        ),
    ] = ""


class ScopeParams(PageParams, frozen=True, kw_only=True):
    """Scope: which files count. The same names in every tool."""

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


class SearchParams(ScopeParams, frozen=True, kw_only=True):
    """Scope: where to search. The same names in every tool."""

    include_ignored: Annotated[
        bool, Meta(description="Search files that .gitignore and similar files exclude, too.")
    ] = False
    include_hidden: Annotated[bool, Meta(description="Search hidden files and folders, too.")] = (
        False
    )
    include_submodules: Annotated[
        bool, Meta(description="Search git submodules that are checked out, too.")
    ] = False


class FileParams(SearchParams, frozen=True, kw_only=True):
    """Scope, of a tool that can be confined to some files."""

    scope: Annotated[
        Scoped,
        Meta(
            description="'workspace': all files; 'changed': those that differ from git's HEAD"
            " (staged, unstaged, untracked, unsaved); 'open': those that are open in the editor."
        ),
    ] = "workspace"
    follow_symlinks: Annotated[
        bool,
        Meta(
            description="Search the folders and files that symlinks lead to, too, each once, as"
            " long as they are inside of the workspace."
        ),
    ] = False


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


class Hit(Struct, frozen=True):
    """A search result: a file, or lines of it. ``path`` is as ripgrep prints it.

    ``first`` and ``last`` are its lines, from 1. A match has ``marks`` instead: the matching lines,
    with a weight each; ``matches`` is their total number. ``score`` is at most 1 for hits from the
    index. ``why`` says in a few words why it was found.
    """

    path: str
    kind: HitKind
    score: float
    why: str = ""
    first: int | None = None
    last: int | None = None
    symbol: str | None = None
    matches: int | None = None
    marks: Mapping[int, float] = {}


class Candidate(Struct, frozen=True):
    """A file that matches, with the evidence: what a ranker gets to see.

    ``counts`` says for each term how many lines match; ``lines`` holds the matching lines
    and their context, ``hits`` the numbers of the matching ones by term. A term that was shrunk to
    a list of files has a count and no lines. A file that no term matches is there for what the
    index says: its ``lines`` are of that passage.
    """

    path: str
    lines: Mapping[int, Line]
    hits: Mapping[str, tuple[int, ...]]
    counts: Mapping[str, int]
    indexed: Hit | None = None

    @property
    def is_only_indexed(self) -> bool:
        """Whether the index alone has found it."""
        return not self.counts


class Ranked(Struct, frozen=True):
    """A candidate that a ranker chose; ``first`` and ``last`` are the lines it pointed at."""

    candidate: Candidate
    reason: str
    score: float | None = None
    first: int | None = None
    last: int | None = None


class Progress:
    """How long work tells what it does; each door has its own, and this one tells nobody.

    ``streaming`` says that somebody takes partial results: what was sent as one is then not in the
    result again.
    """

    streaming = False

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        """Say what is being done; ``partial`` is a piece of the result that can be shown."""

    async def drain(self) -> None:
        """Wait until what was told has been taken, so that it does not heap up here."""


no_progress = Progress()
