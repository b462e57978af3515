"""Count terms and texts of a segment without its outdated texts.

A segment keeps the texts that files had before, until it is merged. Statistics that included them
would let the order of results depend on the history of the index: an index after many updates must
rank like a new one.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.index.postings.contents import FIELDS
from winnow.index.postings.lists import PostingLists

_BY_CHUNK = frozenset(field.name for field in FIELDS if field.unit == "chunk")


class LiveTexts:
    """The statistics of the ``documents`` of a segment, a mask, that are not outdated;
    thread-safe. ``fields`` and ``lengths`` are those of the segment, by field."""

    def __init__(
        self,
        documents: npt.NDArray[np.bool_],
        chunk_documents: npt.NDArray[np.uint16],
        fields: Mapping[str, PostingLists],
        lengths: Mapping[str, npt.NDArray[np.uint32]],
    ) -> None:
        self.documents = documents
        self.lengths = lengths
        self._chunk_documents = chunk_documents
        self._fields = fields
        self._has_outdated = not bool(documents.all())
        self._totals: dict[str, tuple[int, int]] = {}
        # By field and list: how many outdated chunks or documents are in it.
        self._outdated: dict[str, dict[int, int]] = {name: {} for name in fields}

    @functools.cached_property
    def _chunks(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.documents[self._chunk_documents]
        return found

    def _units(self, field: str) -> npt.NDArray[np.bool_]:
        """Return a mask of the chunks or documents of a field that are not outdated."""
        return self._chunks if field in _BY_CHUNK else self.documents

    def totals(self, field: str) -> tuple[int, int]:
        """Return how many chunks or documents there are, and their total number of terms in a
        field."""
        found = self._totals.get(field)
        if found is None:
            units = self._units(field)
            total = self.lengths[field].sum(where=units, dtype=np.int64)
            found = self._totals[field] = int(np.count_nonzero(units)), int(total)
        return found

    def count(self, field: str, units: npt.NDArray[np.integer[Any]]) -> int:
        """Return how many of some chunks or documents are not outdated."""
        if not self._has_outdated:
            return len(units)
        return int(np.count_nonzero(self._units(field)[units]))

    def frequencies(self, field: str, terms: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return in how many chunks or documents each term occurs. The field must store
        frequencies. Raises SegmentDamaged."""
        lists = self._fields[field]
        places = lists.places(terms)
        there = np.flatnonzero(places >= 0)
        found = np.zeros(len(terms), np.int64)
        found[there] = lists.frequencies[places[there]]
        if self._has_outdated:
            found[there] -= self._outdated_in(field, places[there].tolist())
        return found

    def _outdated_in(self, field: str, places: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return how many outdated chunks or documents are in each of some lists."""
        known = self._outdated[field]
        new = sorted({place for place in places if place not in known})
        if new:
            lists = self._fields[field].unpack_at(np.array(new, np.int64))
            outdated = ~self._units(field)[lists.numbers]
            firsts = np.cumsum(lists.lengths) - lists.lengths
            counts = np.add.reduceat(outdated, firsts, dtype=np.int64)
            known.update(zip(new, counts.tolist(), strict=True))
        return np.array([known[place] for place in places], np.int64)
