"""Pasted code: the lines to search for, and the place where they are."""

from __future__ import annotations

from winnow.search.code.pasted_lines import Pasted, densest, telling_lines


def test_lines_of_signs_and_keywords_are_not_searched_for() -> None:
    lines = ["void Vault::lock()", "{", "if (isLocked()) {", "return true;", "} else {", "}"]
    assert telling_lines(lines) == ["void Vault::lock()", "if (isLocked()) {"]
    assert telling_lines(["return true;", "}"]) == ["return true;", "}"]


def test_a_place_has_the_most_distinct_lines_close_together() -> None:
    pasted = Pasted({"name": 2.0, "a": 1.0, "b": 1.0}, {"name": 0, "a": 2, "b": 4}, 5)
    found = {"name": [50], "a": [1, 2, 3, 4, 52], "b": [20, 58]}
    assert densest(pasted, found) == (4.0, [50, 52, 58])
    assert densest(pasted, {"b": [7, 20]}) == (1.0, [7])
    assert densest(pasted, {}) == (0.0, [])


def test_a_place_begins_where_its_most_telling_line_is_in_the_text() -> None:
    pasted = Pasted({"name": 2.0, "a": 1.0}, {"name": 1, "a": 2}, 5)
    assert densest(pasted, {"name": [50], "a": [45]}) == (3.0, [50])
    assert densest(pasted, {"name": [50], "a": [49, 53]}) == (3.0, [49, 50])
