"""The store: its contents, their lifetime, and files that are not a store."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from conftest import requires_posix
from winnow.index.postings.building import MOST_DOCUMENTS
from winnow.index.store import generations, merging
from winnow.index.store import store as module
from winnow.index.store.blocks import BLOCK
from winnow.index.store.file_record import FileRecord, FileState
from winnow.index.store.reader import DecodedCache, StoreCounts
from winnow.index.store.store import CONSENT, REPLACED, Store
from winnow.storage import database
from winnow.storage.database import StoreDamaged
from winnow.storage.state_folder import User, create, existing
from winnow.symbols.extract.packed import pack
from winnow.symbols.file_symbols import Definition, FileSymbols, LexicalScope, ScopeTable
from winnow.symbols.view import File


def scope_table_of(*bases: str, size: int = 100) -> ScopeTable:
    return ScopeTable(
        (LexicalScope(0, size, -1, "module"), LexicalScope(5, 9, 0, "class")), bases={1: bases}
    )


def file_facts(*names: str, bases: tuple[str, ...] = (), mtime: int = 1) -> FileRecord:
    """Return a file record that defines these names and contains each of them twice."""
    definitions = [
        Definition(name, "function", place, 0, 9, place, place, (0, 0, 0))
        for place, name in enumerate(names)
    ]
    occurrences = {name: name.encode() * 2 for name in names}
    symbols = FileSymbols("python", definitions, scope_table_of(*bases), occurrences)
    return FileRecord(FileState(mtime, 2, 3), "python", pack(symbols))


def defined(store: Store, name: str) -> list[str]:
    with store.read() as reader:
        return sorted(file.path for file, _ in reader.definitions(name))


def occurring(store: Store, name: str) -> dict[str, bytes]:
    with store.read() as reader:
        return {file.path: data for file, data in reader.occurrences(name)}


def test_another_process_reads_the_written_rows(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    strange = os.fsdecode(b"dir/\xff.py")
    failed = FileRecord(FileState(1, 2, 3, "it is too large"), "python")
    store.write(
        {
            "a.py": file_facts("one", "two"),
            strange: file_facts("one", bases=("m.Base[T]", "object")),
            "b/large.py": failed,
        }
    )
    store.close()
    again = Store.open(tmp_path)
    assert not again.is_temporary
    with again.read() as reader:
        assert reader.files() == {
            "a.py": FileState(1, 2, 3),
            strange: FileState(1, 2, 3),
            "b/large.py": failed.state,
        }
        assert reader.problems() == {File("b/large.py", "python"): "it is too large"}
        assert set(reader.known(["dir", "a.py", "nowhere"])) == {strange, "a.py"}
        assert sorted(reader.occurrences("one"), key=str) == [
            (File("a.py", "python"), b"oneone"),
            (File(strange, "python"), b"oneone"),
        ]
        assert [one.name for one in reader.definitions_in("a.py")] == ["one", "two"]
        assert list(reader.subclasses("Base")) == [(File(strange, "python"), 1)]
        assert reader.scope_table(strange) == scope_table_of("m.Base[T]", "object")
        assert reader.scope_table("b/large.py") is None
        assert reader.file("b/large.py") is None
        assert reader.file(strange) == File(strange, "python")
        assert reader.files_named(os.fsdecode(b"\xff.py")) == [File(strange, "python")]
        assert reader.names_after(0, 10) == [(1, "one"), (2, "two")]
        assert reader.counts() == StoreCounts(files=3, names=2, definitions=3)
    again.close()


def test_definitions_are_found_in_every_block_of_a_file(tmp_path: Path) -> None:
    names = [f"name_{number}" for number in range(2 * BLOCK + 3)]
    with contextlib.closing(Store.open(tmp_path)) as store:
        store.write({"a.py": file_facts(*names), "b.py": file_facts()})
        with store.read() as reader:
            assert [one.name for one in reader.definitions_in("a.py")] == names
            assert reader.definitions_in("b.py") == []
            for place, name in enumerate(names):
                assert [(file.path, one.at) for file, one in reader.definitions(name)] == [
                    ("a.py", place)
                ]
            for places, other, found in (
                (range(BLOCK - 2, BLOCK + 2), 2 * BLOCK, [*range(BLOCK - 2, BLOCK + 2), 2 * BLOCK]),
                (range(3, 3), 0, [0]),
                (range(2 * BLOCK + 1, 4 * BLOCK), -1, [2 * BLOCK + 1, 2 * BLOCK + 2]),
            ):
                assert [one.at for one in reader.definitions_at("a.py", places, other)] == found
            assert reader.definitions_at("b.py", range(5), 0) == []


@pytest.mark.parametrize("block", [b"no compressed data", zlib.compress(b"\x90")])
def test_a_block_that_lacks_a_definition_is_damage(tmp_path: Path, block: bytes) -> None:
    with contextlib.closing(Store.open(tmp_path)) as store:
        store.write({"a.py": file_facts("one")})
        with store.transaction() as connection:
            connection.execute("UPDATE block SET data=?", (block,))
        with store.read() as reader, pytest.raises(StoreDamaged):
            list(reader.definitions("one"))


def test_a_file_that_is_written_again_replaces_its_rows(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("old", "both", bases=("Old",)), "b.py": file_facts("both")})
    store.write({"a.py": file_facts("new", "both", bases=("New",), mtime=5)}, gone=["b.py", "c.py"])
    assert defined(store, "old") == []
    assert occurring(store, "old") == {}
    assert defined(store, "both") == ["a.py"]
    assert occurring(store, "both") == {"a.py": b"bothboth"}
    with store.read() as reader:
        assert reader.files() == {"a.py": FileState(5, 2, 3)}
        assert reader.scope_table("a.py") == scope_table_of("New")
        assert list(reader.subclasses("Old")) == []
        # Names are never removed, so a reader of them only has to read new ones.
        assert reader.names_after(2, 10) == [(3, "new")]
    store.close()


def test_a_reader_sees_a_consistent_snapshot(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("old")})
    with store.read() as reader:
        store.write({"a.py": file_facts("new")})
        assert [one.name for one in reader.definitions_in("a.py")] == ["old"]
        assert list(reader.definitions("new")) == []
        assert defined(store, "new") == ["a.py"]
    store.close()


def test_several_threads_and_processes_write_and_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A writer may starve while the others write one after another.
    monkeypatch.setattr(module, "BUSY_SECONDS", 60.0)
    stores = [Store.open(tmp_path) for _ in range(2)]
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                stores[number % 2].write({f"{number}.py": file_facts(f"n{turn}", "common")})
                assert defined(stores[(number + 1) % 2], f"n{turn}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert defined(stores[0], "common") == [f"{number}.py" for number in range(6)]
    for store in stores:
        store.check()
        store.close()


def test_each_version_has_its_own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = Store.open(tmp_path)
    old.write({"a.py": file_facts("a")})
    monkeypatch.setattr(module, "version", lambda _: "other")
    new = Store.open(tmp_path)
    assert new.file != old.file
    assert defined(new, "a") == []
    assert defined(old, "a") == ["a.py"]
    new.close()
    old.close()
    # When no process has used the old store for days, the next new one deletes it.
    past = time.time() - generations.OLD_SECONDS - 1
    os.utime(old.file, (past, past))
    monkeypatch.setattr(module, "version", lambda _: "newest")
    Store.open(tmp_path).close()
    assert not old.file.exists()
    assert new.file.exists()


@pytest.mark.parametrize(
    "content", [b"", b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000]
)
def test_a_file_that_is_not_a_store_is_put_aside(tmp_path: Path, content: bytes) -> None:
    store = Store.open(tmp_path)
    store.close()
    store.file.write_bytes(content)
    again = Store.open(tmp_path)
    assert not again.is_temporary
    again.write({"a.py": file_facts("a")})
    assert defined(again, "a") == ["a.py"]
    again.close()


def test_a_database_with_other_tables_is_replaced(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.close()
    store.file.unlink()
    connection = database.connect(store.file, busy_seconds=1, cache_kb=64)
    connection.execute("CREATE TABLE file (id); CREATE VIEW name AS SELECT 1;").fetchall()
    connection.close()
    again = Store.open(tmp_path)
    again.write({"a.py": file_facts("a")})
    assert defined(again, "a") == ["a.py"]
    assert "it has other tables" in again.readable_notes()[REPLACED]
    again.close()


@pytest.mark.parametrize("turns", [300, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_damaged_store_never_answers_wrong(tmp_path: Path, turns: int) -> None:
    """Damaged bytes and pages: no wrong answer; a check finds all of them (#21)."""
    names = [f"name{number}" for number in range(100)]
    right = {f"{number}.py": name.encode() * 2 for number in range(20) for name in ["name7"]}
    store = Store.open(tmp_path)
    for number in range(20):
        store.write({f"{number}.py": file_facts(*names, bases=(f"base{number}",))})
    store.close()
    whole = store.file.read_bytes()
    drawn = random.Random(1)
    answered = refused = 0
    for turn in range(turns):
        broken = bytearray(whole)
        place = drawn.randrange(len(broken) - 4096)
        if turn % 5:
            broken[place] ^= 1 << drawn.randrange(8)
        else:
            broken[place : place + 4096] = drawn.randbytes(4096)
        store.file.write_bytes(broken)
        try:
            again = Store(store.file)
        except StoreDamaged:
            refused += 1
            continue
        try:
            assert again.find_damage() is not None
            assert occurring(again, "name7") == right
            assert defined(again, "name7") == sorted(right)
            answered += 1
        except StoreDamaged:
            refused += 1
        finally:
            again.close()
    assert min(answered, refused) > turns / 40


def test_invalid_text_is_damage(tmp_path: Path) -> None:
    """SQLite's own checks find nothing wrong with it."""
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("a")})
    with store.transaction() as connection:
        connection.execute("UPDATE file SET problem=CAST(x'ff' AS TEXT)")
    store.check()
    with store.read() as reader, pytest.raises(StoreDamaged):
        reader.files()
    store.close()


@requires_posix
def test_an_unwritable_folder_has_a_temporary_store(tmp_path: Path) -> None:
    (tmp_path / ".winnow").write_text("a file")
    store = Store.open(tmp_path, user=User(None, None))
    assert store.is_temporary
    store.write({"a.py": file_facts("a")})
    assert defined(store, "a") == ["a.py"]
    store.close()
    assert not store.file.parent.exists()
    assert (tmp_path / ".winnow").read_text() == "a file"


@requires_posix
def test_an_untrusted_symlink_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / ".winnow").symlink_to(outside)
    store = Store.open(root)
    assert store.file.parent == existing(root) != root / ".winnow"
    store.close()
    (root / ".winnow").unlink()
    create(root)
    (root / ".winnow" / f"index-{generations.version()}.db").symlink_to(outside / "new.db")
    store = Store.open(root)
    assert store.is_temporary
    store.close()
    assert list(outside.iterdir()) == []


def test_the_folder_is_ignored_by_git(tmp_path: Path) -> None:
    Store.open(tmp_path).close()
    assert (tmp_path / ".winnow/.gitignore").read_text() == "*\n"


def test_a_store_that_was_deleted_is_not_current(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    assert store.is_current()
    store.file.unlink()
    assert not store.is_current()
    store.close()


@pytest.mark.slow
@requires_posix
def test_a_killed_process_leaves_a_valid_store(tmp_path: Path) -> None:
    """kill -9 at any moment: every transaction is complete or absent."""
    code = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from index.test_store import Store, file_facts\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "print('open', flush=True)\n"
        "for turn in range(1000000):\n"
        "    names = [f'{turn}n{n}' for n in range(200)]\n"
        "    store.write({f'{n}.py': file_facts('turn', *names, mtime=turn) for n in range(10)})\n"
    )
    for seconds in (0.01, 0.1, 0.3):
        writer = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parents[2])],
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        with writer:
            writer.stdout.readline()
            time.sleep(seconds)
            writer.send_signal(signal.SIGKILL)
        store = Store.open(tmp_path)
        store.check()
        with store.read() as reader:
            states = {state.mtime_ns for state in reader.files().values()}
            assert len(states) <= 1
            for turn in states:
                assert len(list(reader.definitions("turn"))) == 10
                assert len(list(reader.occurrences(f"{turn}n7"))) == 10
        store.close()


def test_a_file_is_looked_up_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("one", bases=("Base",)), "b.py": file_facts("two")})
    statements: list[str] = []
    with store.read() as reader:

        def count(cursor: object, statement: str, values: object) -> bool:
            statements.append(statement)
            return True

        reader.connection.exec_trace = count
        for rows in (
            reader.occurrences("one"),
            reader.definitions("one"),
            reader.subclasses("Base"),
        ):
            assert [file.path for file, _ in rows] == ["a.py"]
        statements.clear()
        assert reader.file("a.py") == File("a.py", "python")
        assert reader.scope_table("a.py") is not None
        assert reader.occurrences_in("a.py", "one") == b"oneone"
        assert len(statements) == 2  # the scope table and the occurrences
        assert reader.file("nowhere.py") is None
        assert reader.names_in("nowhere.py") == []
        assert len(statements) == 3
        reader.connection.exec_trace = None
    store.close()


def test_the_files_of_a_name_are_read_once_per_transaction(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    store.write({"a/x.py": file_facts("one"), "x.py": file_facts("two")})

    def read() -> Mapping[str, Sequence[File]]:
        with store.read() as reader:
            return reader.files_by_folder("x.py")

    first = read()
    assert first == {"a": [File("a/x.py", "python")], "": [File("x.py", "python")]}
    assert read() is first
    store.write({"a/b/x.py": file_facts("three")}, gone=["x.py"])
    assert read() == {"a": [File("a/x.py", "python")], "b": [File("a/b/x.py", "python")]}
    store.close()


def test_the_cache_of_scope_tables_is_bounded() -> None:
    kept = DecodedCache[int, ScopeTable](limit=100)
    scope_tables = {number: scope_table_of(size=number) for number in range(5)}
    for number, scope_table in scope_tables.items():
        kept.keep(number, scope_table, 30)
        kept.get(0)
    # The table that was requested all the time is among the last ones.
    assert [number for number in scope_tables if kept.get(number)] == [0, 3, 4]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_reading_writes_nothing(tmp_path: Path) -> None:
    """The index was discarded after read-only commands had written to it (#21)."""
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("first", "second"), "b.py": file_facts("third")})
    store.close()
    before = contents(store.file.parent)
    for _ in range(3):
        again = Store.open(tmp_path)
        assert defined(again, "first") == ["a.py"]
        again.check()
        assert again.find_damage() is None
        again.close()
    assert contents(store.file.parent) == before


def test_a_store_that_another_process_closes_is_intact(tmp_path: Path) -> None:
    """A process that opened the index while another closed it considered it damaged (#21)."""
    store = Store.open(tmp_path)
    store.write({"a.py": file_facts("first")})
    copied = contents(store.file.parent)
    store.write({"b.py": file_facts("second")})
    other = Store.open(tmp_path)
    store.close()
    assert (defined(other, "first"), defined(other, "second")) == (["a.py"], ["b.py"])
    other.close()
    # A killed process leaves a log.
    assert any(name.endswith("-wal") for name in copied)
    for path in store.file.parent.iterdir():
        if path.name not in copied:
            path.unlink()
    for name, raw in copied.items():  # in place: another file would have a different mark
        (store.file.parent / name).write_bytes(raw)
    killed = Store.open(tmp_path)
    assert defined(killed, "first") == ["a.py"]
    assert killed.file == store.file
    killed.close()


def test_a_successor_counts_once_it_is_published(tmp_path: Path) -> None:
    damaged = Store.open(tmp_path)
    damaged.write({"a.py": file_facts("first")})
    damaged.note(CONSENT, "yes")
    successor = Store.successor(damaged, "", "a page was flipped")
    successor.write({"a.py": file_facts("second")})
    successor.close()
    before = Store.open(tmp_path)
    assert before.file == damaged.file
    before.close()
    again = Store.successor(damaged, "", "a page was flipped")  # as another process continues it
    assert again.file == successor.file
    assert defined(again, "second") == ["a.py"]
    again.publish()
    assert not damaged.is_current()
    after = Store.open(tmp_path)
    assert after.file == successor.file
    assert "a page was flipped" in after.readable_notes()[REPLACED]
    assert after.readable_notes()[CONSENT] == "yes"
    for store in (damaged, again, after):
        store.close()
    assert [file.name for file in after.file.parent.glob("*.db")] == [successor.file.name]


def test_the_successor_of_a_temporary_store_is_temporary() -> None:
    damaged = Store.temporary()
    successor = Store.successor(damaged, "", "a page was flipped")
    successor.write({"a.py": file_facts("first")})
    successor.publish()
    damaged.close()
    assert defined(successor, "first") == ["a.py"]
    successor.close()
    assert not successor.file.parent.exists()


def test_a_database_without_checksums_is_damage(tmp_path: Path) -> None:
    """A bit of the header says whether pages have checksums."""
    store = Store.open(tmp_path)
    store.close()
    connection = sqlite3.connect(store.file)
    (reserved,) = connection.execute("PRAGMA page_count").fetchone()
    connection.close()
    assert reserved
    raw = bytearray(store.file.read_bytes())
    assert raw[20] == database.CHECKSUM_BYTES
    raw[20] = 0
    store.file.write_bytes(raw)
    with pytest.raises(StoreDamaged):
        Store(store.file)


def test_segments_are_merged_and_each_text_is_rarely_copied() -> None:
    """As in the indexing of a large tree: batches of about a thousand files, and now and then a
    few."""
    chance = random.Random(1)
    sizes: dict[int, int] = {}
    total = moved = 0
    for number in itertools.count():
        if total > 80_000:
            break
        sizes[2 * number] = chance.choice([chance.randint(1, 40), chance.randint(600, 1600)])
        total += sizes[2 * number]
        if some := merging.segments_to_merge(sizes):
            assert len(some) > 1
            sizes[2 * number + 1] = sum(sizes.pop(one) for one in some)
            assert sizes[2 * number + 1] <= MOST_DOCUMENTS
            moved += sizes[2 * number + 1]
    assert len(sizes) < 40
    assert moved < total


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        ([], []),
        ([20], []),
        ([20, 10], [10, 20]),
        ([1, merging.LARGE], [1, merging.LARGE]),
        ([1, merging.LARGE + 1], []),
        ([500, 1_000, 3_001], [500, 1_000]),
        ([500, 1_000, 3_000], [500, 1_000, 3_000]),
        ([1_000, 2_500, 2_600], [2_500, 2_600]),
        ([1, MOST_DOCUMENTS], []),
        ([20_000, 12_000, 30_000], [12_000, 20_000]),
        ([30_000, 20_000, 20_000], []),
    ],
)
def test_segments_of_similar_sizes_are_merged_after_a_build(
    sizes: list[int], chosen: list[int]
) -> None:
    some = merging.similar_segments(dict(enumerate(sizes)))
    assert [sizes[number] for number in some] == chosen


def test_merging_similar_segments_ends_with_few() -> None:
    chance = random.Random(1)
    sizes = {number: chance.randint(1, 2000) for number in range(135)}
    total, moved = sum(sizes.values()), 0
    for number in itertools.count(len(sizes)):
        if not (some := merging.similar_segments(sizes)):
            break
        sizes[number] = sum(sizes.pop(one) for one in some)
        moved += sizes[number]
    assert sum(sizes.values()) == total
    assert len(sizes) <= 2 * math.ceil(total / MOST_DOCUMENTS)
    assert moved <= total


def test_large_segments_do_not_prevent_other_merges() -> None:
    large = dict.fromkeys(range(20), merging.LEVELS[-1])
    assert merging.segments_to_merge(large) == []
    assert merging.segments_to_merge({**large, **dict.fromkeys(range(20, 28), 700)}) == [
        *range(20, 28)
    ]
