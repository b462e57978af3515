"""The store of the search history: searches and their outcomes, in a small database.

It lies in the state folder of the workspace, beside the index, but does not depend on the index's
version and survives a rebuild. Its size is limited: the oldest rows go first. Several servers and
commands can use it at a time. A damaged or foreign database is put aside. Where nothing can be
written, the store is in memory and ends with the process.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import apsw
import msgspec
from msgspec import Struct

from winnow.storage import database, state_folder
from winnow.storage.database import Connection, DatabaseError, StoreDamaged, detect_damage, value_of
from winnow.storage.untrusted import require_regular
from winnow.types import QueryForm

# Callers report the first five, and Winnow infers the others. A result was "viewed" if its file was
# opened soon after the search, and "reopened" if that happened again. A search was "repeated" if a
# similar search followed, or "left" if a text search did, and no result had been opened.
Signal = Literal[
    "opened", "kept", "dismissed", "up", "down", "viewed", "reopened", "repeated", "left"
]
# Signals that a search was useful.
SATISFYING = frozenset(("opened", "kept", "up", "viewed", "reopened"))

# Stored of each search: the first paths of the answer, and the start of the query.
MAX_PATHS = 5
MAX_QUERY_CHARACTERS = 300

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

MAX_SEARCHES = 5_000
MAX_EVENTS = 20_000
# Limits of the database and of its log; together they stay below two megabytes.
MAX_BYTES = 1_200_000
LOG_BYTES = 400_000
PAGE_BYTES = 4096
CACHE_KB = 512
LAYOUT = f"PRAGMA page_size={PAGE_BYTES};"
SETTINGS = (
    f"PRAGMA journal_size_limit={LOG_BYTES};"
    f"PRAGMA wal_autocheckpoint={LOG_BYTES // PAGE_BYTES // 2};"
)
# Rows per transaction: more would make the log grow.
BATCH = 200
# A table over its limit loses this share more, so that not every write has to delete.
TRIM_SHARE = 0.05
# Writing takes milliseconds. A process that holds the store for longer hangs.
BUSY_SECONDS = 1.0

# A number of more than 64 bits, a lone surrogate, a text that is too long, a value of another type.
UNWRITABLE = (OverflowError, UnicodeError, TypeError, apsw.ConstraintError, apsw.MismatchError)

logger = logging.getLogger(__name__)


class SearchRecord(Struct, frozen=True, array_like=True):
    """An answered search; the fields are the columns of the table.

    ``at`` is in seconds since 1970, ``seconds`` the duration. ``paths`` are the files of the
    answer, best first, relative to the folder of the store or absolute outside it. ``scope`` is the
    path that the search was limited to. ``indexed`` is True if the index answered, and None for a
    tool without an index. ``fallback`` is the reason for a fallback. ``continued`` is True for a
    further page of an answer.
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


class SearchEvent(Struct, frozen=True, array_like=True):
    """An outcome of a search, or of one of its results; the fields are the columns of the table.

    ``path`` is empty if the event is about the search; ``tool`` is then the tool that followed.
    ``rank`` is the position of the result in the answer, from 1; 0 if unknown.
    """

    search: str
    at: float
    signal: Signal
    path: str = ""
    rank: int = 0
    tool: str = ""


_SEARCH = ", ".join(SearchRecord.__struct_fields__)
_EVENT = ", ".join(SearchEvent.__struct_fields__)

Rows = tuple[list[SearchRecord], list[SearchEvent]]


def is_satisfied(events: Iterable[SearchEvent]) -> bool:
    """Return True if some result of a search was useful."""
    return any(event.signal in SATISFYING for event in events)


class HistoryStore:
    """Searches and events of one workspace; safe to use from several threads."""

    def __init__(self, file: Path | None, mark: str = "") -> None:
        """Open or create a database; in memory without a file.

        Raises StoreDamaged, also for a database with another ``mark``, DatabaseError and OSError.
        """
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
        cls, root: Path | None, user: state_folder.User | None = None, *, create: bool = True
    ) -> HistoryStore:
        """Open the store of a workspace folder; in memory if there is none or it is read-only.

        Without ``create``, a folder without state gets none.
        """
        if root is not None:
            with contextlib.suppress(OSError, DatabaseError, StoreDamaged):
                find = state_folder.create if create else state_folder.existing
                if folder := find(root, user):
                    return cls._in_folder(folder, user)
        return cls(None)

    @classmethod
    def _in_folder(cls, folder: Path, user: state_folder.User | None) -> HistoryStore:
        file = folder / NAME
        require_regular(*database.database_files(file))
        try:
            return cls(file, state_folder.mark_of(folder, file, user))
        except StoreDamaged:
            database.put_aside(file)
            return cls(file, state_folder.mark_of(folder, file, user))

    @staticmethod
    def exists(root: Path | None, user: state_folder.User | None = None) -> bool:
        """Return True if a workspace folder has a store."""
        folder = state_folder.existing(root, user) if root is not None else None
        return folder is not None and (folder / NAME).is_file()

    def is_current(self) -> bool:
        """Return True if the database is still the file at its path: a user may have deleted it."""
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
        """Close a damaged database and put it aside."""
        current = self.is_current()
        self.close()
        if self.file is not None and current:
            with contextlib.suppress(OSError):
                database.put_aside(self.file)

    def write(self, searches: Sequence[SearchRecord], events: Sequence[SearchEvent]) -> None:
        """Write searches and events in one transaction, so not many more than BATCH.

        A known search stays as it is. Rows that SQLite cannot store are dropped. Raises
        StoreDamaged, and DatabaseError if the disk is full or another process holds the store.
        """
        with self._lock, detect_damage(), database.transaction(self._connection):
            for search in searches:
                self._insert("INSERT OR IGNORE INTO search", _SEARCH, search)
            for event in events:
                self._insert("INSERT INTO event", _EVENT, event)
            _trim(self._connection)

    def _insert(self, insert: str, columns: str, row: Struct) -> None:
        values = msgspec.structs.astuple(row)
        marks = ",".join("?" * len(values))
        try:
            values = tuple(
                _as_json(value) if isinstance(value, tuple) else value for value in values
            )
            self._connection.execute(f"{insert} ({columns}) VALUES ({marks})", values)
        except UNWRITABLE as error:
            # No later attempt could write it either, and all other rows would wait for it.
            logger.warning("A search that cannot be stored is left out: %s", error)

    def search(self, id: str) -> SearchRecord | None:  # noqa: A002 (as everywhere)
        """Return a search by its id."""
        found, _ = self._read("WHERE id=?", "WHERE 0", id)
        return found[0] if found else None

    def all(self) -> Rows:
        """Return all searches and events, oldest first."""
        return self._read("", "")

    def recent(self, since: float) -> Rows:
        """Return the searches since a time and their events, oldest first."""
        return self._read(
            "WHERE at>=?", "WHERE search IN (SELECT id FROM search WHERE at>=?)", since
        )

    def results_after(self, number: int) -> tuple[list[SearchRecord], list[SearchEvent], int]:
        """Return new events about results, their searches, and the last event number."""
        with self._lock, detect_damage():
            last = value_of(self._connection, "SELECT max(number) FROM event")
        last = max(number, last or 0)
        new = "path<>'' AND number>? AND number<=?"
        searches, events = self._read(
            f"WHERE id IN (SELECT search FROM event WHERE {new})",  # noqa: S608
            f"WHERE {new}",
            *(number, last),
        )
        return searches, events, last

    def _read(self, searches: str, events: str, *values: Any) -> Rows:
        """Return the rows under two conditions, which share their values."""
        with self._lock, detect_damage():
            self._connection.execute("BEGIN")  # one snapshot for both
            try:
                rows, more = (
                    self._connection.execute(
                        f"SELECT {columns} FROM {table} {where} ORDER BY number",  # noqa: S608
                        values if "?" in where else (),
                    ).fetchall()
                    for columns, table, where in (
                        (_SEARCH, "search", searches),
                        (_EVENT, "event", events),
                    )
                )
            finally:
                self._connection.execute("ROLLBACK")
            return [_search(row) for row in rows], [_event(row) for row in more]


def _as_json(paths: tuple[str, ...]) -> str:
    return msgspec.json.encode(paths[:MAX_PATHS]).decode()


def _trim(connection: Connection) -> None:
    """Delete rows over the limits: the oldest, and searches without an opened result first."""
    _limit(connection, "event", MAX_EVENTS)
    _limit(connection, "search", MAX_SEARCHES)
    while _bytes(connection) > MAX_BYTES and _count(connection, "search"):
        for table in ("event", "search"):
            _limit(connection, table, int(_count(connection, table) * (1 - TRIM_SHARE)))


def _limit(connection: Connection, table: str, limit: int) -> None:
    count = _count(connection, table)
    if count <= limit:
        return
    excess = count - int(limit * (1 - TRIM_SHARE))
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
    """Return the bytes of the pages in use."""
    pages = value_of(connection, "PRAGMA page_count")
    free = value_of(connection, "PRAGMA freelist_count")
    return int((pages - free) * value_of(connection, "PRAGMA page_size"))


def _search(row: tuple[object, ...]) -> SearchRecord:
    """Return the search of a row. Raises MsgspecError for values that Winnow does not write."""
    indexed = None if row[9] is None else bool(row[9])
    paths = msgspec.json.decode(str(row[7]), type=tuple[str, ...])
    search = msgspec.convert(
        [*row[:7], paths, row[8], indexed, row[10], bool(row[11])], SearchRecord
    )
    _check(math.isfinite(search.at), math.isfinite(search.seconds))
    _check(search.returned >= 0, len(search.paths) <= MAX_PATHS)
    return search


def _event(row: tuple[object, ...]) -> SearchEvent:
    """Return the event of a row. Raises MsgspecError for values that Winnow does not write."""
    event = msgspec.convert(list(row), SearchEvent)
    _check(math.isfinite(event.at), event.rank >= 0)
    return event


def _check(*conditions: bool) -> None:
    if not all(conditions):
        raise msgspec.ValidationError("a value is out of its range")
