"""A file as the index knows it; apart, so that a worker need not load the database."""

from __future__ import annotations

from msgspec import Struct

from winnow.symbols.packed import Packed


class FileState(Struct, frozen=True, gc=False):
    """The file that facts were taken from; ``problem`` says why there are none."""

    mtime_ns: int
    size: int
    problem: str = ""


class FileFacts(Struct, frozen=True):
    """A file to be kept: where it is, what it was like when it was read, and its facts."""

    path: str
    state: FileState
    language: str
    facts: Packed | None = None
