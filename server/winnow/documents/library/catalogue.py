"""Which files have been read: by their path and stamp, the key of the text, or why there is none.

Kept on disk beside the texts, so that a new server need not read every document again to know that
it has its text; one file of all processes. It may be lost at any time: the texts are found again by
the content of the documents.
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
    """The files that were read, in memory and on disk; for one thread at a time."""

    def __init__(self, folder: Path, ocr: bool) -> None:
        how = "-ocr" if ocr else ""
        self._file = folder / f"files-{version().hex()}{how}.db"
        self._known: dict[str, ExtractionResult | None] = {}
        self._connection: sqlite3.Connection | None = None

    def known(self, paths: Iterable[str]) -> Mapping[str, ExtractionResult | None]:
        """What is known of files, by absolute path; None of those that were never read."""
        missing = [path for path in paths if path not in self._known]
        if missing:
            self._known.update(dict.fromkeys(missing))
            self._run(lambda connection: self._load(connection, missing))
        return self._known

    def add(self, taken: Mapping[str, ExtractionResult]) -> None:
        """Take note of files that were read just now, or that are gone."""
        self._known.update(taken)
        self._run(lambda connection: _save(connection, taken))

    def forget(self, paths: Sequence[str]) -> None:
        """Know nothing more of files."""
        for path in paths:
            self._known.pop(path, None)
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
                self._known[path] = ExtractionResult(
                    FileStamp(*row[:4]), row[4], row[5], _decode(row[6])
                )

    def _run(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do something with the database; if it cannot be, there is one less thing remembered."""
        try:
            if self._connection is None:
                self._connection = _connect(self._file)
            with self._connection:
                work(self._connection)
        except sqlite3.OperationalError as error:  # locked, or nothing can be written
            logger.info("What was read is not remembered: %s", error)
        except (sqlite3.DatabaseError, msgspec.MsgspecError, OSError, TypeError) as error:
            logger.warning("What was read is forgotten: %s", error)
            self.close()
            for end in ("", "-wal", "-shm"):
                with contextlib.suppress(OSError):
                    os.unlink(f"{self._file}{end}")


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=WAIT_SECONDS, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")  # nothing is lost that cannot be found again
    connection.execute(_TABLE)
    today = int(time.time()) // DAY_SECONDS
    with connection:
        connection.execute("DELETE FROM files WHERE day < ?", (today - OLD_DAYS,))
    return connection


def _delete(connection: sqlite3.Connection, rows: Sequence[tuple[bytes]]) -> None:
    connection.executemany("DELETE FROM files WHERE path = ?", rows)


def _save(connection: sqlite3.Connection, taken: Mapping[str, ExtractionResult]) -> None:
    encode = msgspec.msgpack.encode
    today = int(time.time()) // DAY_SECONDS
    connection.executemany(
        "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                os.fsencode(path),
                today,
                *msgspec.structs.astuple(one.stamp),
                one.key,
                one.problem,
                encode(one.failed),
            )
            for path, one in taken.items()
            if one.stamp is not None
        ],
    )
