"""Categories of files, by their paths."""

from __future__ import annotations

import pytest

from winnow.symbols.search.weight import category_of


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("sites/tests.py", "test"),
        ("src/parser/tests.rs", "test"),
        ("tests/helpers.py", "test"),
        ("web/cart.spec.ts", "test"),
        ("regress/copy-mode.sh", "test"),
        ("src/contests.py", None),
        ("src/latest.py", None),
    ],
)
def test_files_of_tests_are_known_by_their_paths(path: str, category: str | None) -> None:
    assert category_of(path) == category
