"""Open SQLite databases with a write-ahead log, checksums on all pages, and several processes.

SQLite alone does not notice a flipped bit: it returns a different value, or nothing. Its checksum
extension (https://sqlite.org/cksumvfs.html) keeps eight bytes at the end of each page and compares
them whenever the page is read from disk. Damage causes an error, never a wrong answer. The
extension comes with the apsw package; Python's own `sqlite3` cannot load it on every platform.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from msgspec import MsgspecError

from winnow.storage.writing import move_file

Connection = apsw.Connection
Cursor = apsw.Cursor
# Every function here may raise this, besides OSError.
DatabaseError = apsw.Error

MEMORY = ":memory:"
OWNER = "CREATE TABLE owner (mark TEXT NOT NULL);\n"
# Delay before another attempt.
MOMENT_SECONDS = 0.005
CHECKSUM_VFS = "cksmvfs"
CHECKSUM_BYTES = 8  # at the end of each page
# Errors of the checksum extension for a wrong checksum, and of SQLite for a partial last page.
_BAD_CHECKSUM = apsw.SQLITE_IOERR_DATA
_SHORT_READ = apsw.SQLITE_IOERR_SHORT_READ
# SQLite itself reports both as "disk I/O error".
_IN_WORDS = {
    _BAD_CHECKSUM: "the checksum of a page differs",
    _SHORT_READ: "the file ends in the middle of a page",
}
# Messages of SQLite for missing tables or columns, and for a header of an unknown version.
_SCHEMA_MESSAGES = ("no such", "unsupported file format", "malformed")
_LOADING = threading.Lock()


class StoreDamaged(Exception):
    """The data read is not what was written, or the file is not a database of Winnow."""


@contextlib.contextmanager
def detect_damage() -> Iterator[None]:
    """Raise StoreDamaged for errors in the block that only damage can cause."""
    try:
        yield
    except apsw.Error as error:
        if is_damage(error):
            extended = getattr(error, "extendedresult", 0)
            raise StoreDamaged(_IN_WORDS.get(extended, str(error))) from error
        raise
    # A value that does not decode was not written by this version of Winnow.
    except (MsgspecError, UnicodeDecodeError, zlib.error) as error:
        raise StoreDamaged(str(error)) from error


def is_damage(error: apsw.Error) -> bool:
    """Return True if an error says that the file is damaged, and not that it is busy or full."""
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)):
        return True
    if isinstance(error, apsw.IOError):
        return getattr(error, "extendedresult", 0) in (_BAD_CHECKSUM, _SHORT_READ)
    return isinstance(error, apsw.SQLError) and any(
        message in str(error) for message in _SCHEMA_MESSAGES
    )


@functools.cache
def has_checksums() -> bool:
    """Return True if databases get checksums; loads the extension into this process, once.

    It is missing where apsw was built from source without its extras.
    """
    import apsw.sqlite_extra

    with _LOADING:
        if CHECKSUM_VFS in apsw.vfs_names():
            return True
        try:
            # The extension registers a VFS, which outlives this connection.
            with contextlib.closing(apsw.Connection(MEMORY)) as connection:
                apsw.sqlite_extra.load(connection, "cksumvfs")
        except (apsw.Error, apsw.sqlite_extra.NotAvailable, OSError):
            return False
        return CHECKSUM_VFS in apsw.vfs_names()


def connect(
    file: Path | str, *, busy_seconds: float, cache_kb: int, settings: str = "", layout: str = ""
) -> Connection:
    """Open a database, or create an empty one.

    Any thread may use the connection; only :func:`transaction` begins transactions. ``settings``
    are further PRAGMA statements, ``layout`` those for a new file: some of them write to the file
    each time. Raises StoreDamaged and DatabaseError.
    """
    vfs = CHECKSUM_VFS if has_checksums() and file != MEMORY else None
    with detect_damage():
        connection = apsw.Connection(str(file), vfs=vfs)
    try:
        connection.set_busy_timeout(int(busy_seconds * 1000))
        if _is_empty(connection):
            if vfs:
                connection.reserve_bytes("main", CHECKSUM_BYTES)
            connection.execute(layout).fetchall()
        with detect_damage():
            # Nothing in the file may call functions, and SQLite checks each cell of a page.
            connection.execute(
                "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL;"
                f"PRAGMA temp_store=MEMORY; PRAGMA cache_size=-{cache_kb};{settings}"
            ).fetchall()
            # The header says whether pages have checksums: a flipped bit there would turn them off.
            if vfs and connection.reserve_bytes("main") != CHECKSUM_BYTES:
                raise StoreDamaged("its pages have no checksums")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_empty(connection: Connection) -> bool:
    """Return True if a database has no page yet."""
    with detect_damage():
        return bool(value_of(connection, "PRAGMA page_count") == 0)


def rows_of(connection: Connection, statement: str, *values: Any) -> list[Any]:
    """Return all rows of a statement, as tuples."""
    return connection.execute(statement, values).fetchall()


def row_of(connection: Connection, statement: str, *values: Any) -> Any:
    """Return the first row of a statement, as a tuple; None if there is none."""
    return connection.execute(statement, values).fetchone()


def value_of(connection: Connection, statement: str, *values: Any) -> Any:
    """Return the first column of the first row of a statement; None if there is no row."""
    row = row_of(connection, statement, *values)
    return None if row is None else row[0]


def make_tables(connection: Connection, schema: str, mark: str = "") -> None:
    """Create the tables, unless they exist; nothing is written then.

    The ``mark`` is kept in the database: it distinguishes a file that Winnow created from one that
    was put in its place, see :func:`winnow.storage.state_folder.file_mark`. Raises StoreDamaged if
    there are other tables or another mark, and DatabaseError if there can be no write-ahead log.
    """
    statements = OWNER + schema
    with detect_damage():
        mode = _write_ahead(connection)
        if mode not in ("wal", "memory"):
            raise apsw.CantOpenError("the file system does not allow a write-ahead log")
        found = _tables(connection)
        if not found:
            with transaction(connection):
                found = _tables(connection)  # another process may have been faster
                if not found:
                    connection.execute(statements).fetchall()
                    connection.execute("INSERT INTO owner VALUES (?)", (mark,))
                    found = _tables(connection)
        if found != _tables_of(statements):
            raise StoreDamaged("it has other tables")
        if rows_of(connection, "SELECT mark FROM owner LIMIT 2") != [(mark,)]:
            raise StoreDamaged("Winnow did not create it here")


def _write_ahead(connection: Connection) -> str:
    """Enable the write-ahead log, and return the resulting journal mode.

    For all other statements, SQLite waits until its busy timeout; this one fails at once while
    other processes open the same new database.
    """
    milliseconds = value_of(connection, "PRAGMA busy_timeout")
    end = time.monotonic() + milliseconds / 1000
    while True:
        try:
            return str(value_of(connection, "PRAGMA journal_mode=WAL"))
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > end:
                raise
            time.sleep(MOMENT_SECONDS)


@contextlib.contextmanager
def transaction(connection: Connection) -> Iterator[None]:
    """Commit everything that the block writes, or nothing; other writers wait meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has already ended the transaction.
        with contextlib.suppress(apsw.Error):
            connection.execute("ROLLBACK")
        raise


def check(connection: Connection) -> None:
    """Read every page of a database and compare its structure and checksums; raise StoreDamaged.

    Takes about a second for 300 MB; other threads and processes run meanwhile.
    """
    with detect_damage():
        found = str(value_of(connection, "PRAGMA integrity_check(1)"))
    if found != "ok":
        # The first line only names the attached database.
        raise StoreDamaged(found.splitlines()[-1])


def database_files(file: Path) -> tuple[Path, Path, Path]:
    """Return the files of a database with a write-ahead log."""
    return file, Path(f"{file}-wal"), Path(f"{file}-shm")


def delete_database(file: Path) -> None:
    """Delete the files of a database, the log first: it belongs to this database only."""
    for part in reversed(database_files(file)):
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def put_aside(file: Path) -> None:
    """Rename a damaged database to `*.damaged`, replacing an older one. Raises OSError."""
    _, *logs = database_files(file)
    for log in logs:
        log.unlink(missing_ok=True)
    move_file(file, file.with_suffix(".damaged"))


def _tables(connection: Connection) -> set[str]:
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    return {str(row[0]) for row in found}


@functools.cache
def _tables_of(schema: str) -> frozenset[str]:
    with contextlib.closing(apsw.Connection(MEMORY)) as connection:
        connection.execute(schema).fetchall()
        return frozenset(_tables(connection))
