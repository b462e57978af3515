"""Count the terms of one text, for all of its fields at once, with one sort of numbers.

Dictionaries of counts for each chunk would take several times as long.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct

from winnow.index.postings.terms import TERM_BITS, TERM_BYTES, TERM_SHIFT

# The sorted numbers consist of the field, the term and the unit, from the highest bit to the
# lowest.
_FIELD = TERM_BITS + TERM_SHIFT
_TERM = np.uint64((1 << TERM_BITS) - 1 << TERM_SHIFT)
_UNIT = np.uint64((1 << TERM_SHIFT) - 1)
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
        self._units = [0] * fields
        # The terms of all units in order, and the label of each unit.
        self._terms: list[bytes] = []
        self._labels: list[int] = []

    def add(self, field: int, terms: bytes) -> None:
        """Add the next unit of a field, with the numbers of its terms."""
        self._terms.append(terms)
        self._labels.append(field << _FIELD | self._units[field])
        self._units[field] += 1

    def postings(self) -> list[Postings]:
        """Return the postings of each field."""
        labels = np.array(self._labels, np.uint64)
        lengths = np.fromiter(map(len, self._terms), np.int64, len(labels)) // TERM_BYTES
        keys = np.repeat(labels, lengths)
        keys |= np.frombuffer(b"".join(self._terms), np.uint64)
        keys.sort()
        begins = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=begins[1:])
        first = np.flatnonzero(begins)
        counts = np.minimum(np.diff(first, append=len(keys)), _MOST_COUNTED).astype(np.uint8)
        keys = keys[first]
        terms, units = keys & _TERM, (keys & _UNIT).astype(np.uint16)
        fields = np.arange(len(self._units), dtype=np.uint64) << np.uint64(_FIELD)
        bounds = [*keys.searchsorted(fields).tolist(), len(keys)]
        owners = labels >> np.uint64(_FIELD)
        return [
            Postings(
                terms=terms[start:end].tobytes(),
                units=units[start:end].tobytes(),
                counts=counts[start:end].tobytes(),
                lengths=lengths[owners == field].astype(np.uint32).tobytes(),
            )
            for field, (start, end) in enumerate(pairwise(bounds))
        ]
