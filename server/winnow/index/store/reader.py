"""Read a store: the indexed files of a folder at one moment."""

from __future__ import annotations

import os
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct

from winnow.index.store.blocks import BLOCK, definitions_in_block
from winnow.index.store.file_record import NO_DEFINITIONS, NOT_REUSED, NOT_SOURCE, FileState
from winnow.index.store.segments import Segments
from winnow.storage.database import Connection, Cursor, StoreDamaged, detect_damage
from winnow.symbols.extract.packed import (
    PackedSymbols,
    decode_declarations,
    decode_definition,
    decode_scope_table,
)
from winnow.symbols.file_symbols import Definition, ScopeTable
from winnow.symbols.view import File

# Size limits of encoded scope tables and declarations; decoded, they take up to 20 and about five
# times as much. References to a common name read the tables of a thousand files, each time.
SKELETON_BYTES = 2 * 1024 * 1024
DECLARED_BYTES = 1024 * 1024
# Size limit of definitions that were read: while a user types, the same ones are read again.
DEFINITION_BYTES = 2 * 1024 * 1024
# Size limit of the files with the names that imports need, and the size of one without its path.
FOLDERS_BYTES = 1024 * 1024
FILE_BYTES = 250
# Rows requested by one statement: SQLite compiles a statement once for each number of rows.
TOGETHER = 32


K = TypeVar("K")
T = TypeVar("T")
# The identity of a store, and the number of its last transaction.
StoreVersion = tuple[object, int]


class ReaderStopped(Exception):
    """No one needs the result of this read anymore."""


class StoredText(Struct, frozen=True):
    """The data of a text in the database."""

    language: str
    problem: str
    symbols: PackedSymbols | None
    binary: bool


class _FileRow(NamedTuple):
    """The columns of a file that decide what else is read of it."""

    id: int
    path: bytes
    language: str
    problem: str
    partial: int


class StoreCounts(Struct, frozen=True):
    """Numbers of rows in a store."""

    files: int
    names: int
    definitions: int


class Reader:
    """A store at one moment. One thread at a time may use it; any thread may stop it."""

    def __init__(
        self,
        connection: Connection,
        decoded: DecodedFiles,
        segments: Segments,
        release: Callable[[Connection], None],
    ) -> None:
        self.connection = connection
        self.open_segments = segments
        self._decoded = decoded
        self._release = release
        self._known_files: dict[str, _FileRow | None] = {}
        self._stamp: int | None = None
        self._stopped = False

    @property
    def store(self) -> object:
        """The identity that all readers of a store share."""
        return self._decoded

    def close(self) -> None:
        """Return the connection; no thread may be using it."""
        self.stop()
        self._release(self.connection)

    def stop(self) -> None:
        """Make the next read raise ReaderStopped: a thread cannot be ended in another way.

        Single reads take milliseconds, and long operations consist of thousands of them.
        """
        self._stopped = True

    def files(self) -> dict[str, FileState]:
        """Return the states of all files."""
        return dict(self.each_file(self.stamp()))

    def each_file(self, stamp: int) -> Iterator[tuple[str, FileState]]:
        """Yield the files that were written up to a transaction: all 80,000 at once would take 35
        MB."""
        rows = self._each(
            "SELECT path, mtime_ns, ctime_ns, size, problem FROM file WHERE parked=0 AND stamp<=?",
            stamp,
        )
        for row in rows:
            yield os.fsdecode(row[0]), FileState(*row[1:])

    def problems(self) -> dict[File, str]:
        """Return the files that get no symbols, and why, the smallest first; some have no known
        language."""
        rows = self._rows(
            "SELECT path, language, problem FROM file"
            " WHERE problem<>'' AND problem NOT IN (?,?) AND parked=0 ORDER BY size, path",
            *(NOT_SOURCE, NO_DEFINITIONS),
        )
        return {File(os.fsdecode(path), language): problem for path, language, problem in rows}

    def file(self, path: str) -> File | None:
        """Return the file if it has symbols."""
        row = self._file_row(path)
        return File(path, row.language) if row and not row.problem else None

    def known(self, paths: Iterable[str]) -> dict[str, FileState]:
        """Return the states of indexed files that equal a path or are below it."""
        found = {}
        columns = "SELECT path, mtime_ns, ctime_ns, size, problem FROM file WHERE parked=0 AND"
        for path in map(os.fsencode, paths):
            # With OR, SQLite would read the entire table.
            rows = self._rows(
                f"{columns} path=? UNION ALL {columns} path>? AND path<?",
                *(path, path + b"/", path + b"0"),  # the character after the slash
            )
            found.update({os.fsdecode(row[0]): FileState(*row[1:]) for row in rows})
        return found

    def states_of_files(self, paths: Iterable[str]) -> dict[str, FileState]:
        """Return the states of the files that are indexed."""
        rows = self._rows_of("mtime_ns, ctime_ns, size, problem", paths)
        return {path: FileState(*row) for path, row in rows.items()}

    def keys_of(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the text keys of the files that are indexed."""
        return {path: key for path, (key,) in self._rows_of("key", paths).items()}

    def keys_without_secrets(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the text keys of those of some files in which nothing was masked. Raises
        StoreDamaged."""
        names = self.segments()
        rows = self._rows_of("key, segment, document", paths)
        return {
            path: key
            for path, (key, segment, document) in rows.items()
            if segment is not None and self.open_segments.get(names[segment]).covered[document]
        }

    def each_key(self) -> Iterator[tuple[str, bytes]]:
        """Yield the files with their text keys, which may be empty."""
        for path, key in self._each("SELECT path, key FROM file WHERE parked=0"):
            yield os.fsdecode(path), key

    def files_named(self, name: str) -> list[File]:
        """Return the files with this name, in any folder."""
        rows = self._rows(
            "SELECT path, language FROM file WHERE base=? AND problem='' AND parked=0",
            os.fsencode(name),
        )
        return [File(os.fsdecode(path), language) for path, language in rows]

    def files_by_folder(self, name: str) -> Mapping[str, Sequence[File]]:
        """Return the files with this name by the name of their folder, which is empty at the root:
        a thousand files may be called `__init__.py`, and each request needs them many times."""
        key = (self.stamp(), name)
        known = self._decoded.folders.get(key)
        if known is None:
            known = {}
            size = 0
            for file in self.files_named(name):
                known.setdefault(file.path.rpartition("/")[0].rpartition("/")[2], []).append(file)
                size += FILE_BYTES + len(file.path)
            self._decoded.folders.keep(key, known, size)
        return known

    def occurrences(self, name: str) -> Iterator[tuple[File, bytes]]:
        """Yield the files that contain a name, with its packed occurrences; for files without
        occurrences, those that declare the name, with its declarations."""
        rows = self._rows(
            "SELECT file.id, path, language, problem, partial, packed FROM occurrence"
            " JOIN file ON file.id=occurrence.file WHERE name=? AND parked=0",
            name,
        )
        for row in self._rows(
            "SELECT DISTINCT file.id, path, language, problem, partial FROM name"
            " JOIN definition ON definition.name=name.id JOIN file ON file.id=definition.file"
            " WHERE name.text=? AND parked=0 AND partial=1",
            name,
        ):
            if declared := self._declarations(row[0]).get(name):
                rows.append((*row, declared))
        for *row, found in sorted(rows):
            yield self._file_of(*row), found

    def occurrences_in(self, path: str, name: str) -> bytes:
        """Return the packed occurrences of a name in one file; only declarations if it is without
        occurrences, and nothing if there are none."""
        file = self._file_row(path)
        if file is None:
            return b""
        if file.partial:
            return self._declarations(file.id).get(name, b"")
        row = self._row("SELECT packed FROM occurrence WHERE name=? AND file=?", name, file.id)
        return row[0] if row else b""

    def names_in(self, path: str) -> Collection[str]:
        """Return all names in a file; only declared ones if it is without occurrences."""
        file = self._file_row(path)
        if file is None:
            return []
        if file.partial:
            return self._declarations(file.id).keys()
        row = self._row("SELECT names FROM content WHERE file=?", file.id)
        return unpacked_names(row[0]) if row else []

    def _declarations(self, number: int) -> Mapping[str, bytes]:
        """Return the packed declarations in a file without other occurrences, by name."""
        known = self._decoded.declarations.get(number)
        if known is None:
            row = self._row("SELECT declared FROM content WHERE file=?", number)
            with detect_damage():
                known = decode_declarations(row[0]) if row else {}
            self._decoded.declarations.keep(number, known, len(row[0]) if row else 0)
        return known

    # --- files without occurrences ---------------------------------------------------------

    def has_partial(self) -> bool:
        """Return True if any file is without occurrences."""
        return self._row("SELECT 1 FROM file WHERE partial=1 AND parked=0 LIMIT 1") is not None

    def partial_count(self) -> int:
        """Return the number of files without occurrences."""
        (count,) = self._row("SELECT count(*) FROM file WHERE partial=1 AND parked=0")
        return int(count)

    def source_count(self) -> int:
        """Return the number of files with symbols."""
        (count,) = self._row("SELECT count(*) FROM file WHERE problem='' AND parked=0")
        return int(count)

    def partial_after(self, number: int, limit: int) -> list[tuple[int, str]]:
        """Return files without occurrences with their numbers, in the order of these."""
        rows = self._rows(
            "SELECT id, path FROM file WHERE partial=1 AND parked=0 AND id>? ORDER BY id LIMIT ?",
            *(number, limit),
        )
        return [(found, os.fsdecode(path)) for found, path in rows]

    def partial_among(self, paths: Iterable[str]) -> list[str]:
        """Return those of some files that are without occurrences."""
        return [path for path, (partial,) in self._rows_of("partial", paths).items() if partial]

    def complete_among(self, paths: Iterable[str]) -> set[str]:
        """Return those of some files that have symbols and occurrences."""
        rows = self._rows_of("partial, problem", paths)
        return {path for path, (partial, problem) in rows.items() if not (partial or problem)}

    def last_text(self) -> int:
        """Return the number of the last transaction that changed a file's text."""
        row = self._row("SELECT ifnull(max(stamp), 0) FROM file")
        return int(row[0])

    def all_occurrences(self, path: str) -> dict[str, bytes]:
        """Return the packed occurrences of every name in a file."""
        return {name: self.occurrences_in(path, name) for name in self.names_in(path)}

    def definitions(self, name: str) -> Iterator[tuple[File, Definition]]:
        """Yield all definitions of this name."""
        rows = self._rows(
            "SELECT file.id, path, language, problem, partial, place, data FROM name"
            " JOIN definition ON definition.name=name.id JOIN file ON file.id=definition.file"
            " JOIN block ON block.file=file.id AND block.number=place/?"
            " WHERE name.text=? AND parked=0",
            *(BLOCK, name),
        )
        with detect_damage():
            for *row, place, data in rows:
                yield self._file_of(*row), self._definition(row[0], place, data)

    def definitions_in(self, path: str) -> list[Definition]:
        """Return the definitions of a file, in text order."""
        with detect_damage():
            return [*map(decode_definition, self._encoded(self._id(path)))]

    def definitions_at(self, path: str, places: range, other: int) -> list[Definition]:
        """Return the definitions of a file at positions in the text, and at one other."""
        file = self._id(path)
        if file is None:
            return []
        wanted = sorted({*places, other})
        blocks = self._blocks(file, {place // BLOCK for place in wanted})
        with detect_damage():
            return [
                decode_definition(block[place % BLOCK])
                for place in wanted
                if place % BLOCK < len(block := blocks.get(place // BLOCK, []))
            ]

    def _blocks(self, file: int, numbers: Iterable[int]) -> dict[int, list[bytes]]:
        """Return those blocks of a file that there are."""
        known = {number: self._decoded.blocks.get((file, number)) for number in numbers}
        found = {number: block for number, block in known.items() if block is not None}
        rows = self._rows_for_each(
            "SELECT number, data FROM block WHERE file=? AND number=?",
            [(file, number) for number in known if number not in found],
        )
        for number, data in rows:
            found[number] = self._decoded_block(file, number, data)
        return found

    def _decoded_block(self, file: int, number: int, data: bytes) -> list[bytes]:
        with detect_damage():
            encoded = definitions_in_block(data)
        self._decoded.blocks.keep((file, number), encoded, sum(map(len, encoded)))
        return encoded

    def _definition(self, number: int, place: int, block: bytes) -> Definition:
        """Return the definition at a place of a file, which is in this block."""
        encoded = self._decoded.blocks.get((number, place // BLOCK))
        if encoded is None:
            encoded = self._decoded_block(number, place // BLOCK, block)
        if place % BLOCK >= len(encoded):
            raise StoreDamaged("a definition is missing")
        return decode_definition(encoded[place % BLOCK])

    def _encoded(self, number: int | None) -> list[bytes]:
        """Return the encoded definitions of a file, in text order."""
        rows = self._rows("SELECT data FROM block WHERE file=? ORDER BY number", number)
        with detect_damage():
            return [definition for (data,) in rows for definition in definitions_in_block(data)]

    def subclasses(self, name: str) -> Iterator[tuple[File, int]]:
        """Yield the file and scope of each class that has this base class."""
        rows = self._rows(
            "SELECT file.id, path, language, problem, partial, scope FROM base"
            " JOIN file ON file.id=base.file WHERE name=? AND parked=0",
            name,
        )
        for *row, scope in rows:
            yield self._file_of(*row), scope

    def scope_table(self, path: str) -> ScopeTable | None:
        """Return the scope table of a file; None if it has no symbols."""
        number = self._id(path)
        if number is None:
            return None
        known = self._decoded.scope_tables.get(number)
        if known is None:
            row = self._row("SELECT skeleton FROM content WHERE file=?", number)
            if row is None:
                return None
            with detect_damage():
                known = decode_scope_table(row[0])
            self._decoded.scope_tables.keep(number, known, len(row[0]))
        return known

    def names_after(self, number: int, limit: int) -> list[tuple[int, str]]:
        """Return definition names with their numbers, in the order in which they were added.

        A name is never changed or removed, even if it has no definition anymore.
        """
        return list(
            self._rows("SELECT id, text FROM name WHERE id>? ORDER BY id LIMIT ?", number, limit)
        )

    def counts(self) -> StoreCounts:
        row = self._row(
            "SELECT (SELECT count(*) FROM file WHERE parked=0),"
            " (SELECT ifnull(max(id), 0) FROM name),"
            " (SELECT count(*) FROM definition JOIN file ON id=file WHERE parked=0)"
        )
        assert row is not None
        return StoreCounts(*row)

    def notes(self) -> dict[str, str]:
        """Return the notes by name."""
        return dict(self._rows("SELECT name, value FROM note"))

    def history_id(self) -> int | None:
        """Return the number of the commit history, which changes with it; None if there is none."""
        row = self._row("SELECT max(id) FROM history")
        return None if row[0] is None else int(row[0])

    def history(self) -> bytes | None:
        """Return the encoded commit history; None if there is none."""
        rows = list(self._rows("SELECT data FROM history"))
        return bytes(rows[0][0]) if rows else None

    def commit_count(self) -> int | None:
        """Return the number of commits in the history; None if there is none."""
        row = self._row("SELECT max(commits) FROM history")
        return None if row[0] is None else int(row[0])

    def size(self) -> int:
        """Return how many bytes the database and its segments use."""
        row = self._row(
            "SELECT (page_count - freelist_count) * page_size"
            " FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
        )
        (segments,) = self._row("SELECT ifnull(sum(bytes), 0) FROM segment")
        return int(row[0]) + int(segments)

    def file_count(self) -> int:
        """Return the number of indexed files."""
        (count,) = self._row("SELECT count(*) FROM file WHERE parked=0")
        return int(count)

    def problem_counts(self) -> dict[str, int]:
        """Return the number of files with each problem."""
        return dict(
            self._rows(
                "SELECT problem, count(*) FROM file WHERE problem<>'' AND parked=0 GROUP BY problem"
            )
        )

    def binaries(self) -> int:
        """Return the number of files that ripgrep skips as binary."""
        (count,) = self._row("SELECT count(*) FROM file WHERE binary=1 AND parked=0")
        return int(count)

    # --- texts -----------------------------------------------------------------------------

    def segments(self) -> dict[int, str]:
        """Return the names of the segments by their numbers."""
        return dict(self._rows("SELECT id, name FROM segment ORDER BY id"))

    def sizes(self) -> dict[int, int]:
        """Return the number of documents in each segment."""
        return dict(self._rows("SELECT id, documents FROM segment ORDER BY id"))

    def live_sizes(self) -> dict[int, int]:
        """Return the number of documents that files use, for each segment that has some."""
        query = "SELECT segment, count(DISTINCT document) FROM file GROUP BY segment"
        return {number: count for number, count in self._rows(query) if number is not None}

    def keys_in(self, segment: int) -> list[tuple[int, bytes]]:
        """Return the documents of a segment that files use, with the text keys of the files."""
        return self._rows("SELECT document, key FROM file WHERE segment=?", segment)

    def has_strays(self) -> bool:
        """Return True if a file refers to a segment that does not exist."""
        strays = self._row(
            "SELECT 1 FROM file WHERE segment IS NOT NULL"
            " AND segment NOT IN (SELECT id FROM segment) LIMIT 1"
        )
        return strays is not None

    def places(self, keys: Iterable[bytes]) -> dict[bytes, tuple[int | None, int]]:
        """Return the segment and the document of each stored text, by key."""
        rows = self._rows_for_each(
            "SELECT key, segment, document FROM file WHERE id="
            "(SELECT min(id) FROM file WHERE key=? AND problem NOT IN (?,?))",
            [(key, *NOT_REUSED) for key in keys],
        )
        return {key: (segment, document or 0) for key, segment, document in rows}

    def known_text(self, key: bytes) -> StoredText | None:
        """Return everything stored about a text, except its contents; None if nothing is."""
        row = self._row(
            "SELECT id, language, problem, binary FROM file WHERE key=? AND problem NOT IN (?,?)"
            " ORDER BY partial LIMIT 1",
            *(key, *NOT_REUSED),
        )
        if row is None:
            return None
        number, language, problem, binary = row
        return StoredText(language, problem, self._packed(number, language), bool(binary))

    def _packed(self, number: int, language: str) -> PackedSymbols | None:
        row = self._row("SELECT skeleton, names, declared FROM content WHERE file=?", number)
        if row is None:
            return None
        defined = self._rows(
            "SELECT text FROM definition JOIN name ON name.id=definition.name"
            " WHERE file=? ORDER BY place",
            number,
        )
        encoded = self._encoded(number)
        if len(encoded) != len(defined):
            raise StoreDamaged("a definition is missing")
        definitions = [(name, data) for (name,), data in zip(defined, encoded, strict=True)]
        names = unpacked_names(row[1])
        occurrences = dict(
            self._rows_for_each(
                "SELECT name, packed FROM occurrence WHERE name=? AND file=?",
                [(name, number) for name in names],
            )
        )
        if len(occurrences) != len(names):
            raise StoreDamaged("a name has no occurrence")
        bases = self._rows("SELECT name, scope FROM base WHERE file=?", number)
        return PackedSymbols(
            language, definitions, row[0], occurrences, bases, declarations=row[2] or None
        )

    def has_keys(self) -> bool:
        """Return True if any text is stored."""
        return self._row("SELECT 1 FROM file WHERE key<>x'' LIMIT 1") is not None

    def stamp(self) -> int:
        """Return the number of the last transaction."""
        if self._stamp is None:
            row = self._row("SELECT value FROM note WHERE name='stamp'")
            self._stamp = int(row[0]) if row else 0
        return self._stamp

    @property
    def written(self) -> StoreVersion:
        """The store and the number of its last transaction."""
        return self._decoded, self.stamp()

    def texts_since(self, stamp: int) -> Iterator[tuple[str, int | None, int, bool]]:
        """Yield the files written since a transaction: path, segment, document, and True if
        binary."""
        rows = self._each(
            "SELECT path, segment, document, binary FROM file WHERE stamp>? AND parked=0", stamp
        )
        for path, segment, document, binary in rows:
            yield os.fsdecode(path), segment, document or 0, bool(binary)

    def gone_since(self, stamp: int) -> list[str]:
        """Return the files deleted since a transaction; a file of that name may exist again."""
        rows = self._rows("SELECT path FROM gone WHERE stamp>?", stamp)
        return [os.fsdecode(path) for (path,) in rows]

    def _id(self, path: str) -> int | None:
        file = self._file_row(path)
        return file and file.id

    def _file_row(self, path: str) -> _FileRow | None:
        """Return the row of a file; None if it is not indexed."""
        if path not in self._known_files:
            row = self._row(
                "SELECT id, path, language, problem, partial FROM file WHERE path=? AND parked=0",
                os.fsencode(path),
            )
            self._known_files[path] = _FileRow(*row) if row else None
        return self._known_files[path]

    def _file_of(self, *row: Any) -> File:
        """Return the file of a row, which is not read again."""
        known = _FileRow(*row)
        path = os.fsdecode(known.path)
        self._known_files[path] = known
        return File(path, known.language)

    def _each(self, statement: str, *values: object) -> Iterator[Any]:
        """Yield the rows one by one."""
        with detect_damage():
            yield from self._execute(statement, values)

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with detect_damage():
            return self._execute(statement, values).fetchall()

    def _row(self, statement: str, *values: object) -> Any:
        with detect_damage():
            return self._execute(statement, values).fetchone()

    def _rows_for_each(self, statement: str, values: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the rows of a statement that runs once for each tuple of values: faster than as
        many calls."""
        if self._stopped:
            raise ReaderStopped
        with detect_damage():
            return self.connection.executemany(statement, values).fetchall()

    def _rows_of(self, columns: str, paths: Iterable[str]) -> dict[str, Any]:
        """Return columns of the indexed files, by path."""
        found: dict[str, Any] = {}
        left = map(os.fsencode, paths)
        while portion := list(islice(left, TOGETHER)):
            places = ",".join("?" * len(portion))
            statement = f"SELECT path, {columns} FROM file WHERE path IN ({places}) AND parked=0"  # noqa: S608
            found.update((os.fsdecode(path), row) for path, *row in self._rows(statement, *portion))
        return found

    def _execute(self, statement: str, values: tuple[Any, ...]) -> Cursor:
        if self._stopped:
            raise ReaderStopped
        return self.connection.execute(statement, values)


class DecodedCache(Generic[K, T]):
    """Recently used data of files, decoded, by the number of their file (and of a block), or by
    the number of the last transaction.

    A file that is written again gets a new number, so entries are never stale.
    """

    def __init__(self, limit: int) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[T, int]] = OrderedDict()
        self._room = limit

    def get(self, key: K) -> T | None:
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: K, data: T, size: int) -> None:
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = (data, size)
            self._room -= size
            while self._room < 0:
                _, (_, freed) = self._kept.popitem(last=False)
                self._room += freed


class DecodedFiles:
    """Data of recently read files that all readers of a store share."""

    def __init__(self) -> None:
        self.scope_tables = DecodedCache[int, ScopeTable](SKELETON_BYTES)
        self.declarations = DecodedCache[int, dict[str, bytes]](DECLARED_BYTES)
        self.blocks = DecodedCache[tuple[int, int], list[bytes]](DEFINITION_BYTES)
        self.folders = DecodedCache[tuple[int, str], dict[str, list[File]]](FOLDERS_BYTES)


def unpacked_names(packed: bytes) -> list[str]:
    """Return the names in a file from the column `content.names`."""
    try:
        text = zlib.decompress(packed).decode("utf-8", "surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreDamaged(str(error)) from error
    return text.split("\0") if text else []
