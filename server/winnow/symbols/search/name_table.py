"""A table of a million names in little memory, searched in milliseconds.

Scoring a name in Python takes microseconds (:mod:`winnow.symbols.search.match`). So numpy first
scans all names, in blocks, as rows of bytes:

1. A number with a bit per letter excludes names that lack a typed letter. 2. For each typed letter,
another number has a bit for each position where the remaining names have
   the letter. Shifts and subtractions follow all ways to read a name at once. They show which names
   match, and in which class.
3. Only the best candidates are scored individually.

Names that are longer than a row or not ASCII are rare, and are scored after step 1.

A million names take 50 MB. Full blocks of a large table move to an unnamed, memory-mapped file, so
that the system can reclaim the memory.
"""

from __future__ import annotations

import heapq
import mmap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from winnow.symbols.search.match import Pattern, fold, is_subsequence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bits = NDArray[Any]  # unsigned integers as wide as their rows
    Bytes = NDArray[np.uint8]

# The row widths in bytes, and the integer types with that many bits.
WIDTHS = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
# Names per block: the arrays of a search then fit in the CPU cache.
BLOCK = 16_384
# Full blocks of this total size move to a file: an average project stays in memory, and the largest
# needs few files.
MOVED_BYTES = 8 * 1024 * 1024
# Names that are scored individually.
JUDGED = 400
# If enough names match from the start of a word, the others are searched only if at most this many
# rows have the letters.
FURTHER = 100_000

_LETTERS = {chr(code): place for place, code in enumerate(range(ord("a"), ord("z") + 1))}
_DIGITS = {str(digit): 26 + digit for digit in range(10)}
_SIGN, _STRANGE = (
    36,
    37,
)  # `_` and other ASCII signs; non-ASCII characters share the bits from there on
_ALL_DIGITS = np.uint64(sum(1 << place for place in _DIGITS.values()))
_OTHER, _LOWER, _UPPER, _DIGIT = range(4)


def _bit(char: str) -> int:
    """Return the bit of a folded character."""
    found = _LETTERS.get(char, _DIGITS.get(char))
    if found is not None:
        return found
    return _SIGN if char.isascii() else _STRANGE + ord(char) % (64 - _STRANGE)


def _table(values: Iterable[int], kind: type) -> Bits:
    return np.array(list(values), dtype=kind)


_KINDS = _table(
    (
        _LOWER if chr(code).islower() else _UPPER if chr(code).isupper() else
        _DIGIT if chr(code).isdigit() else _OTHER
        for code in range(128)
    ),
    np.uint8,
)  # fmt: skip
_BITS = _table((1 << _bit(chr(code).lower()) if code else 0 for code in range(128)), np.uint64)


class Matches(Struct, frozen=True):
    """Matching names with their scores, the best first. ``total`` is a lower bound unless
    ``all_seen``."""

    names: list[tuple[float, str]]
    total: int
    all_seen: bool


class _Block:
    """Names in rows of one width. ``letters`` has the bits of all letters of a name, ``initials``
    of those that begin a word, ``begins`` a bit for each position where a word begins. ``moved``
    blocks are in a file."""

    def __init__(
        self, rows: Bytes, letters: Bits, initials: Bits, begins: Bits, moved: bool = False
    ) -> None:
        self.rows = rows
        self.letters = letters
        self.initials = initials
        self.begins = begins
        self.moved = moved

    @classmethod
    def of(cls, names: Sequence[bytes], width: int) -> _Block:
        rows = np.array(names, dtype=f"S{width}").view(np.uint8).reshape(len(names), width)
        begins = _begins(rows)
        bits = _BITS[rows]
        letters = np.bitwise_or.reduce(bits, axis=1)
        bits[:, 1:] *= begins[:, 1:]
        initials = np.bitwise_or.reduce(bits, axis=1)
        return cls(rows, letters, initials, _packed(begins))

    def __len__(self) -> int:
        return len(self.rows)

    def joined(self, other: _Block) -> _Block:
        return _Block(
            np.concatenate((self.rows, other.rows)),
            np.concatenate((self.letters, other.letters)),
            np.concatenate((self.initials, other.initials)),
            np.concatenate((self.begins, other.begins)),
        )

    @property
    def arrays(self) -> tuple[Bytes, Bits, Bits, Bits]:
        return self.rows, self.letters, self.initials, self.begins

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)

    def name(self, row: int) -> str:
        return bytes(self.rows[row]).rstrip(b"\0").decode("ascii")

    def names(self, rows: NDArray[np.intp]) -> list[str]:
        """Return the names of some rows."""
        found: list[bytes] = self.rows[rows].view(f"S{self.rows.shape[1]}")[:, 0].tolist()
        return [name.decode("ascii") for name in found]


def _begins(rows: Bytes) -> NDArray[np.bool_]:
    """Return for each character whether it begins a word, as `match.boundaries` does."""
    kinds = _KINDS[rows]
    before = np.zeros_like(kinds)
    before[:, 1:] = kinds[:, :-1]
    after = np.zeros_like(kinds)
    after[:, :-1] = kinds[:, 1:]
    upper = (kinds == _UPPER) & ((before != _UPPER) | (after == _LOWER))
    digit = (kinds == _DIGIT) & (before != _DIGIT)
    found: NDArray[np.bool_] = (kinds != _OTHER) & ((before == _OTHER) | upper | digit)
    return found


def _packed(positions: NDArray[np.bool_]) -> Bits:
    """Return one number per row. Bit n is the value at position n."""
    packed = np.packbits(positions, axis=1, bitorder="little")
    width = WIDTHS[positions.shape[1]]
    bits: Bits = packed.view(np.dtype(width).newbyteorder("<"))[:, 0].astype(width, copy=False)
    return bits


class _Reading:
    """The ways to read rows as the typed text, letter by letter.

    Each array has a bit for each position where the last letter can be: ``loose`` allows gaps,
    ``together`` does not, ``word`` starts at the start of a word and has no gaps, ``words``
    consists of starts of words, ``initials`` of first letters only.
    """

    def __init__(self, begins: Bits, positions: Bits) -> None:
        self.begins: Bits = begins
        self.loose: Bits = positions
        self.together: Bits = positions
        self.word: Bits = positions & begins
        self.words: Bits = self.word
        self.initials: Bits = self.word & np.negative(begins)

    def step(self, positions: Bits) -> None:
        """Advance to the next letter, which the rows have at these positions."""
        self.loose = positions & _behind(self.loose)
        self.together = positions & (self.together << 1)
        self.word = positions & (self.word << 1)
        later = self.begins & _behind(self.words)
        self.words = positions & ((self.words << 1) | later)
        self.initials = positions & self.begins & _behind(self.initials)

    def keep(self, rows: NDArray[np.intp]) -> None:
        for name, value in vars(self).items():
            setattr(self, name, value[rows])


def _behind(positions: Bits) -> Bits:
    """Return all positions after the first of these."""
    first = positions & np.negative(positions)
    behind: Bits = np.negative(first << 1)
    return behind


class NameTable:
    """The names of a workspace folder, or of unsaved documents.

    Names are added, never removed. Threads may search while another adds. If ``open_file`` is
    given, most of a large table moves to files that it opens, until it raises OSError.
    """

    def __init__(self, open_file: Callable[[], IO[bytes]] | None = None) -> None:
        self._open_file = open_file
        self._blocks: tuple[_Block, ...] = ()
        self._long: tuple[str, ...] = ()
        self._long_letters: NDArray[np.uint64] = np.zeros(0, np.uint64)

    def __len__(self) -> int:
        return sum(map(len, self._blocks)) + len(self._long)

    @property
    def nbytes(self) -> int:
        """The approximate memory of the names, without files."""
        blocks = sum(block.nbytes for block in self._blocks if not block.moved)
        return blocks + sum(map(len, self._long))

    def add(self, names: Iterable[str]) -> None:
        """Add names that the table does not have."""
        widths: dict[int, list[bytes]] = {width: [] for width in WIDTHS}
        long: list[str] = []
        for name in names:
            width = next((width for width in WIDTHS if len(name) <= width), 0)
            if width and name.isascii() and "\0" not in name:
                widths[width].append(name.encode())
            else:
                long.append(name)
        blocks = list(self._blocks)
        for width, encoded in widths.items():
            if encoded:
                blocks = _grown(blocks, encoded, width)
        if long:
            letters = np.array([_letters(fold(name)) for name in long], dtype=np.uint64)
            self._long_letters = np.concatenate((self._long_letters, letters))
            self._long += tuple(long)
        self._blocks = tuple(self._with_room(blocks))

    def _with_room(self, blocks: list[_Block]) -> list[_Block]:
        """Move the full blocks to a file if they are large."""
        full = [block for block in blocks if len(block) == BLOCK and not block.moved]
        if self._open_file is None or sum(block.nbytes for block in full) < MOVED_BYTES:
            return blocks
        try:
            moved = _in_file(full, self._open_file)
        except OSError:  # the disk is full or read-only
            self._open_file = None
            return blocks
        moved_by_id = {id(block): there for block, there in zip(full, moved, strict=True)}
        return [moved_by_id.get(id(block), block) for block in blocks]

    def like(self, word: str, mistakes: int, limit: int) -> list[str]:
        """Return names similar to a word, at most ``limit``: those that lack the fewest letters,
        then the shortest.

        A word of the name has the same first letter, and at most ``mistakes`` letters are missing.
        """
        text = fold(word)
        letters, first = np.uint64(_letters(text)), np.uint64(_letters(text[:1]))
        found: list[tuple[int, int, str]] = []
        for block in self._blocks:
            if block.rows.shape[1] < len(text) - mistakes:
                continue
            lacking = np.bitwise_count(letters & ~block.letters)
            # A word may also start after a digit; ``initials`` does not include it.
            begins = (block.initials & first) | (block.letters & _ALL_DIGITS)
            rows = np.flatnonzero((lacking <= mistakes) & (begins != 0))
            rows = rows[np.lexsort((_lengths(block.rows[rows]), lacking[rows]))][:limit]
            found += [
                (lacks, len(name), name)
                for lacks, name in zip(lacking[rows].tolist(), block.names(rows), strict=True)
            ]
        return [name for _, _, name in sorted(found)[:limit]]

    def candidates(self, pattern: Pattern, limit: int) -> _Candidates:
        found = _Candidates(pattern, limit)
        found.add_long(self._long, self._long_letters)
        text = pattern.folded
        if not text.isascii() or "\0" in text:
            return found
        letters = np.uint64(_letters(text))
        first = np.uint64(_letters(text[:1]))
        later: list[tuple[_Block, NDArray[np.intp]]] = []
        for block in self._blocks:
            if len(text) > block.rows.shape[1]:
                continue
            rows = np.flatnonzero((block.letters & letters) == letters)
            begin = (block.initials[rows] & first) == first
            found.add(block, rows[begin])
            later.append((block, rows[~begin]))
        if found.good >= limit and sum(len(rows) for _, rows in later) > FURTHER:
            found.all_seen = False
            return found
        for block, rows in later:
            found.add(block, rows)
        return found


def _grown(blocks: list[_Block], names: Sequence[bytes], width: int) -> list[_Block]:
    """Return the blocks with more names of one width. The last block is filled up first."""
    tail = next(
        (block for block in blocks if block.rows.shape[1] == width and len(block) < BLOCK), None
    )
    grown = [block for block in blocks if block is not tail]
    room = BLOCK - (len(tail) if tail else 0)
    first = _Block.of(names[:room], width)
    grown.append(tail.joined(first) if tail else first)
    for start in range(room, len(names), BLOCK):
        grown.append(_Block.of(names[start : start + BLOCK], width))
    return grown


def _in_file(blocks: Sequence[_Block], open_file: Callable[[], IO[bytes]]) -> list[_Block]:
    """Return the same blocks, mapped from a new file. Raises OSError."""
    with open_file() as file:
        for block in blocks:
            for array in block.arrays:
                file.write(array.data.cast("B"))
        file.flush()
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    moved, at = [], 0
    for block in blocks:
        there = []
        for array in block.arrays:
            there.append(np.frombuffer(data, array.dtype, array.size, at).reshape(array.shape))
            at += array.nbytes
        rows, letters, initials, begins = there
        moved.append(_Block(rows, letters, initials, begins, moved=True))
    return moved


def _letters(text: str) -> int:
    bits = 0
    for char in set(text):
        bits |= 1 << _bit(char)
    return bits


class _Candidates:
    """The matching names found so far; if there are too many, the most promising ones."""

    def __init__(self, pattern: Pattern, limit: int) -> None:
        self.pattern = pattern
        self.limit = limit
        self.total = 0
        self.good = 0
        self.all_seen = True
        self._long: list[str] = []
        self._found: list[tuple[_Block, NDArray[np.intp], NDArray[np.int32]]] = []

    def add_long(self, names: Sequence[str], letters: NDArray[np.uint64]) -> None:
        needed = np.uint64(_letters(self.pattern.folded))
        # `letters` may have grown since `names` was read.
        for row in np.flatnonzero((letters[: len(names)] & needed) == needed).tolist():
            name = names[row]
            if is_subsequence(self.pattern.folded, fold(name)):
                self._long.append(name)
        self.total += len(self._long)

    def add(self, block: _Block, rows: NDArray[np.intp]) -> None:
        """Search rows of a block that have all the letters."""
        if not len(rows):
            return
        if not self.pattern.text:
            self._keep(block, rows, -_lengths(block.rows[rows]))
            return
        read = self._read(block, rows)
        if read is None:
            return
        rows, reading, raw = read
        if self.pattern.strict:
            fitting = np.flatnonzero(self._allowed(reading, raw))
            rows, raw = rows[fitting], raw[fitting]
            reading.keep(fitting)
        if len(rows):
            self._keep(block, rows, self._keys(reading, raw))

    def _read(
        self, block: _Block, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], _Reading, Bytes] | None:
        """Return the rows that have the letters in order, and their readings."""
        sensitive = self.pattern.sensitive
        raw = block.rows[rows]
        folded = raw if sensitive else raw | 0x20
        reading: _Reading | None = None
        for char in self.pattern.text if sensitive else self.pattern.folded:
            # 0x20 lowercases letters, and changes other characters.
            source = folded if char.isalpha() else raw
            positions = _packed(source == ord(char))
            if reading is None:
                reading = _Reading(block.begins[rows], positions)
            else:
                reading.step(positions)
            alive = np.flatnonzero(reading.loose)
            if not len(alive):
                return None
            if len(alive) < len(rows) * 0.7:
                rows, raw = rows[alive], raw[alive]
                folded = raw if sensitive else folded[alive]
                reading.keep(alive)
        assert reading is not None
        alive = np.flatnonzero(reading.loose)
        reading.keep(alive)
        return rows[alive], reading, raw[alive]

    def _allowed(self, reading: _Reading, raw: Bytes) -> NDArray[np.bool_]:
        pattern, last = self.pattern, len(self.pattern.text) - 1
        allowed: NDArray[np.bool_] = reading.together != 0
        if pattern.start:
            allowed &= (reading.together >> last) & 1 != 0
        if pattern.end:
            ends = (_lengths(raw) - 1).astype(reading.together.dtype)
            allowed &= (reading.together >> ends) & 1 != 0
        if pattern.start and pattern.end:
            allowed &= _lengths(raw) == len(pattern.text)
        return allowed

    def _keys(self, reading: _Reading, raw: Bytes) -> NDArray[np.int32]:
        """Return a number per row, higher is better, in the order of `match.Pattern.score`."""
        last = len(self.pattern.text) - 1
        lengths = _lengths(raw)
        prefix = (reading.together >> last) & 1 != 0
        several = last > 0
        classes = np.select(
            [
                prefix & (lengths == last + 1),
                prefix,
                (reading.initials != 0) & several,
                reading.word != 0,
                reading.words != 0,
                reading.together != 0,
            ],
            [6, 5, 4, 3, 2, 1],
            0,
        ).astype(np.int32)
        self.good += int(np.count_nonzero(classes >= 2))
        keys: NDArray[np.int32] = classes * 256 - lengths
        loose = np.flatnonzero(classes == 0)
        ends = reading.loose[loose]
        ends = np.log2((ends & np.negative(ends)).astype(np.float64)).astype(np.int32)
        keys[loose] -= ends
        return keys

    def _keep(self, block: _Block, rows: NDArray[np.intp], keys: NDArray[np.int32]) -> None:
        self.total += len(rows)
        if len(rows) > self.limit:
            best = np.argpartition(keys, -self.limit)[-self.limit :]
            rows, keys = rows[best], keys[best]
        self._found.append((block, rows, keys))

    def best(self) -> Iterator[str]:
        """Yield the most promising names, and all long ones."""
        yield from self._long
        if not self._found:
            return
        keys = np.concatenate([keys for _, _, keys in self._found])
        numbers = np.repeat(np.arange(len(self._found)), [len(rows) for _, rows, _ in self._found])
        rows = np.concatenate([rows for _, rows, _ in self._found])
        best = np.argsort(-keys, kind="stable")[: self.limit]
        for number, row in zip(numbers[best].tolist(), rows[best].tolist(), strict=True):
            yield self._found[number][0].name(row)


def _lengths(rows: Bytes) -> NDArray[np.int32]:
    counted: NDArray[np.int32] = np.count_nonzero(rows, axis=1).astype(np.int32)
    return counted


def find_names(
    tables: Iterable[NameTable],
    pattern: Pattern,
    limit: int = JUDGED,
    score_of: Callable[[str], float] | None = None,
) -> Matches:
    """Return the best matches in all tables, each once. ``score_of`` returns the pattern's scores
    from a cache."""
    score_of = score_of or pattern.score
    scores: dict[str, float] = {}
    total, all_seen = 0, True
    for table in tables:
        found = table.candidates(pattern, limit)
        count_before = len(scores)
        judged = passed = 0
        for name in found.best():
            judged += 1
            score = score_of(name)
            passed += score > 0
            if score > 0:
                scores[name] = score
        # A name in two tables counts once, if both were scored.
        total += max(0, found.total - judged) + len(scores) - count_before
        all_seen = all_seen and found.all_seen
    best = heapq.nsmallest(
        limit, scores.items(), key=lambda item: (-item[1], len(item[0]), item[0])
    )
    return Matches([(score, name) for name, score in best], total, all_seen)
