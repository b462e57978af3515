"""The store: what is known of all files of a folder, in a database that outlives the server.

It is SQLite with a write-ahead log: readers see the state of one moment and never wait, a batch of
files is one transaction, and a process that is killed leaves the state before it. Several servers
and the command line may use one store at a time. It can always be made anew from the files, so
what is damaged, or not of this version, is put aside and forgotten. What is kept of texts is in
segments beside it, see :mod:`winnow.index.segments`.

Paths are relative to the folder, with ``/``; names that are no Unicode are kept byte for byte.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import winnow
import winnow.index
import winnow.postings
import winnow.secrets
import winnow.symbols
from winnow import database
from winnow.database import StoreDamaged, damage
from winnow.index import rows
from winnow.index.files import FileFacts, FileState
from winnow.index.lock import locked_briefly
from winnow.index.reader import KnownText, Reader, Skeletons
from winnow.index.rows import SCHEMA, SCHEMA_VERSION
from winnow.index.seal import broken_at, seal
from winnow.index.segments import Segments
from winnow.own_folder import own_folder, regular
from winnow.postings.building import MOST_DOCUMENTS

# How long one process waits for another's transaction, which takes some tenths of a second.
BUSY_SECONDS = 10.0
WRITER_CACHE_KB = 8 * 1024
READER_CACHE_KB = 2 * 1024
IDLE_READERS = 4
# Databases of other versions of Winnow that nobody has written for so long are deleted.
OLD_SECONDS = 6 * 3600.0
# What is full is emptied a little further, or the next file would have it emptied again.
TRIM_SHARE = 0.05
# Segments grow as the levels of a log-structured merge tree do (O'Neil et al., 1996): so many of
# about one size become one of the next. One that is half full at least stays as it is.
MERGED = 8
LEVELS = (64, 512, MOST_DOCUMENTS // 2)
# A search looks into each segment: 20 queries of six trees took 10 to 20 % less when several had
# become one, in 0.1 seconds. Small ones are made one, of so many documents at most.
COMPACT = 1024
# Packages and modules whose code decides what is kept.
MAKERS = (winnow.symbols, winnow.postings, winnow.secrets)
MAKER_FILES = ("extraction.py", "files.py")


@functools.cache
def version(variant: str = "") -> str:
    """What is kept depends on this: the tables, the code that makes facts and contents, the
    grammars, and settings, for which the ``variant`` stands."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    told = f"{SCHEMA_VERSION} {winnow.__version__} {variant}"
    known = hashlib.blake2b(told.encode(), digest_size=6)
    for name in ("tree-sitter", "tree-sitter-language-pack"):
        with contextlib.suppress(PackageNotFoundError):
            known.update(version_of(name).encode())
    for package in MAKERS:
        for folder in package.__path__:
            for file in sorted(Path(folder).rglob("*.py")):
                known.update(file.read_bytes())
    for folder in winnow.index.__path__:
        for name in MAKER_FILES:
            known.update(Path(folder, name).read_bytes())
    return known.hexdigest()


class Store:
    """What is known of the files of one folder; safe to use from several threads.

    Reading is done through :meth:`read`, which gives the state of one moment.
    """

    def __init__(self, file: Path, temporary: bool = False) -> None:
        """Open or make a database. Raises StoreDamaged for a file that is none of ours, and
        sqlite3.Error and OSError where there can be none."""
        self.file = file
        self.segments = Segments(file.parent, file.stem)
        self._temporary = temporary
        self._lock = threading.Lock()  # of the writer
        self._idle: list[sqlite3.Connection] = []
        self._skeletons = Skeletons()
        self._closed = False
        self._writer = self._connect(WRITER_CACHE_KB)
        try:
            database.make_tables(self._writer, SCHEMA)
        except BaseException:
            self._writer.close()
            raise
        self._inodes = _inodes(file)

    @classmethod
    def open(cls, root: Path, variant: str = "") -> Store:
        """The store of a folder; a temporary one where nothing can be written there."""
        try:
            file = _prepared(root, variant)
            with _alone(file):
                store = cls._opened(file)
        except (OSError, sqlite3.Error, StoreDamaged):
            return cls.temporary()
        with contextlib.suppress(sqlite3.Error, StoreDamaged):
            store._let_go()  # what a process that was killed has left
        return store

    @classmethod
    def _opened(cls, file: Path) -> Store:
        """The store of a file, or a new one in its place if that is damaged."""
        broken = broken_at(file)
        try:
            store = cls(file)
            if broken is not None and store.stamp() == broken:
                store.close()
                raise StoreDamaged("it is not what it was when it was closed")
            return store
        except (StoreDamaged, sqlite3.Error) as error:
            # Of a header that is another one, SQLite says many things.
            if broken is None and not isinstance(error, StoreDamaged):
                raise
        _put_aside(file)
        return cls(file)

    @classmethod
    def temporary(cls) -> Store:
        """A store that ends with the process."""
        return cls(Path(tempfile.mkdtemp(prefix="winnow-"), "index.db"), temporary=True)

    @property
    def is_temporary(self) -> bool:
        return self._temporary

    @property
    def inode(self) -> int:
        """Which file the database is."""
        return self._inodes[0]

    def close(self) -> None:
        """Close all connections that no reader has."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            stamp = rows.last_stamp(self._writer)
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
        self.segments.close()
        if self._temporary:
            shutil.rmtree(self.file.parent, ignore_errors=True)
        elif stamp is not None:
            seal(self.file, stamp)

    def is_current(self) -> bool:
        """Whether the database is still the one at its path, with its log: a user may have deleted
        it."""
        return _inodes(self.file) == self._inodes

    def check(self) -> None:
        """Raise StoreDamaged if the database or a segment is not whole; reads all of both."""
        with self.read() as reader, damage():
            # The second one also compares indexes; of what is not in the table, nothing is said.
            for check in ("quick_check(1)", "integrity_check(file)"):
                (said,) = reader.connection.execute(f"PRAGMA {check}").fetchone()
                if said != "ok":
                    raise StoreDamaged(f"{check}: {said}")
            if reader.has_strays():
                raise StoreDamaged("a text is in a segment that is none")
            for number, name in reader.segments().items():
                self.segments.verify(name)
                keys = self.segments.get(name).keys
                for document, key in reader.keys_in(number):
                    if not 0 <= document < len(keys) or keys[document] != key:
                        raise StoreDamaged("a text is not the one that its row names")

    # --- writing ---------------------------------------------------------------------------

    def write(self, batch: Mapping[str, FileFacts], gone: Iterable[str] = ()) -> None:
        """Keep what is known of files, by path, in the place of what was, and park what is known
        of those that are ``gone``; one transaction.

        Raises sqlite3.OperationalError and OSError where the disk is full or another process holds
        the store.
        """
        texts = {one.key: one.contents for one in batch.values() if one.contents is not None}
        name, size = self.segments.write(texts) if texts else ("", 0)
        self._keep(batch, gone, name, size, list(texts))
        self._merge()

    def compact(self) -> None:
        """Make one segment of the small ones, to be searched from now on; and what there is to
        merge then, or the next file that is saved would have to wait for it."""
        self._make_one(_small)
        self._merge()

    def take_from(self, other: Store, files: Mapping[str, tuple[FileState, bytes]]) -> list[str]:
        """Of files by path, with their state and key, take those whose text another store knows;
        gives their paths."""
        with other.read() as reader:
            known = {
                key: one
                for key in {key for _, key in files.values()}
                if (one := reader.known_text(key)) is not None
            }
            batch = {
                path: _taken(known[key], state, key)
                for path, (state, key) in files.items()
                if key in known
            }
            name, size, keys = self._copied(other, reader, known)
        self._keep(batch, (), name, size, keys)
        self._merge()
        return list(batch)

    def _copied(
        self, other: Store, reader: Reader, known: Mapping[bytes, KnownText]
    ) -> tuple[str, int, list[bytes]]:
        """Make a segment of what another store keeps of some texts; its name, size and texts."""
        import numpy as np

        by_segment: dict[int, dict[int, bytes]] = {}
        for key, one in known.items():
            if one.segment is not None:
                by_segment.setdefault(one.segment, {})[one.document] = key
        if not by_segment:
            return "", 0, []
        names, parts, keys = reader.segments(), [], []
        for number, documents in by_segment.items():
            segment = other.segments.get(names[number])
            other.segments.verify(names[number])
            keep = np.zeros(segment.documents, np.bool_)
            keep[list(documents)] = True
            parts.append((segment, keep))
            keys += [documents[document] for document in sorted(documents)]
        name, size = self.segments.merge(parts)
        return name, size, keys

    def _keep(
        self,
        batch: Mapping[str, FileFacts],
        gone: Iterable[str],
        name: str,
        size: int,
        keys: Sequence[bytes],
    ) -> None:
        """Write rows; a segment of this name and size has the texts with these keys."""
        try:
            with self._transaction() as connection:
                stamp = rows.next_stamp(connection)
                for path in batch:
                    rows.park(connection, path, stamp, gone=False)
                for path in gone:
                    rows.park(connection, path, stamp, gone=True)
                segment = self._segment_row(connection, name, len(keys), size) if name else 0
                places = {key: (segment, document) for document, key in enumerate(keys)}
                rows.insert(connection, batch, places, stamp)
                rows.forget_parked(connection)
        except BaseException:
            if name:
                self.segments.drop(name)
            raise

    def adopt(self, files: Mapping[str, tuple[FileState, bytes]]) -> list[str]:
        """Of files by path, with their state and key, take those whose text is known: of a file
        that was, or of another one. Gives their paths."""
        with self._transaction() as connection:
            stamp = rows.next_stamp(connection)
            return [
                path
                for path, (state, key) in files.items()
                if rows.adopt(connection, path, state, key, stamp)
            ]

    def note(self, name: str, value: str) -> None:
        """Keep a short text for as long as the store lasts."""
        with self._transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("INSERT OR REPLACE INTO note VALUES (?,?)", (name, value))

    def stamp(self) -> int:
        """The number of the last transaction."""
        with self.read() as reader:
            return reader.stamp()

    def size(self) -> int:
        """How many bytes are in use on disk."""
        with self.read() as reader:
            return reader.size()

    def trim(self, limit: int) -> int:
        """Bring the store below a size in bytes; of how many files nothing is kept any more.

        What is parked goes first, then what is known of the files that were written longest ago.
        """
        if self.size() <= limit:
            return 0
        with self._transaction() as connection:
            rows.next_stamp(connection)
            rows.forget_parked(connection, 0)
        self._collect()
        target = int(limit * (1 - TRIM_SHARE))
        size, emptied = self.size(), 0
        while size > target:
            count = self._empty(1 - target / size)
            self._collect()
            emptied += count
            size = self.size()
            if not count:
                break
        return emptied

    def _empty(self, share: float) -> int:
        """Keep nothing of the oldest files, which are about this share of all bytes; how many."""
        with self._transaction() as connection:
            stamp = rows.next_stamp(connection)
            found = connection.execute(
                "SELECT id, size FROM file WHERE key<>x'' ORDER BY mtime_ns, id"
            ).fetchall()
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
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, damage(), database.transaction(self._writer):
            yield self._writer

    # --- segments --------------------------------------------------------------------------

    def _merge(self) -> None:
        """Make larger segments of small ones, where there are many."""
        for _ in LEVELS:
            if not self._make_one(_to_merge):
                return

    def _make_one(self, choose: Callable[[Mapping[int, int]], list[int]]) -> bool:
        """Make one segment of some that are chosen by their sizes, of the documents that live;
        whether there are any."""
        with self.read() as reader:
            some = choose(reader.sizes())
            names = reader.segments()
            live = {number: rows.live_documents(reader.connection, number) for number in some}
        if some:
            self._merge_segments(names, live)
        return bool(some)

    def _merge_segments(self, names: Mapping[int, str], live: Mapping[int, list[int]]) -> None:
        """Make one segment of some, of the documents that live."""
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
                there = {row[0] for row in connection.execute("SELECT id FROM segment")}
                same = all(
                    number in there and rows.live_documents(connection, number) == documents
                    for number, documents in live.items()
                )
                if not same:  # another process was faster, or a file has changed
                    if name:
                        self.segments.drop(name)
                    return
                target = self._segment_row(connection, name, count, size) if name else 0
                stamp, first = rows.next_stamp(connection), 0
                for number, documents in live.items():
                    rows.move(connection, number, documents, target, first, stamp)
                    first += len(documents)
                    connection.execute("DELETE FROM segment WHERE id=?", (number,))
                    # Before the row is gone for others, or they would delete the file at once.
                    self.segments.touch(names[number])
        except BaseException:
            if name:
                self.segments.drop(name)
            raise
        self._let_go()

    def _collect(self) -> None:
        """Free what no row names any more: pages of the database, documents of segments."""
        with self.read() as reader:
            names, sizes = reader.segments(), reader.sizes()
            live = {number: rows.live_documents(reader.connection, number) for number in names}
        for number, documents in live.items():
            if len(documents) < sizes[number]:
                self._merge_segments(names, {number: documents})
        with self._transaction() as connection:
            rows.next_stamp(connection)
            connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _segment_row(
        self, connection: sqlite3.Connection, name: str, documents: int, size: int
    ) -> int:
        """The number of a segment that was written. Raises OSError if somebody who took it for one
        that was left behind has deleted it: this process may have been stopped for long."""
        self.segments.stat(name)
        return rows.segment_row(connection, name, documents, size)

    def _let_go(self) -> None:
        """Delete the segments that no row names, once nobody can be reading them."""
        # Nobody can write a row meanwhile.
        with self._transaction() as connection:
            names = [row[0] for row in connection.execute("SELECT name FROM segment")]
            self.segments.keep_only(names)

    # --- reading ---------------------------------------------------------------------------

    @contextlib.contextmanager
    def read(self) -> Iterator[Reader]:
        """The store as it is now, for as long as the block lasts, whatever is written meanwhile."""
        reader = self.reader()
        try:
            yield reader
        finally:
            reader.close()

    def reader(self) -> Reader:
        """As :meth:`read`; the caller closes it."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect(READER_CACHE_KB)
        with damage():
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM file LIMIT 1").fetchone()  # from here on it is held
        if not self.is_current():
            connection.close()  # it may be of the one that is there now
            raise FileNotFoundError(f"{self.file} is another file now")
        return Reader(connection, self._skeletons, self.segments, self._release)

    def _release(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        return database.connect(
            self.file,
            busy_seconds=BUSY_SECONDS,
            cache_kb=cache_kb,
            settings="PRAGMA auto_vacuum=INCREMENTAL;",
        )


def _inodes(file: Path) -> list[int]:
    """Which files a database and its log are. While it is open, all are there and none becomes
    another one; 0 stands for one that is missing."""
    return [_inode(Path(f"{file}{suffix}")) for suffix in ("", "-wal", "-shm")]


def _inode(file: Path) -> int:
    try:
        return file.stat().st_ino
    except OSError:
        return 0


def _taken(known: KnownText, state: FileState, key: bytes) -> FileFacts:
    state = FileState(state.mtime_ns, state.ctime_ns, state.size, known.problem)
    return FileFacts(state, known.language, known.facts, key, binary=known.binary)


def put_aside(store: Store) -> None:
    """Move a damaged database away, where it is the only one of its kind; its segments go. It is
    closed. If another process has done so before, nothing happens. Raises OSError."""
    with _alone(store.file):
        if _inode(store.file) == store.inode:
            _put_aside(store.file)


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    """For the time of the block, nobody else opens a database or puts it aside: who opens it
    between two steps of that would write into the log of another one."""
    with locked_briefly(file.with_suffix(".open"), BUSY_SECONDS):
        yield


def _put_aside(file: Path) -> None:
    database.put_aside(file)
    _delete_segments(file)


def delete(file: Path) -> None:
    """Delete a database and its segments, as far as that is possible."""
    with contextlib.suppress(OSError), _alone(file):
        for one in reversed(database.database_files(file)):
            with contextlib.suppress(OSError):
                one.unlink(missing_ok=True)
        _delete_segments(file)


def _delete_segments(file: Path) -> None:
    for segment in file.parent.glob(f"{file.stem}-*.seg*"):
        with contextlib.suppress(OSError):
            segment.unlink()


def _prepared(root: Path, variant: str) -> Path:
    """Where the database of this version is, in a folder that exists then. Raises OSError."""
    folder = own_folder(root)
    file = folder / f"index-{version(variant)}.db"
    regular(*database.database_files(file))
    _delete_old(folder, file)
    return file


def _delete_old(folder: Path, own: Path) -> None:
    """Delete stores of other versions, unless a server has written them lately."""
    limit = time.time() - OLD_SECONDS
    for file in (*folder.glob("index-*.db*"), *folder.glob("symbols-*.db*")):
        with contextlib.suppress(OSError):
            if file.stem != own.stem and file.lstat().st_mtime < limit:
                file.unlink()
                for suffix in (".sum", ".lock", ".open", ".damaged"):
                    file.with_suffix(suffix).unlink(missing_ok=True)
                _delete_segments(file)


def _to_merge(sizes: Mapping[int, int]) -> list[int]:
    """The segments that are to become one, by the numbers of documents in each."""
    smallest = 0
    for level in LEVELS:
        some = sorted((size, number) for number, size in sizes.items() if smallest <= size < level)
        if len(some) >= MERGED:
            return _fitting(some, MOST_DOCUMENTS)
        smallest = level
    return []


def _small(sizes: Mapping[int, int]) -> list[int]:
    """The same, of those that are small together."""
    some = _fitting(sorted((size, number) for number, size in sizes.items()), COMPACT)
    return some if len(some) > 1 else []


def _fitting(segments: Sequence[tuple[int, int]], most: int) -> list[int]:
    """The first of some segments, by size and number, that have no more documents together."""
    documents = itertools.accumulate(size for size, _ in segments)
    fit = sum(count <= most for count in documents)
    return [number for _, number in segments[:fit]]
