"""The order of the packages: each imports only those below it, and no modules import each other."""

from __future__ import annotations

import collections

import pytest

import structure
import walks


def test_packages_import_only_those_below() -> None:
    files = structure.modules(structure.ROOT / "server/winnow")
    places = {name: place for place, name in enumerate(structure.ORDER)}
    assert {structure.entry(module) for module in files} == {"", "__main__", *places}
    upward = [
        one
        for one in structure.imports(files)
        if structure.entry(one.importer) in places
        and places[structure.entry(one.imported)] > places[structure.entry(one.importer)]
    ]
    assert not upward, "\n".join(f"{one.importer} imports {one.imported}" for one in upward)


def test_no_modules_import_each_other() -> None:
    files = structure.modules(structure.ROOT / "server/winnow")
    edges = collections.defaultdict(set)
    for one in structure.imports(files):
        edges[one.importer].add(one.imported)
    assert structure.cycles(edges) == []


def test_an_import_in_a_circle_is_found() -> None:
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
