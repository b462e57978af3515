"""What is kept of searches, and of what became of them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from winnow.types import QueryForm

# What is told or shows itself: "viewed" is a file that was opened soon after a search which had it
# in its answer; "repeated" a search after which a similar one was made, "left" one after which the
# text was searched instead, both without anything of it having been opened.
Signal = Literal[
    "opened", "kept", "dismissed", "up", "down", "viewed", "reopened", "repeated", "left"
]

# Of an answer, as many paths are kept.
KEPT_PATHS = 5
# Of a query, as many characters.
KEPT_CHARACTERS = 300

# What says that a search has found what was looked for.
SATISFYING = frozenset(("opened", "kept", "up", "viewed", "reopened"))


class Search(Struct, frozen=True, array_like=True):
    """A search that was answered.

    ``at`` is in seconds since 1970, ``seconds`` what it took. ``paths`` are those of the answer,
    each once, the best first; relative to the folder of the store, absolute if they are elsewhere.
    ``scope`` is the path that it was confined to. ``indexed`` says whether the index has answered,
    None for a tool that does not ask it; ``fallback`` why it did something else than it was to do.
    ``continued`` is True for a further page of an answer.
    """

    id: str
    at: float
    tool: str
    query: str
    kind: QueryForm
    seconds: float
    returned: int
    paths: tuple[str, ...] = ()
    scope: str = ""
    indexed: bool | None = None
    fallback: str = ""
    continued: bool = False


class Event(Struct, frozen=True, array_like=True):
    """What became of a search, or of one of its results.

    ``path`` is empty for what is about the whole search; ``tool`` then says by which tool it was
    followed. ``rank`` is the result's place in the answer, from 1; 0 where it is not known.
    """

    search: str
    at: float
    signal: Signal
    path: str = ""
    rank: int = 0
    tool: str = ""
