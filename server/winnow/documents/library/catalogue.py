"""A catalogue of the files that were read: by path and stamp, the key of the text or the problem.

All processes share one database beside the texts, so that a new server does not read every document
again to compute its key. The database may be lost at any time, because a text is also found by the
content of its document.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.documents.extract.job import ExtractionResult, FileStamp
from winnow.documents.library.locations import UnreadPart
from winnow.documents.library.texts import version

WAIT_SECONDS = 1.0
OLD_DAYS = 60
DAY_SECONDS = 24 * 3600
_TABLE = (
    "CREATE TABLE IF NOT EXISTS files(path BLOB PRIMARY KEY, day INT, size INT, mtime INT,"
    " ctime INT, inode INT, key TEXT, problem TEXT, failed BLOB) WITHOUT ROWID"
)

logger = logging.getLogger(__name__)
_decode = msgspec.msgpack.Decoder(tuple[UnreadPart, ...]).decode


class Catalogue:
    """The files that were read, in memory and on disk; not thread-safe."""

    def __init__(self, folder: Path, ocr: bool) -> None:
        suffix = "-ocr" if ocr else ""
        self._file = folder / f"files-{version().hex()}{suffix}.db"
        self._results: dict[str, ExtractionResult | None] = {}
        self._connection: sqlite3.Connection | None = None

    def results(self, paths: Iterable[str]) -> Mapping[str, ExtractionResult | None]:
        """Return the results for files by absolute path; None for files that were never read."""
        missing = [path for path in paths if path not in self._results]
        if missing:
            self._results.update(dict.fromkeys(missing))
            self._run(lambda connection: self._load(connection, missing))
        return self._results

    def add(self, results: Mapping[str, ExtractionResult]) -> None:
        """Add files that were read or are gone."""
        self._results.update(results)
        self._run(lambda connection: _save(connection, results))

    def forget(self, paths: Sequence[str]) -> None:
        """Delete the entries of files."""
        for path in paths:
            self._results.pop(path, None)
        rows = [(os.fsencode(path),) for path in paths]
        self._run(lambda connection: _delete(connection, rows))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _load(self, connection: sqlite3.Connection, paths: Iterable[str]) -> None:
        for path in paths:
            row = connection.execute(
                "SELECT size, mtime, ctime, inode, key, problem, failed FROM files WHERE path = ?",
                (os.fsencode(path),),
            ).fetchone()
            if row is not None:
                self._results[path] = ExtractionResult(
                    FileStamp(*row[:4]), row[4], row[5], _decode(row[6])
                )

    def _run(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Run a function on the database. Failures are logged: the catalogue is only a cache."""
        try:
            if self._connection is None:
                self._connection = _connect(self._file)
            with self._connection:
                work(self._connection)
        except sqlite3.OperationalError as error:  # locked or read-only
            logger.info("Cannot update the document catalogue: %s", error)
        except (sqlite3.DatabaseError, msgspec.MsgspecError, OSError, TypeError) as error:
            logger.warning("Deleting the damaged document catalogue: %s", error)
            self.close()
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._file}{suffix}")


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=WAIT_SECONDS, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")  # the data can be computed again
    connection.execute(_TABLE)
    today = int(time.time()) // DAY_SECONDS
    with connection:
        connection.execute("DELETE FROM files WHERE day < ?", (today - OLD_DAYS,))
    return connection


def _delete(connection: sqlite3.Connection, rows: Sequence[tuple[bytes]]) -> None:
    connection.executemany("DELETE FROM files WHERE path = ?", rows)


def _save(connection: sqlite3.Connection, results: Mapping[str, ExtractionResult]) -> None:
    encode = msgspec.msgpack.encode
    today = int(time.time()) // DAY_SECONDS
    connection.executemany(
        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                os.fsencode(path),
                today,
                *msgspec.structs.astuple(result.stamp),
                result.key,
                result.problem,
                encode(result.failed),
            )
            for path, result in results.items()
            if result.stamp is not None
        ],
    )
