"""The encoding in which symbols travel from a worker to the store: encoded database rows.

The server process passes them on unchanged. Decoding and encoding tens of megabytes there would
delay its requests.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec import Struct

from winnow.symbols.extract.declarations import declarations_of, visible_names
from winnow.symbols.file_symbols import Definition, FileSymbols, LexicalScope, ScopeTable

# After the name of a base class: type arguments, calls, subscripts.
_ARGUMENTS = re.compile(r"[\[(<{].*", re.S)
_SEPARATOR = re.compile(r"\.|::|->|\\|/")

_encode = msgspec.msgpack.Encoder().encode
_decode_scope_table = msgspec.msgpack.Decoder(ScopeTable).decode
_decode_definition = msgspec.msgpack.Decoder(Definition).decode
_decode_declarations = msgspec.msgpack.Decoder(dict[str, bytes]).decode


class PackedSymbols(Struct, frozen=True, array_like=True):
    """The encoded symbols of a file. ``definitions`` are names with an encoded :class:`Definition`
    each. ``bases`` are the last names of base classes, with the scope of the class that names them.

    ``declarations`` are encoded, see :func:`decode_declarations`; None if ``occurrences`` are
    complete. Otherwise, ``occurrences`` are the declarations of names that other files may see and
    that no definition leads to.
    """

    language: str
    definitions: list[tuple[str, bytes]]
    scope_table: bytes
    occurrences: dict[str, bytes]
    bases: list[tuple[str, int]]
    generic: bool = False
    broken: int = 0
    declarations: bytes | None = None


def pack(symbols: FileSymbols, *, uses: bool = True) -> PackedSymbols:
    """Encode the symbols of a file. Without ``uses``, the only occurrences are declarations."""
    occurrences, declarations = symbols.occurrences, None
    if not uses:
        defined = [definition.name for definition in symbols.definitions]
        occurrences, declarations = split_declarations(
            symbols.occurrences, symbols.scope_table.scopes, defined
        )
    return PackedSymbols(
        language=symbols.language,
        definitions=[(definition.name, _encode(definition)) for definition in symbols.definitions],
        scope_table=encode_scope_table(symbols.scope_table),
        occurrences=occurrences,
        bases=[
            (name, scope)
            for scope, bases in symbols.scope_table.bases.items()
            for name in dict.fromkeys(map(last_name, bases))
            if name
        ],
        generic=symbols.generic,
        broken=symbols.broken,
        declarations=declarations,
    )


def split_declarations(
    occurrences: Mapping[str, bytes], scopes: Sequence[LexicalScope], defined: Collection[str]
) -> tuple[dict[str, bytes], bytes]:
    """Return the visible and the encoded declarations of :class:`PackedSymbols` for complete
    occurrences and the names of the file's definitions."""
    found = declarations_of(occurrences)
    names = visible_names(found, scopes, defined)
    return {name: found[name] for name in names}, encode_declarations(found)


def only_occurrences(packed: PackedSymbols) -> PackedSymbols:
    """Return the symbols with nothing but the occurrences."""
    return msgspec.structs.replace(packed, definitions=[], scope_table=b"", bases=[])


def unpack(packed: PackedSymbols) -> FileSymbols:
    return FileSymbols(
        language=packed.language,
        definitions=[_decode_definition(data) for _, data in packed.definitions],
        scope_table=decode_scope_table(packed.scope_table),
        occurrences=packed.occurrences,
        generic=packed.generic,
        broken=packed.broken,
    )


def last_name(expression: str) -> str:
    """Return the name of a base class where it is defined: ``Model`` for ``models.Model[T]``."""
    return _SEPARATOR.split(_ARGUMENTS.sub("", expression).strip())[-1].strip()


def encode_scope_table(table: ScopeTable) -> bytes:
    """Encode a scope table."""
    return zlib.compress(_encode(table))


def decode_scope_table(encoded: bytes) -> ScopeTable:
    """Decode a scope table. Raises msgspec.DecodeError and zlib.error."""
    return _decode_scope_table(zlib.decompress(encoded))


def decode_definition(encoded: bytes) -> Definition:
    """Decode a definition. Raises msgspec.DecodeError."""
    return _decode_definition(encoded)


def without_signature(encoded: bytes) -> bytes:
    """Return an encoded definition without its signature and documentation."""
    return _encode(msgspec.structs.replace(decode_definition(encoded), signature="", doc=""))


def encode_declarations(declarations: Mapping[str, bytes]) -> bytes:
    """Encode the packed occurrences that declare each name."""
    return zlib.compress(_encode(declarations), 1)


def decode_declarations(encoded: bytes) -> dict[str, bytes]:
    """Decode the packed occurrences that declare each name. Raises msgspec.DecodeError and
    zlib.error."""
    return _decode_declarations(zlib.decompress(encoded))
