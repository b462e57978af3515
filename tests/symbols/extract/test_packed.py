"""The encoded form of symbols, on their way to the store."""

from __future__ import annotations

import pytest

from winnow.symbols.extract.packed import (
    PackedSymbols,
    decode_definition,
    decode_scope_table,
    last_name,
    pack,
    unpack,
)
from winnow.symbols.file_symbols import Definition, FileSymbols, LexicalScope, ScopeTable

DEFINITION = Definition("run", "method", 10, 6, 40, 1, 3, (4, 4, 4), "app.Runner", "def run()")
SCOPE_TABLE = ScopeTable(
    (LexicalScope(0, 50, -1, "module"), LexicalScope(3, 49, 0, "class", "Runner")),
    bases={1: ("base.Base[T]", "other.Base", "Mixin()", "<T>")},
)
SYMBOLS = FileSymbols("python", [DEFINITION], SCOPE_TABLE, {"run": b"123"}, generic=True, broken=1)


def test_packed_symbols_are_rows_of_the_store() -> None:
    packed = pack(SYMBOLS)
    assert packed == PackedSymbols(
        "python",
        [("run", packed.definitions[0][1])],
        packed.scope_table,
        {"run": b"123"},
        [("Base", 1), ("Mixin", 1)],
        generic=True,
        broken=1,
    )
    assert decode_definition(packed.definitions[0][1]) == DEFINITION
    assert decode_scope_table(packed.scope_table) == SCOPE_TABLE
    assert unpack(packed) == SYMBOLS


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("Model", "Model"),
        ("models.Model", "Model"),
        ("django.db.models.Model[T, Other]", "Model"),
        ("std::vector<std::string>", "vector"),
        ("App\\Http\\Controller", "Controller"),
        ("factory(a.b)", "factory"),
        ("<T>", ""),
        ("", ""),
    ],
)
def test_the_last_name_of_a_base_class(expression: str, name: str) -> None:
    assert last_name(expression) == name
