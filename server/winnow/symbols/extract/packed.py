"""Facts in the form in which they travel from a worker to the store: rows, encoded already.

The server's own process hands them on as they are: decoding and encoding tens of megabytes there
would keep its requests waiting.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from winnow.symbols.file_symbols import Definition, FileSymbols, ScopeTable

# What stands behind the name of a base: type arguments, calls, subscripts.
_ARGUMENTS = re.compile(r"[\[(<{].*", re.S)
_SEPARATOR = re.compile(r"\.|::|->|\\|/")

_encode = msgspec.msgpack.Encoder().encode
_decode_skeleton = msgspec.msgpack.Decoder(ScopeTable).decode
_decode_definition = msgspec.msgpack.Decoder(Definition).decode


class PackedSymbols(Struct, frozen=True, array_like=True):
    """The facts of a file. ``definitions`` are names, and a :class:`Definition` for each, encoded;
    ``bases`` the last names of base classes, with the scopes of the classes that have them."""

    language: str
    definitions: list[tuple[str, bytes]]
    scope_table: bytes
    occurrences: dict[str, bytes]
    bases: list[tuple[str, int]]
    generic: bool = False
    broken: int = 0


def pack(facts: FileSymbols) -> PackedSymbols:
    """Facts, encoded."""
    return PackedSymbols(
        language=facts.language,
        definitions=[(one.name, _encode(one)) for one in facts.definitions],
        scope_table=_encode(facts.scope_table),
        occurrences=facts.occurrences,
        bases=[
            (name, scope)
            for scope, bases in facts.scope_table.bases.items()
            for name in dict.fromkeys(map(last_name, bases))
            if name
        ],
        generic=facts.generic,
        broken=facts.broken,
    )


def unpack(known: PackedSymbols) -> FileSymbols:
    """Facts that were encoded."""
    return FileSymbols(
        language=known.language,
        definitions=[_decode_definition(data) for _, data in known.definitions],
        scope_table=_decode_skeleton(known.scope_table),
        occurrences=known.occurrences,
        generic=known.generic,
        broken=known.broken,
    )


def last_name(expression: str) -> str:
    """The name that a base class has where it is defined: ``Model`` of ``models.Model[T]``."""
    return _SEPARATOR.split(_ARGUMENTS.sub("", expression).strip())[-1].strip()


def decode_scope_table(encoded: bytes) -> ScopeTable:
    """Raises msgspec.DecodeError for what is none."""
    return _decode_skeleton(encoded)


def decode_definition(encoded: bytes) -> Definition:
    """Raises msgspec.DecodeError for what is none."""
    return _decode_definition(encoded)
