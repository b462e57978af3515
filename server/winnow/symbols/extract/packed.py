"""Facts in the form in which they travel from a worker to the store: rows, encoded already.

The server's own process hands them on as they are: decoding and encoding tens of megabytes there
would keep its requests waiting.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from winnow.symbols.facts import Definition, Facts, Skeleton

# What stands behind the name of a base: type arguments, calls, subscripts.
_ARGUMENTS = re.compile(r"[\[(<{].*", re.S)
_SEPARATOR = re.compile(r"\.|::|->|\\|/")

_encode = msgspec.msgpack.Encoder().encode
_decode_skeleton = msgspec.msgpack.Decoder(Skeleton).decode
_decode_definition = msgspec.msgpack.Decoder(Definition).decode


class Packed(Struct, frozen=True, array_like=True):
    """The facts of a file. ``definitions`` are names, and a :class:`Definition` for each, encoded;
    ``bases`` the last names of base classes, with the scopes of the classes that have them."""

    language: str
    definitions: list[tuple[str, bytes]]
    skeleton: bytes
    occurrences: dict[str, bytes]
    bases: list[tuple[str, int]]
    generic: bool = False
    broken: int = 0


def packed(facts: Facts) -> Packed:
    """Facts, encoded."""
    return Packed(
        language=facts.language,
        definitions=[(one.name, _encode(one)) for one in facts.definitions],
        skeleton=_encode(facts.skeleton),
        occurrences=facts.occurrences,
        bases=[
            (name, scope)
            for scope, bases in facts.skeleton.bases.items()
            for name in dict.fromkeys(map(last_name, bases))
            if name
        ],
        generic=facts.generic,
        broken=facts.broken,
    )


def facts_of(known: Packed) -> Facts:
    """Facts that were encoded."""
    return Facts(
        language=known.language,
        definitions=[_decode_definition(data) for _, data in known.definitions],
        skeleton=_decode_skeleton(known.skeleton),
        occurrences=known.occurrences,
        generic=known.generic,
        broken=known.broken,
    )


def last_name(expression: str) -> str:
    """The name that a base class has where it is defined: ``Model`` of ``models.Model[T]``."""
    return _SEPARATOR.split(_ARGUMENTS.sub("", expression).strip())[-1].strip()


def skeleton_of(encoded: bytes) -> Skeleton:
    """Raises msgspec.DecodeError for what is none."""
    return _decode_skeleton(encoded)


def definition_of(encoded: bytes) -> Definition:
    """Raises msgspec.DecodeError for what is none."""
    return _decode_definition(encoded)
