"""The table of names finds exactly the names that match, best first."""

from __future__ import annotations

import functools
import itertools
import random
import sys
import threading
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.storage.writing import temporary_file
from winnow.symbols.search import name_table as names_module
from winnow.symbols.search.match import CASE, LENGTH, TIGHTNESS, Pattern
from winnow.symbols.search.name_table import NameTable, find_names

SIGNS = [
    {}, {"start": True}, {"end": True}, {"together": True}, {"start": True, "end": True},
    {"sensitive": True}, {"end": True, "sensitive": True},
]  # fmt: skip
TEXTS = st.text(st.sampled_from("abAB_1$ é"), min_size=1, max_size=9) | st.text(
    st.characters(codec="utf-8"), min_size=1, max_size=70
)


def table(*names: str) -> NameTable:
    made = NameTable()
    made.add(names)
    return made


@given(
    st.lists(TEXTS, unique=True, max_size=30),
    st.text(st.sampled_from("abAB_1$ é"), max_size=4) | TEXTS,
    st.sampled_from(SIGNS),
)
def test_the_table_finds_exactly_the_matching_names(
    names: list[str], text: str, signs: dict[str, bool]
) -> None:
    pattern = Pattern(text, **signs)
    expected = {name: pattern.score(name) for name in names if pattern.score(name) > 0}
    found = find_names([table(*names)], pattern)
    assert {name: score for score, name in found.names} == expected
    assert (found.total, found.all_seen) == (len(expected), True)
    assert found.names == sorted(found.names, key=lambda item: (-item[0], len(item[1]), item[1]))


# The largest difference of two scores within a class.
WITHIN = max(CASE + LENGTH, LENGTH + TIGHTNESS)
WORDS = "get set object query user file name id list map test http request for of or 404 2".split()


@functools.cache
def made_up_names(count: int) -> list[str]:
    rng = random.Random(1)
    names = dict[str, None]()
    while len(names) < count:
        words = rng.choices(WORDS, k=rng.randint(1, 6))
        camel = "".join(word.title() for word in words)
        names[rng.choice([camel, "_".join(words), "_".join(words).upper(), words[0] + camel])] = (
            None
        )
    return list(names)


@pytest.mark.slow
def test_the_best_of_many_names_are_found() -> None:
    """The table orders names like `Pattern.score`; within a class, roughly by length."""
    names = made_up_names(60_000)
    searched = table(*names)
    assert len(searched) == 60_000
    for text in ("get", "getobj404", "gof", "UserList", "t", "object_or", "tes", "qwx", "GetFile"):
        pattern = Pattern(text)
        scores = sorted((pattern.score(name) for name in names), reverse=True)
        for limit in (1, 20, 400):
            found = find_names([searched], pattern, limit)
            assert found.total == sum(score > 0 for score in scores), (text, limit)
            kept = [score for score, _ in found.names]
            assert len(kept) == min(limit, found.total)
            # Within a class, only the length decides, not the case.
            for score, best in zip(kept, scores, strict=False):
                assert best - score <= WITHIN, (text, limit, score, best)
            if found.names and scores[0] == 1:
                assert found.names[0] == (1, text)


def test_names_can_be_added_in_portions_of_any_size() -> None:
    names = made_up_names(40_000)
    at_once, bit_by_bit = table(*names), NameTable()
    rest = iter(names)
    for size in itertools.cycle([1, 7, 3_000, 20_000]):
        portion = list(itertools.islice(rest, size))
        if not portion:
            break
        bit_by_bit.add(portion)
    assert len(bit_by_bit) == len(at_once) == 40_000
    for text in ("getuser", "User", "x"):
        assert find_names([bit_by_bit], Pattern(text)) == find_names([at_once], Pattern(text))


def test_names_in_a_file_are_found_like_names_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = made_up_names(60_000)
    monkeypatch.setattr(names_module, "MOVED_BYTES", 1)
    in_memory = table(*names)
    in_files, read_only = (
        NameTable(partial(temporary_file, folder)) for folder in (tmp_path, tmp_path / "missing")
    )
    for start in range(0, len(names), 25_000):
        for searched in (in_files, read_only):
            searched.add(names[start : start + 25_000])
    assert len(in_files) == 60_000
    assert in_files.nbytes < in_memory.nbytes / 2  # only blocks that are not full
    assert read_only.nbytes == in_memory.nbytes
    for text in ("getuser", "User", "x"):
        expected = find_names([in_memory], Pattern(text))
        assert find_names([in_files], Pattern(text)) == expected
        assert find_names([read_only], Pattern(text)) == expected
    if sys.platform != "win32":  # Windows deletes a named file when it is closed
        assert list(tmp_path.iterdir()) == []


def test_several_tables_are_searched_as_one() -> None:
    found = find_names([table("send", "sender"), table("send", "resend"), table()], Pattern("send"))
    assert [name for _, name in found.names] == ["send", "sender", "resend"]
    assert found.total == 3


def test_names_that_do_not_fit_a_row_are_found() -> None:
    long = "a" * 100 + "_needle"
    found = find_names([table(long, "Größe", "größer", "nul\0l", "变量名")], Pattern("needle"))
    assert [name for _, name in found.names] == [long]
    searched = table(long, "Größe", "größer", "nul\0l", "变量名")
    for text, names in {
        "GRÖ": ["Größe", "größer"], "量": ["变量名"], "\0": ["nul\0l"], "grö": ["größer", "Größe"],
    }.items():  # fmt: skip
        assert [name for _, name in find_names([searched], Pattern(text)).names] == names


def test_an_empty_pattern_finds_the_shortest_names() -> None:
    found = find_names([table("ccc", "a", "dddd", "bb")], Pattern(""), 2)
    assert [name for _, name in found.names] == ["a", "bb"]
    assert found.total == 4


def test_many_matches_at_word_starts_end_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(names_module, "FURTHER", 100)
    searched = table(
        *(f"get_{number}" for number in range(500)), *(f"xgety{n}" for n in range(200))
    )
    found = find_names([searched], Pattern("get"), 50)
    assert (found.total, found.all_seen) == (500, False)
    # If fewer match, all are searched.
    found = find_names([searched], Pattern("get"), 600)
    assert (found.total, found.all_seen) == (700, True)


def test_a_table_can_be_searched_while_names_are_added() -> None:
    searched = table("needle")
    done = threading.Event()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            while not done.is_set():
                assert find_names([searched], Pattern("needle")).names[0] == (1, "needle")
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=search)
    thread.start()
    for number in range(300):
        searched.add([f"needle_{number}", "é" * (number + 1)])
    done.set()
    thread.join()
    assert failures == []


def test_a_name_needs_less_than_80_bytes() -> None:
    names = made_up_names(60_000)
    assert table(*names).nbytes < 80 * len(names)
