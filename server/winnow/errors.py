"""Errors that a caller can act on.

SearchError
  InvalidParams          a parameter is invalid (JSON-RPC -32602)
    UnknownParam         the tool has no such parameter
  EmptyQuery             the query is empty
  InvalidPattern         ripgrep rejects the regular expression
  TermsTooBroad          every search term has too many matches
  NoLlmAvailable         a model is required and none is available
  LlmFailed              a model is required and all have failed
  StateUnavailable       the user's state folder cannot be read or written
  NotFound               a path does not exist
  NoSymbol               no symbol at the position, or with the name
  NotInRepository        a file is not in the search cluster
  RepositoryUnavailable  a file of the search cluster cannot be read
  UnknownSearch          no search has the id
  NotAFile               a folder, a FIFO, a device, or an unreadable file
  NotAFolder             a file instead of a folder
  BinaryFile             a file that is not text
  UnreadableDocument     a document whose text cannot be extracted
  PathOutsideWorkspace   a path that resolves outside the workspace folders
  NoWorkspace            no folder is open
    RootRefused          the folder is a home folder, or contains one
  ProgramNotInstalled    a program that Winnow runs is missing
  SearchTimedOut         not even partial results in time
  SearchFailed           a program failed: exit code and stderr
  IndexUnavailable       the symbol index cannot be used
  NotAllowed             a pipeline, program, option or path is refused

Each front end (LSP, MCP, command line) maps this hierarchy once. Any other exception is a bug.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar


class SearchError(Exception):
    """An error that the caller can act on; the message says how."""

    kind: ClassVar[str] = "search_failed"

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, Any] = {"kind": self.kind, **data}


class InvalidParams(SearchError):
    """A parameter is invalid. The message starts with the path of the field."""

    kind = "invalid_params"

    def __init__(self, field: str, problem: str) -> None:
        field = field[:200]  # a client can send a name of any length
        super().__init__(f"`{field}`: {problem}" if field else problem, field=field)


class UnknownParam(InvalidParams):
    """A parameter that the tool does not have."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(name, f"unknown field; valid fields: {', '.join(known) or 'none'}")


class EmptyQuery(SearchError):
    """The query or pattern is empty."""

    kind = "empty_query"

    def __init__(self) -> None:
        super().__init__("Search query is empty")


class InvalidPattern(SearchError):
    """ripgrep rejects the regular expression, or those of all terms."""

    kind = "invalid_pattern"

    def __init__(
        self, pattern: str, detail: str, advice: str = "escape special characters with a backslash"
    ) -> None:
        super().__init__(
            f"Invalid regular expression {pattern!r}: {detail}; {advice}",
            pattern=pattern,
            detail=detail,
        )


class TermsTooBroad(SearchError):
    """Every search term has too many matches."""

    kind = "terms_too_broad"

    def __init__(self, terms: list[str]) -> None:
        super().__init__(
            "each of those search terms yielded too many results:"
            " use more specific terms, or broad_terms='shrink' to search with less context",
            terms=terms,
        )


class NoLlmAvailable(SearchError):
    """A model is required, and none is available. ``tried`` has a ``{model, error}`` for each
    model, ``needs_consent`` the destinations that the user could consent to."""

    kind = "no_llm_available"

    def __init__(
        self, tried: list[dict[str, str]], needs_consent: list[str], no_consent: str
    ) -> None:
        super().__init__(
            "No language model is available: "
            + (no_consent or "set a provider's API key in the environment or configure a model")
            + " (see `winnow doctor`), or leave `ranker` at 'auto'",
            tried=tried,
            needs_consent=needs_consent,
        )


class LlmFailed(SearchError):
    """A model is required, and all have failed. ``attempts`` has a ``{model, error}`` for each
    call."""

    kind = "llm_failed"

    def __init__(self, attempts: list[dict[str, str]]) -> None:
        last = attempts[-1] if attempts else {"model": "?", "error": "no attempt was made"}
        super().__init__(
            f"All language models failed. Last error, from {last['model']}: {last['error']}",
            attempts=attempts,
        )


class StateUnavailable(SearchError):
    """The user's state folder, outside of all workspaces, cannot be read or written."""

    kind = "state_unavailable"

    def __init__(self, folder: str, detail: str) -> None:
        super().__init__(f"Cannot use {folder}: {detail}", detail=detail)


class NotFound(SearchError):
    """The file or folder does not exist."""

    kind = "not_found"

    def __init__(self, path: str, hint: str = "", meant: str = "") -> None:
        """``hint`` is a sentence that suggests the path that was ``meant``."""
        problem = f"There is no file or folder {path!r} in the workspace"
        super().__init__(f"{problem}. {hint}" if hint else problem, path=path)
        self.meant = meant


class NoSymbol(SearchError):
    """No symbol is at the position, or has the name. ``path`` is the file of the request, if any,
    ``meant`` the name that was probably meant."""

    kind = "not_found"

    def __init__(self, problem: str, path: str = "", meant: str = "") -> None:
        super().__init__(problem, path=path)
        self.meant = meant


class NotInRepository(SearchError):
    """The search cluster has no such file in the repository, or hides it from this user."""

    kind = "not_found"

    def __init__(self, repository: str, path: str) -> None:
        super().__init__(
            f"The search cluster has no file {path!r} in {repository}, or you have no access to it",
            path=path,
            repository=repository,
        )


class RepositoryUnavailable(SearchError):
    """A file of the search cluster cannot be read. ``reason`` says why."""

    kind = "repository_unavailable"

    def __init__(self, repository: str, reason: str) -> None:
        super().__init__(
            f"{repository} cannot be read: {reason}", repository=repository, reason=reason
        )


class UnknownSearch(SearchError):
    """The search history has no search with the id."""

    kind = "not_found"

    def __init__(self, search_id: str) -> None:
        super().__init__(
            f"Unknown search_id {search_id!r}: pass the `search_id` of a recent answer. Without an"
            " index, Winnow forgets searches when it exits",
            search_id=search_id,
        )


class NotAFile(SearchError):
    """The path is not a readable file: a folder, a FIFO, a device, or a file without permission."""

    kind = "not_a_file"

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path!r} is not a readable file: {why}", path=path)


class NotAFolder(SearchError):
    """The path is a file instead of a folder."""

    kind = "not_a_folder"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is not a folder: use `read_file` to read it", path=path)


class BinaryFile(SearchError):
    """The file is not text. ``bytes`` is its size."""

    kind = "binary_file"

    def __init__(self, path: str, size: int, what: str) -> None:
        super().__init__(f"{path!r} is {what} ({size:,} bytes), not text", path=path, bytes=size)


class UnreadableDocument(SearchError):
    """The text of a document cannot be extracted. ``reason`` says why."""

    kind = "unreadable_document"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be read: {reason}", path=path, reason=reason)


class PathOutsideWorkspace(SearchError):
    """The path resolves to a place outside the workspace folders."""

    kind = "path_outside_workspace"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path!r} is outside of every workspace folder", path=path)


class NoWorkspace(SearchError):
    """No folder is open, or only a home folder or a parent of one: there is nothing to search."""

    kind = "no_workspace"

    def __init__(
        self, message: str = "No folder is open: open a folder to search its files"
    ) -> None:
        super().__init__(message)


class RootRefused(NoWorkspace):
    """The open folder is a home folder or contains one; ``root`` is the folder."""

    def __init__(self, root: str, why: str) -> None:
        super().__init__(
            f"{root} is not searched, because it {why}: open a folder below it, or set"
            " `workspace.allow_home_root`"
        )
        self.data["root"] = root


class ProgramNotInstalled(SearchError):
    """A program that Winnow runs is missing. The message says how to install it, or which setting
    is wrong."""

    kind = "<program>_not_installed"

    def __init__(self, program: str, message: str) -> None:
        super().__init__(message, program=program)
        self.data["kind"] = self.kind.replace("<program>", program)


class SearchTimedOut(SearchError):
    """The search timed out before it had even partial results."""

    kind = "timeout"

    def __init__(self, seconds: float, advice: str = "narrow it, for example with `path`") -> None:
        super().__init__(f"Search timed out after {seconds:g} seconds: {advice}", seconds=seconds)


class SearchFailed(SearchError):
    """A program failed. ``stderr`` is its output."""

    kind = "search_failed"

    def __init__(self, program: str, exit_code: int, stderr: str) -> None:
        ended, without_message = f"failed with exit code {exit_code}", "no message"
        if exit_code < 0:  # by another process, or by the system because of its memory
            ended, without_message = f"was ended from outside, by signal {-exit_code}", "try again"
        message = f"{program} {ended}: {stderr.strip() or without_message}"
        super().__init__(message, exit_code=exit_code, stderr=stderr)
        self.exit_code, self.stderr = exit_code, stderr


class IndexUnavailable(SearchError):
    """The symbol index cannot be stored or read. ``detail`` says why."""

    kind = "index_unavailable"

    def __init__(self, detail: str) -> None:
        super().__init__(
            f"The symbol index is unavailable: {detail}. `grep` works without an index",
            detail=detail,
        )


class NotAllowed(SearchError):
    """A pipeline, program, option or path is refused. ``what`` is the part, ``why`` the reason."""

    kind = "not_allowed"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what!r} is not allowed: {why}", what=what, why=why)


# Errors that every tool may raise that searches the files of a workspace.
SEARCHING = (
    NoWorkspace,
    NotFound,
    PathOutsideWorkspace,
    ProgramNotInstalled,
    SearchTimedOut,
    SearchFailed,
)
