"""Find the texts that can contain a string by their trigrams, without reading them.

The idea, and the conversion of a regular expression to a condition on trigrams, are from Russ Cox,
"Regular Expression Matching with a Trigram Index" (2012). Case is folded, so that one index serves
searches with and without case; non-ASCII text is processed byte by byte. No trigram crosses a line
end: ripgrep matches line by line, and a match across lines has enough other trigrams.

A long text is divided into blocks of lines. A text of many megabytes has nearly all trigrams that a
string can have; but a match, which is in one line, has all of its trigrams in one block.

Large texts also get trigrams as written: a quarter of a tree's bytes may be generated files with
names in capitals, which contain nearly every word in another case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from winnow.index.postings.regex import (
    ALIKE,
    Alternation,
    Character,
    Concatenation,
    Part,
    UnsupportedPattern,
    literal,
    parse_pattern,
)

if TYPE_CHECKING:
    from winnow.text.ripgrep import TextPattern

# The bytes of a block, without the rest of its last line. Of the kernel's files over 32 KB, the
# median of 50 queries then reads 6 MB (with half the size 5 MB, with twice the size 10, without
# blocks 48), and an index has 40 million trigrams (53, 33, 28).
BLOCK_BYTES = 64 * 1024
# If the blocks of one text have more trigrams in total, blocks are joined.
MOST_IN_BLOCKS = 1 << 21
# A text of more blocks is large: 265 of the kernel's 78,000 files, with a third of all bytes.
BLOCKS_FOLDED_ONLY = 4
# A block is processed in slices of this size, which bounds the memory: 12 times as much at a time.
SLICE = 256 * 1024
# Limit of the strings that a part may begin with, end with, or be; more are not distinguished.
MOST_STRINGS = 64
# A part is known string by string while all its strings together have at most these bytes.
MOST_BYTES = 4096
# Copies of a repeated part that are followed.
MOST_COPIES = 8
# A condition of more trigrams costs more to look up than it saves.
MOST_TRIGRAMS = 4096

Numbers = npt.NDArray[np.uint32]
# Bit of a trigram as written, above its three bytes.
AS_WRITTEN = 1 << 24
# Marks a block without trigrams as written.
FOLDED_ONLY = 1 << 25
_HIGH, _MIDDLE, _BYTE = np.uint32(16), np.uint32(8), np.uint32(0xFF)
_NEWLINE = np.uint32(ord("\n"))
_LOWER = bytes(range(256)).lower()


class TrigramQuery(Struct, frozen=True):
    """A condition on the trigrams of a text: all of ``trigrams``, and one condition of each of
    ``either``. Without both, it holds for any text."""

    trigrams: tuple[int, ...] = ()
    either: tuple[tuple[TrigramQuery, ...], ...] = ()

    @property
    def is_any(self) -> bool:
        return not self.trigrams and not self.either


ANYTHING = TrigramQuery()


class Condition(Struct, frozen=True):
    """A condition that every matching text meets: it has all trigrams of ``required`` in one line,
    or anywhere if a match may cross lines."""

    required: TrigramQuery
    over_lines: bool = False


# --- of a text -----------------------------------------------------------------------------


class Trigrams(Struct, frozen=True, array_like=True):
    """The trigrams of a text, block by block: ``numbers`` are 32-bit, ascending and distinct in
    each block. ``sizes``, also 32-bit, are the numbers of trigrams per block; there is at least one
    block.

    A block has the trigrams of its case-folded text, and either ``FOLDED_ONLY`` or, in a large
    text, the trigrams of the original text, each with ``AS_WRITTEN``.
    """

    numbers: bytes
    sizes: bytes


def trigrams_of(text: bytes) -> Trigrams:
    """Return the trigrams of a text.

    The text is what ripgrep searches: the bytes of the file in any encoding, but UTF-8 if the file
    begins with the byte order mark of UTF-16 (see :func:`searched_text`). Letters that ripgrep
    considers equal without case have the same trigrams.
    """
    return trigrams_of_pieces([text])


def trigrams_of_pieces(pieces: Iterable[bytes]) -> Trigrams:
    """Return the trigrams of a text in pieces, which is not read at once."""
    blocks: list[Numbers] = []
    total = 0
    texts = _blocks(pieces)
    first = list(islice(texts, BLOCKS_FOLDED_ONLY + 1))
    is_large = len(first) > BLOCKS_FOLDED_ONLY
    for text in chain(first, texts):
        blocks.append(_of_block(text, as_written=is_large))
        total += len(blocks[-1])
        while total > MOST_IN_BLOCKS and len(blocks) > 1:
            blocks = _in_pairs(blocks)
            total = sum(map(len, blocks))
    return in_blocks(blocks)


def in_blocks(blocks: Sequence[Numbers]) -> Trigrams:
    """Return the trigrams of a text from those of its blocks, of which there is at least one."""
    sizes = np.array([len(block) for block in blocks], np.uint32)
    return Trigrams(np.concatenate(blocks).tobytes(), sizes.tobytes())


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text in blocks that end with a line."""
    rest = b""
    for piece in pieces:
        text, start = rest + piece, 0
        while end := text.find(b"\n", start + BLOCK_BYTES - 1) + 1:
            yield text[start:end]
            start = end
        rest = text[start:]
    yield rest


def _in_pairs(blocks: Sequence[Numbers]) -> list[Numbers]:
    """Join the blocks in pairs."""
    pairs = [blocks[at : at + 2] for at in range(0, len(blocks), 2)]
    return [_distinct(np.concatenate(pair)) for pair in pairs]


def _of_block(text: bytes, *, as_written: bool) -> Numbers:
    other = np.array([FOLDED_ONLY], np.uint32)
    if as_written:
        other = _of_bytes(text) | np.uint32(AS_WRITTEN)
    return np.concatenate((_of_bytes(_folded(text)), other))


def _of_bytes(text: bytes) -> Numbers:
    data = np.frombuffer(text, np.uint8)
    found = np.empty(0, np.uint32)
    for start in range(0, len(data) - 2, SLICE):
        piece = data[start : start + SLICE + 2].astype(np.uint32)
        new = _distinct(piece[:-2] << _HIGH | piece[1:-1] << _MIDDLE | piece[2:])
        found = _distinct(np.concatenate((found, new))) if start else new
    return found[~_over_lines(found)]


def _over_lines(numbers: Numbers) -> npt.NDArray[np.bool_]:
    over: npt.NDArray[np.bool_] = numbers >> _HIGH == _NEWLINE
    over |= numbers >> _MIDDLE & _BYTE == _NEWLINE
    over |= numbers & _BYTE == _NEWLINE
    return over


def _distinct(numbers: Numbers) -> Numbers:
    numbers.sort()
    first = np.empty(len(numbers), np.bool_)
    first[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def searched_text(raw: bytes) -> bytes | None:
    """Return what ripgrep searches in a file with these bytes; None if that is uncertain.

    A file that begins with the byte order mark of UTF-16 is searched as UTF-8, any other unchanged.
    """
    if not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw
    try:
        return raw.decode("utf-16").encode()
    except UnicodeDecodeError:
        return None


def _folded(text: bytes) -> bytes:
    for letter, other in ALIKE.items():
        text = text.replace(other.encode(), letter.encode())
    return text.translate(_LOWER)


def _trigrams(text: bytes) -> tuple[int, ...]:
    """Return the trigrams of a short text in the form of a query."""
    places = range(len(text) - 2)
    return tuple(sorted({int.from_bytes(text[place : place + 3], "big") for place in places}))


# --- of a query ----------------------------------------------------------------------------


def condition_of(query: TextPattern) -> Condition:
    """Return a condition that every text with a match meets.

    The query may be invalid: for a query that ripgrep rejects, any condition is right.
    """
    required = required_by(query)
    if query.case_sensitive and not required.is_any:
        written = _written(required_by(query, as_written=True))
        folded_only = TrigramQuery((FOLDED_ONLY,))
        required = all_of([required, any_of([folded_only, written])])
    return Condition(required, query.multiline)


def required_by(query: TextPattern, *, as_written: bool = False) -> TrigramQuery:
    """Return the condition on case-folded trigrams, or on those as written, without
    ``AS_WRITTEN``."""
    if query.encoding not in ("", "auto"):
        return ANYTHING
    encode = bytes if as_written else _folded
    if query.literal and query.pattern.isascii():
        required = _required_by_literal(encode(query.pattern.encode()))
    else:
        read = literal if query.literal else parse_pattern
        try:
            part = read(query.pattern, case_sensitive=query.case_sensitive)
        except UnsupportedPattern:
            return ANYTHING
        required = _known(part, encode).condition
    return required if _size(required) <= MOST_TRIGRAMS else ANYTHING


def _required_by_literal(text: bytes) -> TrigramQuery:
    """Return the condition of a text in ASCII: that of any literal, in a twentieth of the time."""
    # No trigram of an index has a line end.
    pieces = map(_trigrams, text.split(b"\n"))
    return TrigramQuery(tuple(sorted({number for piece in pieces for number in piece})))


def _written(required: TrigramQuery) -> TrigramQuery:
    return TrigramQuery(
        tuple(number | AS_WRITTEN for number in required.trigrams),
        tuple(tuple(map(_written, some)) for some in required.either),
    )


def any_of(options: Sequence[TrigramQuery]) -> TrigramQuery:
    """Return the condition that one of these holds, with their common trigrams factored out."""
    different = list(dict.fromkeys(options))
    if len(different) == 1:
        return different[0]
    common = frozenset.intersection(*(frozenset(option.trigrams) for option in different))
    rest = [
        TrigramQuery(
            tuple(number for number in option.trigrams if number not in common), option.either
        )
        for option in different
    ]
    either = () if any(option.is_any for option in rest) else (tuple(rest),)
    return TrigramQuery(tuple(sorted(common)), either)


def all_of(conditions: Sequence[TrigramQuery]) -> TrigramQuery:
    """Return the condition that all of these hold."""
    trigrams = {number for condition in conditions for number in condition.trigrams}
    either = dict.fromkeys(
        alternatives for condition in conditions for alternatives in condition.either
    )
    return TrigramQuery(tuple(sorted(trigrams)), tuple(either))


def _size(required: TrigramQuery) -> int:
    return len(required.trigrams) + sum(
        _size(alternative) for alternatives in required.either for alternative in alternatives
    )


# --- the strings of a part -----------------------------------------------------------------


Strings = frozenset[bytes]
_ANY_STRING: Strings = frozenset([b""])  # as a beginning or an end


@dataclass(frozen=True)
class _Known:
    """The properties of anything that a part matches, with case folded or as written.

    It is one of ``exact``, unless that is None; otherwise it begins with one of ``starts``, ends
    with one of ``ends``, and meets ``required``.
    """

    exact: Strings | None
    starts: Strings = _ANY_STRING
    ends: Strings = _ANY_STRING
    required: TrigramQuery = ANYTHING

    @property
    def beginnings(self) -> Strings:
        return self.starts if self.exact is None else self.exact

    @property
    def endings(self) -> Strings:
        return self.ends if self.exact is None else self.exact

    @property
    def condition(self) -> TrigramQuery:
        return self.required if self.exact is None else _one_of(self.exact)


_ANY = _Known(None)
_NOTHING = _Known(frozenset([b""]))


def _known(part: Part, form: Callable[[bytes], bytes]) -> _Known:
    """Return the properties of a part, with ``form`` applied to its strings."""
    if isinstance(part, Character):
        among = part.among
        return _ANY if among is None else _Known(frozenset(form(c.encode()) for c in among))
    if isinstance(part, Concatenation):
        return _concatenated([_known(child, form) for child in part.parts])
    if isinstance(part, Alternation):
        return _alternated([_known(child, form) for child in part.parts])
    return _repeated(_known(part.part, form), part.least, part.most)


def _concatenated(parts: Iterable[_Known]) -> _Known:
    blocks: list[_Known] = [_NOTHING]
    for part in parts:
        if strings := _joined(blocks[-1].exact, part.exact):
            blocks[-1] = _Known(strings)
        else:
            blocks.append(part)
    properties, *rest = blocks
    conditions = [part.required for part in blocks]
    for part in rest:
        properties = _followed(properties, part, conditions)
    return replace(properties, required=all_of(conditions))


def _followed(left: _Known, right: _Known, conditions: list[TrigramQuery]) -> _Known:
    """Return the properties of two consecutive parts that are not known string by string. Adds the
    conditions on the place where they meet."""
    starts, ends = left.beginnings, right.endings
    if left.exact is not None:
        starts = _joined(left.exact, right.beginnings) or starts
        conditions.append(_one_of(starts))
    if right.exact is not None:
        ends = _joined(left.endings, right.exact) or ends
        conditions.append(_one_of(ends))
    between = _joined(_tails(left.endings), _heads(right.beginnings))
    conditions.append(_one_of(between or _ANY_STRING))
    return _Known(None, _heads(starts), _tails(ends))


def _alternated(parts: Sequence[_Known]) -> _Known:
    exact = [part.exact for part in parts if part.exact is not None]
    strings: Strings = frozenset().union(*exact)
    if len(exact) == len(parts) and len(strings) <= MOST_STRINGS:
        return _Known(strings)
    return _Known(
        None,
        _heads(frozenset().union(*(part.beginnings for part in parts))),
        _tails(frozenset().union(*(part.endings for part in parts))),
        any_of([part.condition for part in parts]),
    )


def _repeated(part: _Known, least: int, most: int | None) -> _Known:
    if least == 0:
        return _alternated([part, _NOTHING]) if most == 1 else _ANY
    copies = min(least, MOST_COPIES)
    known = _concatenated([part] * copies)
    if most == copies:
        return known
    return _Known(None, _heads(known.beginnings), _tails(known.endings), known.condition)


# --- strings -------------------------------------------------------------------------------


def _joined(some: Strings | None, others: Strings | None) -> Strings | None:
    """Return each string followed by each of the others; None if these are too many."""
    if some is None or others is None:
        return None
    count = len(some) * len(others)
    longest = max(map(len, some)) + max(map(len, others))
    if count > MOST_STRINGS or count * longest > MOST_BYTES:
        return None
    return frozenset(head + tail for head in some for tail in others)


def _heads(strings: Strings) -> Strings:
    """Return the beginnings of the strings that can be part of a trigram with the preceding
    text."""
    return _few(frozenset(string[:2] for string in strings), lambda string: string[:1])


def _tails(strings: Strings) -> Strings:
    return _few(frozenset(string[-2:] for string in strings), lambda string: string[-1:])


def _few(strings: Strings, shorter: Callable[[bytes], bytes]) -> Strings:
    if len(strings) > MOST_STRINGS:
        strings = frozenset(map(shorter, strings))
    return strings if len(strings) <= MOST_STRINGS else _ANY_STRING


def _one_of(strings: Strings) -> TrigramQuery:
    return any_of([TrigramQuery(_trigrams(string)) for string in sorted(strings)])
