"""What follows from what is done after a search: that it was of use, or that it was not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from winnow.ranking.history.queries import SIMILAR, likeness, words_of
from winnow.ranking.history.records import Event, Search, Signal
from winnow.ranking.history.table import satisfied

# A file that is opened within this time of an answer that had it, was opened because of it.
VIEWED_SECONDS = 60.0
# A similar search within this time is another attempt at the same.
AGAIN_SECONDS = 120.0
# A file that is told to be opened is shown by the editor, too, at about the same time.
SAME_SECONDS = 5.0
# As many searches are looked back at.
LATEST = 50
# Tools that look for a text as it is; after another one they are what is left.
TEXT_TOOLS = frozenset(("grep", "bash"))

_TEXT_PROGRAM = re.compile(r"(?:^|\|)\s*(?:rg|rga|grep|find)\b")


class Viewed(Struct, frozen=True):
    """A file was shown; ``path`` as in :class:`Search`."""

    at: float
    path: str


class Command(Struct, frozen=True):
    """A pipeline of programs was run."""

    at: float
    command: str


class Latest:
    """The latest searches of all who search here, and what became of them."""

    def __init__(self) -> None:
        self._searches: dict[str, Search] = {}
        self._events: dict[str, list[Event]] = {}

    def add(self, searches: Iterable[Search], events: Iterable[Event]) -> None:
        """Take searches, and what became of these or of others."""
        for search in searches:
            # One of this process is known with all its paths.
            self._searches.setdefault(search.id, search)
        latest = sorted(self._searches.values(), key=lambda one: one.at)[-LATEST:]
        self._searches = {one.id: one for one in latest}
        self._events = {
            name: known for name, known in self._events.items() if name in self._searches
        }
        for event in events:
            if event.search in self._searches:
                known = self._events.setdefault(event.search, [])
                if event not in known:
                    known.append(event)

    def get(self, id: str) -> Search | None:  # noqa: A002 (as everywhere)
        """A search by its id, if it is one of the latest."""
        return self._searches.get(id)

    def after(self, done: Search | Viewed | Command) -> list[Event]:
        """What this says of the searches before it."""
        if isinstance(done, Viewed):
            return list(self._viewed(done))
        if isinstance(done, Command):
            is_search = _TEXT_PROGRAM.search(done.command)
            return self._followed("bash", done.command, done.at) if is_search else []
        return [] if done.continued else self._followed(done.tool, done.query, done.at)

    def _viewed(self, viewed: Viewed) -> Iterator[Event]:
        for search in self._since(viewed.at - VIEWED_SECONDS):
            if viewed.path not in search.paths:
                continue
            earlier = [
                event
                for event in self._events.get(search.id, ())
                if event.path == viewed.path and event.signal in ("opened", "viewed", "reopened")
            ]
            if not earlier or viewed.at - earlier[-1].at > SAME_SECONDS:
                signal: Signal = "reopened" if earlier else "viewed"
                rank = search.paths.index(viewed.path) + 1
                yield Event(search.id, viewed.at, signal, viewed.path, rank)
            return

    def _followed(self, tool: str, query: str, at: float) -> list[Event]:
        words = frozenset(words_of(query))
        for search in self._since(at - AGAIN_SECONDS):
            before = frozenset(words_of(search.query))
            if likeness(words, before) < SIMILAR and not (tool == "bash" and words & before):
                continue
            events = self._events.get(search.id, ())
            if satisfied(events) or any(one.signal in ("repeated", "left") for one in events):
                return []
            left = tool in TEXT_TOOLS and search.tool not in TEXT_TOOLS
            return [Event(search.id, at, "left" if left else "repeated", tool=tool)]
        return []

    def _since(self, at: float) -> Iterator[Search]:
        """The searches since a time, the latest first."""
        for search in reversed(self._searches.values()):
            if search.at >= at:
                yield search
