"""Store the indexed files of a folder in a database that outlives the server.

It is SQLite with a write-ahead log: readers see the state of one moment and never wait, a batch of
files is one transaction, and a killed process leaves the state before it. Several servers and
commands may use one store at a time. Reading writes nothing. The contents of texts are in segments
beside the database, see :mod:`winnow.index.store.segments`.

Every page and block has a checksum that is compared on reading (see
:mod:`winnow.storage.database`). When damage is confirmed, a successor is built beside the store,
which continues to answer. Each generation has a file `index-<version>.<generation>.db`, and the
newest counts; an unfinished successor has an empty file `….building` beside it.

Paths are relative to the folder, with ``/``; names that are not Unicode are stored byte for byte.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

from winnow.index.store import rows
from winnow.index.store.file_record import NO_DEFINITIONS, FileRecord, FileState
from winnow.index.store.generations import (
    BUSY_SECONDS,
    building_mark,
    delete_files,
    delete_old,
    exclusive,
    generations,
    is_building,
    next_file,
    version,
)
from winnow.index.store.merging import SegmentMerger
from winnow.index.store.reader import DecodedFiles, Reader
from winnow.index.store.rows import SCHEMA, StillMatches
from winnow.index.store.segments import Segments
from winnow.index.store.size_limits import SizeLimits
from winnow.storage import database, state_folder
from winnow.storage.database import Connection, DatabaseError, StoreDamaged, detect_damage
from winnow.storage.untrusted import require_regular
from winnow.storage.writing import replace_file

WRITER_CACHE_KB = 8 * 1024
READER_CACHE_KB = 2 * 1024
IDLE_READERS = 4
# A full store is trimmed a bit further; otherwise the next file would trim it again.
TRIM_SHARE = 0.05
# Files that lose their occurrences in one transaction.
DROPPED_AT_ONCE = 500
# Notes: the time of the last full check, why the store has replaced another one, and that the user
# has requested the index of a folder with very many files.
CHECKED = "checked"
REPLACED = "replaced"
CONSENT = "consent"

logger = logging.getLogger(__name__)


class Store:
    """The indexed files of one folder; thread-safe.

    Read it through :meth:`read`, which returns the state of one moment.
    """

    def __init__(
        self, file: Path, user: state_folder.User | None = None, *, temporary: bool = False
    ) -> None:
        """Open or create a database. Raises StoreDamaged for a file that is not a store of Winnow,
        DatabaseError and OSError if it cannot be created."""
        self.file = file
        self._user = user
        self.segments = Segments(file.parent, file.stem)
        self._temporary = temporary
        self._lock = threading.Lock()  # for the writer
        self._idle: list[Connection] = []
        self._decoded = DecodedFiles()
        self._closed = False
        self.merger = SegmentMerger(self.segments, self.read, self.transaction)
        self._users = 0
        self._users_changed = threading.Condition()
        mark = "" if temporary else state_folder.mark_of(file.parent, file, user)
        self._writer = self._connect(WRITER_CACHE_KB)
        try:
            database.make_tables(self._writer, SCHEMA, mark)
        except BaseException:
            self._writer.close()
            raise
        self._inodes = _inodes(file)

    @classmethod
    def open(cls, root: Path, variant: str = "", user: state_folder.User | None = None) -> Store:
        """Return the store of a folder; a temporary one if nothing can be written there."""
        try:
            folder = state_folder.create(root, user)
            delete_old(folder, version(variant))
            with exclusive(folder, version(variant)):
                store = cls._newest(folder, version(variant), user)
        except (OSError, DatabaseError, StoreDamaged):
            return cls.temporary()
        with contextlib.suppress(OSError, DatabaseError, StoreDamaged):
            store.merger.delete_unused()  # left by killed processes
        return store

    @classmethod
    def open_existing(
        cls, folder: Path, variant: str, user: state_folder.User | None
    ) -> Store | None:
        """Return the complete store in a trusted folder; None if there is none of this version.

        Raises StoreDamaged, DatabaseError and OSError.
        """
        kind = version(variant)
        with exclusive(folder, kind):
            for file in generations(folder, kind):
                if not is_building(file):
                    return cls._open_with_retry(file, user)
        return None

    @classmethod
    def _newest(cls, folder: Path, kind: str, user: state_folder.User | None) -> Store:
        """Return the newest complete store, or the unfinished one, or a new one. Deletes stores
        that cannot be opened: they can be rebuilt from the files."""
        problem = ""
        found = generations(folder, kind)
        for file in sorted(found, key=is_building):
            try:
                return cls._open_with_retry(file, user)
            except StoreDamaged as error:
                problem = problem or str(error)
                logger.warning("The index %s cannot be read (%s): it is replaced", file, error)
        file = next_file(folder, kind)
        for unreadable in found:
            delete_files(unreadable)
        store = cls(file, user)
        if problem:
            store.note(REPLACED, _replaced(problem))
        return store

    @classmethod
    def _open_with_retry(cls, file: Path, user: state_folder.User | None) -> Store:
        """Open a store; damage counts only if it is found twice. Raises StoreDamaged."""
        require_regular(*database.database_files(file))
        try:
            return cls(file, user)
        except StoreDamaged as error:
            logger.info("The index %s is opened again: %s", file, error)
        return cls(file, user)

    @classmethod
    def successor(cls, damaged: Store, variant: str, why: str) -> Store:
        """Return the store that will replace a damaged one; it may be incomplete.

        Raises OSError and DatabaseError.
        """
        if damaged.is_temporary:  # otherwise the successor would outlive the process
            return cls.temporary()
        folder, kind = damaged.file.parent, version(variant)
        with exclusive(folder, kind):
            for file in generations(folder, kind):
                if is_building(file):
                    with contextlib.suppress(StoreDamaged):
                        return cls._open_with_retry(file, damaged._user)
                    delete_files(file)
            file = next_file(folder, kind)
            replace_file(building_mark(file), b"")
            store = cls(file, damaged._user)
            store.note(REPLACED, _replaced(why))
            if CONSENT in damaged.readable_notes():
                store.note(CONSENT, "yes")
            return store

    def publish(self) -> None:
        """Make this the store that every process opens, and delete older ones."""
        folder, kind = self.file.parent, self.kind
        with exclusive(folder, kind):
            building_mark(self.file).unlink(missing_ok=True)
            for file in generations(folder, kind):
                if file != self.file:
                    delete_files(file)

    @property
    def kind(self) -> str:
        """The version of Winnow and of the settings that created the store."""
        return self.file.name.removeprefix("index-").partition(".")[0]

    @property
    def lock_file(self) -> Path:
        """The file that the process building the index locks."""
        return self.file.with_name(f"index-{self.kind}.lock")

    @classmethod
    def temporary(cls) -> Store:
        """Create a store that ends with the process."""
        return cls(Path(tempfile.mkdtemp(prefix="winnow-"), "index.db"), temporary=True)

    @property
    def is_temporary(self) -> bool:
        return self._temporary

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the store open within the block. Raises FileNotFoundError if it is closed."""
        with self._users_changed:
            if self._closed:
                raise FileNotFoundError(f"{self.file} is closed")
            self._users += 1
        try:
            yield
        finally:
            with self._users_changed:
                self._users -= 1
                self._users_changed.notify_all()

    def close(self) -> None:
        """Wait until the store is unused, and close all connections without a reader."""
        with self._users_changed:
            if self._closed:
                return
            self._closed = True
            self._users_changed.wait_for(lambda: not self._users)
        with self._lock:
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
        self.segments.close()
        if self._temporary:
            shutil.rmtree(self.file.parent, ignore_errors=True)

    def is_current(self) -> bool:
        """Return True if the database and its log still exist at their path: a user may have
        deleted them."""
        return _inodes(self.file) == self._inodes

    def check(self) -> None:
        """Read the entire database and all segments; raise StoreDamaged if they are damaged."""
        with self.read() as reader, detect_damage():
            database.check(reader.connection)
            if reader.has_strays():
                raise StoreDamaged("a text is in a segment that does not exist")
            for number, name in reader.segments().items():
                self.segments.verify(name)
                keys = self.segments.get(name).keys
                for document, key in reader.keys_in(number):
                    if not 0 <= document < len(keys) or keys[document] != key:
                        raise StoreDamaged("a text does not match its row")

    def find_damage(self) -> str | None:
        """Return what is wrong with the files on disk; None if nothing is, or the check fails.

        Opens them again: the open files may have been replaced, or the error may have been the
        disk's.
        """
        again = self
        try:
            if not self._temporary:
                again = Store(self.file, self._user)
            again.check()
        except StoreDamaged as error:
            return str(error)
        except (OSError, DatabaseError) as error:
            logger.info("The index %s cannot be checked: %s", self.file, error)
        finally:
            if again is not self:
                again.close()
        return None

    def readable_notes(self) -> dict[str, str]:
        """Return the notes of a store that may be damaged; empty if they cannot be read."""
        try:
            with self.read() as reader:
                return reader.notes()
        except (OSError, DatabaseError, StoreDamaged):
            return {}

    # --- writing ---------------------------------------------------------------------------

    def write(
        self,
        batch: Mapping[str, FileRecord],
        gone: Iterable[str] = (),
        is_still: StillMatches = lambda path, state: True,
    ) -> None:
        """Write the records of files, by path, and park those that are replaced or ``gone``; one
        transaction.

        Another process may have written a newer state of a file meanwhile. In that case,
        ``is_still`` decides whether the file has the given state (None: deleted); otherwise the
        newer row stays.

        Raises DatabaseError and OSError if the disk is full or another process holds the store.
        """
        texts = {
            record.key: record.contents for record in batch.values() if record.contents is not None
        }
        name, size = self.segments.write(texts) if texts else ("", 0)
        try:
            with self.transaction() as connection:
                segment = self.merger.insert(connection, name, len(texts), size) if name else 0
                places = {key: (segment, document) for document, key in enumerate(texts)}
                rows.write(connection, batch, gone, places, is_still)
        except BaseException:
            if name:
                self.segments.drop(name)
            raise

    def add_occurrences(self, batch: Mapping[str, FileRecord]) -> list[str]:
        """Complete the occurrences of files by path. Return the paths of files that the store has
        with another text.

        Nothing else changes, so data derived from the store stays valid: no new stamp.
        """
        with self.transaction() as connection:
            return rows.add_occurrences(connection, batch)

    def drop_texts(self) -> None:
        """Drop the files of which only the text is indexed."""
        with self.transaction() as connection:
            stamp = rows.next_stamp(connection)
            query = "SELECT path FROM file WHERE problem=? AND parked=0"
            for (path,) in database.rows_of(connection, query, NO_DEFINITIONS):
                rows.park(connection, os.fsdecode(path), stamp, gone=True)
        self._free_unused()

    def drop_parked(self) -> None:
        """Drop the data of texts that no file has."""
        with self.transaction() as connection:
            rows.next_stamp(connection)
            rows.forget_parked(connection, 0)

    def drop_unused(self) -> None:
        """Drop the data of texts that no file has, also from the segments."""
        self.drop_parked()
        self._free_unused()

    def packed(self, *, signatures: bool) -> list[Path]:
        """Write everything into the database and the segments that it names, in their smallest
        form, and return these files. Without ``signatures``, the signatures and documentation of
        definitions are removed."""
        with self.transaction() as connection:
            if not signatures:
                rows.drop_signatures(connection)
            names = database.rows_of(connection, "SELECT name FROM segment")
        with self._lock, detect_damage():
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._writer.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return [self.file, *(self.segments.file(name) for (name,) in names)]

    def import_all(self, other: Store, limits: SizeLimits | None = None) -> bool:
        """Import all texts of another store that an index with these limits can reuse, for
        :meth:`adopt` to find: a tenth of the time of copying them (:mod:`.copying`). Return
        False if this store has texts already, or another name, which its segments contain.

        Raises StoreDamaged, DatabaseError and OSError, also for errors of the other store.
        """
        if self.file.name != other.file.name:
            return False
        with self._lock, detect_damage():
            self._writer.execute("ATTACH ? AS other", (str(other.file),))
            try:
                with database.transaction(self._writer):
                    if rows.has_texts(self._writer):
                        return False
                    for (name,) in database.rows_of(self._writer, "SELECT name FROM other.segment"):
                        self.segments.copy(other.segments, name)
                    rows.import_all(self._writer, limits, rows.next_stamp(self._writer))
            finally:
                self._writer.execute("DETACH other")
        return True

    def adopt(
        self,
        files: Mapping[str, tuple[FileState, bytes]],
        is_still: StillMatches = lambda path, state: True,
    ) -> list[str]:
        """Reuse the data of files whose text is stored, for another file or an earlier version;
        ``files`` are states and keys by path. Return the paths. For ``is_still`` see
        :meth:`write`."""
        with self.transaction() as connection:
            stamp = rows.next_stamp(connection)
            return [
                path
                for path, (state, key) in files.items()
                if (not rows.is_newer(connection, path, state) or is_still(path, state))
                and rows.adopt(connection, path, state, key, stamp)
            ]

    def note(self, name: str, value: str) -> None:
        """Write a short text that lasts as long as the store."""
        with self.transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("INSERT OR REPLACE INTO note VALUES (?,?)", (name, value))

    def write_history(self, commits: int, data: bytes) -> None:
        """Replace the commit history."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM history")
            connection.execute("INSERT INTO history (commits, data) VALUES (?,?)", (commits, data))

    def size(self) -> int:
        """Return how many bytes are in use on disk."""
        with self.read() as reader:
            return reader.size()

    def trim(self, limit: int) -> int:
        """Shrink the store below a size in bytes; return how many files lost their data.

        Parked rows go first, then occurrences that a request or the background work has added,
        and then all data of files, the files with the oldest mtime first.
        """
        if self.size() <= limit:
            return 0
        self.drop_unused()
        target = int(limit * (1 - TRIM_SHARE))
        while self.size() > target and self._drop_uses():
            self._free_unused()
        size, emptied = self.size(), 0
        while size > target:
            count = self._drop_oldest(1 - target / size)
            self._free_unused()
            emptied += count
            size = self.size()
            if not count:
                break
        return emptied

    def _drop_uses(self) -> bool:
        """Drop the occurrences of some of the oldest files, except declarations. Return False if no
        file has any."""
        with self.transaction() as connection:
            stamp = rows.next_stamp(connection)
            found = database.rows_of(
                connection,
                "SELECT id FROM file WHERE partial=0 AND problem='' ORDER BY mtime_ns, id LIMIT ?",
                DROPPED_AT_ONCE,
            )
            for (number,) in found:
                rows.drop_uses(connection, number, stamp)
        return bool(found)

    def _drop_oldest(self, share: float) -> int:
        """Drop the data of the oldest files, about this share of all bytes; return their number."""
        with self.transaction() as connection:
            stamp = rows.next_stamp(connection)
            found = database.rows_of(
                connection, "SELECT id, size FROM file WHERE key<>x'' ORDER BY mtime_ns, id"
            )
            room = share * sum(size for _, size in found)
            emptied = 0
            for number, size in found:
                rows.empty(connection, number, stamp)
                emptied += 1
                room -= size
                if room <= 0:
                    break
        return emptied

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Write within the block, all or nothing."""
        with self._lock, detect_damage(), database.transaction(self._writer):
            yield self._writer

    def _free_unused(self) -> None:
        """Free what no row refers to: pages of the database, documents of segments."""
        self.merger.rewrite(1.0)
        with self.transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    # --- reading ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def read(self) -> Iterator[Reader]:
        """Open a reader of the current state, which does not change within the block."""
        reader = self.reader()
        try:
            yield reader
        finally:
            reader.close()

    def reader(self) -> Reader:
        """Return a reader, see :meth:`read`; the caller closes it."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect(READER_CACHE_KB)
        try:
            with detect_damage():
                connection.execute("BEGIN")
                connection.execute(
                    "SELECT 1 FROM file LIMIT 1"
                ).fetchall()  # the snapshot is fixed from here on
            if not self.is_current():  # the connection may be to the new file
                raise FileNotFoundError(f"{self.file} was replaced")
        except BaseException:
            connection.close()
            raise
        return Reader(connection, self._decoded, self.segments, self._release)

    def _release(self, connection: Connection) -> None:
        with contextlib.suppress(DatabaseError):
            connection.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, cache_kb: int) -> Connection:
        return database.connect(
            self.file,
            busy_seconds=BUSY_SECONDS,
            cache_kb=cache_kb,
            layout="PRAGMA auto_vacuum=INCREMENTAL;",
        )


def _inodes(file: Path) -> list[int]:
    """Return the inodes of a database and its log, 0 for a missing file. While the database is
    open, all exist and none changes."""
    return [_inode(f"{file}{suffix}") for suffix in ("", "-wal", "-shm")]


def _inode(file: str) -> int:
    try:
        return os.stat(file).st_ino
    except OSError:
        return 0


def delete(store: Store) -> None:
    """Delete a store with all its generations; ignore files that cannot be deleted."""
    with contextlib.suppress(OSError), exclusive(store.file.parent, store.kind):
        for file in generations(store.file.parent, store.kind) or [store.file]:
            delete_files(file)


def _replaced(why: str) -> str:
    """Return the note on why a store has replaced another one."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return f"{now}: the index before it was damaged ({why})"
