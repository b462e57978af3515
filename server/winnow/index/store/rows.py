"""The rows of a store: its tables, and what is written into them within one transaction.

A file has a row, and further rows hold its facts. What it was before is parked: the row stays, with
all that belongs to it, until it is adopted for a file with the same text, or forgotten.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Collection, Iterable, Mapping

import msgspec

from winnow.index.store.file_record import FULL, FileRecord, FileState
from winnow.index.store.reader import unpacked_names
from winnow.storage.database import Connection, row_of, rows_of, value_of

# Changes with the tables below; what fills them has its own mark, see `store.version`.
SCHEMA_VERSION = 3
# `parked` is 0 for what a file is now, else the second in which it ceased to be so. `stamp` is the
# number of the transaction that wrote it. `segment` is NULL for a text that is in none.
SCHEMA = """
CREATE TABLE file (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB NOT NULL, base BLOB NOT NULL,
  language TEXT NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL,
  size INTEGER NOT NULL, problem TEXT NOT NULL, key BLOB NOT NULL, segment INTEGER,
  document INTEGER, binary INTEGER NOT NULL, parked INTEGER NOT NULL, stamp INTEGER NOT NULL);
CREATE UNIQUE INDEX file_path ON file (path) WHERE parked=0;
CREATE INDEX file_base ON file (base);
CREATE INDEX file_problem ON file (id) WHERE problem<>'';
CREATE INDEX file_parked ON file (parked) WHERE parked<>0;
CREATE INDEX file_key ON file (key);
CREATE INDEX file_segment ON file (segment, document);
CREATE INDEX file_stamp ON file (stamp);
CREATE TABLE gone (stamp INTEGER NOT NULL, path BLOB NOT NULL);
CREATE INDEX gone_stamp ON gone (stamp);
CREATE TABLE segment (
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, documents INTEGER NOT NULL,
  bytes INTEGER NOT NULL);
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
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
STAMP = "stamp"
# Of what one file was, so many versions are parked; of all files as many as there are, and these.
PARKED_VERSIONS = 3
PARKED_LEAST = 200
# In the place of the second: of a row that is about to be what a file is.
CHOSEN = -1
# So many changes are told apart; who knows less reads all files.
GONE_STAMPS = 10_000


def next_stamp(connection: Connection) -> int:
    """The number of a transaction, which is above all that were."""
    stamp = int(value_of(connection, "SELECT value FROM note WHERE name=?", STAMP) or 0) + 1
    connection.execute("INSERT OR REPLACE INTO note VALUES (?,?)", (STAMP, str(stamp)))
    connection.execute("DELETE FROM gone WHERE stamp<?", (stamp - GONE_STAMPS,))
    return stamp


def is_newer(connection: Connection, path: str, state: FileState) -> bool:
    """Return whether the row of a file is of a later state than this one."""
    query = "SELECT 1 FROM file WHERE path=? AND parked=0 AND mtime_ns>?"
    return row_of(connection, query, os.fsencode(path), state.mtime_ns) is not None


def park(connection: Connection, path: str, stamp: int, *, gone: bool) -> None:
    """Have a file have no row, for now or because it is ``gone``."""
    row = row_of(
        connection, "SELECT id, problem, key FROM file WHERE path=? AND parked=0", os.fsencode(path)
    )
    if row is None:
        return
    number, problem, key = row
    if gone:
        connection.execute("INSERT INTO gone VALUES (?,?)", (stamp, os.fsencode(path)))
    twins = connection.execute("SELECT 1 FROM file WHERE key=? AND parked>0", (key,)).fetchone()
    if not key or problem == FULL or twins:
        remove(connection, number)
        return
    connection.execute("UPDATE file SET parked=? WHERE id=?", (int(time.time()), number))
    older = rows_of(
        connection,
        "SELECT id FROM file WHERE path=? AND parked>0 ORDER BY parked DESC, id DESC"
        " LIMIT -1 OFFSET ?",
        *(os.fsencode(path), PARKED_VERSIONS),
    )
    for (one,) in older:
        remove(connection, one)


def forget_parked(connection: Connection, most: int | None = None) -> None:
    """Forget what was parked first, beyond what is worth the room."""
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
    """Take what is known of a text for a file that has it now; whether the text is known."""
    raw = os.fsencode(path)
    row = row_of(
        connection,
        "SELECT id, parked, path=? FROM file WHERE key=? AND problem<>?"
        " ORDER BY parked=0 AND path=? DESC, parked=0, path<>? LIMIT 1",
        *(raw, key, FULL, raw, raw),
    )
    if row is None:
        return False
    number, parked, is_its = row
    if parked:
        connection.execute("UPDATE file SET parked=? WHERE id=?", (CHOSEN, number))
    elif not is_its:
        number = _copied(connection, number, raw)
    if parked or not is_its:  # else it was only touched
        park(connection, path, stamp, gone=False)
    connection.execute(
        "UPDATE file SET path=?, base=?, mtime_ns=?, ctime_ns=?, size=?, parked=0, stamp=?"
        " WHERE id=?",
        (raw, _base(raw), state.mtime_ns, state.ctime_ns, state.size, stamp, number),
    )
    return True


def _copied(connection: Connection, number: int, path: bytes) -> int:
    """Another row with all that is known of a file, for another path."""
    connection.execute(
        "INSERT INTO file (path, base, language, mtime_ns, ctime_ns, size, problem, key, segment,"
        " document, binary, parked, stamp) SELECT ?, base, language, mtime_ns, ctime_ns, size,"
        " problem, key, segment, document, binary, ?, stamp FROM file WHERE id=?",
        (path, CHOSEN, number),
    )
    copied = connection.last_insert_rowid()
    connection.execute(
        "INSERT INTO content SELECT ?, skeleton, names FROM content WHERE file=?", (copied, number)
    )
    connection.execute(
        "INSERT INTO definition SELECT ?, place, name, data FROM definition WHERE file=?",
        (copied, number),
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
    """Keep nothing of a file but that there was no room."""
    _remove_facts(connection, number)
    connection.execute(
        "UPDATE file SET problem=?, key=x'', segment=NULL, document=NULL, stamp=? WHERE id=?",
        (FULL, stamp, number),
    )


def remove(connection: Connection, number: int) -> None:
    """Forget a row, and all that belongs to it."""
    _remove_facts(connection, number)
    connection.execute("DELETE FROM file WHERE id=?", (number,))


def _remove_facts(connection: Connection, number: int) -> None:
    row = connection.execute("SELECT names FROM content WHERE file=?", (number,)).fetchone()
    if row is not None:
        rows = [(name, number) for name in unpacked_names(row[0])]
        connection.executemany("DELETE FROM occurrence WHERE name=? AND file=?", rows)
    for table in ("content", "definition", "base"):
        connection.execute(f"DELETE FROM {table} WHERE file=?", (number,))  # noqa: S608


def insert(
    connection: Connection,
    batch: Mapping[str, FileRecord],
    places: Mapping[bytes, tuple[int, int]],
    stamp: int,
) -> None:
    """Add files that are not there; ``places`` are segment and document of texts by their keys.

    Rows go in sorted by name: those of one name are neighbours.
    """
    occurrences: list[tuple[str, int, bytes]] = []
    definitions: list[tuple[int, int, str, bytes]] = []
    bases: list[tuple[str, int, int]] = []
    for name, one in batch.items():
        path = os.fsencode(name)
        values = msgspec.structs.astuple(one.state)
        place = places.get(one.key, (None, None))
        connection.execute(
            "INSERT INTO file (path, base, language, mtime_ns, ctime_ns, size, problem, key,"
            " segment, document, binary, parked, stamp) VALUES (?,?,?,?,?,?,?,?,?,?,?,0,?)",
            (path, _base(path), one.language, *values, one.key, *place, one.binary, stamp),
        )
        number = connection.last_insert_rowid()
        facts = one.facts
        if facts is None:
            continue
        standing = _packed_names(facts.occurrences)
        content = (number, facts.scope_table, standing)
        connection.execute("INSERT INTO content VALUES (?,?,?)", content)
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


def segment_row(connection: Connection, name: str, documents: int, size: int) -> int:
    """The number of a new segment."""
    connection.execute(
        "INSERT INTO segment (name, documents, bytes) VALUES (?,?,?)", (name, documents, size)
    )
    return connection.last_insert_rowid()


def live_documents(connection: Connection, segment: int) -> list[int]:
    """The documents of a segment that a row names, ascending."""
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
    """Have rows name documents of another segment, which are there from ``first`` on."""
    connection.executemany(
        "UPDATE file SET segment=?, document=?, stamp=? WHERE segment=? AND document=?",
        [
            (target, first + place, stamp, segment, document)
            for place, document in enumerate(documents)
        ],
    )


def _base(path: bytes) -> bytes:
    return path.rpartition(b"/")[2]


def _packed_names(names: Iterable[str]) -> bytes:
    """The names that stand in a file: their rows are found by them when it changes."""
    return zlib.compress("\0".join(names).encode("utf-8", "surrogatepass"), 1)
