"""Keep the names of all definitions in memory, to find them by a part of their name.

A store only adds names, so its table only grows: before each search, it reads the names added since
the last one. A table is created by the first search.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from winnow.storage.writing import temporary_file
from winnow.symbols.file_symbols import FileSymbols

if TYPE_CHECKING:
    from collections.abc import Mapping

    from winnow.index.store.reader import Reader
    from winnow.symbols.search.name_table import NameTable

# Names read from the store at once.
PORTION = 20_000


class NameTables:
    """Tables of definition names: one per store, by folder, and one for unsaved documents."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stores: dict[str, _StoreNames] = {}
        self._unsaved: dict[str, FileSymbols] = {}
        self._unsaved_names: NameTable | None = None

    def of_store(self, folder: str, reader: Reader) -> NameTable:
        """Return the names in a store, as the reader sees it."""
        with self._lock:
            known = self._stores.get(folder)
            if known is None or known.store is not reader.store:
                known = self._stores[folder] = _StoreNames(reader)
            known.grow(reader)
            return known.names

    def of_unsaved(self, overlay: Mapping[str, FileSymbols | None]) -> NameTable:
        """Return the names that unsaved documents define."""
        # numpy takes time to load.
        from winnow.symbols.search.name_table import NameTable

        unsaved = {path: symbols for path, symbols in overlay.items() if symbols is not None}
        with self._lock:
            same = unsaved.keys() == self._unsaved.keys() and all(
                symbols is self._unsaved[path] for path, symbols in unsaved.items()
            )
            if self._unsaved_names is None or not same:
                names = dict.fromkeys(
                    definition.name
                    for symbols in unsaved.values()
                    for definition in symbols.definitions
                )
                self._unsaved_names = NameTable()
                self._unsaved_names.add(names)
                self._unsaved = unsaved
            return self._unsaved_names


class _StoreNames:
    """The names of one store, up to the number of the ``last`` one that was read."""

    def __init__(self, reader: Reader) -> None:
        from winnow.symbols.search.name_table import NameTable

        self.store = reader.store  # a new store numbers its names differently
        self.names = NameTable(partial(temporary_file, reader.open_segments.folder))
        self.last = 0

    def grow(self, reader: Reader) -> None:
        while rows := reader.names_after(self.last, PORTION):
            self.names.add(text for _, text in rows)
            self.last = rows[-1][0]
