"""Trigrams: which texts can hold a string, without reading them.

The idea, and how a regular expression becomes a condition on trigrams, are those of Russ Cox,
"Regular Expression Matching with a Trigram Index" (2012). Case is folded, so that one index serves
both ways to ask; what is not ASCII is taken byte by byte. No trigram goes over a line end: ripgrep
matches line by line, and in a search over line ends a match has enough of the others.

A long text is taken in blocks of some lines each. A text of many megabytes has nearly all trigrams
that a string can be made of; but a match, which is in one line, has all of its own in one block.

Of a large text the trigrams are known as they are written, too: a tree may have a quarter of its
bytes in generated files of names in capitals, which hold nearly every word in another case.
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

# A block has so many bytes, and the rest of its last line. Of the kernel's files over 32 KB, the
# median of 50 queries has then to read 6 MB (with half of it 5 MB, with the double 10, without
# blocks 48), and an index has 40 million trigrams (53, 33, 28).
BLOCK_BYTES = 64 * 1024
# Where the blocks of one text have more trigrams than this in all, there are fewer and longer ones.
MOST_IN_BLOCKS = 1 << 21
# A text of more blocks is large: 265 of the 78,000 files of the kernel, with a third of all bytes.
BLOCKS_FOLDED_ONLY = 4
# A block is taken in slices of so many bytes, which bounds the memory: 12 times as much at a time.
SLICE = 256 * 1024
# More strings that a part may begin with, end with, or be, are not told apart.
MOST_STRINGS = 64
# A part is known string by string while these have no more bytes in all.
MOST_BYTES = 4096
# A part that is repeated is followed for so long.
MOST_COPIES = 8
# A condition of more trigrams costs more to look up than it saves.
MOST_TRIGRAMS = 4096

Numbers = npt.NDArray[np.uint32]
# What a trigram as it is written has beside its three bytes.
AS_WRITTEN = 1 << 24
# Stands among the trigrams of a block of which none are known as they are written.
FOLDED_ONLY = 1 << 25
_HIGH, _MIDDLE, _BYTE = np.uint32(16), np.uint32(8), np.uint32(0xFF)
_NEWLINE = np.uint32(ord("\n"))
_LOWER = bytes(range(256)).lower()


class TrigramQuery(Struct, frozen=True):
    """A condition on the trigrams of a text: all of ``trigrams``, and for each of ``either`` one of
    its conditions. One without both holds for any text."""

    trigrams: tuple[int, ...] = ()
    either: tuple[tuple[TrigramQuery, ...], ...] = ()

    @property
    def is_any(self) -> bool:
        return not self.trigrams and not self.either


ANYTHING = TrigramQuery()


class Condition(Struct, frozen=True):
    """What any text has that a query matches: all that is required in one line of it, or anywhere
    in it where a match may go over lines."""

    required: TrigramQuery
    over_lines: bool = False


# --- of a text -----------------------------------------------------------------------------


class Trigrams(Struct, frozen=True, array_like=True):
    """The trigrams of a text, block by block: ``numbers`` are 32-bit, in each block ascending and
    each once. ``sizes``, 32-bit as well, say how many each block has; there is always one.

    A block has those of its text with case folded, and either ``FOLDED_ONLY`` or, of a large text,
    those of the text itself, with ``AS_WRITTEN`` each."""

    numbers: bytes
    sizes: bytes


def trigrams_of(text: bytes) -> Trigrams:
    """The trigrams of a text.

    The text is what ripgrep searches: the bytes of the file as they are, whatever their encoding,
    but UTF-8 where the file begins with the mark of UTF-16 (see :func:`searched_text`). Letters
    that ripgrep takes for the same where case does not matter have the same trigrams.
    """
    return trigrams_of_pieces([text])


def trigrams_of_pieces(pieces: Iterable[bytes]) -> Trigrams:
    """The same of a text in pieces, of one that is not read at once."""
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
    """The trigrams of a text, from those of each of its blocks, of which there must be one."""
    sizes = np.array([len(block) for block in blocks], np.uint32)
    return Trigrams(np.concatenate(blocks).tobytes(), sizes.tobytes())


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """A text in blocks that end with its lines."""
    rest = b""
    for piece in pieces:
        text, start = rest + piece, 0
        while end := text.find(b"\n", start + BLOCK_BYTES - 1) + 1:
            yield text[start:end]
            start = end
        rest = text[start:]
    yield rest


def _in_pairs(blocks: Sequence[Numbers]) -> list[Numbers]:
    """The same with two blocks each taken for one."""
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
    """What ripgrep searches of a file with these bytes; None where that is not known for certain.

    A file that begins with the mark of UTF-16 is searched as UTF-8, any other as it is.
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
    """The same of a short text in the form that is looked for."""
    places = range(len(text) - 2)
    return tuple(sorted({int.from_bytes(text[place : place + 3], "big") for place in places}))


# --- of a query ----------------------------------------------------------------------------


def condition_of(query: TextPattern) -> Condition:
    """What any text has in which ripgrep finds a match of the query. Never too much.

    That ripgrep takes the query is not said: of what it refuses, anything may be said.
    """
    required = required_by(query)
    if query.case_sensitive and not required.is_any:
        written = _written(required_by(query, as_written=True))
        folded_only = TrigramQuery((FOLDED_ONLY,))
        required = all_of([required, any_of([folded_only, written])])
    return Condition(required, query.multiline)


def required_by(query: TextPattern, *, as_written: bool = False) -> TrigramQuery:
    """What it has of trigrams with case folded, or as they are written, without ``AS_WRITTEN``."""
    if query.encoding not in ("", "auto"):
        return ANYTHING
    read = literal if query.literal else parse_pattern
    try:
        part = read(query.pattern, case_sensitive=query.case_sensitive)
    except UnsupportedPattern:
        return ANYTHING
    required = _known(part, bytes if as_written else _folded).condition
    return required if _size(required) <= MOST_TRIGRAMS else ANYTHING


def _written(required: TrigramQuery) -> TrigramQuery:
    return TrigramQuery(
        tuple(number | AS_WRITTEN for number in required.trigrams),
        tuple(tuple(map(_written, some)) for some in required.either),
    )


def any_of(options: Sequence[TrigramQuery]) -> TrigramQuery:
    """The condition that one of these holds, with what they have in common before the choice."""
    different = list(dict.fromkeys(options))
    if len(different) == 1:
        return different[0]
    common = frozenset.intersection(*(frozenset(one.trigrams) for one in different))
    rest = [
        TrigramQuery(tuple(number for number in one.trigrams if number not in common), one.either)
        for one in different
    ]
    either = () if any(one.is_any for one in rest) else (tuple(rest),)
    return TrigramQuery(tuple(sorted(common)), either)


def all_of(conditions: Sequence[TrigramQuery]) -> TrigramQuery:
    """The condition that all of these hold."""
    trigrams = {number for one in conditions for number in one.trigrams}
    either = dict.fromkeys(some for one in conditions for some in one.either)
    return TrigramQuery(tuple(sorted(trigrams)), tuple(either))


def _size(required: TrigramQuery) -> int:
    return len(required.trigrams) + sum(_size(one) for some in required.either for one in some)


# --- what is known of a part ---------------------------------------------------------------


Strings = frozenset[bytes]
_ANY_STRING: Strings = frozenset([b""])  # as a beginning or an end


@dataclass(frozen=True)
class _Known:
    """What is known of anything that a part matches, with case folded or as it is written.

    It is one of ``exact``, where that is not None; else it begins with one of ``starts``, ends with
    one of ``ends``, and ``required`` holds for it.
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
    """What is known of a part in the form in which texts are looked at."""
    if isinstance(part, Character):
        among = part.among
        return _ANY if among is None else _Known(frozenset(form(c.encode()) for c in among))
    if isinstance(part, Concatenation):
        return _concatenated([_known(one, form) for one in part.parts])
    if isinstance(part, Alternation):
        return _alternated([_known(one, form) for one in part.parts])
    return _repeated(_known(part.part, form), part.least, part.most)


def _concatenated(parts: Iterable[_Known]) -> _Known:
    blocks: list[_Known] = [_NOTHING]
    for one in parts:
        if strings := _joined(blocks[-1].exact, one.exact):
            blocks[-1] = _Known(strings)
        else:
            blocks.append(one)
    whole, *rest = blocks
    conditions = [one.required for one in blocks]
    for one in rest:
        whole = _followed(whole, one, conditions)
    return replace(whole, required=all_of(conditions))


def _followed(one: _Known, other: _Known, conditions: list[TrigramQuery]) -> _Known:
    """One part and then another, which are not known string by string. What is required of the
    places where they meet is added to the conditions."""
    starts, ends = one.beginnings, other.endings
    if one.exact is not None:
        starts = _joined(one.exact, other.beginnings) or starts
        conditions.append(_one_of(starts))
    if other.exact is not None:
        ends = _joined(one.endings, other.exact) or ends
        conditions.append(_one_of(ends))
    between = _joined(_tails(one.endings), _heads(other.beginnings))
    conditions.append(_one_of(between or _ANY_STRING))
    return _Known(None, _heads(starts), _tails(ends))


def _alternated(parts: Sequence[_Known]) -> _Known:
    exact = [one.exact for one in parts if one.exact is not None]
    strings: Strings = frozenset().union(*exact)
    if len(exact) == len(parts) and len(strings) <= MOST_STRINGS:
        return _Known(strings)
    return _Known(
        None,
        _heads(frozenset().union(*(one.beginnings for one in parts))),
        _tails(frozenset().union(*(one.endings for one in parts))),
        any_of([one.condition for one in parts]),
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
    """Each of some strings followed by each of others; None where that is too much."""
    if some is None or others is None:
        return None
    count = len(some) * len(others)
    longest = max(map(len, some)) + max(map(len, others))
    if count > MOST_STRINGS or count * longest > MOST_BYTES:
        return None
    return frozenset(one + other for one in some for other in others)


def _heads(strings: Strings) -> Strings:
    """What the strings begin with, as far as it may be a part of a trigram with what is before."""
    return _few(frozenset(one[:2] for one in strings), lambda one: one[:1])


def _tails(strings: Strings) -> Strings:
    return _few(frozenset(one[-2:] for one in strings), lambda one: one[-1:])


def _few(strings: Strings, shorter: Callable[[bytes], bytes]) -> Strings:
    if len(strings) > MOST_STRINGS:
        strings = frozenset(map(shorter, strings))
    return strings if len(strings) <= MOST_STRINGS else _ANY_STRING


def _one_of(strings: Strings) -> TrigramQuery:
    return any_of([TrigramQuery(_trigrams(one)) for one in sorted(strings)])
