"""Read the symbols of all folders of a workspace at one moment, with unsaved documents in place of
their files."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from winnow.index.builder.disk_scan import content_keys, find_changes
from winnow.index.store.file_record import NO_DEFINITIONS
from winnow.index.store.reader import Reader, ReaderStopped, StoreVersion
from winnow.index.symbol_names import NameTables
from winnow.symbols.extract.packed import last_name
from winnow.symbols.file_symbols import Definition, FileSymbols, ScopeTable
from winnow.symbols.view import File
from winnow.text.paths import read_below

if TYPE_CHECKING:
    from winnow.index.commits.stored import StoredHistory
    from winnow.index.postings.corpus import Corpus
    from winnow.index.store.file_record import FileRecord
    from winnow.index.store.file_table import FileTable
    from winnow.symbols.search.name_table import NameTable

P = ParamSpec("P")
T = TypeVar("T")

# The symbols of documents that replace files, by absolute path; None for a deleted file.
Overlay = Mapping[str, FileSymbols | None]


class Snapshot:
    """A :class:`winnow.symbols.view.SymbolView` of the stores of some folders.

    ``roots`` are absolute, with ``/``; ``readers`` are the readers of their stores, in the same
    order. The snapshot closes them, at the end of a ``with`` block or on :meth:`close`. Only one
    thread at a time may use it. A thread other than the one that closes it uses :meth:`read`.
    """

    def __init__(
        self, roots: Sequence[str], readers: Sequence[Reader], overlay: Overlay | None = None
    ) -> None:
        self._roots = list(roots)
        self._stores = [
            (root.rstrip("/") + "/", reader) for root, reader in zip(roots, readers, strict=True)
        ]
        # The innermost folder holds a file.
        self._deepest_first = sorted(self._stores, key=lambda store: -len(store[0]))
        self._overlay = dict(overlay or {})
        self._manifests: dict[str, bytes | None] = {}
        self._lock = threading.Lock()  # guards the attributes below
        self._uses = 1  # the caller's, until close()
        self._closed = False

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the readers. If a thread is still reading for a cancelled request, it stops soon
        and closes them: a connection may be reused only when it is free."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        for _, reader in self._stores:
            reader.stop()
        self._leave()

    async def read(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a thread. If this call is cancelled, the thread continues until the
        snapshot is closed; its next read then raises ReaderStopped."""
        return await asyncio.to_thread(self._using, partial(work, *args, **kwargs))

    def _using(self, work: Callable[[], T]) -> T:
        with self._lock:
            if self._closed:
                raise ReaderStopped
            self._uses += 1
        try:
            return work()
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._uses -= 1
            is_last = not self._uses
        if is_last:
            for _, reader in self._stores:
                reader.close()

    @property
    def stores(self) -> tuple[object, ...]:
        """Identities of the stores; a replaced store has a new one."""
        return tuple(reader.store for _, reader in self._stores)

    def roots(self) -> list[str]:
        return list(self._roots)

    def manifest(self, path: str) -> bytes | None:
        if path not in self._manifests:
            self._manifests[path] = read_below(path, self._roots)
        return self._manifests[path]

    def manifests(self) -> Mapping[str, bytes | None]:
        return self._manifests

    @cached_property
    def version(self) -> object:
        # Occurrences enter a store without a new version of it.
        partial = [reader.partial_count() for _, reader in self._stores]
        return self._roots, self.written(), partial, self._overlay

    def written(self) -> list[StoreVersion]:
        """Return the versions of the stores."""
        return [reader.written for _, reader in self._stores]

    def names(self, tables: NameTables) -> list[NameTable]:
        """Return tables of all definition names; some may have no definition anymore."""
        found = [tables.of_store(prefix, reader) for prefix, reader in self._stores]
        return [*found, tables.of_unsaved(self._overlay)] if self._overlay else found

    def corpus(
        self,
        tables: Sequence[FileTable],
        unsaved: Mapping[str, FileRecord],
        histories: Sequence[StoredHistory] = (),
    ) -> Corpus:
        """Return the corpus to rank: the texts of the stores, whose tables are given in the same
        order, with ``unsaved`` documents, by absolute path, in place of their files. Commits are
        evidence if the ``histories`` of the stores are given."""
        # numpy takes time to load.
        from winnow.index.corpus import merge

        states = [table.at(reader) for table, (_, reader) in zip(tables, self._stores, strict=True)]
        commits = [
            history.at(reader)
            for history, (_, reader) in zip(histories, self._stores, strict=False)
        ]
        return merge(self, self._stores, states, unsaved, self._overlay, commits)

    def changed(self, paths: Iterable[str]) -> list[str]:
        """Return the files whose text differs from the indexed one."""
        below: dict[str, tuple[Reader, list[str]]] = {}
        for path in paths:
            located = None if path in self._overlay else self._locate(path)
            if located is not None:
                reader, inside = located
                folder = path[: len(path) - len(inside)]
                below.setdefault(folder, (reader, []))[1].append(inside)
        found: list[str] = []
        for folder, (reader, some) in below.items():
            changes = find_changes(Path(folder), reader.states_of_files(some).items())
            # A file that was only touched, or read right after a write, has the same text.
            now = content_keys(Path(folder), changes.changed)
            known = reader.keys_of(now)
            changed = [
                path for path in changes.changed if path not in now or now[path][1] != known[path]
            ]
            found += (folder + path for path in (*changed, *changes.gone))
        return found

    def without_definitions(self, paths: Iterable[str]) -> list[str]:
        """Return the files of which only the text is indexed so far."""
        found = []
        for path in paths:
            located = None if path in self._overlay else self._locate(path)
            if located is not None:
                reader, inside = located
                states = reader.states_of_files([inside])
                if inside in states and states[inside].problem == NO_DEFINITIONS:
                    found.append(path)
        return found

    def occurrences(self, name: str) -> Iterator[tuple[File, bytes]]:
        for prefix, reader in self._stores:
            yield from self._from_disk(prefix, reader.occurrences(name))
        for file, symbols in self._unsaved():
            if name in symbols.occurrences:
                yield file, symbols.occurrences[name]

    def occurrences_in(self, path: str, name: str) -> bytes:
        if path in self._overlay:
            symbols = self._overlay[path]
            return symbols.occurrences.get(name, b"") if symbols else b""
        located = self._locate(path)
        return located[0].occurrences_in(located[1], name) if located else b""

    def names_in(self, path: str) -> Collection[str]:
        if path in self._overlay:
            symbols = self._overlay[path]
            return symbols.occurrences.keys() if symbols else ()
        located = self._locate(path)
        return located[0].names_in(located[1]) if located else ()

    def all_occurrences(self, path: str) -> Mapping[str, bytes]:
        if path in self._overlay:
            symbols = self._overlay[path]
            return symbols.occurrences if symbols else {}
        located = self._locate(path)
        return located[0].all_occurrences(located[1]) if located else {}

    def definitions(self, name: str) -> Iterator[tuple[File, Definition]]:
        for prefix, reader in self._stores:
            yield from self._from_disk(prefix, reader.definitions(name))
        for file, symbols in self._unsaved():
            for definition in symbols.definitions:
                if definition.name == name:
                    yield file, definition

    def subclasses(self, name: str) -> Iterator[tuple[File, int]]:
        for prefix, reader in self._stores:
            yield from self._from_disk(prefix, reader.subclasses(name))
        for file, symbols in self._unsaved():
            for scope, bases in symbols.scope_table.bases.items():
                if name in map(last_name, bases):
                    yield file, scope

    def files_named(self, name: str) -> list[File]:
        found = [
            File(prefix + file.path, file.language)
            for prefix, reader in self._stores
            for file in reader.files_named(name)
            if prefix + file.path not in self._overlay
        ]
        return [*found, *self._unsaved_files.get(name, ())]

    def files_ending(self, ending: str) -> Sequence[File]:
        folders, _, name = ending.rpartition("/")
        found = [
            File(path, file.language)
            for prefix, reader in self._stores
            for file in _in_folder(reader.files_by_folder(name), folders)
            if (path := prefix + file.path).endswith(f"/{ending}") and path not in self._overlay
        ]
        unsaved = self._unsaved_files.get(name, ())
        return found + [file for file in unsaved if file.path.endswith(f"/{ending}")]

    def scope_table(self, path: str) -> ScopeTable | None:
        if path in self._overlay:
            symbols = self._overlay[path]
            return symbols.scope_table if symbols else None
        located = self._locate(path)
        return located and located[0].scope_table(located[1])

    def definitions_in(self, path: str) -> list[Definition]:
        if path in self._overlay:
            symbols = self._overlay[path]
            return symbols.definitions if symbols else []
        located = self._locate(path)
        return located[0].definitions_in(located[1]) if located else []

    def definitions_at(self, path: str, places: range, other: int) -> list[Definition]:
        """Return the definitions of a file at positions in its list, and at one other position;
        positions without a definition are ignored."""
        if path in self._overlay:
            symbols = self._overlay[path]
            known = symbols.definitions if symbols else []
            numbers = sorted({*places, other})
            return [known[number] for number in numbers if 0 <= number < len(known)]
        located = self._locate(path)
        return located[0].definitions_at(located[1], places, other) if located else []

    def file(self, path: str) -> File | None:
        if path in self._overlay:
            symbols = self._overlay[path]
            return File(path, symbols.language) if symbols else None
        located = self._locate(path)
        found = located and located[0].file(located[1])
        return found and File(path, found.language)

    def problems(self) -> dict[File, str]:
        return {
            File(prefix + file.path, file.language): problem
            for prefix, reader in self._stores
            for file, problem in reader.problems().items()
            if prefix + file.path not in self._overlay
        }

    def _locate(self, path: str) -> tuple[Reader, str] | None:
        """Return the reader that covers a file, and the file's path in its folder."""
        for prefix, reader in self._deepest_first:
            if path.startswith(prefix):
                return reader, path[len(prefix) :]
        return None

    def _from_disk(self, prefix: str, rows: Iterable[tuple[File, T]]) -> Iterator[tuple[File, T]]:
        for file, value in rows:
            path = prefix + file.path
            if path not in self._overlay:
                yield File(path, file.language), value

    @cached_property
    def _unsaved_files(self) -> Mapping[str, Sequence[File]]:
        """The unsaved documents by the names of their files."""
        found: dict[str, list[File]] = {}
        for file, _ in self._unsaved():
            found.setdefault(file.path.rpartition("/")[2], []).append(file)
        return found

    def _unsaved(self) -> Iterator[tuple[File, FileSymbols]]:
        for path, symbols in self._overlay.items():
            if symbols is not None:
                yield File(path, symbols.language), symbols


def _in_folder(by_folder: Mapping[str, Sequence[File]], folders: str) -> Iterable[File]:
    """Return the files whose folder has the name of the last of some folders; all files if there
    are none."""
    if not folders:
        return chain.from_iterable(by_folder.values())
    # The folders may begin above the root.
    return chain(by_folder.get("", ()), by_folder.get(folders.rpartition("/")[2], ()))
