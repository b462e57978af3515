"""What resolving asks of the facts of a workspace, wherever they are kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from winnow.symbols.file_symbols import Definition, ScopeTable


class File(Struct, frozen=True, gc=False):
    """A file that facts are known of; ``path`` is absolute, with ``/``."""

    path: str
    language: str


class SymbolView(Protocol):
    """The facts of all files at one moment; every path is absolute, with ``/``.

    Unsaved documents stand in the place of their files. The methods read from disk or from
    memory and take microseconds to milliseconds: call them from a thread.
    """

    def occurrences(self, name: str) -> Iterable[tuple[File, bytes]]:
        """Files in which a name stands, with its packed occurrences, see `facts.unpacked`."""

    def occurrences_in(self, path: str, name: str) -> bytes:
        """The packed occurrences of a name in one file; empty if there are none."""

    def names_in(self, path: str) -> Collection[str]:
        """All names that stand in a file."""

    def all_occurrences(self, path: str) -> Mapping[str, bytes]:
        """The packed occurrences of every name in a file."""

    def scope_table(self, path: str) -> ScopeTable | None:
        """The scope_table of a file; None if it is not known."""

    def definitions(self, name: str) -> Iterable[tuple[File, Definition]]:
        """Everything of this name that some file defines."""

    def definitions_in(self, path: str) -> list[Definition]:
        """All definitions of a file, in the order of the text."""

    def subclasses(self, name: str) -> Iterable[tuple[File, int]]:
        """Classes that name it as a base (its last part counts): file and number of scope."""

    def file(self, path: str) -> File | None:
        """The file of this path, if facts of it are known."""

    def problems(self) -> Mapping[File, str]:
        """The files of which no facts could be taken, and why, the smallest of a folder first; some
        are of no known language."""

    def files_named(self, name: str) -> list[File]:
        """Files with this name, without folders."""

    def files_ending(self, ending: str) -> Sequence[File]:
        """Files whose path ends with these names of folders and a file (`net/client.py`)."""

    def roots(self) -> list[str]:
        """The folders of the workspace."""

    def manifest(self, path: str) -> bytes | None:
        """Return the contents of a settings file of the workspace; None if it cannot be read."""
