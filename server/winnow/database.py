"""What a database of ours needs that lies in a workspace: SQLite with a write-ahead log, which a
stranger may have made, which may be damaged, and which several processes use at a time.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import MsgspecError

MEMORY = ":memory:"
# How long to wait before something is tried again.
MOMENT_SECONDS = 0.005
# What SQLite says of tables that are missing, or others than ours; of a header that is of no
# version; of a text that is none.
_TOLD = ("no such", "unsupported file format", "malformed", "Could not decode")


class StoreDamaged(Exception):
    """What was read is not what was written, or none of ours: the store is to be made anew."""


@contextlib.contextmanager
def damage() -> Iterator[None]:
    """Raise StoreDamaged for errors in the block that a damaged database makes."""
    try:
        yield
    except sqlite3.Error as error:
        if _is_damage(error):
            raise StoreDamaged(str(error)) from error
        raise
    # SQLite's own messages may quote what is no text any more; values may be none of ours.
    except (MsgspecError, UnicodeDecodeError) as error:
        raise StoreDamaged(str(error)) from error


def _is_damage(error: sqlite3.Error) -> bool:
    if type(error) is sqlite3.DatabaseError:  # "malformed", "not a database"
        return True
    return isinstance(error, sqlite3.OperationalError) and any(one in str(error) for one in _TOLD)


def connect(
    file: Path | str, *, busy_seconds: float, cache_kb: int, settings: str = ""
) -> sqlite3.Connection:
    """Open a database, or make one: any thread may use it, and only :func:`transaction` begins
    any. ``settings`` are further ones that hold for it. Raises StoreDamaged and sqlite3.Error."""
    connection = sqlite3.connect(
        file, timeout=busy_seconds, isolation_level=None, check_same_thread=False
    )
    try:
        with damage():
            # The folder is a stranger's, and so may the database be.
            connection.executescript(
                "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=NORMAL;"
                f"PRAGMA temp_store=MEMORY; PRAGMA cache_size=-{cache_kb};{settings}"
            )
    except BaseException:
        connection.close()
        raise
    return connection


def make_tables(connection: sqlite3.Connection, schema: str) -> None:
    """Make the tables, unless they are there. Raises StoreDamaged if there are others, and
    sqlite3.Error where there can be no write-ahead log."""
    with damage():
        mode = _write_ahead(connection)
        if mode not in ("wal", "memory"):
            raise sqlite3.OperationalError("the file system does not allow a write-ahead log")
        with transaction(connection):
            found = _tables(connection)
            if not found:
                for statement in schema.split(";\n"):
                    connection.execute(statement)
            elif found != _tables_of(schema):
                raise StoreDamaged("it has other tables")


def _write_ahead(connection: sqlite3.Connection) -> str:
    """Turn the write-ahead log on; which kind of log there is then.

    For everything else SQLite waits as long as it was told to; here, where others who open the same
    new database are in its way, it fails at once.
    """
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    end = time.monotonic() + milliseconds / 1000
    while True:
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(MOMENT_SECONDS)
        else:
            return str(mode)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that the block writes, or nothing of it; others wait meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has ended the transaction already.
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def database_files(file: Path) -> tuple[Path, Path, Path]:
    """The files of a database with a write-ahead log."""
    return file, Path(f"{file}-wal"), Path(f"{file}-shm")


def put_aside(file: Path) -> None:
    """Move a damaged database away, where it is the only one of its kind."""
    _, *logs = database_files(file)
    for log in logs:
        log.unlink(missing_ok=True)
    file.replace(file.with_suffix(".damaged"))


def _tables(connection: sqlite3.Connection) -> set[str]:
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    return {row[0] for row in found}


@functools.cache
def _tables_of(schema: str) -> frozenset[str]:
    with contextlib.closing(sqlite3.connect(MEMORY)) as connection:
        connection.executescript(schema)
        return frozenset(_tables(connection))
