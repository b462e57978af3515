"""Record calls of tools in the search history: which tools search or read, and in which fields.

A tool declares itself with :func:`searches`, :func:`reads` or :func:`runs`; the registry then
records every call.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct

from winnow.types import InRepository, Params, Progress, Result, ScopeParams, SearchAnswer

if TYPE_CHECKING:
    from winnow.ranking.history.history import SearchHistory

# Limits of the results read and the paths recorded: results further down are hardly opened.
MAX_RESULTS = 500
MAX_PATHS = 50
MAX_PARTIALS = 50

Row = TypeVar("Row", bound=InRepository)


class ToolCall(Struct, frozen=True):
    """An answered call. ``partials`` are the first partial results, which ``result`` does not
    repeat."""

    tool: str
    params: Params
    result: Result
    seconds: float
    partials: Sequence[Result] = ()


class HasPath(Protocol):
    """A result in a file."""

    @property
    def path(self) -> str: ...


Learn = Callable[["SearchHistory", ToolCall], None]


def in_workspace(rows: Iterable[Row]) -> list[Row]:
    """Return the rows about files of the workspace: others are not opened here."""
    return [row for row in rows if not row.repository]


def searches(
    query: Callable[[Any, Any], str],
    found: Callable[[Any], Iterable[HasPath]],
    fallback: Callable[[Any], str] = lambda result: "",
) -> Learn:
    """Return a recorder for a tool whose results are :class:`~winnow.types.SearchAnswer`.

    ``query`` returns the query from params and result, ``found`` the results of an answer or
    partial answer, best first, and ``fallback`` the reason for a fallback.
    """

    def learn(history: SearchHistory, call: ToolCall) -> None:
        # Loads SQLite, which not every command needs.
        from winnow.ranking.history.store import SearchRecord

        result, params = call.result, call.params
        assert isinstance(result, SearchAnswer)
        parts = [result] if any(True for _ in found(result)) else call.partials
        index = result.completeness.index
        reason = fallback(result)
        history.searched(
            SearchRecord(
                id=result.search_id,
                at=time.time(),
                tool=call.tool,
                query=query(params, result).strip(),
                kind="words",
                seconds=round(call.seconds, 4),
                returned=result.returned,
                paths=tuple(_paths(result.root, parts, found)),
                scope=_scope(params, result.root),
                indexed=index.knows_all and not reason if index else None,
                fallback=reason,
                continued=bool(getattr(params, "cursor", "")),
            )
        )

    return learn


def reads(history: SearchHistory, call: ToolCall) -> None:
    """Record a call of a tool that reads a file of the workspace."""
    result: Any = call.result
    if getattr(result, "repository", None):
        return
    history.viewed(f"{result.root.rstrip('/')}/{result.path}")


def runs(command: Callable[[Any], str]) -> Learn:
    """Return a recorder for a tool that runs programs; ``command`` returns the command line."""
    return lambda history, call: history.ran(command(call.params))


class RecordingProgress(Progress):
    """Progress that passes everything on, and stores the first partial results."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.streaming = progress.streaming
        self.partials: list[Result] = []

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        if partial is not None and len(self.partials) < MAX_PARTIALS:
            self.partials.append(partial)
        self._progress(message, percentage=percentage, partial=partial)

    async def drain(self) -> None:
        await self._progress.drain()

    @contextlib.contextmanager
    def waiting(self, notice: str) -> Iterator[asyncio.Event]:
        with self._progress.waiting(notice) as skipped:
            yield skipped


def _scope(params: Params, root: str) -> str:
    """Return the absolute path that a search was limited to, or an empty string."""
    if not isinstance(params, ScopeParams) or not params.path:
        return ""
    return os.path.normpath(os.path.join(root, params.path))


def _paths(
    root: str, parts: Iterable[Result], found: Callable[[Any], Iterable[HasPath]]
) -> Iterator[str]:
    """Yield the absolute paths of the first results, without repetition."""
    rows = islice((row for part in parts for row in found(part)), MAX_RESULTS)
    paths = (f"{(getattr(row, 'root', None) or root).rstrip('/')}/{row.path}" for row in rows)
    return islice(dict.fromkeys(paths), MAX_PATHS)
