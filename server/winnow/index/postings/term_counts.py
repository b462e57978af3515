"""Count the terms of one text, for all of its fields at once, with one sort of numbers.

Dictionaries of counts for each chunk would take several times as long.
"""

from __future__ import annotations

from array import array
from itertools import pairwise

import numpy as np
from msgspec import Struct

from winnow.index.postings.terms import TERM_BITS, TERM_BYTES, TERM_SHIFT

# The sorted numbers consist of the field, the term and the unit, from the highest bit to the
# lowest.
_FIELD = TERM_BITS + TERM_SHIFT
_TERM = np.uint64((1 << TERM_BITS) - 1 << TERM_SHIFT)
_UNIT = np.uint64((1 << TERM_SHIFT) - 1)
# Of a unit in `Postings.units`.
UNIT_BYTES = 2
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
    """The terms of a text's fields, and their postings. Fields have numbers from 0 to 7."""

    def __init__(self, fields: int) -> None:
        # The number of terms of each unit of each field.
        self._lengths = [array("I") for _ in range(fields)]
        # The terms of all units in order, and the label of each unit.
        self._terms: list[bytes] = []
        self._labels: list[int] = []

    def add(self, field: int, terms: bytes) -> None:
        """Add the next unit of a field, with the numbers of its terms."""
        lengths = self._lengths[field]
        self._terms.append(terms)
        self._labels.append(field << _FIELD | len(lengths))
        lengths.append(len(terms) // TERM_BYTES)

    def postings(self) -> list[Postings]:
        """Return the postings of each field."""
        labels = np.array(self._labels, np.uint64)
        sizes = np.fromiter(map(len, self._terms), np.int64, len(labels))
        keys = np.repeat(labels, sizes // TERM_BYTES)
        keys |= np.frombuffer(b"".join(self._terms), np.uint64)
        keys.sort()
        begins = np.ones(len(keys) + 1, np.bool_)  # and the end
        np.not_equal(keys[1:], keys[:-1], out=begins[1:-1])
        first = np.flatnonzero(begins)
        counts = np.minimum(first[1:] - first[:-1], _MOST_COUNTED).astype(np.uint8).tobytes()
        keys = keys[first[:-1]]
        terms, units = (keys & _TERM).tobytes(), (keys & _UNIT).astype(np.uint16).tobytes()
        fields = np.arange(len(self._lengths), dtype=np.uint64) << np.uint64(_FIELD)
        bounds = [*keys.searchsorted(fields).tolist(), len(keys)]
        # Slices of bytes: those of dozens of small arrays would take half of the time.
        return [
            Postings(
                terms=terms[TERM_BYTES * start : TERM_BYTES * end],
                units=units[UNIT_BYTES * start : UNIT_BYTES * end],
                counts=counts[start:end],
                lengths=lengths.tobytes(),
            )
            for lengths, (start, end) in zip(self._lengths, pairwise(bounds), strict=True)
        ]
