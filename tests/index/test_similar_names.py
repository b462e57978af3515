"""Names in the index that are spelled like the words of a query."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MakeWorkspace, built, write_files
from winnow.index.similar_names import (
    MOST_WORDS,
    WordMatcher,
    distance,
    near_names,
    terms_of_index,
)
from winnow.search.code.semantic import names_near
from winnow.symbols.search.name_table import NameTable
from winnow.workspace import EngineWorkspace

# Time to read a file on a busy machine.
SECONDS = 20.0


def names(*texts: str) -> NameTable:
    made = NameTable()
    made.add(texts)
    return made


@pytest.mark.parametrize(
    ("word", "name", "near"),
    [
        ("plugin", "load_plugin", True),
        ("plugn", "load_plugin", True),
        ("plugni", "PluginLoader", True),
        ("regsitry", "Registry", True),
        ("loading", "loaded", True),
        ("conf", "configuration", True),
        ("cat", "car", False),
        ("word", "wrong", False),
        ("todo", "too_large", False),
        ("todo", "todo_list", True),
        ("note", "node_of", False),
        ("hack", "fall_back", False),
        ("locate", "rotate", False),
        ("plugin", "unrelated", False),
    ],
)
def test_names_are_near_by_spelling_stem_or_prefix(word: str, name: str, near: bool) -> None:
    assert (WordMatcher(word).nearness(name) > 0) is near
    assert [near_name for _, near_name in near_names([names(name)], word)] == [name] * near


def test_the_nearest_come_first() -> None:
    table = names("load", "Loader", "load_plugin", "lode", "loading_of_all_the_rest", "x" * 90)
    found = [name for _, name in near_names([table], "laod")]
    assert found[0] == "load"
    assert [name for _, name in near_names([table], "loads")][:2] == ["load", "load_plugin"]


def test_only_a_word_that_no_name_has_may_be_misspelled() -> None:
    known = names("signal_bus", "signa", "singal")
    assert [name for _, name in near_names([known], "signal")] == ["signal_bus", "signa"]
    assert [name for _, name in near_names([names("singal")], "signal")] == ["singal"]


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 3))
def test_distance_matches_its_recursive_definition(word: str, other: str, most: int) -> None:
    def apart(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        changed = apart(i - 1, j - 1) + (word[i - 1] != other[j - 1])
        least = min(apart(i - 1, j) + 1, apart(i, j - 1) + 1, changed)
        if i > 1 and j > 1 and word[i - 1] == other[j - 2] and word[i - 2] == other[j - 1]:
            least = min(least, apart(i - 2, j - 2) + 1)
        return least

    word, other = word[:5], other[:5]
    expected = apart(len(word), len(other))
    assert distance(word, other, most) == (expected if expected <= most else None)


async def test_the_index_suggests_only_current_definitions(
    indexed: EngineWorkspace, project: Path
) -> None:
    async def near(word: str) -> list[str]:
        async with indexed.index.snapshot({}, SECONDS) as (view, _):
            tables = await view.read(view.names, indexed.names)
            return await view.read(lambda: list(terms_of_index(view, tables)([word])))

    assert await near("plugn") == [
        "load_plugin",
        "register_plugin",
        "test_load_plugin",
    ]
    write_files(project, {"src/registry.py": "registry = {}\n"})
    indexed.files_changed([project / "src/registry.py"])
    assert await near("register_plugn") == []


async def test_a_pasted_text_is_not_compared_word_by_word(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[str] = []

    def near(tables: object, word: str) -> list[tuple[float, str]]:
        compared.append(word)
        return []

    monkeypatch.setattr("winnow.index.similar_names.near_names", near)
    workspace = await built(make_workspace(project))
    unknown = [f"zq{number}" for number in range(1_000)]
    assert await names_near(workspace, "xxx=yyy z " * 1_000 + " ".join(unknown)) == []
    assert compared == ["xxx", "yyy", *unknown[: MOST_WORDS - 2]]
