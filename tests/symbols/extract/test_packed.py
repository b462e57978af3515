"""Facts on their way to the store."""

from __future__ import annotations

import pytest

from winnow.symbols.extract.packed import (
    Packed,
    definition_of,
    facts_of,
    last_name,
    packed,
    skeleton_of,
)
from winnow.symbols.facts import Definition, Facts, Scope, Skeleton

DEFINITION = Definition("run", "method", 10, 6, 40, 1, 3, (4, 4, 4), "app.Runner", "def run()")
SKELETON = Skeleton(
    [Scope(0, 50, -1, "module"), Scope(3, 49, 0, "class", "Runner")],
    bases={1: ["base.Base[T]", "other.Base", "Mixin()", "<T>"]},
)
FACTS = Facts("python", [DEFINITION], SKELETON, {"run": b"123"}, generic=True, broken=1)


def test_packed_facts_are_rows_of_the_store() -> None:
    known = packed(FACTS)
    assert known == Packed(
        "python",
        [("run", known.definitions[0][1])],
        known.skeleton,
        {"run": b"123"},
        [("Base", 1), ("Mixin", 1)],
        generic=True,
        broken=1,
    )
    assert definition_of(known.definitions[0][1]) == DEFINITION
    assert skeleton_of(known.skeleton) == SKELETON
    assert facts_of(known) == FACTS


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
