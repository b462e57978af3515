"""The shared vocabulary: params and results that several tools have, and the engine's data.

Params and results are the interface of every front end, and so are their descriptions. All structs
are frozen. An optional field of a result is absent if it was not measured, never 0.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from winnow.config import RepositoryPattern

# --- shared by every tool ------------------------------------------------------------------


class Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Params of a tool. Unknown fields are errors, so that typos are reported."""


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result or a part of one."""


class InFile(Result, frozen=True, kw_only=True):
    """A file, or something in it."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class InRepository(InFile, frozen=True, kw_only=True):
    """A row about a file of this workspace or of a repository in a search cluster."""

    repository: Annotated[
        str | None,
        Meta(
            description="The repository of a file that is not in this workspace, as `repositories`"
            " names it; `path` is relative to it."
        ),
    ] = None
    commit: Annotated[str | None, Meta(description="The commit of that file.")] = None
    origin: Annotated[
        Literal["cluster"] | None,
        Meta(description="'cluster' for a file of the team's search cluster."),
    ] = None


class Skipped(Result, frozen=True, kw_only=True):
    """Number of skipped files and folders, by reason. A reason that was not counted is absent,
    never 0.

    A folder counts once, whatever it holds.
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
    unreadable: Annotated[int | None, Meta(description="Files that could not be read.")] = None
    symlink: Annotated[
        int | None, Meta(description="Symlinks, which are followed only on request.")
    ] = None
    secret: Annotated[int | None, Meta(description="Files that look like secrets.")] = None


TextsIndexed = Annotated[
    int | None,
    Meta(
        description="Number of files whose text is indexed; absent unless there are more than"
        " `files_indexed`: their definitions follow."
    ),
]


class IndexState(Result, frozen=True, kw_only=True):
    """The state of the index."""

    state: Annotated[
        Literal["none", "opening", "building", "ready", "stale"],
        Meta(
            description="'none': there is no index. 'opening': the index on disk is being compared"
            " with the files. 'building': not all files are indexed yet. 'stale': changed files are"
            " being indexed."
        ),
    ]
    files_indexed: Annotated[int, Meta(description="Number of indexed files.")]
    files_total: Annotated[int, Meta(description="Number of files to index, so far.")]
    updated_at: Annotated[
        float, Meta(description="Time of the last update, in seconds since 1970; 0 for never.")
    ]
    texts_indexed: TextsIndexed = None
    waits_for: Annotated[
        str | None,
        Meta(description="Why indexing waits or is slow now: other programs, or memory."),
    ] = None

    @property
    def knows_all(self) -> bool:
        """True if all files are indexed, though some may have changed since."""
        return self.state in ("ready", "stale")

    @property
    def known_texts(self) -> int:
        """The number of files of which at least the text is indexed."""
        return max(self.files_indexed, self.texts_indexed or 0)

    @property
    def knows_all_texts(self) -> bool:
        """True if at least the texts of all files are indexed."""
        return self.knows_all or (self.texts_indexed or 0) >= self.files_total > 0


class SharedState(Result, frozen=True, kw_only=True):
    """What a search cluster has contributed to an answer, and what it lacks."""

    answered: Annotated[bool, Meta(description="True if the cluster answered in time.")]
    reason: Annotated[
        str | None, Meta(description="Why it did not answer, or why its part is incomplete.")
    ] = None
    searched: Annotated[
        int | None, Meta(description="Number of repositories and branches that were searched.")
    ] = None
    missing: Annotated[
        list[str] | None,
        Meta(description="Items of `repositories` that the cluster does not have."),
    ] = None
    open_here: Annotated[
        list[str] | None,
        Meta(description="Repositories that are open in this workspace, and searched only there."),
    ] = None
    commits_behind: Annotated[
        dict[str, int] | None,
        Meta(
            description="For repositories that are open here: the number of commits that the"
            " cluster lacks. Absent if that is unknown or if it lacks none."
        ),
    ] = None
    skipped: Annotated[
        int | None,
        Meta(
            description="Number of text files of these repositories that are not in the cluster:"
            " too large, not in UTF-8, unreadable, or likely to hold secrets."
        ),
    ] = None
    masked: Annotated[
        int | None, Meta(description="Number of files in which secrets are replaced.")
    ] = None
    oldest_push: Annotated[
        str | None, Meta(description="When the least recent of the repositories was pushed.")
    ] = None


class Completeness(Result, frozen=True, kw_only=True):
    """The completeness of an answer, and why it is incomplete."""

    complete: Annotated[bool, Meta(description="True if the answer is complete.")]
    reasons: Annotated[list[str], Meta(description="Why the answer is incomplete.")]
    skipped: Annotated[Skipped, Meta(description="Skipped files in the scope of the request.")]
    timed_out: Annotated[bool, Meta(description="True if the search timed out.")]
    index: Annotated[
        IndexState | None, Meta(description="The state of the index, if the answer used it.")
    ] = None
    shared: Annotated[
        SharedState | None,
        Meta(description="The part of the search cluster, if `repositories` named some."),
    ] = None


EDITOR_REQUEST = "$/complete"
"""The request that asks the editor's own model."""

COMPLETE = Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)
"""The completeness of an answer that cannot miss anything."""


class Answer(Result, frozen=True, kw_only=True):
    """The fields of every answer."""

    root: Annotated[str, Meta(description="The absolute folder that paths are relative to.")]
    total_found: Annotated[int, Meta(description="Total number of results found.")]
    returned: Annotated[int, Meta(description="Number of results in this answer.")]
    truncated: Annotated[bool, Meta(description="True if there are more results.")]
    completeness: Annotated[Completeness, Meta(description="What the answer leaves out, and why.")]
    warnings: Annotated[list[str], Meta(description="Warnings for the reader.")]
    cursor: Annotated[
        str | None, Meta(description="Pass it with otherwise equal params to get the next page.")
    ] = None


def new_search_id() -> str:
    """Return a unique id that cannot be guessed."""
    return os.urandom(6).hex()


class SearchAnswer(Answer, frozen=True, kw_only=True):
    """The fields of every answer of a search, which has an id for `feedback`."""

    search_id: Annotated[
        str,
        Meta(description="A unique id of this answer, for `feedback`."),
    ] = msgspec.field(default_factory=new_search_id)


class IndexOffer(Result, frozen=True, kw_only=True):
    """An offer to build an index, which gives better and faster answers."""

    text: Annotated[str, Meta(description="The offer, in words.")]
    param: Annotated[str, Meta(description="The param that builds the index with the next search.")]
    command: Annotated[str, Meta(description="The command that builds it.")]
    files: Annotated[int, Meta(description="Number of files to index.")]
    seconds: Annotated[float, Meta(description="Estimated time, in seconds.")]


# The maximum length of a query, everywhere: a query may be a bug report with its logs.
QUERY_CHARACTERS = 1_000_000
HitKind = Literal["file", "definition", "match", "passage"]
# Patterns and paths are passed on a command line, which has a limit.
Pattern = Annotated[str, Meta(min_length=1, max_length=1_000)]
Scoped = Literal["workspace", "changed", "open"]
# How a user reacts to a result. Up and down are explicit, the other actions are implicit.
FeedbackAction = Literal["opened", "kept", "dismissed", "up", "down"]
# The form of a query.
QueryForm = Literal["path", "regex", "symbol", "words", "question"]


class PageParams(Params, frozen=True, kw_only=True):
    """Paging: the size of an answer. Every tool uses the same names."""

    max_tokens: Annotated[
        int,
        Meta(
            description="Shorten the answer until it is estimated to fit this many tokens;"
            " `truncated` says so. At least one result is kept, with a warning if that takes more."
            " 0 is no limit.",
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
    """Scope: the files to search. Every tool uses the same names."""

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
        Meta(description="Glob patterns of files to exclude, such as 'vendor/**'.", max_length=100),
    ] = []
    file_types: Annotated[
        list[Pattern],
        Meta(description="ripgrep file types to search, such as 'py' or 'rust'.", max_length=100),
    ] = []


# Scope: repositories that are not in this workspace.
Repositories = Annotated[
    list[RepositoryPattern],
    Meta(
        description="Also search these repositories of the team's search cluster, such as"
        " 'team/project', 'team/*', or 'team/project@branch'. The query is sent there. Only the"
        " first page has their results. Default: `cluster.repositories` of the user's settings.",
        max_length=50,
    ),
]


class SearchParams(ScopeParams, frozen=True, kw_only=True):
    """Scope: files that are excluded by default. Every tool uses the same names."""

    include_ignored: Annotated[
        bool, Meta(description="Also search files that .gitignore and similar files exclude.")
    ] = False
    include_hidden: Annotated[bool, Meta(description="Also search hidden files and folders.")] = (
        False
    )
    include_submodules: Annotated[
        bool, Meta(description="Also search git submodules that are checked out.")
    ] = False


class FileParams(SearchParams, frozen=True, kw_only=True):
    """Scope: a subset of the files, and symlinks."""

    scope: Annotated[
        Scoped,
        Meta(
            description="'workspace': all files. 'changed': files that differ from git's HEAD"
            " (staged, unstaged, untracked, unsaved). 'open': files open in the editor."
        ),
    ] = "workspace"
    follow_symlinks: Annotated[
        bool,
        Meta(description="Also search the targets of symlinks inside the workspace, each once."),
    ] = False


# --- the engine ----------------------------------------------------------------------------


class DefinedHere(Struct, frozen=True):
    """A definition in the lines of a hit, or around them. ``name`` is qualified; ``line`` is the
    line of its name, and ``last`` its last line, from 1; ``doc`` is its documentation. A prototype,
    or a method of an interface, is only ``declared``."""

    name: str
    kind: str
    line: int
    last: int
    doc: str = ""
    declared: bool = False


class Hit(Struct, frozen=True):
    """A search result: a file, or lines of it. ``path`` is as ripgrep prints it.

    ``first`` and ``last`` are its lines, from 1. A match has ``marks`` instead: the matching lines,
    with a weight each; ``matches`` is their total number. ``best`` is the line that matters, if
    that is known before the text is read. ``score`` is at most 1 for hits from the index. ``why``
    says in a few words why it was found, and ``about`` what the file's path and earlier feedback
    contribute to that. ``definitions`` are those in and around the lines, in the order of the text;
    None if unknown.
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
    about: Sequence[str] = ()
    definitions: Sequence[DefinedHere] | None = None
    best: int | None = None


class Progress:
    """Reports the progress of a call. Front ends override it; this class ignores all reports.

    If `streaming` is True, the client receives partial results, and the result does not repeat
    them.
    """

    streaming = False

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        """Report the current step. `partial` is a part of the result."""

    async def drain(self) -> None:
        """Wait until the client has read all reports, so that they do not pile up."""

    @contextlib.contextmanager
    def waiting(self, notice: str) -> Iterator[asyncio.Event]:
        """Tell the user why the call waits within the block. Yield an event that is set when the
        user wants to wait no longer."""
        yield asyncio.Event()


no_progress = Progress()
