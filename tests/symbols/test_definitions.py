"""Definitions of every language, as the marked files in ``fixtures/`` expect them.

To add a language: write `fixtures/<anything>.<extension>`, a little program with everything that
can be defined in it, and mark every definition as `markers.py` says. The whole list is compared:
a definition without a marker fails as well as a marker without a definition. The language is
told by the file's name. Run one with `pytest tests/symbols/test_definitions.py -k python`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from symbols.markers import Expected, read_fixture
from winnow.symbols.extract import extract
from winnow.symbols.facts import Definition
from winnow.symbols.language import language_of

FIXTURES = Path(__file__).parent / "fixtures"


def definitions_of(path: str, source: bytes) -> list[Definition]:
    language = language_of(path)
    assert language is not None, path
    return extract(language, source).definitions


def in_lines(expected: list[Expected]) -> list[str]:
    return [str(one) for one in sorted(expected, key=lambda one: (one.line, one.name))]


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir()))
def test_every_definition_is_as_its_marker_says(name: str) -> None:
    source, expected = read_fixture(FIXTURES / name)
    found = definitions_of(name, source)
    markers = {(marker.line, marker.name): marker for marker in expected}
    assert len(markers) == len(expected), "two markers for one name on one line"
    unmarked = Expected(-1, "", "", frozenset(), "", lines=(0, 0), signature="")
    described = [
        markers.get((one.line, one.qualified_name), unmarked).describes(one, source)
        for one in found
    ]
    assert in_lines(described) == in_lines(expected)


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.iterdir()))
def test_every_definition_is_where_it_says(name: str) -> None:
    source, _ = read_fixture(FIXTURES / name)
    for one in definitions_of(name, source):
        assert one.start <= one.at < one.end <= len(source), one
        line = source[source.rfind(b"\n", 0, one.at) + 1 : one.at]
        text = line.decode()
        utf16 = len(text.encode("utf-16-le")) // 2
        assert one.columns == (len(line), len(text), utf16), one
        assert one.line == source.count(b"\n", 0, one.at), one
        # The range may end behind the last line's end, in some grammars.
        assert one.end_line in (
            source.count(b"\n", 0, one.end),
            source.count(b"\n", 0, one.end - 1),
        ), one
