"""Merge the texts of all folders of a workspace into one corpus to rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.index.commits.history import CommitHistory
from winnow.index.postings.corpus import Corpus, CorpusPart
from winnow.index.postings.segment import in_memory
from winnow.index.store.file_record import FileRecord
from winnow.index.store.file_table import TableState
from winnow.index.store.reader import Reader
from winnow.symbols.file_symbols import Definition
from winnow.symbols.view import SymbolView

# Data derived from paths, for the last list of paths that has several folders or a document without
# a file.
_CACHE: list[dict[str, Any]] = [{}]
OF = "of these paths"  # not a key that anything else uses


def merge(
    view: SymbolView,
    stores: Sequence[tuple[str, Reader]],
    states: Sequence[TableState],
    unsaved: Mapping[str, FileRecord],
    replaced: Mapping[str, object],
    histories: Sequence[CommitHistory | None],
) -> Corpus:
    """Return the corpus of ``stores`` (path prefixes and readers), their files ``states``, and
    ``unsaved`` documents by absolute path. Files that are ``replaced`` don't count as they are on
    disk. ``histories`` are the commits of the stores. Raises StoreDamaged."""
    numbers = _Numbers([prefix for prefix, _ in stores], states)
    parts: list[CorpusPart] = []
    for place, ((prefix, reader), state) in enumerate(zip(stores, states, strict=True)):
        hidden = [
            number
            for path in replaced
            if path.startswith(prefix) and (number := state.number(path[len(prefix) :])) is not None
        ]
        for part in state.with_segments(reader, np.array(hidden, np.int32)):
            files = part.files + np.int32(numbers.first[place])
            parts.append(CorpusPart(part.segment, part.documents, files))
    texts = {path: record for path, record in unsaved.items() if record.contents is not None}
    if texts:
        # Two documents may have the same text.
        segment = in_memory(
            {record.key: record.contents for record in texts.values() if record.contents}
        )
        places = {key: place for place, key in enumerate(segment.keys)}
        documents = np.array([places[record.key] for record in texts.values()], np.uint16)
        files = np.array([numbers.of_document(path) for path in texts], np.int32)
        parts.append(CorpusPart(segment, documents, files))
    return Corpus(
        parts=parts,
        paths=numbers.paths,
        roots=[prefix.rstrip("/") or "/" for prefix, _ in stores],
        root_of=numbers.roots,
        definitions=_definitions(view, numbers),
        cache=numbers.cache,
        histories=histories,
    )


class _Numbers:
    """The numbers of the files in all folders: those of a folder start at its ``first``."""

    def __init__(self, prefixes: Sequence[str], states: Sequence[TableState]) -> None:
        self._prefixes = list(prefixes)
        self._states = list(states)
        counts = [len(state.paths) for state in states]
        self.first = [sum(counts[:place]) for place in range(len(counts))]
        self.roots: npt.NDArray[np.int32] = np.repeat(
            np.arange(len(counts), dtype=np.int32), counts
        )
        if len(states) == 1:
            self.paths, self.cache = states[0].paths, states[0].cache
        else:
            self.paths = [path for state in states for path in state.paths]
            self.cache = _cache_for(self.paths)
        self._new: dict[str, int] = {}

    def find(self, path: str) -> int | None:
        """Return the number of a file by its absolute path."""
        if path in self._new:
            return self._new[path]
        for place in self._holding(path):
            number = self._states[place].number(path[len(self._prefixes[place]) :])
            if number is not None:
                return self.first[place] + number
        return None

    def of_document(self, path: str) -> int:
        """Return the number of a document, which may not have a file yet."""
        number = self.find(path)
        if number is None:
            place = self._holding(path)[0]
            number = len(self.paths)
            self.paths = [*self.paths, path[len(self._prefixes[place]) :]]
            self.roots = np.append(self.roots, np.int32(place))
            self.cache = _cache_for(self.paths)
            self._new[path] = number
        return number

    def _holding(self, path: str) -> list[int]:
        """Return the folders that contain a path, the deepest first."""
        places = [place for place, prefix in enumerate(self._prefixes) if path.startswith(prefix)]
        return sorted(places, key=lambda place: -len(self._prefixes[place]))


def _cache_for(paths: list[str]) -> dict[str, Any]:
    """Return the dictionary for data derived from exactly these paths."""
    if _CACHE[-1].get(OF) != paths:
        _CACHE[:] = [{OF: paths}]  # corpora that use the previous one keep it
    return _CACHE[-1]


def _definitions(
    view: SymbolView, numbers: _Numbers
) -> Callable[[str], list[tuple[int, Definition]]]:
    def definitions(name: str) -> list[tuple[int, Definition]]:
        return [
            (number, definition)
            for file, definition in view.definitions(name)
            if (number := numbers.find(file.path)) is not None
        ]

    return definitions
