"""Count the terms of one text, for all of its fields at once.

Words become small numbers, and one sort of these numbers counts the terms. Dictionaries of counts
for each chunk would take three times as long.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, count, pairwise

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.postings.terms import term_numbers

# The sorted numbers consist of the field, the rank of the term among those of the text, and the
# unit, from the highest bit to the lowest.
_FIELD, _RANK = 56, 16
_RANKS, _UNITS = (1 << _FIELD - _RANK) - 1, (1 << _RANK) - 1
_MOST_COUNTED = 255


class Postings(Struct, frozen=True, array_like=True):
    """The terms of one field of one text, as parallel arrays in the machine's byte order.

    ``terms`` are 64-bit numbers (see :func:`winnow.index.postings.terms.term_number`), ``units``
    16-bit chunk numbers (0 in a document field), ``counts`` 8-bit, at most 255. Entries are sorted
    by term and unit. ``lengths`` has the number of terms of each unit, 32-bit.
    """

    terms: bytes = b""
    units: bytes = b""
    counts: bytes = b""
    lengths: bytes = b""


class TermCounts:
    """The words of a text's fields, and the postings of their terms. Fields have numbers from 0."""

    def __init__(self, fields: int) -> None:
        self._units = [0] * fields
        self._ids: defaultdict[str | int, int] = defaultdict(count().__next__)
        # The words of all units in order, and for each unit its label and where its words end.
        self._found = array("I")
        self._labels = array("Q")
        self._ends = array("Q", [0])

    def add(self, field: int, found: Iterable[str | int]) -> None:
        """Add the next unit of a field: words, whose terms count, or the numbers of terms."""
        self._found.extend(map(self._ids.__getitem__, found))
        self._labels.append(field << _FIELD | self._units[field])
        self._ends.append(len(self._found))
        self._units[field] += 1

    def postings(self) -> list[Postings]:
        """Return the postings of each field."""
        if not self._found:
            return [Postings(lengths=bytes(4 * units)) for units in self._units]
        by_word = [(word,) if isinstance(word, int) else term_numbers(word) for word in self._ids]
        terms, ranks = _ranked(np.fromiter(chain.from_iterable(by_word), np.uint64))
        sizes = np.fromiter(map(len, by_word), np.int64, len(by_word))
        # Each found word is repeated for each of its terms.
        found = np.frombuffer(self._found, np.uint32)
        repeated = sizes[found]
        ends = np.concatenate(([0], np.cumsum(repeated)))
        offsets = (np.cumsum(sizes) - sizes)[found] - ends[:-1]
        places = np.arange(ends[-1]) + np.repeat(offsets, repeated)
        unit_ends = ends[np.frombuffer(self._ends, np.uint64)]
        lengths = np.diff(unit_ends)
        labels = np.frombuffer(self._labels, np.uint64)
        keys = ranks[places] << np.uint64(_RANK) | np.repeat(labels, lengths)
        keys.sort()
        first = np.flatnonzero(_begins(keys))
        counts = np.minimum(np.diff(first, append=len(keys)), _MOST_COUNTED).astype(np.uint8)
        keys = keys[first]
        counted = terms[keys >> np.uint64(_RANK) & np.uint64(_RANKS)]
        units = (keys & np.uint64(_UNITS)).astype(np.uint16)
        fields = np.arange(len(self._units) + 1, dtype=np.uint64) << np.uint64(_FIELD)
        bounds = keys.searchsorted(fields).tolist()
        owners = labels >> np.uint64(_FIELD)
        return [
            Postings(
                terms=counted[start:end].tobytes(),
                units=units[start:end].tobytes(),
                counts=counts[start:end].tobytes(),
                lengths=lengths[owners == field].astype(np.uint32).tobytes(),
            )
            for field, (start, end) in enumerate(pairwise(bounds))
        ]


Numbers = npt.NDArray[np.uint64]


def _ranked(numbers: Numbers) -> tuple[Numbers, Numbers]:
    """Return the distinct numbers in order, and the place of each number among these.

    `numpy.unique` does the same, and takes five times as long for a short text.
    """
    order = numbers.argsort()
    ordered = numbers[order]
    begins = _begins(ordered)
    ranks = np.empty_like(numbers)
    ranks[order] = np.cumsum(begins) - 1
    return ordered[begins], ranks


def _begins(ordered: Numbers) -> npt.NDArray[np.bool_]:
    """Return where each of the distinct numbers begins."""
    begins = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    return begins
