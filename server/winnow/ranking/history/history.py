"""The search history of a workspace: record searches and their outcomes, and use them later.

Nothing leaves the machine, and no search waits: actions are queued at once, then interpreted and
written a moment later in another thread, several at a time. A process that is killed loses that
moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from winnow.index.similar_names import KnownTerms
from winnow.ranking.history.boosts import SIMILAR, BoostTable, form_of, similarity, words_of
from winnow.ranking.history.store import (
    BATCH,
    MAX_QUERY_CHARACTERS,
    HistoryStore,
    Rows,
    SearchEvent,
    SearchRecord,
    Signal,
    is_satisfied,
)
from winnow.ranking.suggestions import suggest
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.state_folder import User
from winnow.types import FeedbackAction

WRITE_SECONDS = 1.0
# Actions beyond this are dropped until some are written.
MAX_WAITING = 1_000
# How long the events of other processes may go unread.
REFRESH_SECONDS = 5.0
# Longer paths and reasons are not stored.
MAX_CHARACTERS = 500

# A file that is opened within this time of an answer that has it was opened because of it.
VIEWED_SECONDS = 60.0
# A similar search within this time is another attempt.
AGAIN_SECONDS = 120.0
# An editor also shows a file that a client reports as opened, at about the same time.
SAME_SECONDS = 5.0
# Number of searches that an action can refer to.
MAX_RECENT = 50
# Text searches: a user falls back to them after another tool.
TEXT_TOOLS = frozenset(("grep", "bash"))

_TEXT_PROGRAM = re.compile(r"(?:^|\|)\s*(?:rg|rga|grep|find)\b")

logger = logging.getLogger(__name__)


class FileView(Struct, frozen=True):
    """A file was shown; ``path`` as in :class:`SearchRecord`."""

    at: float
    path: str


class CommandRun(Struct, frozen=True):
    """A pipeline of programs was run."""

    at: float
    command: str


Action = SearchRecord | FileView | CommandRun | SearchEvent


class SearchHistory:
    """The search history of a workspace, shared by all processes that search there.

    ``root`` returns the folder whose store it uses, or None if nothing may be written; ``enabled``
    tells whether to record at all; ``secret_rules`` returns patterns of secrets to mask besides
    the known ones, or None to mask none; ``user`` returns the owner of the state. Paths are
    absolute.

    The history stays in memory until that folder has a place for state: an index creates one, and
    so does feedback.
    """

    def __init__(
        self,
        *,
        root: Callable[[], Path | None],
        enabled: Callable[[], bool],
        secret_rules: Callable[[], Sequence[str] | None] = tuple,
        user: Callable[[], User | None] = lambda: None,
    ) -> None:
        self._root = root
        self._user = user
        self._enabled = enabled
        self._secret_rules = secret_rules
        self._waiting: list[Action] = []
        self._unwritten: Rows = ([], [])
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._store: HistoryStore | None = None
        self._folder: Path | None = None
        self._recent = RecentSearches()
        self._table: BoostTable | None = None
        self._last_event = 0  # in the table
        self._refreshed = 0.0
        self._closed = False
        self._has_feedback = False
        self._is_settled = False  # the store stays, even one in memory

    @property
    def enabled(self) -> bool:
        """True if searches are recorded."""
        return self._enabled() and not self._closed

    # --- record ----------------------------------------------------------------------------

    def searched(self, search: SearchRecord) -> None:
        """Record a search; its paths are absolute."""
        self._queue(search)

    def viewed(self, path: str | Path) -> None:
        """Record that a file was shown or read."""
        if "\0" not in os.fspath(path):  # not a file name, whatever an editor sends
            self._queue(FileView(time.time(), os.fspath(path)))

    def ran(self, command: str) -> None:
        """Record a pipeline of programs."""
        self._queue(CommandRun(time.time(), command))

    async def add_feedback(
        self,
        id: str,  # noqa: A002 (as everywhere)
        path: str,
        action: FeedbackAction,
        rank: int,
    ) -> SearchRecord | None:
        """Store a caller's feedback on a result. Return the search, or None for an unknown id."""
        await self.write(refresh=True)
        search = await asyncio.to_thread(self._search, id)
        if search is None:
            return None
        path = self._below(path)
        if not rank and path in search.paths:
            rank = search.paths.index(path) + 1
        self._queue(SearchEvent(id, time.time(), action, path, rank))
        self._has_feedback = self.enabled
        await self.write()
        return search

    def _queue(self, action: Action) -> None:
        if not self.enabled or len(self._waiting) >= MAX_WAITING:
            return
        self._waiting.append(action)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITE_SECONDS, self._begin_writing)

    @property
    def _is_writing_soon(self) -> bool:
        """True while queued actions are being written, or about to be."""
        return self._timer is not None or (self._writing is not None and not self._writing.done())

    def _begin_writing(self) -> None:
        self._timer = None
        self._writing = asyncio.create_task(self.write(refresh=True))

    # --- use -------------------------------------------------------------------------------

    async def boosts(self, query: str, paths: Collection[str] | None = None) -> dict[str, float]:
        """Return the score boosts of files for a query, see :meth:`BoostTable.boosts`.

        ``paths`` are the files that exist and are in scope; all others are left out. A caller that
        passes None filters the result itself.
        """
        table = await self._current_table()
        if table is None or not len(table):
            return {}
        if paths is None:
            moved = table.boosts(query, None, time.time())
            return {os.path.join(self._folder or "", path): moved[path] for path in moved}
        by_stored = {self._below(path): path for path in paths}
        moved = table.boosts(query, by_stored.keys(), time.time())
        return {by_stored[path]: boost for path, boost in moved.items()}

    async def useful_files(self) -> list[str]:
        """Return the existing files that searches led to, the most useful first."""
        table = await self._current_table()
        if table is None:
            return []
        files = await asyncio.to_thread(lambda: list(filter(self._exists, table.useful_files())))
        return [os.path.join(self._folder or "", path) for path in files]

    async def suggestions(self, query: str, known_terms: KnownTerms) -> list[str]:
        """Return better queries after one that found little: terms of the index, then earlier
        queries whose files still exist. ``known_terms`` is called in another thread."""
        table = await self._current_table()

        def find() -> list[str]:
            useful = table.useful_queries(query) if table else []
            earlier = [past for past, paths in useful if any(map(self._exists, paths))]
            return suggest(query, earlier, known_terms)

        return await asyncio.to_thread(find)

    def _exists(self, path: str) -> bool:
        return os.path.isfile(os.path.join(self._folder or "", path))

    async def all(self) -> Rows:
        """Return the stored history, oldest first; its paths are relative to the store's folder."""
        await self.write(refresh=True)
        return await asyncio.to_thread(self._all) if self.enabled else ([], [])

    async def _current_table(self) -> BoostTable | None:
        """Return the table of boosts; None while nothing is recorded."""
        if not self.enabled:
            return None
        if self._table is None:
            self._table = BoostTable(time.time())
            await self.write(refresh=True)
        elif time.monotonic() - self._refreshed > REFRESH_SECONDS and not self._is_writing_soon:
            # No request waits for the events of other processes.
            self._begin_writing()
        return self._table

    # --- write -----------------------------------------------------------------------------

    async def write(self, refresh: bool = False) -> None:
        """Interpret and write queued actions, and read the events of other processes; with
        ``refresh`` even if nothing is queued."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._turn:
            waiting, self._waiting = self._waiting, []
            if waiting or refresh or self._store is not None:
                await asyncio.to_thread(self._write_or_wait, waiting)

    async def aclose(self) -> None:
        """Write what is queued, and close the store."""
        if self._writing is not None:
            await self._writing
        await self.write()
        self._closed = True
        async with self._turn:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _write_or_wait(self, waiting: list[Action]) -> None:
        root = self._root()
        # Reading a file or running a pipeline is no reason to create a store.
        only_reads = all(isinstance(action, (FileView, CommandRun)) for action in waiting)
        if self._store is None and only_reads and not HistoryStore.exists(root, self._user()):
            return
        try:
            try:
                self._write(root, waiting)
            except StoreDamaged as error:
                logger.warning("Put the damaged search history aside: %s", error)
                if self._store is not None:
                    self._store.discard()
                    self._store = None
                self._write(root, waiting)
        except (StoreDamaged, DatabaseError, OSError) as error:
            # The disk is full, or another process holds the store: the next write tries again.
            logger.info("Could not write the search history yet: %s", error)

    def _write(self, root: Path | None, waiting: list[Action]) -> None:
        """Move the waiting actions into the store."""
        if self._store is None or not self._store.is_current() or root != self._folder:
            self._open(root)
        elif not self._is_settled and root is not None and self._has_place(root):
            self._move_to_file(root)
        store = self._store
        assert store is not None
        self._recent.add(*store.recent(time.time() - AGAIN_SECONDS))
        while waiting:
            self._interpret(waiting.pop(0))
        searches, events = self._unwritten
        while searches or events:
            store.write(searches[:BATCH], events[:BATCH])
            del searches[:BATCH], events[:BATCH]
        if self._table is not None:
            self._last_event = _update(self._table, store, self._last_event)
        self._refreshed = time.monotonic()

    def _has_place(self, root: Path) -> bool:
        """Return True if the history is stored in a file."""
        return self._has_feedback or state_folder.existing(root, self._user()) is not None

    def _move_to_file(self, root: Path) -> None:
        assert self._store is not None
        searches, events = self._store.all()
        unwritten, new = self._unwritten
        self._unwritten = ([*searches, *unwritten], [*events, *new])
        recent = self._recent
        self._open(root)
        self._recent = recent

    def _open(self, root: Path | None) -> None:
        if self._store is not None:
            self._store.close()
            self._recent = RecentSearches()
        self._folder = root
        self._is_settled = root is None or self._has_place(root)
        self._store = HistoryStore.open(root, self._user(), create=self._has_feedback)
        if self._table is not None:
            self._table, self._last_event = BoostTable(time.time()), 0

    def _interpret(self, action: Action) -> None:
        """Record a search, and the outcome of earlier ones that an action shows."""
        searches, events = self._unwritten
        if isinstance(action, SearchEvent):
            new = [action]
        else:
            if isinstance(action, SearchRecord):
                action = self._to_store(action)
                searches.append(action)
            elif isinstance(action, FileView):
                action = msgspec.structs.replace(action, path=self._below(action.path))
            new = self._recent.outcomes(action)
            if isinstance(action, SearchRecord):
                self._recent.add([action], ())
        del searches[:-MAX_WAITING]
        events += new
        del events[:-MAX_WAITING]
        self._recent.add((), new)

    def _masked(self, query: str) -> str:
        """Return a query with its secrets masked, for storage."""
        # Not needed to start a server.
        from winnow.privacy.secrets import mask_secrets

        rules = self._secret_rules()
        if rules is None:
            return query
        return mask_secrets(query.encode("utf-8", "replace"), rules)[0].decode("utf-8", "replace")

    def _to_store(self, search: SearchRecord) -> SearchRecord:
        """Return a search in its stored form: masked, cut and with relative paths."""
        paths = dict.fromkeys(map(self._below, search.paths))
        query = self._masked(search.query)[:MAX_QUERY_CHARACTERS]
        return msgspec.structs.replace(
            search,
            query=query,
            kind=form_of(query),
            paths=tuple(path for path in paths if len(path) <= MAX_CHARACTERS),
            scope=self._below(search.scope)[:MAX_CHARACTERS] if search.scope else "",
            fallback=search.fallback[:MAX_CHARACTERS],
        )

    def _search(self, id: str) -> SearchRecord | None:  # noqa: A002 (as everywhere)
        search = self._recent.get(id)
        if search is None and self._store is not None:
            with contextlib.suppress(StoreDamaged, DatabaseError):
                search = self._store.search(id)
        return search

    def _all(self) -> Rows:
        with contextlib.suppress(StoreDamaged, DatabaseError):
            if self._store is not None:
                return self._store.all()
        return [], []

    def _below(self, path: str) -> str:
        """Return a path in its stored form: relative to the folder of the store if inside it."""
        return below(self._folder or self._root(), path)


class RecentSearches:
    """The latest searches of all processes, with their events: an action is an outcome of them."""

    def __init__(self) -> None:
        self._searches: dict[str, SearchRecord] = {}
        self._events: dict[str, list[SearchEvent]] = {}

    def add(self, searches: Iterable[SearchRecord], events: Iterable[SearchEvent]) -> None:
        """Add searches, and events of these or of earlier ones."""
        for search in searches:
            # A search of this process is present with all its paths.
            self._searches.setdefault(search.id, search)
        recent = sorted(self._searches.values(), key=lambda search: search.at)[-MAX_RECENT:]
        self._searches = {search.id: search for search in recent}
        self._events = {id_: known for id_, known in self._events.items() if id_ in self._searches}
        for event in events:
            if event.search in self._searches:
                known = self._events.setdefault(event.search, [])
                if event not in known:
                    known.append(event)

    def get(self, id: str) -> SearchRecord | None:  # noqa: A002 (as everywhere)
        """Return a search by its id, if it is recent."""
        return self._searches.get(id)

    def outcomes(self, action: SearchRecord | FileView | CommandRun) -> list[SearchEvent]:
        """Return what an action shows about the searches before it."""
        if isinstance(action, FileView):
            return list(self._viewed(action))
        if isinstance(action, CommandRun):
            is_search = _TEXT_PROGRAM.search(action.command)
            return self._followed("bash", action.command, action.at) if is_search else []
        return [] if action.continued else self._followed(action.tool, action.query, action.at)

    def _viewed(self, view: FileView) -> Iterator[SearchEvent]:
        for search in self._since(view.at - VIEWED_SECONDS):
            if view.path not in search.paths:
                continue
            earlier = [
                event
                for event in self._events.get(search.id, ())
                if event.path == view.path and event.signal in ("opened", "viewed", "reopened")
            ]
            if not earlier or view.at - earlier[-1].at > SAME_SECONDS:
                signal: Signal = "reopened" if earlier else "viewed"
                rank = search.paths.index(view.path) + 1
                yield SearchEvent(search.id, view.at, signal, view.path, rank)
            return

    def _followed(self, tool: str, query: str, at: float) -> list[SearchEvent]:
        words = frozenset(words_of(query))
        for search in self._since(at - AGAIN_SECONDS):
            before = frozenset(words_of(search.query))
            if similarity(words, before) < SIMILAR and not (tool == "bash" and words & before):
                continue
            events = self._events.get(search.id, ())
            if is_satisfied(events) or any(
                event.signal in ("repeated", "left") for event in events
            ):
                return []
            left = tool in TEXT_TOOLS and search.tool not in TEXT_TOOLS
            return [SearchEvent(search.id, at, "left" if left else "repeated", tool=tool)]
        return []

    def _since(self, at: float) -> Iterator[SearchRecord]:
        """Yield the searches since a time, latest first."""
        return (search for search in reversed(self._searches.values()) if search.at >= at)


def below(root: Path | None, path: str) -> str:
    """Return a path relative to a folder, with ``/``; unchanged if it is outside."""
    if root is None or not os.path.isabs(path):
        return path
    relative = _cut(str(root), path)
    if relative is None:
        relative = _cut(os.path.realpath(root), os.path.realpath(path))
    return path if relative is None else relative.replace(os.sep, "/")


def _cut(folder: str, path: str) -> str | None:
    """Return the rest of a path after a folder that is spelled the same way."""
    prefix = folder.rstrip(os.sep) + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else None


def _update(table: BoostTable, store: HistoryStore, last: int) -> int:
    """Add the new events of a store to a table, and return the number of the last event."""
    searches, events, last = store.results_after(last)
    by_search: dict[str, list[SearchEvent]] = {}
    for event in events:
        by_search.setdefault(event.search, []).append(event)
    for search in searches:
        table.add(search, by_search.get(search.id, ()))
    return last
