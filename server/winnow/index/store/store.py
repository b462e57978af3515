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
import functools
import hashlib
import itertools
import logging
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

import winnow
from winnow.index.postings.building import MOST_DOCUMENTS
from winnow.index.store import rows
from winnow.index.store.file_record import (
    NO_DEFINITIONS,
    FileRecord,
    FileState,
)
from winnow.index.store.reader import DecodedFiles, Reader, StoredText
from winnow.index.store.rows import SCHEMA, SCHEMA_VERSION
from winnow.index.store.segments import GRACE_SECONDS, Segments
from winnow.index.store.size_limits import SizeLimits
from winnow.storage import database, state_folder
from winnow.storage.database import Connection, DatabaseError, StoreDamaged, detect_damage
from winnow.storage.lock import locked_briefly
from winnow.storage.untrusted import require_regular
from winnow.storage.writing import replace_file

# Longest wait for another process's transaction, which takes some tenths of a second.
BUSY_SECONDS = 10.0
WRITER_CACHE_KB = 8 * 1024
READER_CACHE_KB = 2 * 1024
IDLE_READERS = 4
# Databases of other versions of Winnow are deleted when they have not been written for this time.
OLD_SECONDS = 6 * 3600.0
# A full store is trimmed a bit further; otherwise the next file would trim it again.
TRIM_SHARE = 0.05
# Files that lose their occurrences in one transaction.
DROPPED_AT_ONCE = 500
# Segments grow like the levels of a log-structured merge tree (O'Neil et al., 1996): this number of
# one level become one of the next. Larger ones are merged at the end of a build.
MERGED = 8
LEVELS = (64, 512, 2048)
# A search reads each segment: at the end of a build they are merged. A segment is left alone if it
# has more documents than this, and more than this many times those of all smaller ones together:
# copying it would cost more than it saves.
LARGE = 1024
MUCH_LARGER = 2
# A segment with a smaller share of live documents is rewritten at the end of a build.
SPARSE_SHARE = 0.8
# Files of another store that are copied in one transaction.
COPIED_AT_ONCE = 500
# Notes: the time of the last full check, and why the store has replaced another one.
CHECKED = "checked"
REPLACED = "replaced"
BUILDING = ".building"
_GENERATION = re.compile(r"index-[0-9a-f]+(?:\.(\d+))?\.db")
# Returns True if a file still has a state, or is deleted: see Store.write.
StillMatches = Callable[[str, "FileState | None"], bool]
# Folders and files whose code decides what is stored.
CODE_FOLDERS = ("symbols", "index/postings", "privacy/secrets")
CODE_FILES = ("index/builder/extraction.py", "index/store/file_record.py")
# A note: the user has requested the index of a folder with very many files.
CONSENT = "consent"

logger = logging.getLogger(__name__)


@functools.cache
def version(variant: str = "") -> str:
    """Return the version of the stored data: it depends on the tables, the code that extracts
    symbols and contents, the grammars, and the settings that ``variant`` stands for."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    seed = f"{SCHEMA_VERSION} {winnow.__version__} {variant}"
    digest = hashlib.blake2b(seed.encode(), digest_size=6)
    for name in ("tree-sitter", "tree-sitter-language-pack"):
        with contextlib.suppress(PackageNotFoundError):
            digest.update(version_of(name).encode())
    for package in map(Path, winnow.__path__):
        for folder in CODE_FOLDERS:
            for file in sorted((package / folder).rglob("*.py")):
                digest.update(file.read_bytes())
        for name in CODE_FILES:
            digest.update((package / name).read_bytes())
    return digest.hexdigest()


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
        self._merged_at: float | None = None  # the last merge whose old segments still exist
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
            _delete_old(folder, version(variant))
            with _exclusive(folder, version(variant)):
                store = cls._newest(folder, version(variant), user)
        except (OSError, DatabaseError, StoreDamaged):
            return cls.temporary()
        with contextlib.suppress(OSError, DatabaseError, StoreDamaged):
            store._delete_unused_segments()  # left by killed processes
        return store

    @classmethod
    def open_existing(
        cls, folder: Path, variant: str, user: state_folder.User | None
    ) -> Store | None:
        """Return the complete store in a trusted folder; None if there is none of this version.

        Raises StoreDamaged, DatabaseError and OSError.
        """
        kind = version(variant)
        with _exclusive(folder, kind):
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
        for file in found:
            delete_files(file)
        store = cls(_file_of(folder, kind, _next_generation(found)), user)
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
        with _exclusive(folder, kind):
            for file in generations(folder, kind):
                if is_building(file):
                    with contextlib.suppress(StoreDamaged):
                        return cls._open_with_retry(file, damaged._user)
                    delete_files(file)
            file = _file_of(folder, kind, _next_generation(generations(folder, kind)))
            replace_file(_building_mark(file), b"")
            store = cls(file, damaged._user)
            store.note(REPLACED, _replaced(why))
            if CONSENT in damaged.readable_notes():
                store.note(CONSENT, "yes")
            return store

    def publish(self) -> None:
        """Make this the store that every process opens, and delete older ones."""
        folder, kind = self.file.parent, self.kind
        with _exclusive(folder, kind):
            _building_mark(self.file).unlink(missing_ok=True)
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
            with self._transaction() as connection:
                segment = self._segment_row(connection, name, len(texts), size) if name else 0
                places = {key: (segment, document) for document, key in enumerate(texts)}
                _write_rows(connection, batch, gone, places, is_still)
        except BaseException:
            if name:
                self.segments.drop(name)
            raise
        self._merge()

    def add_occurrences(self, batch: Mapping[str, FileRecord]) -> list[str]:
        """Complete the occurrences of files by path. Return the paths of files that the store has
        with another text.

        Nothing else changes, so data derived from the store stays valid: no new stamp.
        """
        with self._transaction() as connection:
            return rows.add_occurrences(connection, batch)

    def compact(self) -> None:
        """Merge segments of similar sizes, so that searches read few. Rewrite sparse segments: a
        build and a switch of branches leave documents that no file has anymore."""
        while self._merge_chosen(_similar_segments, Reader.live_sizes):
            pass
        self._rewrite_segments(SPARSE_SHARE)

    def drop_texts(self) -> None:
        """Drop the files of which only the text is indexed."""
        with self._transaction() as connection:
            stamp = rows.next_stamp(connection)
            query = "SELECT path FROM file WHERE problem=? AND parked=0"
            for (path,) in database.rows_of(connection, query, NO_DEFINITIONS):
                rows.park(connection, os.fsdecode(path), stamp, gone=True)
        self._free_unused()

    def drop_parked(self) -> None:
        """Drop the data of texts that no file has."""
        with self._transaction() as connection:
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
        with self._transaction() as connection:
            if not signatures:
                rows.drop_signatures(connection)
            names = database.rows_of(connection, "SELECT name FROM segment")
        with self._lock, detect_damage():
            for connection in self._idle:
                connection.close()
            self._idle.clear()
            self._writer.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return [self.file, *(self.segments.file(name) for (name,) in names)]

    @property
    def is_untidy(self) -> bool:
        """True if segments that were merged can be deleted now."""
        merged_at = self._merged_at
        return merged_at is not None and time.monotonic() - merged_at > GRACE_SECONDS

    def tidy(self) -> None:
        """Delete the segments that were merged; leave them if that fails."""
        self._merged_at = None
        with contextlib.suppress(DatabaseError, OSError):
            self._delete_unused_segments()

    def copy_from(
        self,
        other: Store,
        files: Mapping[str, tuple[FileState, bytes]],
        is_still: StillMatches = lambda path, state: True,
        limits: SizeLimits | None = None,
    ) -> Iterator[list[str]]:
        """Copy the data of files whose text another store has; ``files`` are states and keys by
        path, as far as an index with these limits can reuse it. For ``is_still`` see :meth:`write`.
        Yields the paths after each transaction; any thread may request the next.

        Raises StoreDamaged, DatabaseError and OSError, also for errors of the other store. Files
        that were yielded before are complete.
        """
        paths: dict[bytes, list[str]] = {}
        for path, (_, key) in files.items():
            paths.setdefault(key, []).append(path)
        with other.read() as reader:
            for texts in _grouped(reader.places(paths)):
                segment = self._copy_documents(other, reader, texts)
                places = (
                    {key: (segment, document) for document, key in enumerate(texts)}
                    if segment
                    else {}
                )
                for at in range(0, len(texts), COPIED_AT_ONCE):
                    known = {
                        key: text
                        for key in list(texts)[at : at + COPIED_AT_ONCE]
                        if (text := reader.known_text(key)) is not None
                        and rows.is_reusable(text.problem, limits)
                    }
                    batch = {
                        path: _reused_record(text, files[path][0], key)
                        for key, text in known.items()
                        for path in paths[key]
                        if is_still(path, files[path][0])
                    }
                    with self._transaction() as connection:
                        if segment and not rows.has_segment(connection, segment):
                            return  # another process has merged it: it had few files yet
                        _write_rows(connection, batch, (), places, is_still)
                    yield list(batch)
        self._merge()

    def import_all(self, other: Store, limits: SizeLimits | None = None) -> bool:
        """Import all texts of another store that an index with these limits can reuse, for
        :meth:`adopt` to find: a tenth of the time of :meth:`copy_from`. Return False if this store
        has texts already, or another name, which its segments contain.

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

    def _copy_documents(
        self, other: Store, reader: Reader, texts: Mapping[bytes, tuple[int | None, int]]
    ) -> int | None:
        """Write a segment with the documents of another store at these places, in their order;
        return its number. Returns None if the texts have no documents."""
        import numpy as np

        documents: dict[int, dict[int, bytes]] = {}
        for key, (segment, document) in texts.items():
            if segment is None:
                return None
            documents.setdefault(segment, {})[document] = key
        names, parts = reader.segments(), []
        for number, keys in documents.items():
            known = other.segments.get(names[number])
            if any(known.keys[document] != key for document, key in keys.items()):
                raise StoreDamaged("a text does not match its row")
            keep = np.zeros(known.documents, np.bool_)
            keep[list(keys)] = True
            parts.append((known, keep))
        name, size = self.segments.merge(parts)
        return self._add_segment(name, len(texts), size)

    def _add_segment(self, name: str, documents: int, size: int) -> int:
        """Record a new segment whose files are written later; return its number."""
        try:
            with self._transaction() as connection:
                rows.next_stamp(connection)
                return self._segment_row(connection, name, documents, size)
        except BaseException:
            self.segments.drop(name)
            raise

    def adopt(
        self,
        files: Mapping[str, tuple[FileState, bytes]],
        is_still: StillMatches = lambda path, state: True,
    ) -> list[str]:
        """Reuse the data of files whose text is stored, for another file or an earlier version;
        ``files`` are states and keys by path. Return the paths. For ``is_still`` see
        :meth:`write`."""
        with self._transaction() as connection:
            stamp = rows.next_stamp(connection)
            return [
                path
                for path, (state, key) in files.items()
                if (not rows.is_newer(connection, path, state) or is_still(path, state))
                and rows.adopt(connection, path, state, key, stamp)
            ]

    def note(self, name: str, value: str) -> None:
        """Write a short text that lasts as long as the store."""
        with self._transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("INSERT OR REPLACE INTO note VALUES (?,?)", (name, value))

    def write_history(self, commits: int, data: bytes) -> None:
        """Replace the commit history."""
        with self._transaction() as connection:
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
        with self._transaction() as connection:
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
        with self._transaction() as connection:
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
    def _transaction(self) -> Iterator[Connection]:
        with self._lock, detect_damage(), database.transaction(self._writer):
            yield self._writer

    # --- segments --------------------------------------------------------------------------

    def _merge(self) -> None:
        """Merge small segments where there are many."""
        for _ in LEVELS:
            if not self._merge_chosen(_segments_to_merge, Reader.sizes):
                return

    def _merge_chosen(
        self,
        choose: Callable[[Mapping[int, int]], list[int]],
        sizes: Callable[[Reader], Mapping[int, int]],
    ) -> bool:
        """Merge the segments that ``choose`` picks by their sizes, with their live documents.
        Return True if they became one."""
        with self.read() as reader:
            some = choose(sizes(reader))
            names = reader.segments()
            live = {number: rows.live_documents(reader.connection, number) for number in some}
        return bool(some) and self._merge_segments(names, live)

    def _merge_segments(self, names: Mapping[int, str], live: Mapping[int, list[int]]) -> bool:
        """Merge segments, with their live documents. Return False if these changed meanwhile."""
        import numpy as np

        parts = []
        for number, documents in live.items():
            segment = self.segments.get(names[number])
            keep = np.zeros(segment.documents, np.bool_)
            keep[documents] = True
            parts.append((segment, keep))
        count = sum(map(len, live.values()))
        name, size = self.segments.merge(parts) if count else ("", 0)
        try:
            with self._transaction() as connection:
                there = {row[0] for row in database.rows_of(connection, "SELECT id FROM segment")}
                same = all(
                    number in there and rows.live_documents(connection, number) == documents
                    for number, documents in live.items()
                )
                if not same:  # another process was faster, or a file has changed
                    if name:
                        self.segments.drop(name)
                    return False
                target = self._segment_row(connection, name, count, size) if name else 0
                stamp, first = rows.next_stamp(connection), 0
                for number, documents in live.items():
                    rows.move(connection, number, documents, target, first, stamp)
                    first += len(documents)
                    connection.execute("DELETE FROM segment WHERE id=?", (number,))
                    # Before other processes see that the row is gone: they would delete the file at
                    # once.
                    self.segments.touch(names[number])
        except BaseException:
            if name:
                self.segments.drop(name)
            raise
        self._merged_at = time.monotonic()
        self._delete_unused_segments()
        return True

    def _free_unused(self) -> None:
        """Free what no row refers to: pages of the database, documents of segments."""
        self._rewrite_segments(1.0)
        with self._transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _rewrite_segments(self, least: float) -> None:
        """Rewrite the segments in which less than this share of the documents is live."""
        with self.read() as reader:
            names, sizes = reader.segments(), reader.sizes()
            live = {number: rows.live_documents(reader.connection, number) for number in names}
        for number, documents in live.items():
            if len(documents) < least * sizes[number]:
                self._merge_segments(names, {number: documents})

    def _segment_row(self, connection: Connection, name: str, documents: int, size: int) -> int:
        """Insert a new segment and return its number. Raises OSError if another process has deleted
        its file as a leftover: this process may have been suspended for long."""
        self.segments.stat(name)
        return rows.segment_row(connection, name, documents, size)

    def _delete_unused_segments(self) -> None:
        """Delete the segments that no row names and no process can be reading."""
        # No row can be written meanwhile.
        with self._transaction() as connection:
            rows_of_names = database.rows_of(connection, "SELECT name FROM segment")
            names = [row[0] for row in rows_of_names]
            self.segments.remove_unused(names)

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
    return [_inode(Path(f"{file}{suffix}")) for suffix in ("", "-wal", "-shm")]


def _inode(file: Path) -> int:
    try:
        return file.stat().st_ino
    except OSError:
        return 0


def _write_rows(
    connection: Connection,
    batch: Mapping[str, FileRecord],
    gone: Iterable[str],
    places: Mapping[bytes, tuple[int, int]],
    is_still: StillMatches,
) -> None:
    """Write the rows of files, see :meth:`Store.write`; ``places`` are the segment and document of
    each text by key."""
    stamp = rows.next_stamp(connection)
    batch = {
        path: record
        for path, record in batch.items()
        if not rows.is_newer(connection, path, record.state) or is_still(path, record.state)
    }
    # A request may have read a file that a build has only the text of.
    for path in [path for path in batch if batch[path].state.problem == NO_DEFINITIONS]:
        if rows.has_definitions(connection, path, batch[path].key):
            del batch[path]
    for path in batch:
        rows.park(connection, path, stamp, gone=False)
    for path in (path for path in gone if is_still(path, None)):
        rows.park(connection, path, stamp, gone=True)
    rows.insert(connection, batch, places, stamp)
    rows.forget_parked(connection)


def _grouped(
    places: Mapping[bytes, tuple[int | None, int]],
) -> Iterator[dict[bytes, tuple[int | None, int]]]:
    """Yield the places of texts in groups, each for one segment: those without a document, and
    the others in the order of their documents, so that each segment is read once or twice."""
    without = {key: place for key, place in places.items() if place[0] is None}
    if without:
        yield without
    ordered = sorted((place, key) for key, place in places.items() if place[0] is not None)
    for at in range(0, len(ordered), MOST_DOCUMENTS):
        yield {key: place for place, key in ordered[at : at + MOST_DOCUMENTS]}


def _reused_record(known: StoredText, state: FileState, key: bytes) -> FileRecord:
    state = FileState(state.mtime_ns, state.ctime_ns, state.size, known.problem)
    return FileRecord(state, known.language, known.symbols, key, binary=known.binary)


def generations(folder: Path, kind: str) -> list[Path]:
    """Return the databases of a version, the newest first."""
    numbered = [
        (int(found[1] or 0), file)
        for file in folder.glob(f"index-{kind}*.db")
        if (found := _GENERATION.fullmatch(file.name))
    ]
    return [file for _, file in sorted(numbered, reverse=True)]


def is_building(file: Path) -> bool:
    """Return True if a database is an unfinished successor."""
    return os.path.lexists(_building_mark(file))


def delete(store: Store) -> None:
    """Delete a store with all its generations; ignore files that cannot be deleted."""
    with contextlib.suppress(OSError), _exclusive(store.file.parent, store.kind):
        for file in generations(store.file.parent, store.kind) or [store.file]:
            delete_files(file)


def delete_files(file: Path) -> None:
    """Delete a database and its segments; ignore files that cannot be deleted."""
    database.delete_database(file)
    _delete_segments(file)
    with contextlib.suppress(OSError):
        _building_mark(file).unlink(missing_ok=True)


def _delete_segments(file: Path) -> None:
    for segment in file.parent.glob(f"{file.stem}-*.seg*"):
        with contextlib.suppress(OSError):
            segment.unlink()


def _building_mark(file: Path) -> Path:
    return file.with_suffix(BUILDING)


def _file_of(folder: Path, kind: str, generation: int) -> Path:
    return folder / (f"index-{kind}.{generation}.db" if generation else f"index-{kind}.db")


def _next_generation(found: Sequence[Path]) -> int:
    if not found:
        return 0
    newest = _GENERATION.fullmatch(found[0].name)
    return int(newest[1] or 0) + 1 if newest else 0


def _replaced(why: str) -> str:
    """Return the note on why a store has replaced another one."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return f"{now}: the index before it was damaged ({why})"


@contextlib.contextmanager
def _exclusive(folder: Path, kind: str) -> Iterator[None]:
    """Keep other processes from opening or deleting a store within the block: opening one between
    two steps would write into the log of another."""
    with locked_briefly(folder / f"index-{kind}.open", BUSY_SECONDS):
        yield


def _delete_old(folder: Path, kind: str) -> None:
    """Delete stores of other versions, unless a process has written them lately."""
    limit = time.time() - OLD_SECONDS
    for file in (*folder.glob("index-*.db*"), *folder.glob("symbols-*.db*")):
        with contextlib.suppress(OSError):
            if not file.name.startswith(f"index-{kind}.") and file.lstat().st_mtime < limit:
                file.unlink()
                for suffix in (".sum", ".lock", ".open", ".damaged", BUILDING):
                    file.with_suffix(suffix).unlink(missing_ok=True)
                _delete_segments(file)


def _segments_to_merge(sizes: Mapping[int, int]) -> list[int]:
    """Return the segments to merge, by their numbers of documents."""
    smallest = 0
    for level in LEVELS:
        some = sorted((size, number) for number, size in sizes.items() if smallest <= size < level)
        if len(some) >= MERGED:
            return _fitting(some, MOST_DOCUMENTS)
        smallest = level
    return []


def _similar_segments(sizes: Mapping[int, int]) -> list[int]:
    """Return the segments to merge at the end of a build: the smallest, and each next one that is
    not much larger than those before it together and fits in with them (see `LARGE`)."""
    chosen: list[int] = []
    documents = 0
    for size, number in sorted((size, number) for number, size in sizes.items()):
        is_large = size > max(LARGE, MUCH_LARGER * documents)
        if (chosen and is_large) or documents + size > MOST_DOCUMENTS:
            if len(chosen) > 1:
                return chosen
            chosen, documents = [], 0
        chosen.append(number)
        documents += size
    return chosen if len(chosen) > 1 else []


def _fitting(segments: Sequence[tuple[int, int]], most: int) -> list[int]:
    """Return the first of some segments, by size and number, that together have at most ``most``
    documents."""
    documents = itertools.accumulate(size for size, _ in segments)
    fit = sum(count <= most for count in documents)
    return [number for _, number in segments[:fit]]
