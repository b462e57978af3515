"""The interface through which the resolver and the symbol search read the index."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from winnow.symbols.file_symbols import Definition, ScopeTable


class File(Struct, frozen=True, gc=False):
    """A file whose symbols are known; ``path`` is absolute, with ``/``."""

    path: str
    language: str


# In front of the name of a module: what to read are the files that import it.
IMPORT_OF = "import of "


class SymbolView(Protocol):
    """The symbols of all files at one moment. Every path is absolute, with ``/``.

    Unsaved documents replace their files. The index stores the occurrences of a file when they are
    first needed; until then, it has only those that declare a name. The methods read from disk or
    memory and take microseconds to milliseconds: call them from a thread.
    """

    def occurrences(self, name: str) -> Iterable[tuple[File, bytes]]:
        """Return the files that contain a name, with its packed occurrences; see
        `file_symbols.unpack_occurrences`. Files without occurrences are included if they declare
        the name."""

    def occurrences_in(self, path: str, name: str) -> bytes:
        """Return the packed occurrences of a name in one file, or empty bytes."""

    def names_in(self, path: str) -> Collection[str]:
        """Return all names that occur in a file."""

    def all_occurrences(self, path: str) -> Mapping[str, bytes]:
        """Return the packed occurrences of every name in a file."""

    def scope_table(self, path: str) -> ScopeTable | None:
        """Return the scope table of a file, or None if the file is not indexed."""

    def definitions(self, name: str) -> Iterable[tuple[File, Definition]]:
        """Return all definitions of a name."""

    def definitions_in(self, path: str) -> list[Definition]:
        """Return the definitions of a file in text order."""

    def subclasses(self, name: str) -> Iterable[tuple[File, int]]:
        """Return the classes that name a class as a base, by the last part of its name: file and
        scope."""

    def file(self, path: str) -> File | None:
        """Return the file at a path, or None if it is not indexed."""

    def problems(self) -> Mapping[File, str]:
        """Return the files that could not be indexed, with the reason, the smallest of each folder
        first. Some have no known language."""

    def files_named(self, name: str) -> list[File]:
        """Return the files with a base name."""

    def files_ending(self, ending: str) -> Sequence[File]:
        """Return the files whose path ends with these names (`net/client.py`)."""

    @property
    def version(self) -> object:
        """A value that equals those of views with the same symbols only."""

    def roots(self) -> list[str]:
        """Return the workspace folders."""

    def manifest(self, path: str) -> bytes | None:
        """Return the contents of a project file (`package.json`, `go.mod`), or None if it cannot be
        read."""

    def manifests(self) -> Mapping[str, bytes | None]:
        """Return the project files that were read."""
