"""The encoding in which symbols travel from a worker to the store: encoded database rows.

The server process passes them on unchanged. Decoding and encoding tens of megabytes there would
delay its requests.
"""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from winnow.symbols.file_symbols import Definition, FileSymbols, ScopeTable

# After the name of a base class: type arguments, calls, subscripts.
_ARGUMENTS = re.compile(r"[\[(<{].*", re.S)
_SEPARATOR = re.compile(r"\.|::|->|\\|/")

_encode = msgspec.msgpack.Encoder().encode
_decode_scope_table = msgspec.msgpack.Decoder(ScopeTable).decode
_decode_definition = msgspec.msgpack.Decoder(Definition).decode


class PackedSymbols(Struct, frozen=True, array_like=True):
    """The encoded symbols of a file. ``definitions`` are names with an encoded :class:`Definition`
    each. ``bases`` are the last names of base classes, with the scope of the class that names them.
    """

    language: str
    definitions: list[tuple[str, bytes]]
    scope_table: bytes
    occurrences: dict[str, bytes]
    bases: list[tuple[str, int]]
    generic: bool = False
    broken: int = 0


def pack(symbols: FileSymbols) -> PackedSymbols:
    return PackedSymbols(
        language=symbols.language,
        definitions=[(definition.name, _encode(definition)) for definition in symbols.definitions],
        scope_table=_encode(symbols.scope_table),
        occurrences=symbols.occurrences,
        bases=[
            (name, scope)
            for scope, bases in symbols.scope_table.bases.items()
            for name in dict.fromkeys(map(last_name, bases))
            if name
        ],
        generic=symbols.generic,
        broken=symbols.broken,
    )


def unpack(packed: PackedSymbols) -> FileSymbols:
    return FileSymbols(
        language=packed.language,
        definitions=[_decode_definition(data) for _, data in packed.definitions],
        scope_table=_decode_scope_table(packed.scope_table),
        occurrences=packed.occurrences,
        generic=packed.generic,
        broken=packed.broken,
    )


def last_name(expression: str) -> str:
    """Return the name of a base class where it is defined: ``Model`` for ``models.Model[T]``."""
    return _SEPARATOR.split(_ARGUMENTS.sub("", expression).strip())[-1].strip()


def decode_scope_table(encoded: bytes) -> ScopeTable:
    """Decode a scope table. Raises msgspec.DecodeError."""
    return _decode_scope_table(encoded)


def decode_definition(encoded: bytes) -> Definition:
    """Decode a definition. Raises msgspec.DecodeError."""
    return _decode_definition(encoded)
