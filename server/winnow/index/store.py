"""The store: the facts of all files of a folder, in a database that outlives the server.

It is SQLite with a write-ahead log: readers see the state of one moment and never wait, a batch of
files is one transaction, and a process that is killed leaves the state before it. Several servers
and the command line may use one store at a time. It can always be made anew from the files, so
what is damaged, or not of this version, is put aside and forgotten.

Paths are relative to the folder, with ``/``; names that are no Unicode are kept byte for byte.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

import winnow
import winnow.symbols
from winnow.config import OWN_FOLDER
from winnow.index.files import FileFacts
from winnow.index.reader import Reader, Skeletons, StoreDamaged, damage, unpacked_names

# Changes with the tables below; what fills them has its own mark, see `version`.
SCHEMA_VERSION = 2
SCHEMA = """
CREATE TABLE file (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL UNIQUE, base BLOB NOT NULL,
  language TEXT NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  size INTEGER NOT NULL, problem TEXT NOT NULL);
CREATE INDEX file_base ON file (base);
CREATE INDEX file_problem ON file (id) WHERE problem<>'';
CREATE TABLE content (file INTEGER PRIMARY KEY, skeleton BLOB NOT NULL, names BLOB NOT NULL);
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE definition (
  file INTEGER NOT NULL, place INTEGER NOT NULL, name INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (file, place)) WITHOUT ROWID;
CREATE INDEX definition_name ON definition (name);
CREATE TABLE occurrence (
  name TEXT NOT NULL, file INTEGER NOT NULL, packed BLOB NOT NULL,
  PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE TABLE base (
  name TEXT NOT NULL, file INTEGER NOT NULL, scope INTEGER NOT NULL,
  PRIMARY KEY (name, file, scope)) WITHOUT ROWID;
CREATE INDEX base_file ON base (file);
"""
# How long one process waits for another's transaction, which takes some tenths of a second.
BUSY_SECONDS = 10.0
WRITER_CACHE_KB = 8 * 1024
READER_CACHE_KB = 2 * 1024
IDLE_READERS = 4
# Databases of other versions of Winnow that nobody has written for so long are deleted.
OLD_SECONDS = 3 * 24 * 3600.0


@functools.cache
def version() -> str:
    """What the facts in a store depend on: its tables, the extractor's code, and the grammars."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    known = hashlib.blake2b(f"{SCHEMA_VERSION} {winnow.__version__}".encode(), digest_size=6)
    for package in ("tree-sitter", "tree-sitter-language-pack"):
        with contextlib.suppress(PackageNotFoundError):
            known.update(version_of(package).encode())
    for folder in winnow.symbols.__path__:
        for file in sorted(Path(folder).rglob("*.py")):
            known.update(file.read_bytes())
    return known.hexdigest()


class Store:
    """The facts of the files of one folder; safe to use from several threads.

    Reading is done through :meth:`read`, which gives the state of one moment.
    """

    def __init__(self, file: Path, temporary: bool = False) -> None:
        """Open or make a database. Raises StoreDamaged for a file that is none of ours, and
        sqlite3.Error and OSError where there can be none."""
        self.file = file
        self._temporary = temporary
        self._lock = threading.Lock()  # of the writer
        self._idle: list[sqlite3.Connection] = []
        self._skeletons = Skeletons()
        self._closed = False
        self._writer = self._connect(WRITER_CACHE_KB)
        try:
            with damage():
                _create(self._writer)
        except BaseException:
            self._writer.close()
            raise
        self._inode = file.stat().st_ino

    @classmethod
    def open(cls, root: Path) -> Store:
        """The store of a folder; a temporary one where nothing can be written there."""
        try:
            file = _prepared(root / OWN_FOLDER)
            try:
                return cls(file)
            except StoreDamaged:
                put_aside(file)
                return cls(file)
        except (OSError, sqlite3.Error, StoreDamaged):
            return cls.temporary()

    @classmethod
    def temporary(cls) -> Store:
        """A store that ends with the process."""
        return cls(Path(tempfile.mkdtemp(prefix="winnow-"), "symbols.db"), temporary=True)

    @property
    def is_temporary(self) -> bool:
        return self._temporary

    def close(self) -> None:
        """Close all connections that no reader has."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()
        if self._temporary:
            shutil.rmtree(self.file.parent, ignore_errors=True)

    def is_current(self) -> bool:
        """Whether the database is still the one at its path: a user may have deleted it."""
        try:
            return self.file.stat().st_ino == self._inode
        except OSError:
            return False

    def check(self) -> None:
        """Raise StoreDamaged if the database is not whole; reads all of it."""
        with self.read() as reader, damage():
            (said,) = reader.connection.execute("PRAGMA quick_check(1)").fetchone()
            if said != "ok":
                raise StoreDamaged(said)

    # --- writing ---------------------------------------------------------------------------

    def write(self, batch: Mapping[str, FileFacts], gone: Iterable[str] = ()) -> None:
        """Keep the facts of files, by path, in the place of what was known of them, and forget
        those that are ``gone``; one transaction.

        Raises sqlite3.OperationalError where the disk is full or another process holds the store.
        """
        with self._transaction() as connection:
            for path in (*batch, *gone):
                _remove(connection, path)
            _insert(connection, batch)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, damage():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                # A full disk has ended the transaction already.
                with contextlib.suppress(sqlite3.Error):
                    self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

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
        with damage():
            connection = connection or self._connect(READER_CACHE_KB)
            connection.execute("BEGIN")
            connection.execute("SELECT 1 FROM file LIMIT 1").fetchone()  # from here on it is held
        return Reader(connection, self._skeletons, self._release)

    def _release(self, connection: sqlite3.Connection) -> None:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        with self._lock:
            if not self._closed and len(self._idle) < IDLE_READERS:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, cache_kb: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        # The folder is a stranger's, and so may the database be.
        try:
            with damage():
                connection.executescript(
                    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;"
                    f"PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{cache_kb};"
                    "PRAGMA temp_store=MEMORY;"
                )
        except BaseException:
            connection.close()
            raise
        return connection


def put_aside(file: Path) -> None:
    """Move a damaged database away, where it is the only one of its kind."""
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    file.replace(file.with_suffix(".damaged"))


def _prepared(folder: Path) -> Path:
    """Where the database of this version is, in a folder that exists then. Raises OSError."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir()
    # A stranger's link would have us write elsewhere.
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise NotADirectoryError(folder)
    ignore = folder / ".gitignore"
    if not os.path.lexists(ignore):
        ignore.write_text("*\n", "utf-8")
    file = folder / f"symbols-{version()}.db"
    for path in (file, Path(f"{file}-wal"), Path(f"{file}-shm")):
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise FileExistsError(path)
    if not file.exists():
        _delete_old(folder)
    return file


def _delete_old(folder: Path) -> None:
    """Delete databases of other versions, unless a server has written them lately."""
    limit = time.time() - OLD_SECONDS
    for file in folder.glob("symbols-*.db*"):
        with contextlib.suppress(OSError):
            if file.lstat().st_mtime < limit:
                file.unlink()


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables, unless they are there. Raises StoreDamaged if there are others."""
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError("the file system does not allow a write-ahead log")
    connection.execute("BEGIN IMMEDIATE")
    try:
        found = _tables(connection)
        if not found:
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
        elif found != _own_tables():
            raise StoreDamaged("it has other tables")
    finally:
        connection.execute("COMMIT")


def _tables(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    return {row[0] for row in rows}


@functools.cache
def _own_tables() -> frozenset[str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA)
        return frozenset(_tables(connection))


def _remove(connection: sqlite3.Connection, path: str) -> None:
    row = connection.execute(
        "SELECT id, names FROM file LEFT JOIN content ON content.file=file.id WHERE path=?",
        (os.fsencode(path),),
    ).fetchone()
    if row is None:
        return
    number, names = row
    if names is not None:
        rows = [(name, number) for name in unpacked_names(names)]
        connection.executemany("DELETE FROM occurrence WHERE name=? AND file=?", rows)
    for table in ("content", "definition", "base"):
        connection.execute(f"DELETE FROM {table} WHERE file=?", (number,))  # noqa: S608
    connection.execute("DELETE FROM file WHERE id=?", (number,))


def _insert(connection: sqlite3.Connection, batch: Mapping[str, FileFacts]) -> None:
    """Add files that are not there. Rows go in sorted by name: those of one name are neighbours."""
    occurrences: list[tuple[str, int, bytes]] = []
    definitions: list[tuple[int, int, str, bytes]] = []
    bases: list[tuple[str, int, int]] = []
    for name, one in batch.items():
        path = os.fsencode(name)
        number = connection.execute(
            "INSERT INTO file (path, base, language, mtime_ns, ctime_ns, size, problem)"
            " VALUES (?,?,?,?,?,?,?)",
            (path, path.rpartition(b"/")[2], one.language, *msgspec.structs.astuple(one.state)),
        ).lastrowid
        assert number is not None
        facts = one.facts
        if facts is None:
            continue
        standing = _packed_names(facts.occurrences)
        connection.execute("INSERT INTO content VALUES (?,?,?)", (number, facts.skeleton, standing))
        occurrences += [(each, number, packed) for each, packed in facts.occurrences.items()]
        definitions += [
            (number, place, each, data) for place, (each, data) in enumerate(facts.definitions)
        ]
        bases += [(each, number, scope) for each, scope in facts.bases]
    new = sorted({row[2] for row in definitions})
    connection.executemany("INSERT OR IGNORE INTO name (text) VALUES (?)", [(one,) for one in new])
    connection.executemany(
        "INSERT INTO definition SELECT ?, ?, id, ? FROM name WHERE text=?",
        [(number, place, data, name) for number, place, name, data in definitions],
    )
    occurrences.sort()
    connection.executemany("INSERT INTO occurrence VALUES (?,?,?)", occurrences)
    connection.executemany("INSERT OR IGNORE INTO base VALUES (?,?,?)", sorted(bases))


def _packed_names(names: Iterable[str]) -> bytes:
    """The names that stand in a file: their rows are found by them when it changes."""
    return zlib.compress("\0".join(names).encode("utf-8", "surrogatepass"), 1)
