"""The commits of a folder's repository: the words of their messages, and the files they changed.

Messages are stored as the numbers of their terms, as in postings.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.commits.git_log import ID_BYTES
from winnow.index.distinct import distinct

# Changes with anything stored here, and with what is read from git.
VERSION = 1

Numbers = npt.NDArray[np.int32]


class Commit(Struct, frozen=True, array_like=True):
    """A commit: its identity, the numbers of the terms of its message, the files that it changed,
    and the old and new names of those that it renamed."""

    id: bytes
    terms: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()


class CommitTable(Struct, frozen=True, array_like=True):
    """The commits of a repository as arrays in bytes, the newest first.

    ``terms`` are all distinct terms; each commit has as many of ``term_places``, which are places
    in ``terms``, as ``term_counts`` says. Files are stored in the same way: ``paths`` end with NUL.
    ``renames`` are rows of a commit and two places of paths.
    """

    version: int
    ids: bytes
    terms: bytes
    term_counts: bytes
    term_places: bytes
    paths: bytes
    file_counts: bytes
    file_places: bytes
    renames: bytes

    @classmethod
    def of(cls, commits: Sequence[Commit]) -> CommitTable:
        """Return the table of some commits, the newest first."""
        terms, term_places = np.unique(
            _flat((commit.terms for commit in commits), np.uint64), return_inverse=True
        )
        names = {path for commit in commits for path in commit.paths}
        names |= {path for commit in commits for pair in commit.renamed for path in pair}
        paths = {path: place for place, path in enumerate(sorted(names))}
        files = ([paths[path] for path in commit.paths] for commit in commits)
        renames = (
            (row, paths[old], paths[new])
            for row, commit in enumerate(commits)
            for old, new in commit.renamed
        )
        return cls(
            VERSION,
            b"".join(commit.id for commit in commits),
            terms.tobytes(),
            np.array([len(commit.terms) for commit in commits], np.uint16).tobytes(),
            term_places.astype(np.uint32).tobytes(),
            b"".join(os.fsencode(path) + b"\0" for path in paths),
            np.array([len(commit.paths) for commit in commits], np.uint16).tobytes(),
            _flat(files, np.uint32).tobytes(),
            _flat(renames, np.uint32).tobytes(),
        )

    @classmethod
    def decode(cls, data: bytes) -> CommitTable:
        """Return a table from :meth:`encode`. Raises ValueError for one of another version."""
        table = msgspec.msgpack.decode(zlib.decompress(data), type=cls)
        if table.version != VERSION:
            raise ValueError(f"version {table.version}")
        return table

    def encode(self) -> bytes:
        """Return the table in a compact form."""
        return zlib.compress(msgspec.msgpack.encode(self))

    def path_list(self) -> list[str]:
        """Return the paths by place."""
        return [os.fsdecode(path) for path in self.paths.split(b"\0")[:-1]]

    def commits(self) -> list[Commit]:
        """Return the commits."""
        paths = self.path_list()
        terms = np.frombuffer(self.terms, np.uint64)
        terms = terms[np.frombuffer(self.term_places, np.uint32)]
        files = np.frombuffer(self.file_places, np.uint32)
        renamed: dict[int, list[tuple[str, str]]] = {}
        for row, old, new in np.frombuffer(self.renames, np.uint32).reshape(-1, 3).tolist():
            renamed.setdefault(row, []).append((paths[old], paths[new]))
        ids = [self.ids[at : at + ID_BYTES] for at in range(0, len(self.ids), ID_BYTES)]
        return [
            Commit(
                id_,
                tuple(own_terms.tolist()),
                tuple(paths[place] for place in own_files.tolist()),
                tuple(renamed.get(row, ())),
            )
            for row, (id_, own_terms, own_files) in enumerate(
                zip(
                    ids,
                    _parts(terms, self.term_counts),
                    _parts(files, self.file_counts),
                    strict=True,
                )
            )
        ]


class CommitHistory:
    """The commits of a repository for queries, numbered from 0, the newest first.

    ``count`` is their number, and ``lengths`` are the numbers of terms of their messages.
    Commit `i` changed the files ``files[file_starts[i] : file_starts[i + 1]]``, which are numbers
    of ``paths``; a renamed file has its present name.
    """

    def __init__(self, table: CommitTable) -> None:
        counts = np.frombuffer(table.term_counts, np.uint16)
        self.count = len(counts)
        self.lengths = counts.astype(np.float32)
        places = np.frombuffer(table.term_places, np.uint32)
        self._terms = np.frombuffer(table.terms, np.uint64)
        order = np.argsort(places, kind="stable")
        self._commits: Numbers = np.repeat(np.arange(self.count, dtype=np.int32), counts)[order]
        self._starts = np.searchsorted(places[order], np.arange(len(self._terms) + 1))
        files = np.frombuffer(table.file_places, np.uint32).astype(np.int32)
        self.file_starts = _starts(np.frombuffer(table.file_counts, np.uint16))
        self.paths = table.path_list()
        renames = np.frombuffer(table.renames, np.uint32).reshape(-1, 3)
        self.files = _renamed(files, self.file_starts, renames, len(self.paths))

    def with_term(self, number: int) -> Numbers:
        """Return the commits whose messages have a term."""
        place = int(np.searchsorted(self._terms, np.uint64(number)))
        if place == len(self._terms) or self._terms[place] != number:
            return self._commits[:0]
        return self._commits[self._starts[place] : self._starts[place + 1]]


def _renamed(
    files: Numbers, starts: Numbers, renames: npt.NDArray[np.uint32], count: int
) -> Numbers:
    """Return the files of each commit as later commits have renamed them."""
    names, renamed, end = np.arange(count, dtype=np.int32), [], 0
    rows = renames[:, 0]
    for commit in distinct(rows).tolist():
        # The commit itself has the new names.
        begin, end = end, int(starts[commit + 1])
        renamed.append(names[files[begin:end]])
        own = slice(*np.searchsorted(rows, [commit, commit + 1]))
        names[renames[own, 1]] = names[renames[own, 2]]
    return np.concatenate([*renamed, names[files[end:]]])


def _flat(rows: Iterable[Iterable[int]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    return np.fromiter(chain.from_iterable(rows), dtype)


def _starts(counts: npt.NDArray[np.uint16]) -> Numbers:
    starts = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=starts[1:])
    return starts


def _parts(values: npt.NDArray[Any], counts: bytes) -> list[npt.NDArray[Any]]:
    """Return the values of each commit."""
    if not counts:
        return []
    return np.split(values, _starts(np.frombuffer(counts, np.uint16))[1:-1])
