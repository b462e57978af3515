"""The tables of a store, and what one transaction writes to them.

A file has a row, and further rows hold its symbols. An outdated version is parked: its rows stay
until a file with the same text adopts them, or they are removed.
"""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from winnow.index.store.blocks import blocks_of, definitions_in_block
from winnow.index.store.file_record import (
    FULL,
    NO_DEFINITIONS,
    NOT_REUSED,
    TOO_MUCH_MEMORY,
    FileRecord,
    FileState,
    depends_on_limits,
)
from winnow.index.store.reader import unpacked_names
from winnow.index.store.size_limits import SizeLimits
from winnow.storage.database import Connection, StoreDamaged, row_of, rows_of, value_of
from winnow.symbols.extract.packed import decode_scope_table, split_declarations, without_signature

# Changes with the tables below; the code that fills them has its own version, see `store.version`.
SCHEMA_VERSION = 7
# `parked` is 0 for the current version of a file, otherwise the time in seconds when it was
# replaced. `stamp` is the number of the transaction that wrote the row. `segment` is NULL for a
# text without a segment. `partial` is 1 if only the declarations of a file's names are stored, in
# `content.declared`, and not the other occurrences; `content.names` are the names with rows in
# `occurrence`. `definition` says which names a file defines, and in which place among its
# definitions; `block` has these, see `blocks.py`. It has row ids, because rows of this size would
# waste half of their pages without. `history` has one row, with all commits.
SCHEMA = """
CREATE TABLE file (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL, base BLOB NOT NULL,
  language TEXT NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  size INTEGER NOT NULL, problem TEXT NOT NULL, key BLOB NOT NULL, segment INTEGER,
  document INTEGER, binary INTEGER NOT NULL, parked INTEGER NOT NULL, stamp INTEGER NOT NULL,
  partial INTEGER NOT NULL);
CREATE UNIQUE INDEX file_path ON file (path) WHERE parked=0;
CREATE INDEX file_base ON file (base);
CREATE INDEX file_problem ON file (id) WHERE problem<>'';
CREATE INDEX file_parked ON file (parked) WHERE parked<>0;
CREATE INDEX file_version ON file (path) WHERE parked<>0;
CREATE INDEX file_key ON file (key);
CREATE INDEX file_segment ON file (segment, document);
CREATE INDEX file_stamp ON file (stamp);
CREATE INDEX file_partial ON file (id) WHERE partial=1;
CREATE TABLE gone (stamp INTEGER NOT NULL, path BLOB NOT NULL);
CREATE INDEX gone_stamp ON gone (stamp);
CREATE TABLE segment (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, documents INTEGER NOT NULL,
  bytes INTEGER NOT NULL);
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE history (
  id INTEGER PRIMARY KEY AUTOINCREMENT, commits INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE content (
  file INTEGER PRIMARY KEY, skeleton BLOB NOT NULL, names BLOB NOT NULL, declared BLOB NOT NULL);
CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE definition (
  file INTEGER NOT NULL, place INTEGER NOT NULL, name INTEGER NOT NULL,
  PRIMARY KEY (file, place)) WITHOUT ROWID;
CREATE INDEX definition_name ON definition (name);
CREATE TABLE block (
  file INTEGER NOT NULL, number INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (file, number));
CREATE TABLE occurrence (
  name TEXT NOT NULL, file INTEGER NOT NULL, packed BLOB NOT NULL,
  PRIMARY KEY (name, file)) WITHOUT ROWID;
CREATE TABLE base (
  name TEXT NOT NULL, file INTEGER NOT NULL, scope INTEGER NOT NULL,
  PRIMARY KEY (name, file, scope)) WITHOUT ROWID;
CREATE INDEX base_file ON base (file);
"""
STAMP = "stamp"
# Parked versions per file; of all files, as many as there are files, and at least this number.
PARKED_VERSIONS = 3
PARKED_LEAST = 200
# `parked` of a row that is about to become the current version.
CHOSEN = -1
# Blocks of definitions that are in memory while all are written again.
REWRITTEN = 1_000
# The size of a text, or the limit, in a problem.
_BYTES = re.compile(r"([0-9,]+) bytes$")
# Deletions are recorded for this number of transactions; an older reader reads all files.
GONE_STAMPS = 10_000
# Returns True if a file still has a state, or is deleted: see Store.write.
StillMatches = Callable[[str, FileState | None], bool]


def write(
    connection: Connection,
    batch: Mapping[str, FileRecord],
    gone: Iterable[str],
    places: Mapping[bytes, tuple[int, int]],
    is_still: StillMatches,
) -> None:
    """Write the rows of files, see :meth:`Store.write`; ``places`` are the segment and document of
    each text by key."""
    stamp = next_stamp(connection)
    batch = {
        path: record
        for path, record in batch.items()
        if not is_newer(connection, path, record.state) or is_still(path, record.state)
    }
    # A request may have read a file that a build has only the text of.
    for path in [path for path in batch if batch[path].state.problem == NO_DEFINITIONS]:
        if has_definitions(connection, path, batch[path].key):
            del batch[path]
    for path in batch:
        park(connection, path, stamp, gone=False)
    for path in (path for path in gone if is_still(path, None)):
        park(connection, path, stamp, gone=True)
    insert(connection, batch, places, stamp)
    forget_parked(connection)


def next_stamp(connection: Connection) -> int:
    """Return the number of a new transaction, which is greater than all before."""
    stamp = int(value_of(connection, "SELECT value FROM note WHERE name=?", STAMP) or 0) + 1
    connection.execute("INSERT OR REPLACE INTO note VALUES (?,?)", (STAMP, str(stamp)))
    connection.execute("DELETE FROM gone WHERE stamp<?", (stamp - GONE_STAMPS,))
    return stamp


def is_newer(connection: Connection, path: str, state: FileState) -> bool:
    """Return True if the stored state of a file is newer than this one."""
    query = "SELECT 1 FROM file WHERE path=? AND parked=0 AND mtime_ns>?"
    return row_of(connection, query, os.fsencode(path), state.mtime_ns) is not None


def has_definitions(connection: Connection, path: str, key: bytes) -> bool:
    """Return True if a file is indexed with this text, and with its definitions."""
    query = "SELECT 1 FROM file WHERE path=? AND parked=0 AND key=? AND problem NOT IN (?,?)"
    return row_of(connection, query, os.fsencode(path), key, *NOT_REUSED) is not None


def park(connection: Connection, path: str, stamp: int, *, gone: bool) -> None:
    """Park the row of a file, because it is replaced or ``gone``."""
    row = row_of(
        connection, "SELECT id, problem, key FROM file WHERE path=? AND parked=0", os.fsencode(path)
    )
    if row is None:
        return
    number, problem, key = row
    if gone:
        connection.execute("INSERT INTO gone VALUES (?,?)", (stamp, os.fsencode(path)))
    twins = connection.execute("SELECT 1 FROM file WHERE key=? AND parked>0", (key,)).fetchone()
    if not key or problem in NOT_REUSED or twins:
        remove(connection, number)
        return
    connection.execute("UPDATE file SET parked=? WHERE id=?", (int(time.time()), number))
    older = rows_of(
        connection,
        # Otherwise SQLite might read all parked rows.
        "SELECT id FROM file INDEXED BY file_version WHERE path=? AND parked<>0 AND parked>0"
        " ORDER BY parked DESC, id DESC LIMIT -1 OFFSET ?",
        *(os.fsencode(path), PARKED_VERSIONS),
    )
    for (older_number,) in older:
        remove(connection, older_number)


def forget_parked(connection: Connection, most: int | None = None) -> None:
    """Remove the oldest parked rows beyond a limit."""
    count = value_of(connection, "SELECT count(*) FROM file WHERE parked<>0")
    if count <= PARKED_LEAST and most is None:
        return
    if most is None:
        live = value_of(connection, "SELECT count(*) FROM file WHERE parked=0")
        most = max(PARKED_LEAST, live)
    if count > most:
        rows = rows_of(
            connection,
            "SELECT id FROM file WHERE parked<>0 ORDER BY parked, id LIMIT ?",
            count - most,
        )
        for (number,) in rows:
            remove(connection, number)


def adopt(connection: Connection, path: str, state: FileState, key: bytes, stamp: int) -> bool:
    """Use the stored data of a text for a file that has it now. Return False if the text is
    unknown."""
    raw = os.fsencode(path)
    row = row_of(
        connection,
        "SELECT id, parked, path=? FROM file WHERE key=? AND problem NOT IN (?,?)"
        " ORDER BY parked=0 AND path=? DESC, parked=0, path<>? LIMIT 1",
        *(raw, key, *NOT_REUSED, raw, raw),
    )
    if row is None:
        return False
    number, parked, is_its = row
    if parked:
        connection.execute("UPDATE file SET parked=? WHERE id=?", (CHOSEN, number))
    elif not is_its:
        number = _copied(connection, number, raw)
    if parked or not is_its:  # otherwise it was only touched
        park(connection, path, stamp, gone=False)
    connection.execute(
        "UPDATE file SET path=?, base=?, mtime_ns=?, ctime_ns=?, size=?, parked=0, stamp=?"
        " WHERE id=?",
        (raw, _base(raw), state.mtime_ns, state.ctime_ns, state.size, stamp, number),
    )
    return True


def has_texts(connection: Connection) -> bool:
    """Return True if any text is stored, even parked. A file that is left out has none."""
    query = (
        "SELECT 1 FROM file WHERE key<>x'' UNION ALL SELECT 1 FROM name"
        " UNION ALL SELECT 1 FROM segment LIMIT 1"
    )
    return row_of(connection, query) is not None


def is_reusable(problem: str, limits: SizeLimits | None) -> bool:
    """Return True if an index can reuse a text that has this problem in another index: with its
    limits, it would have the same problem, or none. Without limits, only unfinished texts are not
    reused."""
    if limits is None or not depends_on_limits(problem):
        return problem not in NOT_REUSED
    size = _BYTES.search(problem)
    if size is None:
        return False
    number = int(size[1].replace(",", ""))
    return number > limits.parsed if problem.startswith(TOO_MUCH_MEMORY) else number == limits.read


def import_all(connection: Connection, limits: SizeLimits | None, stamp: int) -> None:
    """Insert the texts of the attached database `other`, parked, into tables without texts, as far
    as an index with these limits can reuse them."""
    problems = [row[0] for row in rows_of(connection, "SELECT DISTINCT problem FROM other.file")]
    reused = [each for each in problems if is_reusable(each, limits)]
    before = value_of(connection, "SELECT ifnull(max(id), 0) FROM main.file")
    connection.execute(
        "INSERT INTO file SELECT id+?, path, base, language, mtime_ns, ctime_ns, size, problem,"
        " key, segment, document, binary, ?, ?, partial FROM other.file"
        " WHERE parked=0 AND key<>x'' AND problem IN (SELECT value FROM json_each(?))",
        (before, int(time.time()), stamp, json.dumps(reused)),
    )
    connection.execute("INSERT INTO segment SELECT * FROM other.segment")
    for table, columns in (
        ("content", "file+:before, skeleton, names, declared"),
        ("definition", "file+:before, place, name"),
        ("block", "file+:before, number, data"),
        ("occurrence", "name, file+:before, packed"),
        ("base", "name, file+:before, scope"),
    ):
        connection.execute(
            f"INSERT INTO {table} SELECT {columns} FROM other.{table}"  # noqa: S608
            " WHERE file+:before IN (SELECT id FROM main.file)",
            {"before": before},
        )
    connection.execute(
        "INSERT INTO name SELECT * FROM other.name WHERE id IN (SELECT name FROM main.definition)"
    )


def _copied(connection: Connection, number: int, path: bytes) -> int:
    """Copy all rows of a file for another path."""
    connection.execute(
        "INSERT INTO file (path, base, language, mtime_ns, ctime_ns, size, problem, key, segment,"
        " document, binary, parked, stamp, partial) SELECT ?, base, language, mtime_ns, ctime_ns,"
        " size, problem, key, segment, document, binary, ?, stamp, partial FROM file WHERE id=?",
        (path, CHOSEN, number),
    )
    copied = connection.last_insert_rowid()
    connection.execute(
        "INSERT INTO content SELECT ?, skeleton, names, declared FROM content WHERE file=?",
        (copied, number),
    )
    connection.execute(
        "INSERT INTO definition SELECT ?, place, name FROM definition WHERE file=?",
        (copied, number),
    )
    connection.execute(
        "INSERT INTO block SELECT ?, number, data FROM block WHERE file=?", (copied, number)
    )
    connection.execute(
        "INSERT INTO base SELECT name, ?, scope FROM base WHERE file=?", (copied, number)
    )
    row = connection.execute("SELECT names FROM content WHERE file=?", (number,)).fetchone()
    if row is not None:
        connection.executemany(
            "INSERT INTO occurrence SELECT name, ?, packed FROM occurrence WHERE name=? AND file=?",
            [(copied, name, number) for name in unpacked_names(row[0])],
        )
    return copied


def empty(connection: Connection, number: int, stamp: int) -> None:
    """Remove all data of a file, and record that the index was full."""
    _remove_symbols(connection, number)
    connection.execute(
        "UPDATE file SET problem=?, key=x'', segment=NULL, document=NULL, stamp=?, partial=0"
        " WHERE id=?",
        (FULL, stamp, number),
    )


def remove(connection: Connection, number: int) -> None:
    """Delete a row, and all rows that belong to it."""
    _remove_symbols(connection, number)
    connection.execute("DELETE FROM file WHERE id=?", (number,))


def _remove_symbols(connection: Connection, number: int) -> None:
    row = connection.execute("SELECT names FROM content WHERE file=?", (number,)).fetchone()
    if row is not None:
        rows = [(name, number) for name in unpacked_names(row[0])]
        connection.executemany("DELETE FROM occurrence WHERE name=? AND file=?", rows)
    for table in ("content", "definition", "block", "base"):
        connection.execute(f"DELETE FROM {table} WHERE file=?", (number,))  # noqa: S608


def insert(
    connection: Connection,
    batch: Mapping[str, FileRecord],
    places: Mapping[bytes, tuple[int, int]],
    stamp: int,
) -> None:
    """Insert files that have no row; ``places`` are the segment and document of texts by key.

    A text that is already stored keeps its place: files with the same text share one document, so
    the text counts once in statistics, whichever files were written together. Rows are inserted in
    order of names, so that rows of one name are neighbors.
    """
    occurrences: list[tuple[str, int, bytes]] = []
    definitions: list[tuple[int, int, str]] = []
    blocks: list[tuple[int, int, bytes]] = []
    bases: list[tuple[str, int, int]] = []
    for name, record in batch.items():
        path, symbols = os.fsencode(name), record.symbols
        values = msgspec.structs.astuple(record.state)
        place: tuple[int | None, int | None] = (None, None)
        if record.key in places:
            is_full = record.state.problem != NO_DEFINITIONS
            place = _place_of(connection, record.key, is_full) or places[record.key]
        connection.execute(
            "INSERT INTO file (path, base, language, mtime_ns, ctime_ns, size, problem, key,"
            " segment, document, binary, parked, stamp, partial)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?,0,?,?)",
            (
                *(path, _base(path), record.language, *values, record.key, *place, record.binary),
                *(stamp, symbols is not None and symbols.declarations is not None),
            ),
        )
        number = connection.last_insert_rowid()
        if symbols is None:
            continue
        names = _packed_names(symbols.occurrences)
        content = (number, symbols.scope_table, names, symbols.declarations or b"")
        connection.execute("INSERT INTO content VALUES (?,?,?,?)", content)
        occurrences += [(each, number, packed) for each, packed in symbols.occurrences.items()]
        definitions += [
            (number, place, each) for place, (each, _) in enumerate(symbols.definitions)
        ]
        blocks += [
            (number, *block) for block in blocks_of([data for _, data in symbols.definitions])
        ]
        bases += [(each, number, scope) for each, scope in symbols.bases]
    new = sorted({row[2] for row in definitions})
    connection.executemany(
        "INSERT OR IGNORE INTO name (text) VALUES (?)", [(name,) for name in new]
    )
    connection.executemany(
        "INSERT INTO definition SELECT ?, ?, id FROM name WHERE text=?", definitions
    )
    connection.executemany("INSERT INTO block VALUES (?,?,?)", blocks)
    occurrences.sort()
    connection.executemany("INSERT INTO occurrence VALUES (?,?,?)", occurrences)
    connection.executemany("INSERT OR IGNORE INTO base VALUES (?,?,?)", sorted(bases))


def add_occurrences(connection: Connection, batch: Mapping[str, FileRecord]) -> list[str]:
    """Complete the occurrences of files with only declarations. Return the paths of files whose
    stored text is not the record's, or that have no symbols anymore."""
    others: list[str] = []
    occurrences: list[tuple[str, int, bytes]] = []
    for path, record in batch.items():
        row = row_of(
            connection,
            "SELECT id, key, partial FROM file WHERE path=? AND parked=0",
            os.fsencode(path),
        )
        if row is None:  # it was deleted, or is excluded now
            continue
        if row[1] != record.key or record.symbols is None:
            others.append(path)
        elif row[2]:
            occurrences += [
                (name, row[0], packed) for name, packed in record.symbols.occurrences.items()
            ]
            connection.execute(
                "UPDATE content SET names=?, declared=x'' WHERE file=?",
                (_packed_names(record.symbols.occurrences), row[0]),
            )
            connection.execute("UPDATE file SET partial=0 WHERE id=?", (row[0],))
    occurrences.sort()
    connection.executemany("INSERT OR REPLACE INTO occurrence VALUES (?,?,?)", occurrences)
    return others


def drop_uses(connection: Connection, number: int, stamp: int) -> None:
    """Drop the occurrences of a file's names, except declarations. Raises StoreDamaged."""
    row = row_of(connection, "SELECT skeleton, names FROM content WHERE file=?", number)
    if row is None:
        raise StoreDamaged("a file with symbols has no scopes")
    names, occurrences = unpacked_names(row[1]), {}
    for name in names:
        query = "SELECT packed FROM occurrence WHERE name=? AND file=?"
        occurrences[name] = value_of(connection, query, name, number)
        if occurrences[name] is None:
            raise StoreDamaged("a name has no occurrence")
    defined = [
        name
        for (name,) in rows_of(
            connection,
            "SELECT text FROM name JOIN definition ON definition.name=name.id WHERE file=?",
            number,
        )
    ]
    scopes = decode_scope_table(row[0]).scopes
    visible, declared = split_declarations(occurrences, scopes, defined)
    connection.executemany(
        "DELETE FROM occurrence WHERE name=? AND file=?", [(name, number) for name in names]
    )
    connection.executemany(
        "INSERT INTO occurrence VALUES (?,?,?)",
        [(name, number, packed) for name, packed in sorted(visible.items())],
    )
    connection.execute(
        "UPDATE content SET names=?, declared=? WHERE file=?",
        (_packed_names(visible), declared, number),
    )
    connection.execute("UPDATE file SET partial=1, stamp=? WHERE id=?", (stamp, number))


def _place_of(connection: Connection, key: bytes, is_full: bool) -> tuple[int, int] | None:
    """Return the segment and document of a stored text; with ``is_full``, only of one that was
    indexed with its definitions."""
    found: tuple[int, int] | None = row_of(
        connection,
        "SELECT segment, document FROM file WHERE key=? AND segment IS NOT NULL"
        " AND (problem<>? OR NOT ?) LIMIT 1",
        *(key, NO_DEFINITIONS, is_full),
    )
    return found


def segment_row(connection: Connection, name: str, documents: int, size: int) -> int:
    """Insert a segment and return its number."""
    connection.execute(
        "INSERT INTO segment (name, documents, bytes) VALUES (?,?,?)", (name, documents, size)
    )
    return connection.last_insert_rowid()


def has_segment(connection: Connection, number: int) -> bool:
    """Return True if a segment has a row."""
    return row_of(connection, "SELECT 1 FROM segment WHERE id=?", number) is not None


def live_documents(connection: Connection, segment: int) -> list[int]:
    """Return the documents of a segment that a row refers to, ascending."""
    rows = connection.execute(
        "SELECT DISTINCT document FROM file WHERE segment=? ORDER BY document", (segment,)
    )
    return [row[0] for row in rows]


def move(
    connection: Connection,
    segment: int,
    documents: Collection[int],
    target: int,
    first: int,
    stamp: int,
) -> None:
    """Let rows refer to the documents of another segment, from ``first`` on."""
    connection.executemany(
        "UPDATE file SET segment=?, document=?, stamp=? WHERE segment=? AND document=?",
        [
            (target, first + place, stamp, segment, document)
            for place, document in enumerate(documents)
        ],
    )


def drop_signatures(connection: Connection) -> None:
    """Remove the signatures and documentation of all definitions."""
    after = (-1, -1)
    query = "SELECT file, number, data FROM block WHERE (file, number)>(?,?) LIMIT ?"
    while found := rows_of(connection, query, *after, REWRITTEN):
        bare = []
        for file, number, data in found:
            [(_, block)] = blocks_of([*map(without_signature, definitions_in_block(data))])
            bare.append((block, file, number))
        connection.executemany("UPDATE block SET data=? WHERE file=? AND number=?", bare)
        after = found[-1][:2]


def _base(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _packed_names(names: Iterable[str]) -> bytes:
    """Pack the names in a file; they lead to its occurrence rows when it changes."""
    return zlib.compress("\0".join(names).encode("utf-8", "surrogatepass"), 1)
