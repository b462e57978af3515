"""Learning: which searches were made, what was of use, and what that says of the next ones.

Nothing of it leaves the machine, and a search never waits for it: what is done is taken down at
once, and interpreted and written a moment later, in another thread, several at a time. A process
that is killed loses that moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from winnow.errors import UnknownSearch
from winnow.ranking.history.queries import kind_of
from winnow.ranking.history.records import KEPT_CHARACTERS, Event, Search
from winnow.ranking.history.signals import AGAIN_SECONDS, Command, Latest, Viewed
from winnow.ranking.history.store import TOGETHER, LearningStore, Rows
from winnow.ranking.history.suggest import KnownTerms, suggested
from winnow.ranking.history.table import Table
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.state_folder import User
from winnow.types import FeedbackAction

WRITE_SECONDS = 1.0
# What is done faster than it can be written is forgotten from here on.
MOST_WAITING = 1_000
# What others have written since is looked for again after this.
REFRESH_SECONDS = 5.0
# A longer path, or reason, is none that anybody asks for again.
MOST_CHARACTERS = 500

logger = logging.getLogger(__name__)

Done = Search | Viewed | Command | Event


class Learning:
    """What is learned in a workspace, of all who search there.

    ``root`` gives the folder whose store it is, None where nothing is to be left; ``enabled`` says
    whether anything is to be kept at all, ``masked`` hides secrets in a query, ``user`` is whose
    state it is. Paths are absolute.

    What is learned is in memory until that folder has a place for state: an index makes one, and so
    does feedback.
    """

    def __init__(
        self,
        *,
        root: Callable[[], Path | None],
        enabled: Callable[[], bool],
        masked: Callable[[str], str],
        user: Callable[[], User | None] = lambda: None,
    ) -> None:
        self._root = root
        self._user = user
        self._enabled = enabled
        self._masked = masked
        self._waiting: list[Done] = []
        self._unwritten: Rows = ([], [])
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._store: LearningStore | None = None
        self._folder: Path | None = None
        self._latest = Latest()
        self._table: Table | None = None
        # The number of the last event that the table has.
        self._last = 0
        self._seen = 0.0
        self._closed = False
        self._is_explicit = False  # somebody wants something to be kept
        self._is_settled = False  # the store is the one to stay with, also one in memory

    @property
    def enabled(self) -> bool:
        """Whether anything is kept."""
        return self._enabled() and not self._closed

    # --- what is done ----------------------------------------------------------------------

    def searched(self, search: Search) -> None:
        """Take down a search, with its paths absolute."""
        self._take(search)

    def viewed(self, path: str | Path) -> None:
        """Take down that a file was shown or read."""
        if "\0" not in os.fspath(path):  # no file has such a name, whatever an editor says
            self._take(Viewed(time.time(), os.fspath(path)))

    def ran(self, command: str) -> None:
        """Take down a pipeline of programs."""
        self._take(Command(time.time(), command))

    async def told(self, id: str, path: str, action: FeedbackAction, rank: int) -> Search:  # noqa: A002
        """Keep what a caller says of a result; gives the search. Raises UnknownSearch."""
        await self.write(look=True)
        found = await asyncio.to_thread(self._search, id)
        if found is None:
            raise UnknownSearch(id)
        path = self._below(path)
        if not rank and path in found.paths:
            rank = found.paths.index(path) + 1
        self._take(Event(id, time.time(), action, path, rank))
        self._is_explicit = self.enabled
        await self.write()
        return found

    def _take(self, done: Done) -> None:
        if not self.enabled or len(self._waiting) >= MOST_WAITING:
            return
        self._waiting.append(done)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITE_SECONDS, self._begin_writing)

    @property
    def _is_writing_soon(self) -> bool:
        """Whether what was taken down is being written, or is about to be."""
        return self._timer is not None or (self._writing is not None and not self._writing.done())

    def _begin_writing(self) -> None:
        self._timer = None
        self._writing = asyncio.create_task(self.write(look=True))

    # --- what it says ----------------------------------------------------------------------

    async def boosts(self, query: str, paths: Collection[str] | None = None) -> dict[str, float]:
        """By how much to move the scores of files for a query, see :meth:`Table.boosts`. ``paths``
        are those that are there and can be found; all others are left out. None is for a caller who
        sees to that."""
        table = await self._known()
        if table is None or not len(table):
            return {}
        if paths is None:
            moved = table.boosts(query, None, time.time())
            return {os.path.join(self._folder or "", path): moved[path] for path in moved}
        by_stored = {self._below(path): path for path in paths}
        moved = table.boosts(query, by_stored.keys(), time.time())
        return {by_stored[path]: boost for path, boost in moved.items()}

    async def asked(self) -> list[str]:
        """The files that searches have led to and that are there, the most useful first."""
        table = await self._known()
        if table is None:
            return []
        there = await asyncio.to_thread(lambda: list(filter(self._is_there, table.asked())))
        return [os.path.join(self._folder or "", path) for path in there]

    async def suggestions(self, query: str, known_terms: KnownTerms) -> list[str]:
        """What to ask instead of a query that has found little: terms that the index has, and
        earlier queries that led to files which are still there. ``known_terms`` gives, of some
        words, what is there and spelled like one of them, the nearest first; it is called in
        another thread."""
        table = await self._known()

        def find() -> list[str]:
            helped = table.helped(query) if table else []
            still = [asked for asked, paths in helped if any(map(self._is_there, paths))]
            return suggested(query, still, known_terms)

        return await asyncio.to_thread(find)

    def _is_there(self, path: str) -> bool:
        return os.path.isfile(os.path.join(self._folder or "", path))

    async def all(self) -> Rows:
        """All that is kept, the oldest first; with paths below the folder of the store."""
        await self.write(look=True)
        return await asyncio.to_thread(self._all) if self.enabled else ([], [])

    async def _known(self) -> Table | None:
        """What was useful; None where there is nothing."""
        if not self.enabled:
            return None
        if self._table is None:
            self._table = Table(time.time())
            await self.write(look=True)
        elif time.monotonic() - self._seen > REFRESH_SECONDS and not self._is_writing_soon:
            # Nobody waits for what others have written.
            self._begin_writing()
        return self._table

    # --- writing ---------------------------------------------------------------------------

    async def write(self, look: bool = False) -> None:
        """Interpret and write what was taken down, and take what others have written; with ``look``
        also if there is nothing to write."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        async with self._turn:
            waiting, self._waiting = self._waiting, []
            if waiting or look or self._store is not None:
                await asyncio.to_thread(self._work, waiting)

    async def aclose(self) -> None:
        """Write what is left, and close the store."""
        if self._writing is not None:
            await self._writing
        await self.write()
        self._closed = True
        async with self._turn:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _work(self, waiting: list[Done]) -> None:
        root = self._root()
        # A file that is read, or what a pipeline finds, is no reason to make a store.
        only_looks = all(isinstance(one, (Viewed, Command)) for one in waiting)
        if self._store is None and only_looks and not LearningStore.exists(root, self._user()):
            return
        try:
            try:
                self._write(root, waiting)
            except StoreDamaged as error:
                logger.warning("What was learned is set aside: %s", error)
                self._give_up()
                self._write(root, waiting)
        except (StoreDamaged, DatabaseError, OSError) as error:
            # The disk is full, or somebody else holds the store: with the next ones, then.
            logger.info("What was learned is not written yet: %s", error)

    def _write(self, root: Path | None, waiting: list[Done]) -> None:
        """Take what waits out of the list, and write it."""
        if self._store is None or not self._store.is_current() or root != self._folder:
            self._open(root)
        elif not self._is_settled and root is not None and self._has_place(root):
            self._move(root)
        store = self._store
        assert store is not None
        self._latest.add(*store.recent(time.time() - AGAIN_SECONDS))
        while waiting:
            self._interpret(waiting.pop(0))
        searches, events = self._unwritten
        while searches or events:
            store.write(searches[:TOGETHER], events[:TOGETHER])
            del searches[:TOGETHER], events[:TOGETHER]
        if self._table is not None:
            self._last = _grow(self._table, store, self._last)
        self._seen = time.monotonic()

    def _has_place(self, root: Path) -> bool:
        """Return whether what is learned goes into a file."""
        return self._is_explicit or state_folder.existing(root, self._user()) is not None

    def _move(self, root: Path) -> None:
        """Take what is in memory into a file."""
        assert self._store is not None
        searches, events = self._store.all()
        unwritten, new = self._unwritten
        self._unwritten = ([*searches, *unwritten], [*events, *new])
        latest = self._latest
        self._open(root)
        self._latest = latest

    def _open(self, root: Path | None) -> None:
        if self._store is not None:
            self._store.close()
            self._latest = Latest()
        self._folder = root
        self._is_settled = root is None or self._has_place(root)
        self._store = LearningStore.open(root, self._user(), create=self._is_explicit)
        if self._table is not None:
            self._table, self._last = Table(time.time()), 0

    def _give_up(self) -> None:
        """Put the store aside; another one is opened next."""
        if self._store is not None:
            self._store.discard()
            self._store = None

    def _interpret(self, done: Done) -> None:
        """Take down a search, and what follows from this for those before."""
        searches, events = self._unwritten
        if isinstance(done, Event):
            new = [done]
        else:
            if isinstance(done, Search):
                done = self._kept(done)
                searches.append(done)
            elif isinstance(done, Viewed):
                done = msgspec.structs.replace(done, path=self._below(done.path))
            new = self._latest.after(done)
            if isinstance(done, Search):
                self._latest.add([done], ())
        del searches[:-MOST_WAITING]
        events += new
        del events[:-MOST_WAITING]
        self._latest.add((), new)

    def _kept(self, search: Search) -> Search:
        """The search as it is kept."""
        paths = dict.fromkeys(map(self._below, search.paths))
        query = self._masked(search.query)[:KEPT_CHARACTERS]
        return msgspec.structs.replace(
            search,
            query=query,
            kind=kind_of(query),
            paths=tuple(path for path in paths if len(path) <= MOST_CHARACTERS),
            scope=self._below(search.scope)[:MOST_CHARACTERS] if search.scope else "",
            fallback=search.fallback[:MOST_CHARACTERS],
        )

    def _search(self, id: str) -> Search | None:  # noqa: A002 (as everywhere)
        found = self._latest.get(id)
        if found is None and self._store is not None:
            with contextlib.suppress(StoreDamaged, DatabaseError):
                found = self._store.search(id)
        return found

    def _all(self) -> Rows:
        with contextlib.suppress(StoreDamaged, DatabaseError):
            if self._store is not None:
                return self._store.all()
        return [], []

    def _below(self, path: str) -> str:
        """A path as it is kept: below the folder of the store if it is in there."""
        return below(self._folder or self._root(), path)


def below(root: Path | None, path: str) -> str:
    """A path below a folder, with ``/``; as it is if it is elsewhere."""
    if root is None or not os.path.isabs(path):
        return path
    found = _cut(str(root), path)
    if found is None:
        found = _cut(os.path.realpath(root), os.path.realpath(path))
    return path if found is None else found.replace(os.sep, "/")


def _cut(folder: str, path: str) -> str | None:
    """What follows in a path after a folder that is spelled in the same way."""
    prefix = folder.rstrip(os.sep) + os.sep
    return path[len(prefix) :] if path.startswith(prefix) else None


def _grow(table: Table, store: LearningStore, last: int) -> int:
    """Take what is new in a store into the table; gives the number of the last event."""
    searches, events, last = store.told(last)
    by_search: dict[str, list[Event]] = {}
    for event in events:
        by_search.setdefault(event.search, []).append(event)
    for search in searches:
        table.add(search, by_search.get(search.id, ()))
    return last
