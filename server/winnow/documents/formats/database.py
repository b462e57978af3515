"""SQLite databases: tables with their rows, a row a line, by the standard library.

What a database says is not trusted: it is opened as a file that nobody changes, so that nothing is
written beside it; views and virtual tables, which run what they say, are left alone; and what takes
SQLite long is interrupted.
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
from winnow.storage.writing import temporary_copy

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
LONGEST_CELL = 16 * 1024**2
# SQLite calls back after so many of its instructions; a row takes some per column.
_STEPS = 100_000
_MOST_CALLS_PER_ROW = 200
# What the modules of full text search and R-trees keep their data in.
_SHADOWS = (
    *("config", "content", "data", "docsize", "idx", "segdir", "segments", "stat"),
    *("node", "parent", "rowid"),
)
_VIRTUAL = re.compile(r"\s*create\s+virtual\s+table\b", re.IGNORECASE)


class SqliteTable(Struct, frozen=True):
    """A table, as it is called in the database and as it is shown."""

    name: str
    shown: str


class Patience:
    """Interrupts SQLite when it is at one row for too long."""

    def __init__(self) -> None:
        self._calls = 0

    def row(self) -> None:
        self._calls = 0

    def __call__(self) -> bool:
        self._calls += 1
        return self._calls > _MOST_CALLS_PER_ROW


def read(source: DocumentInput, output: TextOutput) -> None:
    """Tables in the order in which they were made, with their rows."""
    head = source.file.read(_HEADER_BYTES)
    if not head:
        return  # what SQLite makes of a database without anything in it
    if not head.startswith(_MAGIC):
        raise Unreadable("it is no SQLite database, or an encrypted one")
    if source.size < _size(head):
        raise Unreadable("it is damaged: its end is missing")
    with _database(source, output) as database:
        patience = Patience()
        database.set_progress_handler(patience, _STEPS)
        for table in _tables(database):
            try:
                _read_table(database, table, patience, output)
            except sqlite3.Error as error:
                output.failed(f"table {table.shown}: {error}")


def _size(head: bytes) -> int:
    """How large the file is at least, as its header says. SQLite takes one for empty of which there
    is not even a whole page."""
    if len(head) < _HEADER_BYTES:
        return _HEADER_BYTES
    page = int.from_bytes(head[16:18], "big")
    # A version of SQLite before 3.7 leaves the number of pages as it was.
    is_known = head[24:28] == head[92:96]
    pages = int.from_bytes(head[28:32], "big") if is_known else 0
    return (65536 if page == 1 else page) * max(pages, 1)


def _opened(path: str) -> sqlite3.Connection:
    address = f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1"
    database = sqlite3.connect(address, uri=True, cached_statements=0)
    try:
        _guard(database)
        database.execute("PRAGMA schema_version").fetchone()  # only this opens the file
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
    """SQLite opens nothing that has no name, so that what is inside of an archive gets one until
    it is open."""
    path = _own_path(source)
    if path is not None:
        if os.path.exists(f"{path}-wal") and os.path.getsize(f"{path}-wal"):
            output.failed("its newest changes are in a -wal file, which is not read")
        with contextlib.closing(_opened(path)) as database:
            yield database
        return
    with contextlib.ExitStack() as stack:
        source.file.seek(0)
        copy = temporary_copy(source.file)
        stack.callback(os.unlink, copy)
        with contextlib.closing(_opened(copy)) as database:
            if os.name == "posix":  # elsewhere a file that is open keeps its name
                stack.close()
            yield database


def _own_path(source: DocumentInput) -> str | None:
    """The path of the very file that is open."""
    path = getattr(source.file, "name", None)
    if not isinstance(path, str):
        return None
    try:
        same = os.path.samestat(os.stat(path), os.fstat(source.file.fileno()))
    except OSError:
        return None
    return path if same else None


def _tables(database: sqlite3.Connection) -> list[SqliteTable]:
    """Tables that hold rows. What a full text table holds is in its shadow `_content`."""
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
    database: sqlite3.Connection, table: SqliteTable, patience: Patience, output: TextOutput
) -> None:
    columns = _columns(database, table)
    if not columns:
        return
    place = DocumentLocation(sheet=table.shown, row=1, columns=tuple(columns))
    output.part(f"Table {table.shown}", place)
    patience.row()
    # Of a blob no more is read than that it is one.
    cells = (
        f"CASE typeof({_quoted(name)}) WHEN 'blob' THEN NULL ELSE {_quoted(name)} END"
        for name in columns
    )
    with contextlib.closing(
        database.execute(f"SELECT {', '.join(cells)} FROM {_quoted(table.name)}")  # noqa: S608
    ) as rows:
        for row in rows:
            patience.row()
            output.line("\t".join(map(_cell, row)))


def _columns(database: sqlite3.Connection, table: SqliteTable) -> list[str]:
    """The columns that are stored. Those that are computed when they are read run what the
    database says."""
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
