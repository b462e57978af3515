"""The history store: contents, limits, damage, and files that are not a store."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from conftest import requires_posix, write_files
from winnow.ranking.history import store as module
from winnow.ranking.history.store import (
    BATCH,
    MAX_PATHS,
    NAME,
    HistoryStore,
    SearchEvent,
    SearchRecord,
)
from winnow.storage.database import DatabaseError, StoreDamaged, connect
from winnow.storage.state_folder import OWN_FOLDER, User, create


def search(name: str, at: float = 1.0, *paths: str, query: str = "load plugins") -> SearchRecord:
    return SearchRecord(name, at, "grep", query, "words", 0.5, len(paths), paths)


def event(name: str, path: str = "a.py", at: float = 2.0) -> SearchEvent:
    return SearchEvent(name, at, "opened", path, 1)


def file_of(root: Path) -> Path:
    return root / OWN_FOLDER / NAME


def size_of(root: Path) -> int:
    return sum(file.stat().st_size for file in (root / OWN_FOLDER).glob(f"{NAME}*"))


def test_rows_can_be_read_after_reopening(tmp_path: Path) -> None:
    full = SearchRecord(
        "s1", 1.5, "code_search", "wo ist das “Plugin”?", "question", 0.25, 3,
        ("a.py", "dir/ü.py"), "src", True, "the index is building", True,
    )  # fmt: skip
    events = [event("s1"), SearchEvent("s1", 3.0, "left", tool="bash")]
    store = HistoryStore.open(tmp_path)
    store.write([full, search("s2", 2.0)], events)
    store.close()
    again = HistoryStore.open(tmp_path)
    assert again.file == file_of(tmp_path)
    assert again.all() == ([full, search("s2", 2.0)], events)
    assert again.search("s1") == full
    assert again.search("s3") is None
    assert again.recent(2.0) == ([search("s2", 2.0)], [])
    assert again.results_after(0) == ([full], [event("s1")], 2)
    assert again.results_after(2) == ([], [], 2)
    again.close()
    assert (tmp_path / OWN_FOLDER / ".gitignore").read_text() == "*\n"


def test_the_first_paths_of_an_answer_are_stored(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    paths = [f"{number}.py" for number in range(50)]
    store.write([search("s", 1.0, *paths)], [])
    found = store.search("s")
    assert found is not None
    assert list(found.paths) == paths[:MAX_PATHS]
    store.close()


def test_trimming_deletes_searches_without_results_first_then_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_SEARCHES", 100)
    monkeypatch.setattr(module, "MAX_EVENTS", 50)
    store = HistoryStore.open(tmp_path)
    store.write([search("opened", 0.0)], [event("opened")])
    for number in range(300):
        store.write([search(f"s{number}", 1.0 + number)], [])
        searches, _ = store.all()
        assert len(searches) <= 100
    searches, events = store.all()
    names = [row.id for row in searches]
    assert names[0] == "opened"
    assert names[1:] == [f"s{number}" for number in range(301 - len(names), 300)]
    assert events == [event("opened")]
    for number in range(200):
        store.write([], [event("s299", at=number)])
    _, events = store.all()
    assert 40 <= len(events) <= 50
    assert events[-1] == event("s299", at=199)
    store.close()


def test_a_full_store_stays_below_two_megabytes(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    paths = [f"some/folder/of/the/project/with_a_long_name_{number}.py" for number in range(5)]
    for batch in range(60):
        names = [f"{batch}-{number}" for number in range(BATCH)]
        store.write(
            [search(name, 1.0, *paths, query=f"{name} what is it about " * 8) for name in names],
            [event(name) for name in names],
        )
        assert size_of(tmp_path) < 2_000_000
    searches, events = store.all()
    assert searches[-1].id == f"59-{BATCH - 1}"
    assert 1_000 < len(searches) <= module.MAX_SEARCHES
    known = {row.id for row in searches}
    assert events
    assert all(row.search in known for row in events)
    store.close()
    assert size_of(tmp_path) < 2_000_000


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_store_is_put_aside(tmp_path: Path, seed: int) -> None:
    store = HistoryStore.open(tmp_path)
    store.write([search(f"s{number}") for number in range(200)], [])
    store.close()
    rng = random.Random(seed)
    data = bytearray(file_of(tmp_path).read_bytes())
    start = rng.randrange(0, 100) if seed % 2 else 0
    data[start : start + 4096] = rng.randbytes(4096)
    file_of(tmp_path).write_bytes(data)
    again = HistoryStore.open(tmp_path)
    again.write([search("new")], [])
    assert again.all() == ([search("new")], [])
    again.close()
    assert file_of(tmp_path).with_suffix(".damaged").read_bytes() == bytes(data)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 50])
def test_a_file_that_is_not_a_store_is_replaced(tmp_path: Path, content: bytes) -> None:
    file_of(tmp_path).parent.mkdir()
    file_of(tmp_path).write_bytes(content)
    store = HistoryStore.open(tmp_path)
    store.write([search("s")], [])
    assert store.file is not None
    assert store.all() == ([search("s")], [])
    store.close()


def test_a_foreign_database_is_put_aside(tmp_path: Path) -> None:
    create(tmp_path)
    connection = sqlite3.connect(file_of(tmp_path))
    connection.execute("CREATE TABLE search (id)")
    connection.close()
    store = HistoryStore.open(tmp_path)
    store.write([search("s")], [])
    assert store.all() == ([search("s")], [])
    store.close()
    assert file_of(tmp_path).with_suffix(".damaged").exists()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("paths", "{"), ("paths", "[1]"), ("paths", "[" * 5000), ("kind", "x"), ("at", "x")),
        *(("query", b"x"), ("at", 9e999), ("seconds", -9e999), ("returned", -1)),
        ("paths", str(["x"] * 50).replace("'", '"')),
    ],
)
def test_values_that_winnow_does_not_write_are_damage(
    tmp_path: Path, column: str, value: str | bytes | float
) -> None:
    store = HistoryStore.open(tmp_path)
    store.write([search("s")], [])
    store._connection.execute(f"UPDATE search SET {column}=?", (value,))
    with pytest.raises(StoreDamaged):
        store.all()
    store.discard()
    again = HistoryStore.open(tmp_path)
    assert again.all() == ([], [])
    again.close()


def test_invalid_utf_8_is_damage(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    store.write([search("s")], [])
    store._connection.execute("UPDATE search SET query=CAST(x'ff' AS TEXT)")
    with pytest.raises(StoreDamaged):
        store.all()
    store.close()


def test_rows_that_sqlite_cannot_store_are_dropped_and_the_rest_is_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = HistoryStore.open(tmp_path)
    store.write(
        [
            search("s1"),
            search("half", query="half a character: \ud83d"),
            search("path", 1.0, "no-\udcff.py"),
            msgspec.structs.replace(search("many"), returned=2**63),
            search("s2"),
        ],
        [event("s1"), msgspec.structs.replace(event("s1"), rank=2**63), event("s2")],
    )
    assert store.all() == ([search("s1"), search("s2")], [event("s1"), event("s2")])
    assert len(caplog.messages) == 4
    store.close()


@pytest.mark.parametrize("how", ["copied", "forged"])
def test_a_database_that_was_not_created_here_is_put_aside(tmp_path: Path, how: str) -> None:
    """#21, H2: `git checkout` writes single files into a folder that is trusted."""
    other = HistoryStore.open(write_files(tmp_path / "other", {"a.py": ""}))
    other.write([search("theirs", 1.0, "a.py")], [event("theirs")])
    other.close()
    root = write_files(tmp_path / "root", {"a.py": ""})
    ours = HistoryStore.open(root)
    ours.write([search("ours")], [])
    ours.close()
    shutil.copy(file_of(tmp_path / "other"), tmp_path / "new")
    if how == "forged":
        with contextlib.closing(sqlite3.connect(file_of(root))) as connection:
            mark = connection.execute("SELECT mark FROM owner").fetchone()
        connection = sqlite3.connect(tmp_path / "new")
        connection.execute("UPDATE owner SET mark=?", mark)
        connection.commit()
        connection.close()
    os.replace(tmp_path / "new", file_of(root))
    again = HistoryStore.open(root)
    assert again.all() == ([], [])
    again.write([search("new")], [])
    again.close()
    assert file_of(root).with_suffix(".damaged").exists()
    again = HistoryStore.open(root)
    assert again.all() == ([search("new")], [])
    again.close()


@requires_posix
@pytest.mark.parametrize("what", ["folder", "file", "log"])
def test_links_are_refused(tmp_path: Path, what: str) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    if what == "folder":
        (root / OWN_FOLDER).symlink_to(elsewhere)
    else:
        create(root)
        name = NAME if what == "file" else f"{NAME}-wal"
        (root / OWN_FOLDER / name).symlink_to(elsewhere / "target")
    store = HistoryStore.open(root)
    if what == "folder":
        assert store.file is not None  # in the user's cache folder
        assert not store.file.is_relative_to(tmp_path)
    else:
        assert store.file is None
    store.write([search("s")], [])
    assert store.all() == ([search("s")], [])
    store.close()
    assert list(elsewhere.iterdir()) == []


def test_a_store_that_cannot_be_written_is_in_memory(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path, User(None, None))
    assert store.file is None
    assert store.is_current()
    store.write([search("s")], [event("s")])
    assert store.all() == ([search("s")], [event("s")])
    store.close()


def test_a_locked_store_raises_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.05)
    store = HistoryStore.open(tmp_path)
    store.write([search("before")], [])
    other = connect(file_of(tmp_path), busy_seconds=1, cache_kb=64)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(DatabaseError, match="locked"):
        store.write([search("after")], [])
    assert [row.id for row in store.all()[0]] == ["before"]
    other.execute("COMMIT")
    other.close()
    store.write([search("after")], [])
    assert [row.id for row in store.all()[0]] == ["before", "after"]
    store.close()


def test_a_deleted_store_is_not_current(tmp_path: Path) -> None:
    store = HistoryStore.open(tmp_path)
    assert store.is_current()
    file_of(tmp_path).unlink()
    assert not store.is_current()
    store.close()


@pytest.mark.process
def test_several_threads_and_processes_can_write_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process inside a transaction may have to wait for a processor.
    monkeypatch.setattr(module, "BUSY_SECONDS", 60.0)
    program = (
        "import sys; from pathlib import Path\n"
        "from winnow.ranking.history import store as module\n"
        "from winnow.ranking.history.store import SearchRecord\n"
        "from winnow.ranking.history.store import HistoryStore\n"
        "module.BUSY_SECONDS = 60.0\n"
        "store = HistoryStore.open(Path(sys.argv[1]))\n"
        "assert store.file is not None\n"
        "for number in range(50):\n"
        "    name = f'{sys.argv[2]}-{number}'\n"
        "    store.write([SearchRecord(name, 1.0, 'grep', 'q', 'words', 0.5, 0)], [])\n"
        "store.close()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen([*command, f"p{number}"]) for number in range(2)]
    store = HistoryStore.open(tmp_path)

    def work(number: int) -> None:
        for turn in range(50):
            store.write([search(f"t{number}-{turn}")], [])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.wait(60) for process in processes] == [0, 0]
    writers = ("p0", "p1", "t0", "t1", "t2")
    expected = {f"{writer}-{turn}" for writer in writers for turn in range(50)}
    assert {row.id for row in store.all()[0]} == expected
    store.close()


@pytest.mark.process
def test_processes_that_create_a_store_at_the_same_moment_all_open_it(tmp_path: Path) -> None:
    """SQLite does not wait for other processes there; a process that gave up would use memory."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "from winnow.ranking.history import store as module\n"
        "from winnow.ranking.history.store import HistoryStore\n"
        "module.BUSY_SECONDS = 60.0\n"
        "end = time.monotonic() + 30\n"
        "for number in range(12):\n"
        "    root = Path(sys.argv[1], str(number))\n"
        "    root.mkdir(exist_ok=True)\n"
        "    while len(list(root.glob('here*'))) < 4 and time.monotonic() < end:\n"
        "        root.joinpath(f'here{sys.argv[2]}').touch()\n"
        "    store = HistoryStore.open(root)\n"
        "    assert store.file is not None, number\n"
        "    store.close()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    assert [process.wait(60) for process in processes] == [0, 0, 0, 0]


@pytest.mark.process
@requires_posix
def test_a_killed_process_leaves_its_committed_rows(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from winnow.ranking.history.store import SearchRecord\n"
        "from winnow.ranking.history.store import HistoryStore\n"
        "store = HistoryStore.open(Path(sys.argv[1]))\n"
        "for number in range(10**6):\n"
        "    store.write([SearchRecord(f's{number}', 1.0, 'grep', 'q', 'words', 0.5, 0)], [])\n"
        "    print(number, flush=True)\n"
    )
    rng = random.Random(1)
    for _ in range(3):
        command = [sys.executable, "-c", program, str(tmp_path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        last = int(process.stdout.readline())
        time.sleep(rng.uniform(0, 0.1))
        os.kill(process.pid, signal.SIGKILL)
        for line in process.stdout:
            if line.endswith("\n"):
                last = int(line)
        process.stdout.close()
        process.wait()
        store = HistoryStore.open(tmp_path)
        assert store.file is not None
        names = [row.id for row in store.all()[0]]
        assert f"s{last}" in names
        store.close()
    assert not file_of(tmp_path).with_suffix(".damaged").exists()
