"""Tables of names in memory follow the store."""

from __future__ import annotations

from pathlib import Path

from conftest import write_files
from indexed import fill
from winnow.index.store.store import Store
from winnow.index.symbol_names import NameTables
from winnow.symbols.search.match import Pattern
from winnow.symbols.search.name_table import NameTable, find_names


def all_of(table: NameTable) -> set[str]:
    return {name for _, name in find_names([table], Pattern("")).names}


def test_a_table_grows_with_its_store(tmp_path: Path) -> None:
    root = write_files(tmp_path / "project", {"a.py": "def one(): ...\ndef two(): ...\n"})
    store = Store.temporary()
    tables = NameTables()
    fill(store, root)
    with store.read() as before:
        table = tables.of_store("/p/", before)
        assert all_of(table) == {"one", "two"}
        write_files(root, {"a.py": "def two(): ...\ndef three(): ...\n"})
        fill(store, root)
        with store.read() as after:
            assert tables.of_store("/p/", after) is table
            # A name without definitions stays in the table.
            assert all_of(table) == {"one", "two", "three"}
        assert tables.of_store("/p/", before) is table
        assert len(table) == 3
    store.close()


def test_a_new_store_has_a_new_table(tmp_path: Path) -> None:
    tables = NameTables()
    for name in ("first", "second"):
        store = Store.temporary()
        fill(store, write_files(tmp_path / name, {"a.py": f"def {name}(): ...\n"}))
        with store.read() as reader:
            assert all_of(tables.of_store("/p/", reader)) == {name}
        store.close()


def test_an_empty_store_has_an_empty_table() -> None:
    store = Store.temporary()
    tables = NameTables()
    with store.read() as reader:
        assert len(tables.of_store("/p/", reader)) == 0
        assert tables.of_store("/p/", reader) is tables.of_store("/p/", reader)
    store.close()
