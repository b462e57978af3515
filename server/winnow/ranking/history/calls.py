"""What a call of a tool says to learn from: which tools search, which read, and in which fields.

A tool names its own with :func:`searches`, :func:`reads` or :func:`runs`; the mechanism of tools
then tells :class:`~winnow.ranking.history.learning.Learning` of every call.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from winnow.ranking.history.records import Search
from winnow.types import Params, Progress, Result, ScopeParams, SearchAnswer

if TYPE_CHECKING:
    from winnow.ranking.history.learning import Learning

# Of an answer, as many results are looked at: what is further down is hardly opened for it.
LOOKED_AT = 500
PATHS = 50
PARTIALS = 50


class Call(Struct, frozen=True):
    """A call that was answered, after so many seconds. ``partials`` are the first partial results:
    what was sent so is not in the result again."""

    tool: str
    params: Params
    result: Result
    seconds: float
    partials: Sequence[Result] = ()


class Found(Protocol):
    """Something found in a file."""

    @property
    def path(self) -> str: ...


Learn = Callable[["Learning", Call], None]


def searches(
    query: Callable[[Any, Any], str],
    found: Callable[[Any], Iterable[Found]],
    fallback: Callable[[Any], str] = lambda result: "",
) -> Learn:
    """To learn from a tool whose results are :class:`~winnow.types.SearchAnswer`.

    ``query`` is what params and result say was asked, ``found`` what a result, or a partial one,
    has found, the best first; ``fallback`` is why it was found in another way than was asked for.
    """

    def learn(learning: Learning, call: Call) -> None:
        result, params = call.result, call.params
        assert isinstance(result, SearchAnswer)
        parts = [result] if any(True for _ in found(result)) else call.partials
        index = result.completeness.index
        reason = fallback(result)
        learning.searched(
            Search(
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


def reads(learning: Learning, call: Call) -> None:
    """To learn from a tool that reads a file."""
    result: Any = call.result
    learning.viewed(f"{result.root.rstrip('/')}/{result.path}")


def runs(command: Callable[[Any], str]) -> Learn:
    """To learn from a tool that runs programs, which may search: ``command`` is what it ran."""

    def learn(learning: Learning, call: Call) -> None:
        learning.ran(command(call.params))

    return learn


class Heard(Progress):
    """Progress that is handed on, and keeps the first partial results."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.streaming = progress.streaming
        self.partials: list[Result] = []

    def __call__(
        self, message: str, *, percentage: int | None = None, partial: Result | None = None
    ) -> None:
        if partial is not None and len(self.partials) < PARTIALS:
            self.partials.append(partial)
        self._progress(message, percentage=percentage, partial=partial)

    async def drain(self) -> None:
        await self._progress.drain()


def _scope(params: Params, root: str) -> str:
    """The absolute path that a search was confined to, if it was."""
    if not isinstance(params, ScopeParams) or not params.path:
        return ""
    return os.path.normpath(os.path.join(root, params.path))


def _paths(
    root: str, parts: Iterable[Result], found: Callable[[Any], Iterable[Found]]
) -> Iterator[str]:
    """The absolute paths of what was found, each once, the first ones."""
    rows = islice((one for part in parts for one in found(part)), LOOKED_AT)
    paths = (f"{(getattr(one, 'root', None) or root).rstrip('/')}/{one.path}" for one in rows)
    return islice(dict.fromkeys(paths), PATHS)
