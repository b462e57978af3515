"""Packages import only packages below them, and modules have no import cycles."""

from __future__ import annotations

import collections

import pytest

import structure
import walks


def test_packages_import_only_packages_below_them() -> None:
    files = structure.modules(structure.ROOT / "server/winnow")
    places = {name: place for place, name in enumerate(structure.ORDER)}
    assert {structure.entry(module) for module in files} == {"", "__main__", *places}
    upward = [
        link
        for link in structure.imports(files)
        if structure.entry(link.importer) in places
        and places[structure.entry(link.imported)] > places[structure.entry(link.importer)]
    ]
    assert not upward, "\n".join(f"{link.importer} imports {link.imported}" for link in upward)


def test_there_are_no_import_cycles() -> None:
    files = structure.modules(structure.ROOT / "server/winnow")
    edges = collections.defaultdict(set)
    for link in structure.imports(files):
        edges[link.importer].add(link.imported)
    assert structure.cycles(edges) == []


def test_import_cycles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set[str]()}
    assert structure.cycles(edges) == [["a", "b", "c"]]
    assert structure.layers({("a", "b"), ("b", "c")}) == 3
    assert structure.layers({("a", "b"), ("b", "a")}) == 0


@pytest.mark.process
async def test_a_search_term_reaches_ripgrep_through_six_packages() -> None:
    async with walks.opened() as workspace:
        walk = await walks.keyword_search(workspace)
    first, *_, last = walk.packages
    assert (first, last) == ("tools", "processes")
    assert len(walk.packages) <= 6
