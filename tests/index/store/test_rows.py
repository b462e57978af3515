"""Rows of files: parked, and adopted for a file with the same text."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from index.store.test_store import file_facts
from winnow.index.store import rows
from winnow.index.store.file_record import FileRecord, FileState
from winnow.index.store.store import Store
from winnow.storage.database import value_of


def version(name: str, mtime: int = 1) -> FileRecord:
    """Return a file record whose key depends on the name that it defines."""
    return msgspec.structs.replace(file_facts(name, mtime=mtime), key=name.encode().ljust(16, b"-"))


def definitions(store: Store) -> dict[str, list[str]]:
    with store.read() as reader:
        return {
            path: [one.name for one in reader.definitions_in(path)]
            for path in sorted(reader.files())
        }


@pytest.mark.parametrize("versions", range(1, rows.PARKED_VERSIONS + 3))
def test_a_file_that_returns_to_an_old_text_is_never_lost(tmp_path: Path, versions: int) -> None:
    """All within one second, as in a test or a rebase."""
    store = Store.open(tmp_path)
    names = [f"version_{number}" for number in range(versions)]
    for name in names:
        store.write({"a.py": version(name)})
    for turn, name in enumerate([*names, *reversed(names)]):
        known = store.adopt({"a.py": (FileState(10 + turn, 2, 3), version(name).key)})
        if not known:  # too old
            store.write({"a.py": version(name, mtime=10 + turn)})
        assert definitions(store) == {"a.py": [name]}
        with store.read() as reader:
            assert reader.files() == {"a.py": FileState(10 + turn, 2, 3)}
    store.close()


def test_a_touched_file_keeps_its_row(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    for name in ("one", "two", "three", "four"):
        store.write({"a.py": version(name), "b.py": version(f"b_{name}")})
    assert store.adopt({"a.py": (FileState(5, 2, 3), version("one").key)}) == ["a.py"]
    for turn in range(6, 20):
        assert store.adopt({"a.py": (FileState(turn, 2, 3), version("one").key)}) == ["a.py"]
        assert definitions(store) == {"a.py": ["one"], "b.py": ["b_four"]}
    with store.read() as reader:
        parked = value_of(reader.connection, "SELECT count(*) FROM file WHERE parked<>0")
    assert parked == 6
    store.close()


def test_leftover_segments_of_a_killed_process_are_deleted(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    left = [store.file.with_name(f"{store.file.stem}-{name}.seg") for name in ("old", "new")]
    unfinished = store.file.with_name(f"{store.file.stem}-old.seg.x.part")
    for file in (*left, unfinished):
        file.write_bytes(b"")
    os.utime(left[0], (1, 1))
    os.utime(unfinished, (1, 1))
    store.close()
    Store.open(tmp_path).close()
    assert [file.exists() for file in (*left, unfinished)] == [False, True, False]
