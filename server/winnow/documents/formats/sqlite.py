"""SQLite databases: the rows of all tables, one per line, read with the standard library.

Databases are untrusted. They are opened as immutable files, so that SQLite writes nothing beside
them. Views and virtual tables, which run code of the database, are skipped, and slow queries are
interrupted.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable
from winnow.storage.lock import deletes_open_files
from winnow.storage.writing import temporary_copy

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
LONGEST_CELL = 16 * 1024**2
# SQLite calls the progress handler after this number of instructions; a row takes a few per column.
_STEPS = 100_000
_MOST_CALLS_PER_ROW = 200
# The suffixes of tables in which full-text search and R-trees store their data.
_SHADOWS = (
    *("config", "content", "data", "docsize", "idx", "segdir", "segments", "stat"),
    *("node", "parent", "rowid"),
)
_VIRTUAL = re.compile(r"\s*create\s+virtual\s+table\b", re.IGNORECASE)


class SqliteTable(Struct, frozen=True):
    """A table, with its name in the database and its displayed name."""

    name: str
    shown: str


class RowTimeout:
    """Interrupts SQLite when a row takes too long."""

    def __init__(self) -> None:
        self._calls = 0

    def row(self) -> None:
        self._calls = 0

    def __call__(self) -> bool:
        self._calls += 1
        return self._calls > _MOST_CALLS_PER_ROW


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write the rows of all tables, in the order in which the tables were created."""
    head = source.file.read(_HEADER_BYTES)
    if not head:
        return  # an empty database has an empty file
    if not head.startswith(_MAGIC):
        raise Unreadable("it is not a SQLite database, or it is encrypted")
    if source.size < _size(head):
        raise Unreadable("it is damaged: its end is missing")
    with _database(source, output) as database:
        timeout = RowTimeout()
        database.set_progress_handler(timeout, _STEPS)
        for table in _tables(database):
            try:
                _read_table(database, table, timeout, output)
            except sqlite3.Error as error:
                output.failed(f"table {table.shown}: {error}")


def _size(head: bytes) -> int:
    """Return the minimum size of the file from its header. SQLite treats a file without a complete
    page as empty."""
    if len(head) < _HEADER_BYTES:
        return _HEADER_BYTES
    page = int.from_bytes(head[16:18], "big")
    # SQLite before 3.7 does not update the number of pages.
    is_known = head[24:28] == head[92:96]
    pages = int.from_bytes(head[28:32], "big") if is_known else 0
    return (65536 if page == 1 else page) * max(pages, 1)


def _opened(path: str) -> sqlite3.Connection:
    address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True, cached_statements=0)
    try:
        _guard(database)
        database.execute("PRAGMA schema_version").fetchone()  # this opens the file
    except BaseException:
        database.close()
        raise
    return database


def _guard(database: sqlite3.Connection) -> None:
    database.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0", "temp_store=MEMORY"):
        database.execute(f"PRAGMA {pragma}")
    if sys.version_info >= (3, 11):
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_CELL)


@contextlib.contextmanager
def _database(source: DocumentInput, output: TextOutput) -> Iterator[sqlite3.Connection]:
    """Open a database. SQLite requires a path, so a member of an archive is copied to a file, which
    is deleted once it is open."""
    path = _own_path(source)
    if path is not None:
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            output.failed("its latest changes are in a -wal file, which is not read")
        with contextlib.closing(_opened(path)) as database:
            yield database
        return
    with contextlib.ExitStack() as stack:
        source.file.seek(0)
        copy = temporary_copy(source.file)
        stack.callback(os.unlink, copy)
        with contextlib.closing(_opened(copy)) as database:
            if deletes_open_files():
                stack.close()
            yield database


def _own_path(source: DocumentInput) -> str | None:
    """Return the path of the open file, if it has one: a member of an archive does not."""
    path = getattr(source.file, "name", None)
    if source.depth or not isinstance(path, str):
        return None
    try:
        same = os.path.samestat(os.stat(path), os.fstat(source.file.fileno()))
    except OSError:
        return None
    return path if same else None


def _tables(database: sqlite3.Connection) -> list[SqliteTable]:
    """Return the tables with rows. The rows of a full-text table are in its `_content` table."""
    found = database.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY rowid"
    )
    made = {str(name): str(sql or "") for name, sql in found}
    virtual = [name for name, sql in made.items() if _VIRTUAL.match(sql)]
    contents = {f"{name}_content": name for name in virtual}
    shadows = {f"{name}_{end}" for name in virtual for end in _SHADOWS} - contents.keys()
    return [
        SqliteTable(name, contents.get(name, name))
        for name in made
        if name not in virtual and name not in shadows and not name.startswith("sqlite_")
    ]


def _read_table(
    database: sqlite3.Connection, table: SqliteTable, timeout: RowTimeout, output: TextOutput
) -> None:
    columns = _columns(database, table)
    if not columns:
        return
    place = DocumentLocation(sheet=table.shown, row=1, columns=tuple(columns))
    output.part(f"Table {table.shown}", place)
    timeout.row()
    # Blobs are not read.
    cells = (
        f"CASE typeof({_quoted(name)}) WHEN 'blob' THEN NULL ELSE {_quoted(name)} END"
        for name in columns
    )
    with contextlib.closing(
        database.execute(f"SELECT {', '.join(cells)} FROM {_quoted(table.name)}")  # noqa: S608
    ) as rows:
        for row in rows:
            timeout.row()
            output.line("\t".join(map(_cell, row)))


def _columns(database: sqlite3.Connection, table: SqliteTable) -> list[str]:
    """Return the stored columns. Computed columns would run code of the database."""
    described = database.execute(f"PRAGMA table_xinfo({_quoted(table.name)})")
    stored, stored_generated = 0, 3
    return [name for _, name, *_, hidden in described if hidden in (stored, stored_generated)]


def _cell(value: str | int | float | None) -> str:
    return "" if value is None else str(value).replace("\t", " ")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


FORMATS = (
    DocumentFormat(name="sqlite", extensions=(".db", ".db3", ".sqlite", ".sqlite3"), read=read),
)
