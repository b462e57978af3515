"""The store of what was learned: a small database in the workspace, beside the index.

It is not made from the files and not tied to the index's version, so it survives when that is
rebuilt. It is bounded; what is oldest goes first. Several servers and the command line may use one
at a time. What is damaged or is no store of ours is put aside, and where nothing can be written the
store is in memory and ends with the process.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import msgspec

from winnow.ranking.history.records import KEPT_PATHS, Event, Search
from winnow.storage import database, state_folder
from winnow.storage.database import Connection, DatabaseError, StoreDamaged, damage, value_of
from winnow.storage.untrusted import require_regular

NAME = "learning.db"
SCHEMA = """
CREATE TABLE search (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at REAL NOT NULL,
  tool TEXT NOT NULL, query TEXT NOT NULL, kind TEXT NOT NULL, seconds REAL NOT NULL,
  returned INTEGER NOT NULL, paths TEXT NOT NULL, scope TEXT NOT NULL, indexed INTEGER,
  fallback TEXT NOT NULL, continued INTEGER NOT NULL);
CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT, search TEXT NOT NULL, at REAL NOT NULL,
  signal TEXT NOT NULL, path TEXT NOT NULL, rank INTEGER NOT NULL, tool TEXT NOT NULL);
CREATE INDEX event_search ON event (search);
"""
_SEARCH = "id, at, tool, query, kind, seconds, returned, paths, scope, indexed, fallback, continued"
_EVENT = "search, at, signal, path, rank, tool"

MOST_SEARCHES = 5_000
MOST_EVENTS = 20_000
# Of the database and of its log; together they stay below two megabytes.
MOST_BYTES = 1_200_000
LOG_BYTES = 400_000
PAGE_BYTES = 4096
CACHE_KB = 512
LAYOUT = f"PRAGMA page_size={PAGE_BYTES};"
SETTINGS = (
    f"PRAGMA journal_size_limit={LOG_BYTES};"
    f"PRAGMA wal_autocheckpoint={LOG_BYTES // PAGE_BYTES // 2};"
)
# A transaction of more would make the log grow.
TOGETHER = 200
# What is too much goes in portions, so that there is not something to delete every time.
PORTION = 0.05
# Writing takes milliseconds; a process that holds the store for longer hangs.
BUSY_SECONDS = 1.0

# A number of more than 64 bits; half a character; a text that is too long; no number.
UNWRITABLE = (OverflowError, UnicodeError, TypeError, apsw.ConstraintError, apsw.MismatchError)

Rows = tuple[list[Search], list[Event]]

logger = logging.getLogger(__name__)


class LearningStore:
    """Searches and events of one workspace; safe to use from several threads."""

    def __init__(self, file: Path | None, mark: str = "") -> None:
        """Open or make a database; in memory without a file. Raises StoreDamaged, also for one that
        was not made with this ``mark``, DatabaseError and OSError."""
        self.file = file
        self._lock = threading.Lock()
        self._connection = database.connect(
            file or database.MEMORY,
            busy_seconds=BUSY_SECONDS,
            cache_kb=CACHE_KB,
            settings=SETTINGS,
            layout=LAYOUT,
        )
        try:
            database.make_tables(self._connection, SCHEMA, mark)
            self._inode = file.stat().st_ino if file else 0
        except BaseException:
            self._connection.close()
            raise

    @classmethod
    def open(
        cls,
        root: Path | None,
        user: state_folder.User | None = None,
        *,
        create: bool = True,
    ) -> LearningStore:
        """Return the store of a workspace folder; one in memory where there is none, or nothing can
        be written there. Without ``create``, a folder without state gets none."""
        if root is not None:
            with contextlib.suppress(OSError, DatabaseError, StoreDamaged):
                find = state_folder.create if create else state_folder.existing
                if folder := find(root, user):
                    return cls._in_folder(folder, user)
        return cls(None)

    @classmethod
    def _in_folder(cls, folder: Path, user: state_folder.User | None) -> LearningStore:
        file = folder / NAME
        require_regular(*database.database_files(file))
        try:
            return cls(file, state_folder.mark_of(folder, file, user))
        except StoreDamaged:
            database.put_aside(file)
            return cls(file, state_folder.mark_of(folder, file, user))

    @staticmethod
    def exists(root: Path | None, user: state_folder.User | None = None) -> bool:
        """Return whether a workspace folder has a store."""
        folder = state_folder.existing(root, user) if root is not None else None
        return folder is not None and (folder / NAME).is_file()

    def is_current(self) -> bool:
        """Whether the database is still the one at its path: a user may have deleted it."""
        if self.file is None:
            return True
        try:
            return self.file.stat().st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._connection.close()

    def discard(self) -> None:
        """Close a damaged database, and put it aside."""
        current = self.is_current()
        self.close()
        if self.file is not None and current:
            with contextlib.suppress(OSError):
                database.put_aside(self.file)

    # --- writing ---------------------------------------------------------------------------

    def write(self, searches: Sequence[Search], events: Sequence[Event]) -> None:
        """Keep searches and events, in one transaction, so not many more than TOGETHER; a search
        that is known is left as it is, and what no database can hold is left out. Raises
        StoreDamaged, and DatabaseError where the disk is full or somebody else holds the store."""
        with self._lock, damage(), database.transaction(self._connection):
            _insert(self._connection, searches, events)
            _trim(self._connection)

    # --- reading ---------------------------------------------------------------------------

    def search(self, id: str) -> Search | None:  # noqa: A002 (as everywhere)
        """A search by its id."""
        found, _ = self._read("WHERE id=?", (id,), "WHERE 0", ())
        return found[0] if found else None

    def all(self) -> Rows:
        """Everything, the oldest first."""
        return self._read("", (), "", ())

    def recent(self, since: float) -> Rows:
        """The searches since a time, and what became of them, the oldest first."""
        return self._read(
            "WHERE at>=?", (since,), "WHERE search IN (SELECT id FROM search WHERE at>=?)", (since,)
        )

    def told(self, after: int) -> tuple[list[Search], list[Event], int]:
        """What was opened or judged after the event of this number, and the searches that it was
        of, the oldest first; and the number of the last event."""
        with self._lock, damage():
            last = value_of(self._connection, "SELECT max(number) FROM event")
        last = max(after, last or 0)
        new = "path<>'' AND number>? AND number<=?"
        searches, events = self._read(
            f"WHERE id IN (SELECT search FROM event WHERE {new})",  # noqa: S608
            (after, last),
            f"WHERE {new}",
            (after, last),
        )
        return searches, events, last

    def _read(
        self,
        searches: str,
        bound: tuple[object, ...],
        events: str,
        bound_events: tuple[object, ...],
    ) -> Rows:
        with self._lock, damage():
            self._connection.execute("BEGIN")  # both are of one moment
            try:
                rows = self._connection.execute(
                    f"SELECT {_SEARCH} FROM search {searches} ORDER BY number",  # noqa: S608
                    bound,
                ).fetchall()
                more = self._connection.execute(
                    f"SELECT {_EVENT} FROM event {events} ORDER BY number",  # noqa: S608
                    bound_events,
                ).fetchall()
            finally:
                self._connection.execute("ROLLBACK")
            return [_search(row) for row in rows], [_event(row) for row in more]


def _insert(connection: Connection, searches: Sequence[Search], events: Sequence[Event]) -> None:
    for search in searches:
        with _dropped():
            connection.execute(
                f"INSERT OR IGNORE INTO search ({_SEARCH}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608
                _row_of(search),
            )
    for one in events:
        with _dropped():
            connection.execute(
                f"INSERT INTO event ({_EVENT}) VALUES (?,?,?,?,?,?)",  # noqa: S608
                (one.search, one.at, one.signal, one.path, one.rank, one.tool),
            )


@contextlib.contextmanager
def _dropped() -> Iterator[None]:
    """Leave a row out that cannot be written: it could not be later either, and all others would
    wait for it."""
    try:
        yield
    except UNWRITABLE as error:
        logger.warning("What cannot be kept of a search is left out: %s", error)


def _row_of(one: Search) -> tuple[object, ...]:
    return (
        *(one.id, one.at, one.tool, one.query, one.kind, one.seconds, one.returned),
        msgspec.json.encode(one.paths[:KEPT_PATHS]).decode(),
        *(one.scope, one.indexed, one.fallback, one.continued),
    )


def _trim(connection: Connection) -> None:
    """Delete what is too much: the oldest, and of searches first those that nothing became of."""
    _keep(connection, "event", MOST_EVENTS)
    _keep(connection, "search", MOST_SEARCHES)
    while _bytes(connection) > MOST_BYTES and _count(connection, "search"):
        for table in ("event", "search"):
            _keep(connection, table, int(_count(connection, table) * (1 - PORTION)))


def _keep(connection: Connection, table: str, most: int) -> None:
    count = _count(connection, table)
    if count <= most:
        return
    excess = count - int(most * (1 - PORTION))
    order = "number"
    if table == "search":
        order = "EXISTS (SELECT 1 FROM event WHERE search=id AND path<>''), number"
    connection.execute(
        f"DELETE FROM {table} WHERE number IN"  # noqa: S608
        f" (SELECT number FROM {table} ORDER BY {order} LIMIT ?)",
        (excess,),
    )
    connection.execute("DELETE FROM event WHERE search NOT IN (SELECT id FROM search)")


def _count(connection: Connection, table: str) -> int:
    return int(value_of(connection, f"SELECT count(*) FROM {table}"))  # noqa: S608


def _bytes(connection: Connection) -> int:
    """How much of the database is in use."""
    pages = value_of(connection, "PRAGMA page_count")
    free = value_of(connection, "PRAGMA freelist_count")
    return int((pages - free) * value_of(connection, "PRAGMA page_size"))


def _search(row: tuple[object, ...]) -> Search:
    """Return the search of a row. Raises MsgspecError for values that Winnow does not write."""
    indexed = None if row[9] is None else bool(row[9])
    paths = msgspec.json.decode(str(row[7]), type=tuple[str, ...])
    found = msgspec.convert([*row[:7], paths, row[8], indexed, row[10], bool(row[11])], Search)
    _check(math.isfinite(found.at), math.isfinite(found.seconds))
    _check(found.returned >= 0, len(found.paths) <= KEPT_PATHS)
    return found


def _event(row: tuple[object, ...]) -> Event:
    """Return the event of a row. Raises MsgspecError for values that Winnow does not write."""
    found = msgspec.convert(list(row), Event)
    _check(math.isfinite(found.at), found.rank >= 0)
    return found


def _check(*conditions: bool) -> None:
    if not all(conditions):
        raise msgspec.ValidationError("a value is out of its range")
