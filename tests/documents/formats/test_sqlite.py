"""SQLite databases: intact, in archives, damaged, and with code to run."""

from __future__ import annotations

import contextlib
import io
import os
import random
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from documents.extracted import Extracted, extracted
from winnow.documents.formats import sqlite
from winnow.documents.library.locations import DocumentLocation, cell_at
from winnow.documents.unreadable import Unreadable

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


def made(file: Path, script: str) -> Path:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.executescript(script)
        connection.commit()
    return file


def read(file: Path) -> Extracted:
    with file.open("rb") as opened:
        return extracted(file.name, opened)


def zipped(file: Path) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.write(file, file.name)
    return archive.getvalue()


PEOPLE = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, photo BLOB, size REAL);
INSERT INTO people VALUES (3, 'Anna
Größe', x'89504e47', 1.5), (9, 'tab' || char(9) || 'bed', NULL, 2), (10, x'00', 'text', -1e300);
CREATE TABLE "odd ""name" (a, b, PRIMARY KEY (a)) WITHOUT ROWID;
INSERT INTO "odd ""name" VALUES ('k', 'v');
CREATE TABLE empty (x);
"""


def test_tables_are_parts_and_rows_are_lines(tmp_path: Path) -> None:
    found = read(made(tmp_path / "a.db", PEOPLE))
    assert found.shown == [
        "──── Table people ────",
        "3\tAnna Größe\t\t1.5",
        "9\ttab bed\t\t2.0",
        "10\t\ttext\t-1e+300",
        '──── Table odd "name ────',
        "k\tv",
        "──── Table empty ────",
    ]
    place = found.text_map.place_at(3)
    assert place == DocumentLocation(sheet="people", row=3, columns=("id", "name", "photo", "size"))
    assert cell_at(place, "10\t\t") == "row 3, photo"


def test_reading_a_database_creates_no_files(tmp_path: Path) -> None:
    file = made(tmp_path / "a b#?%.db", "PRAGMA journal_mode=WAL; CREATE TABLE t (x);" + PEOPLE)
    before = sorted(os.listdir(tmp_path)), file.read_bytes()
    assert len(read(file).lines) == 4
    assert (sorted(os.listdir(tmp_path)), file.read_bytes()) == before


def test_changes_in_the_write_ahead_log_are_reported(tmp_path: Path) -> None:
    file = made(tmp_path / "a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('old')")
    with contextlib.closing(sqlite3.connect(file)) as writer:
        writer.executescript("PRAGMA journal_mode=WAL; INSERT INTO t VALUES ('new')")
        found = read(file)
    assert found.lines == ["old"]
    assert found.failed == [("", "its latest changes are in a -wal file, which is not read")]


def test_a_database_in_an_archive_is_read_and_its_copy_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = made(tmp_path / "a.sqlite3", PEOPLE)
    document = zipped(file)
    (tmp_path / "empty").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "empty"))
    found = extracted("a.zip", document)
    assert found.shown[:2] == ["──── a.sqlite3 ────", "──── Table people ────"]
    assert found.text_map.place_at(1).member == "a.sqlite3"
    assert found.lines == read(file).lines
    assert os.listdir(tmp_path / "empty") == []


def test_a_replaced_file_is_not_read_instead_of_the_open_file(tmp_path: Path) -> None:
    file = made(tmp_path / "a.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('open')")
    if sys.platform == "win32":
        pytest.skip("an open file cannot be replaced there")
    with file.open("rb") as opened:
        other = made(tmp_path / "b.db", "CREATE TABLE t (x); INSERT INTO t VALUES ('other')")
        os.replace(other, file)
        assert extracted("a.db", opened).lines == ["open"]


def test_full_text_tables_are_read_once(tmp_path: Path) -> None:
    script = """
    CREATE VIRTUAL TABLE five USING fts5(title, body);
    INSERT INTO five VALUES ('first', 'text of five');
    CREATE VIRTUAL TABLE four USING fts4(body);
    INSERT INTO four VALUES ('text of four');
    CREATE TABLE five_own (x);
    INSERT INTO five_own VALUES ('own');
    """
    assert read(made(tmp_path / "a.db", script)).shown == [
        *("──── Table five ────", "1\tfirst\ttext of five"),
        *("──── Table four ────", "1\ttext of four"),
        *("──── Table five_own ────", "own"),
    ]


def test_no_code_of_a_database_runs(tmp_path: Path) -> None:
    script = f"""
    CREATE TABLE t (x, big GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL,
                    kept GENERATED ALWAYS AS (x || '!') STORED);
    INSERT INTO t (x) VALUES ('text');
    CREATE VIEW endless AS {ENDLESS};
    """
    found = read(made(tmp_path / "a.db", script))
    assert found.shown == ["──── Table t ────", "text\ttext!"]


def test_a_view_disguised_as_a_table_does_not_run(tmp_path: Path) -> None:
    file = made(tmp_path / "a.db", f"CREATE VIEW endless AS {ENDLESS}; CREATE TABLE t (x);")
    script = "PRAGMA writable_schema=ON; UPDATE sqlite_master SET type='table'"
    made(file, f"{script} WHERE name = 'endless'; INSERT INTO t VALUES ('text')")
    with pytest.raises(Unreadable, match="malformed"):
        read(file)


def test_a_slow_row_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_STEPS", 10)
    monkeypatch.setattr(sqlite, "_MOST_CALLS_PER_ROW", 0)
    file = made(tmp_path / "a.db", "CREATE TABLE t (x)")
    with contextlib.closing(sqlite3.connect(file)) as writer:
        writer.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(9)])
        writer.commit()
    with pytest.raises(Unreadable, match="interrupted"):
        read(file)


def test_invalid_characters_are_replaced(tmp_path: Path) -> None:
    script = "CREATE TABLE t (x); INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT))"
    assert read(made(tmp_path / "a.db", script)).lines == ["a\N{REPLACEMENT CHARACTER}b"]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_databases_of_all_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    script = f"PRAGMA encoding='{encoding}'; CREATE TABLE t (größe); INSERT INTO t VALUES ('я')"
    found = read(made(tmp_path / "a.db", script))
    assert (found.lines, found.text_map.place_at(1).columns) == (["я"], ("größe",))


def test_a_file_that_is_not_a_database_is_reported() -> None:
    for document in (b"x", bytes(5000), b"\xd0\xcf\x11\xe0" * 1000):
        with pytest.raises(Unreadable, match=r"^it is not a SQLite database, or it is encrypted$"):
            extracted("thumbs.db", document)
    assert extracted("empty.db", b"").lines == []


@pytest.mark.parametrize("page_size", [512, 8192, 65536])
def test_a_truncated_database_is_damaged(tmp_path: Path, page_size: int) -> None:
    script = f"PRAGMA page_size={page_size}; {PEOPLE}"
    document = made(tmp_path / "a.db", script).read_bytes()
    for length in (16, 99, 100, page_size - 1, page_size, 5000, len(document) - 1):
        with pytest.raises(Unreadable, match=r"^it is damaged: its end is missing$"):
            extracted("a.db", document[: min(length, len(document) - 1)])
    assert len(extracted("a.db", document).lines) == 4


def test_a_stale_page_count_is_ignored(tmp_path: Path) -> None:
    document = bytearray(made(tmp_path / "a.db", PEOPLE).read_bytes())
    document[28:32] = (1_000_000).to_bytes(4, "big")
    with pytest.raises(Unreadable, match="its end is missing"):
        extracted("a.db", bytes(document))
    document[92:96] = bytes(4)  # the change counter for which that number is valid
    assert len(extracted("a.db", bytes(document)).lines) == 4


def test_damage_only_loses_rows(tmp_path: Path) -> None:
    rows = "INSERT INTO t VALUES " + ", ".join(f"({n}, 'row {n}')" for n in range(2000))
    document = made(tmp_path / "a.db", f"CREATE TABLE t (x, y); {rows}; {PEOPLE}").read_bytes()
    chance = random.Random(3)
    reported = 0
    for _ in range(100):
        damaged = bytearray(document)
        for _ in range(50):
            damaged[chance.randrange(100, len(damaged))] = chance.randrange(256)
        try:
            reported += bool(extracted("a.db", bytes(damaged)).failed)
        except Unreadable:
            reported += 1
    assert reported > 50
