"""Facts on their way to the store."""

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
SKELETON = ScopeTable(
    [LexicalScope(0, 50, -1, "module"), LexicalScope(3, 49, 0, "class", "Runner")],
    bases={1: ["base.Base[T]", "other.Base", "Mixin()", "<T>"]},
)
FACTS = FileSymbols("python", [DEFINITION], SKELETON, {"run": b"123"}, generic=True, broken=1)


def test_packed_facts_are_rows_of_the_store() -> None:
    known = pack(FACTS)
    assert known == PackedSymbols(
        "python",
        [("run", known.definitions[0][1])],
        known.scope_table,
        {"run": b"123"},
        [("Base", 1), ("Mixin", 1)],
        generic=True,
        broken=1,
    )
    assert decode_definition(known.definitions[0][1]) == DEFINITION
    assert decode_scope_table(known.scope_table) == SKELETON
    assert unpack(known) == FACTS


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
def test_the_last_name_of_a_base(expression: str, name: str) -> None:
    assert last_name(expression) == name
