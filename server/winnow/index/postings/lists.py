"""Packed lists of ascending numbers under sorted keys: postings of trigrams and terms.

Each list is written in its shortest form, an idea of Roaring bitmaps (Lemire et al., "Roaring
Bitmaps", 2016): plain numbers, gaps between them in bytes, or a bit for each number of the
universe. A number may have an 8-bit count; lists in which every count is 1 store none. numpy packs
and unpacks all forms, thousands of lists at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.distinct import distinct
from winnow.index.postings.layout import Arrays, LazyArray, SegmentDamaged, SegmentWriter

Keys = npt.NDArray[Any]  # of uint32 or uint64
Numbers = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.uint8]

# Plain numbers: 16-bit if the universe is small enough, otherwise 32-bit.
PLAIN = 0
# A byte for the gap to the previous number (at first, to 0); 255 means that the gap continues.
GAPS = 1
BITMAP = 2
FORM = np.uint8(3)
# Counts follow the numbers; in `GAPS`, their number precedes them, in 32 bits.
COUNTED = np.uint8(4)
_LENGTH = 8
_COUNTS = 9
_GOES_ON = 255
_LENGTH_BYTES = 4

# Entries packed at a time: each needs about 80 bytes of memory.
BLOCK = 1 << 16


class Entries(Struct, frozen=True):
    """Numbers under keys, entry by entry; `counts` is None if no number has one."""

    keys: Keys
    numbers: Numbers
    counts: Counts | None

    def ordered(self) -> Entries:
        """Return the entries sorted by key; the numbers of a key keep their order or are sorted."""
        if self.counts is None and self.keys.dtype.itemsize == 4:
            # Sorting values is several times as fast as finding an order.
            both = self.keys.astype(np.uint64) << np.uint64(32) | self.numbers
            both.sort()
            keys = (both >> np.uint64(32)).astype(np.uint32)
            return Entries(keys, both.astype(np.uint32), None)
        order = np.argsort(self.keys, kind="stable")
        counts = None if self.counts is None else self.counts[order]
        return Entries(self.keys[order], self.numbers[order], counts)


class PackedLists(Struct, frozen=True):
    """Lists in bytes: the key, size in bytes, number of entries and form of each."""

    keys: Keys
    sizes: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    forms: npt.NDArray[np.uint8]
    data: npt.NDArray[np.uint8]


def plain_type(universe: int) -> np.dtype[Any]:
    return np.dtype("<u2") if universe <= 1 << 16 else np.dtype("<u4")


def pack(entries: Entries, universe: int) -> PackedLists:
    """Pack sorted entries with numbers below `universe`. There must be at least one."""
    keys, numbers, counts = entries.keys, entries.numbers, entries.counts
    first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    lengths = np.diff(first, append=len(keys))
    gaps = np.diff(numbers, prepend=np.uint32(0))
    gaps[first] = numbers[first]
    going_on = gaps // _GOES_ON
    counted = np.zeros(len(first), bool)
    if counts is not None:
        counted = np.maximum.reduceat(counts, first) > 1
    plain = plain_type(universe)
    by_gaps = lengths + np.add.reduceat(going_on, first, dtype=np.int64)
    bitmap = (universe + 7) // 8
    forms = np.full(len(first), PLAIN, np.uint8)
    sizes = lengths * plain.itemsize
    shorter = by_gaps + _LENGTH_BYTES * counted < sizes
    forms[shorter], sizes[shorter] = GAPS, by_gaps[shorter]
    shorter = bitmap < sizes
    forms[shorter], sizes[shorter] = BITMAP, bitmap
    roles = _roles(forms, sizes, np.where(counted, lengths, 0))

    data = np.empty(len(roles), np.uint8)
    form_of = np.repeat(forms, lengths)
    data[roles == PLAIN] = numbers[form_of == PLAIN].astype(plain).view(np.uint8)
    chosen = form_of == GAPS
    data[roles == GAPS] = _gap_bytes(gaps[chosen], going_on[chosen])
    chosen = form_of == BITMAP
    data[roles == BITMAP] = _bitmaps(numbers[chosen], lengths[forms == BITMAP], universe)
    if counts is not None:
        data[roles == _COUNTS] = counts[np.repeat(counted, lengths)]
        with_length = counted & (forms == GAPS)
        data[roles == _LENGTH] = lengths[with_length].astype("<u4").view(np.uint8)
        sizes = sizes + np.where(counted, lengths, 0) + _LENGTH_BYTES * with_length
    return PackedLists(keys[first], sizes, lengths, forms | counted * COUNTED, data)


def _roles(
    forms: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]
) -> npt.NDArray[np.uint8]:
    """Return the role of each byte of some lists, from the sizes of their numbers and counts."""
    pieces = np.empty((len(forms), 3), np.int64)
    pieces[:, 0] = np.where((forms == GAPS) & (counts > 0), _LENGTH_BYTES, 0)
    pieces[:, 1] = sizes
    pieces[:, 2] = counts
    roles = np.empty((len(forms), 3), np.uint8)
    roles[:, 0], roles[:, 1], roles[:, 2] = _LENGTH, forms, _COUNTS
    return np.repeat(roles.ravel(), pieces.ravel())


def _gap_bytes(gaps: Numbers, going_on: Numbers) -> npt.NDArray[np.uint8]:
    ends = np.cumsum(going_on + np.uint32(1), dtype=np.int64)
    data = np.full(ends[-1] if len(ends) else 0, _GOES_ON, np.uint8)
    data[ends - 1] = gaps % _GOES_ON
    return data


def _bitmaps(
    numbers: Numbers, lengths: npt.NDArray[np.int64], universe: int
) -> npt.NDArray[np.uint8]:
    bits = np.zeros((len(lengths), universe), bool)
    bits[np.repeat(np.arange(len(lengths)), lengths), numbers] = True
    return np.packbits(bits, axis=1, bitorder="little").ravel()


def write_lists(
    writer: SegmentWriter,
    name: str,
    key_type: str,
    universe: int,
    blocks: Iterable[Entries],
    *,
    frequencies: bool = False,
) -> None:
    """Write lists of entries, which come in blocks, each with greater keys than the one before;
    with ``frequencies``, also the number of entries of each list."""
    with (
        writer.spool() as keys,
        writer.spool() as sizes,
        writer.spool() as forms,
        writer.spool() as lengths,
    ):

        def data() -> Iterator[npt.NDArray[np.uint8]]:
            for block in blocks:
                if len(block.keys):
                    packed = pack(block, universe)
                    keys.add(packed.keys.astype(key_type, copy=False))
                    sizes.add(packed.sizes.astype("<u4"))
                    forms.add(packed.forms)
                    if frequencies:
                        lengths.add(packed.lengths.astype("<u4"))
                    yield packed.data

        writer.add(f"{name}.data", "|u1", data())
        writer.add(f"{name}.keys", key_type, keys.pieces(key_type))
        writer.add(f"{name}.ends", "<u4", _ends(sizes.pieces("<u4")))
        writer.add(f"{name}.forms", "|u1", forms.pieces("|u1"))
        if frequencies:
            writer.add(f"{name}.frequencies", "<u4", lengths.pieces("<u4"))


def _ends(sizes: Iterable[npt.NDArray[Any]]) -> Iterator[npt.NDArray[Any]]:
    """Yield the ends of lists, from their sizes."""
    total = 0
    for piece in sizes:
        ends = np.cumsum(piece, dtype=np.int64) + total
        total = int(ends[-1])
        if total >= 1 << 32:
            raise OverflowError("the postings of a segment are over 4 GiB")
        yield ends.astype("<u4")


class ListEntries(Struct, frozen=True):
    """Lists, entry by entry; `lengths` has the number of entries of each list."""

    lengths: npt.NDArray[np.int64]
    numbers: Numbers
    counts: Counts


class PostingLists:
    """Lists in a segment, verified as they are read. Methods raise SegmentDamaged."""

    def __init__(
        self,
        arrays: Arrays,
        name: str,
        key_type: str,
        universe: int,
        *,
        frequencies: bool = False,
    ) -> None:
        self.universe = universe
        self._lazy_keys = arrays.lazy(f"{name}.keys", key_type)
        self._lazy_ends = arrays.lazy(f"{name}.ends", "<u4")
        self._lazy_forms = arrays.lazy(f"{name}.forms", "|u1")
        self._data = arrays.lazy(f"{name}.data", "|u1")
        _check(len(self._lazy_keys) == len(self._lazy_ends) == len(self._lazy_forms))
        self._lazy_frequencies: LazyArray | None = None
        if frequencies:
            self._lazy_frequencies = arrays.lazy(f"{name}.frequencies", "<u4")
            _check(len(self._lazy_frequencies) == len(self._lazy_keys))
        self._plain_type = plain_type(universe)
        self._bitmap = (universe + 7) // 8

    @functools.cached_property
    def keys(self) -> Keys:
        """The keys of the lists, ascending."""
        return self._lazy_keys.all()

    @functools.cached_property
    def _ends(self) -> npt.NDArray[np.uint32]:
        return self._lazy_ends.all()

    @functools.cached_property
    def _forms(self) -> npt.NDArray[np.uint8]:
        return self._lazy_forms.all()

    @functools.cached_property
    def frequencies(self) -> npt.NDArray[np.uint32]:
        """The number of entries of each list; only of lists that were written with it."""
        assert self._lazy_frequencies is not None
        return self._lazy_frequencies.all()

    def find(self, keys: npt.NDArray[np.integer[Any]]) -> list[int | None]:
        """Return the positions of the lists of some keys."""
        if not len(self.keys):
            return [None] * len(keys)
        places = self.keys.searchsorted(keys.astype(self.keys.dtype))
        there = self.keys.take(places, mode="clip") == keys
        found = zip(places.tolist(), there.tolist(), strict=True)
        return [place if here else None for place, here in found]

    def places(self, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the positions of the lists of some keys; -1 for a key without a list."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        places = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        found: npt.NDArray[np.int64] = np.where(self.keys[places] == keys, places, -1)
        return found

    def shortest(self, keys: Sequence[int], most: int) -> list[int] | None:
        """Return the positions of the shortest lists of some keys; None if a key has no list."""
        wanted = distinct(np.array(keys, self.keys.dtype))
        places = self.keys.searchsorted(wanted)
        if not len(self.keys) or (self.keys.take(places, mode="clip") != wanted).any():
            return None
        starts = np.where(places > 0, self._ends[places - 1], 0)
        sizes = self._ends[places].astype(np.int64) - starts
        chosen: list[int] = places[np.argsort(sizes)[:most]].tolist()
        return chosen

    def numbers(self, place: int) -> Numbers:
        return self._read(place)[0]

    def entries(self, place: int) -> tuple[Numbers, Counts]:
        numbers, counts = self._read(place)
        if counts is None:
            return numbers, np.ones(len(numbers), np.uint8)
        return numbers, counts

    def mask(self, place: int) -> npt.NDArray[np.bool_]:
        """Return a mask of the universe with the numbers of a list."""
        start, end = self._span(place)
        if int(self._forms[place]) == BITMAP and end - start == self._bitmap:
            data = self._data.part(start, end)
            return np.unpackbits(data, count=self.universe, bitorder="little").view(np.bool_)
        mask = np.zeros(self.universe, np.bool_)
        mask[self.numbers(place)] = True
        return mask

    def _span(self, place: int) -> tuple[int, int]:
        start = int(self._ends[place - 1]) if place else 0
        end = int(self._ends[place])
        if not start < end <= len(self._data):
            raise SegmentDamaged("a list is misplaced")
        return start, end

    def _read(self, place: int) -> tuple[Numbers, Counts | None]:
        start, end = self._span(place)
        data = self._data.part(start, end)
        counted, form = divmod(int(self._forms[place]), int(COUNTED))
        if form == PLAIN:
            size = len(data) // (self._plain_type.itemsize + counted) * self._plain_type.itemsize
            numbers = data[:size].view(self._plain_type).astype(np.uint32)
        elif form == GAPS:
            size = len(data)
            if counted:
                _check(len(data) > _LENGTH_BYTES)
                size -= _LENGTH_BYTES + int(data[:_LENGTH_BYTES].view("<u4")[0])
                data = data[_LENGTH_BYTES:]
                _check(size > 0)
            totals = np.cumsum(data[:size], dtype=np.uint32)
            numbers = totals[data[:size] != _GOES_ON]
        elif form == BITMAP:
            size = self._bitmap
            _check(size <= len(data))
            bits = np.unpackbits(data[:size], count=self.universe, bitorder="little")
            numbers = np.flatnonzero(bits).astype(np.uint32)
        else:
            raise SegmentDamaged("a list has an unknown form")
        _check(counted <= 1 and len(data) - size == len(numbers) * counted)
        _check(len(numbers) > 0 and int(numbers[-1]) < self.universe)
        _check(not np.count_nonzero(numbers[1:] <= numbers[:-1]))
        return numbers, data[size:] if counted else None

    def weights(self) -> npt.NDArray[np.int64]:
        """Return the most entries that each list can have."""
        _check(bool((self._ends[1:] > self._ends[:-1]).all()))
        _check(not len(self._ends) or int(self._ends[-1]) == len(self._data))
        sizes: npt.NDArray[np.int64] = np.diff(self._ends, prepend=np.uint32(0)).astype(np.int64)
        forms = self._forms & FORM
        sizes[forms == PLAIN] //= self._plain_type.itemsize
        sizes[forms == BITMAP] = self.universe
        return sizes

    def unpack(self, first: int, end: int) -> ListEntries:
        """Unpack the lists from position ``first`` to before ``end``."""
        if first == end:
            return self._unpack(np.zeros(0, np.uint8), np.zeros(0, np.int64), self._forms[:0])
        ends = self._ends[first:end].astype(np.int64)
        start = int(self._ends[first - 1]) if first else 0
        sizes = np.diff(ends, prepend=start)
        _check(bool((sizes > 0).all()))
        return self._unpack(self._data.part(start, int(ends[-1])), sizes, self._forms[first:end])

    def unpack_at(self, places: npt.NDArray[np.int64]) -> ListEntries:
        """Unpack the lists at some positions."""
        ends = self._ends[places].astype(np.int64)
        starts = np.where(places > 0, self._ends[places - 1], 0).astype(np.int64)
        _check(bool((starts < ends).all()))
        return self._unpack(self._data.parts(starts, ends), ends - starts, self._forms[places])

    def _unpack(
        self,
        data: npt.NDArray[np.uint8],
        sizes: npt.NDArray[np.int64],
        known: npt.NDArray[np.uint8],
    ) -> ListEntries:
        """Unpack lists from their bytes, sizes in bytes, and forms."""
        if not len(sizes):
            return ListEntries(sizes, np.zeros(0, np.uint32), np.zeros(0, np.uint8))
        _check(int(sizes.sum()) == len(data))
        forms, counted = known & FORM, (known & COUNTED) != 0
        _check(bool((forms <= BITMAP).all() and (known <= FORM | COUNTED).all()))
        counts = self._count_sizes(data, np.cumsum(sizes) - sizes, sizes, forms, counted)
        sizes = sizes - counts - np.where(counted & (forms == GAPS), _LENGTH_BYTES, 0)
        _check(bool((sizes > 0).all() and (sizes[forms == BITMAP] == self._bitmap).all()))
        _check(not (sizes[forms == PLAIN] % self._plain_type.itemsize).any())
        roles = _roles(forms, sizes, counts)

        lengths = np.zeros(len(forms), np.int64)
        lengths[forms == PLAIN] = sizes[forms == PLAIN] // self._plain_type.itemsize
        by_gaps, lengths[forms == GAPS] = _from_gaps(data[roles == GAPS], sizes[forms == GAPS])
        in_bitmaps, lengths[forms == BITMAP] = self._from_bitmaps(data[roles == BITMAP])
        _check(bool((lengths == counts)[counted].all()))
        form_of = np.repeat(forms, lengths)
        numbers = np.empty(len(form_of), np.uint32)
        numbers[form_of == PLAIN] = data[roles == PLAIN].view(self._plain_type)
        numbers[form_of == GAPS] = by_gaps
        numbers[form_of == BITMAP] = in_bitmaps
        _check(int(numbers.max(initial=0)) < self.universe)
        all_counts = np.ones(len(numbers), np.uint8)
        all_counts[np.repeat(counted, lengths)] = data[roles == _COUNTS]
        return ListEntries(lengths, numbers, all_counts)

    def _count_sizes(
        self,
        data: npt.NDArray[np.uint8],
        starts: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        forms: npt.NDArray[np.uint8],
        counted: npt.NDArray[np.bool_],
    ) -> npt.NDArray[np.int64]:
        """Return how many bytes of each list are counts."""
        counts = np.zeros(len(forms), np.int64)
        chosen = counted & (forms == PLAIN)
        counts[chosen] = sizes[chosen] // (self._plain_type.itemsize + 1)
        chosen = counted & (forms == BITMAP)
        counts[chosen] = sizes[chosen] - self._bitmap
        chosen = counted & (forms == GAPS)
        _check(bool((sizes[chosen] > _LENGTH_BYTES).all()))
        places = starts[chosen][:, None] + np.arange(_LENGTH_BYTES)
        counts[chosen] = data[places].view("<u4")[:, 0]
        _check(bool((counts[counted] > 0).all()))
        return counts

    def _from_bitmaps(self, data: npt.NDArray[np.uint8]) -> tuple[Numbers, npt.NDArray[np.int64]]:
        rows = data.reshape(-1, self._bitmap) if len(data) else np.zeros((0, 1), np.uint8)
        bits = np.unpackbits(rows, axis=1, count=self.universe, bitorder="little")
        _, numbers = np.nonzero(bits)
        return numbers.astype(np.uint32), np.count_nonzero(bits, axis=1)


def _from_gaps(
    data: npt.NDArray[np.uint8], sizes: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers of consecutive lists, and how many each list has."""
    if not len(sizes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts = np.cumsum(sizes) - sizes
    ends = data != _GOES_ON
    totals = np.cumsum(data, dtype=np.int64)
    before = np.where(starts > 0, totals[starts - 1], 0)
    lengths = np.add.reduceat(ends, starts, dtype=np.int64)
    return totals[ends] - np.repeat(before, lengths), lengths


def _check(holds: bool) -> None:
    if not holds:
        raise SegmentDamaged("a list is damaged")
