"""The occurrences that other files may read, and that the index always has."""

from __future__ import annotations

import pytest

from winnow.symbols.extract.declarations import declarations_of, visible_names
from winnow.symbols.extract.driver import extract
from winnow.symbols.extract.packed import decode_declarations, pack
from winnow.symbols.file_symbols import FileSymbols, unpack_numbers
from winnow.symbols.language import languages

PYTHON = b"""\
import os

LIMIT = 3

class Client:
    def send(self, data):
        size = len(data)
        self.sent = size + LIMIT
        return os.path.join(size)
"""


def symbols_of(language: str, text: bytes) -> FileSymbols:
    return extract(languages()[language], text)


def test_declarations_bind_define_or_write_a_name() -> None:
    found = declarations_of(symbols_of("python", PYTHON).occurrences)
    places = {name: [at for at, _, _ in unpack_numbers(packed)] for name, packed in found.items()}
    assert places == {
        "LIMIT": [PYTHON.index(b"LIMIT")],
        "Client": [PYTHON.index(b"Client")],
        "send": [PYTHON.index(b"send")],
        "data": [PYTHON.index(b"data")],
        "size": [PYTHON.index(b"size")],
        "sent": [PYTHON.index(b"sent")],
    }


@pytest.mark.parametrize(
    ("language", "text", "visible"),
    [
        ("python", PYTHON, []),  # definitions lead to all that is not local
        ("c", b"void f(void) { struct tag { int a; } x; }\n#define M(a) int in_macro = a\n", []),
        ("typescript", b"function f(a) { const b = a }\nexport default 3\n", ["default"]),
        ("json", b'{"name": "pack", "exports": {}}', ["package#pack"]),
    ],
)
def test_visible_declarations_are_those_without_a_definition(
    language: str, text: bytes, visible: list[str]
) -> None:
    symbols = symbols_of(language, text)
    defined = [definition.name for definition in symbols.definitions]
    found = visible_names(declarations_of(symbols.occurrences), symbols.scope_table.scopes, defined)
    assert found == visible


def test_symbols_are_packed_without_uses() -> None:
    symbols = symbols_of("python", PYTHON)
    packed = pack(symbols, uses=False)
    assert packed.declarations is not None
    assert decode_declarations(packed.declarations) == declarations_of(symbols.occurrences)
    assert packed.occurrences == {}
    assert packed.definitions == pack(symbols).definitions
