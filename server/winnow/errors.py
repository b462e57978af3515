"""Every error that a caller can understand and act on.

SearchError
  InvalidParams          a parameter does not fit (JSON-RPC -32602)
  EmptyQuery             "Search query is empty"
  InvalidPattern         a regex that ripgrep refuses
  TermsTooBroad          each of the search terms yielded too many results
  NoLlmAvailable         a model was required and none is configured
  LlmFailed              a model was required and every one failed
  StateUnavailable       what is kept for the user cannot be read or written
  NotFound               a path that does not exist
  NoSymbol               a place or a name that is no symbol
  UnknownSearch          no search with that id is known
  NotAFile               a folder, a FIFO, a device, or a file that cannot be read
  NotAFolder             a file, where a folder is needed
  BinaryFile             a file without lines of text
  UnreadableDocument     a document of which no text can be taken
  PathOutsideWorkspace   a path that resolves outside every workspace root
  NoWorkspace            no folder is open
    RootRefused          the folder is a home folder, or holds one
  ProgramNotInstalled    a program that Winnow runs is missing
  SearchTimedOut         not even a partial answer in time
  SearchFailed           the program failed: exit code and its stderr
  NotAllowed             a pipeline, program, option or path that is refused

Each door (LSP, MCP, command line) maps this hierarchy once. Any other exception is a defect.
"""

from __future__ import annotations

from typing import Any, ClassVar


class SearchError(Exception):
    """Something that the caller can act on; the message says what would help."""

    kind: ClassVar[str] = "search_failed"

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = {"kind": self.kind, **data}


class InvalidParams(SearchError):
    """A parameter does not fit the schema; the message begins with the field's path."""

    kind = "invalid_params"

    def __init__(self, field: str, problem: str) -> None:
        field = field[:200]  # it may be anything that was sent
        super().__init__(f"`{field}`: {problem}" if field else problem, field=field)


class EmptyQuery(SearchError):
    """The query or the pattern is empty."""

    kind = "empty_query"

    def __init__(self) -> None:
        super().__init__("Search query is empty")


class InvalidPattern(SearchError):
    """ripgrep refuses the regex (for several terms: every one of them)."""

    kind = "invalid_pattern"

    def __init__(
        self, pattern: str, detail: str, advice: str = "escape special characters with a backslash"
    ) -> None:
        super().__init__(
            f"ripgrep cannot read {pattern!r} as a regular expression: {detail}; {advice}",
            pattern=pattern,
            detail=detail,
        )


class TermsTooBroad(SearchError):
    """Each of the search terms yielded too many results."""

    kind = "terms_too_broad"

    def __init__(self, terms: list[str]) -> None:
        super().__init__(
            "each of those search terms yielded too many results:"
            " use more specific terms, or broad_terms='shrink' to search with less context",
            terms=terms,
        )


class NoLlmAvailable(SearchError):
    """A model is required, and none can be used; ``tried`` is one ``{model, error}`` for each,
    ``needs_consent`` is where one could be asked if somebody consented."""

    kind = "no_llm_available"

    def __init__(
        self, tried: list[dict[str, str]], needs_consent: list[str], no_consent: str | None
    ) -> None:
        super().__init__(
            "No language model is available: "
            + (no_consent or "set a provider's API key in the environment or configure a model")
            + " (see `winnow doctor`), or leave `ranker` at 'auto'",
            tried=tried,
            needs_consent=needs_consent,
        )


class LlmFailed(SearchError):
    """A model is required, and every one failed; ``attempts`` is one ``{model, error}`` for each
    call that was made."""

    kind = "llm_failed"

    def __init__(self, attempts: list[dict[str, str]]) -> None:
        last = attempts[-1] if attempts else {"model": "?", "error": "no attempt was made"}
        super().__init__(
            f"Every language model failed; the last was {last['model']}: {last['error']}",
            attempts=attempts,
        )


class StateUnavailable(SearchError):
    """What is kept for the user, outside of all workspaces, cannot be read or written."""

    kind = "state_unavailable"

    def __init__(self, folder: str, detail: str) -> None:
        super().__init__(f"{folder} cannot be used: {detail}", detail=detail)


class NotFound(SearchError):
    """There is no such file or folder."""

    kind = "not_found"

    def __init__(self, path: str, hint: str = "") -> None:
        """``hint`` is a sentence that says which path may be meant."""
        problem = f"There is no file or folder {path!r} in the workspace"
        super().__init__(f"{problem}. {hint}" if hint else problem, path=path)


class NoSymbol(SearchError):
    """No symbol stands at the place, or none has the name; ``path`` is the file, if one was
    named."""

    kind = "not_found"

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem, path=path)


class UnknownSearch(SearchError):
    """No search has the id, as far as is remembered."""

    kind = "not_found"

    def __init__(self, search_id: str) -> None:
        super().__init__(
            f"No search with the id {search_id!r} is remembered: pass the `search_id` of an answer;"
            " the oldest searches are forgotten, and without an index all at the end of a process",
            search_id=search_id,
        )


class NotAFile(SearchError):
    """The path is there and cannot be read as a file: a folder, a FIFO, a device, no permission."""

    kind = "not_a_file"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r} is no file to read: {why}", path=path)


class NotAFolder(SearchError):
    """A file, where a folder is needed."""

    kind = "not_a_folder"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is no folder: see `read_file`", path=path)


class BinaryFile(SearchError):
    """A file without lines of text; ``bytes`` is its size."""

    kind = "binary_file"

    def __init__(self, path: str, size: int, what: str) -> None:
        super().__init__(
            f"{path!r} is {what} ({size:,} bytes), which has no lines of text to read",
            path=path,
            bytes=size,
        )


class UnreadableDocument(SearchError):
    """A document of which no text can be taken; ``reason`` says why."""

    kind = "unreadable_document"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be read: {reason}", path=path, reason=reason)


class PathOutsideWorkspace(SearchError):
    """The path resolves outside of every workspace folder."""

    kind = "path_outside_workspace"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is outside of every workspace folder", path=path)


class NoWorkspace(SearchError):
    """No folder is open, or only a home folder or what holds one: no file on disk is searched."""

    kind = "no_workspace"

    def __init__(self, message: str = "No folder is open: open one to search its files") -> None:
        super().__init__(message)


class RootRefused(NoWorkspace):
    """The folder that is open is a home folder or holds one; ``root`` is the folder."""

    def __init__(self, root: str, why: str) -> None:
        super().__init__(
            f"{root} is not searched, as it {why}: name a folder below it, or set"
            " workspace.allow_home_root"
        )
        self.data["root"] = root


class ProgramNotInstalled(SearchError):
    """A program that Winnow runs is missing; the message says how to install it."""

    kind = "<program>_not_installed"

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message, program=program)
        self.data["kind"] = self.kind.replace("<program>", program)


class SearchTimedOut(SearchError):
    """Time ran out before there was even a partial answer."""

    kind = "timeout"

    def __init__(
        self, seconds: float, advice: str = "narrow it with `path`, `include` or `file_types`"
    ) -> None:
        super().__init__(f"Search timed out after {seconds:g} seconds: {advice}", seconds=seconds)


class SearchFailed(SearchError):
    """A program failed; ``stderr`` is what it said."""

    kind = "search_failed"

    def __init__(self, program: str, exit_code: int, stderr: str) -> None:
        super().__init__(
            f"{program} failed with exit code {exit_code}: {stderr.strip() or 'no message'}",
            exit_code=exit_code,
            stderr=stderr,
        )


class IndexUnavailable(SearchError):
    """The index of symbols can be kept nowhere; ``detail`` says why."""

    kind = "index_unavailable"

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"There can be no index of symbols: {detail}. Is the disk full? `grep` finds text"
            " without one",
            detail=detail,
        )


class NotAllowed(SearchError):
    """A pipeline, program, option or path is refused; ``what`` is the part, ``why`` the reason."""

    kind = "not_allowed"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what!r} is not allowed: {why}", what=what, why=why)


# What a tool may raise that searches the files of a workspace, beside what is its own.
SEARCHING = (
    NoWorkspace,
    NotFound,
    PathOutsideWorkspace,
    ProgramNotInstalled,
    SearchTimedOut,
    SearchFailed,
)
