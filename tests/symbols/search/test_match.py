"""Scores of names for a typed text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.symbols.search.match import Pattern, boundaries, fold, is_subsequence

NAMES = st.text(st.sampled_from("abcABC_019é"), max_size=12) | st.text(max_size=12)


def ordered(text: str, names: str, **options: bool) -> list[str]:
    pattern = Pattern(text, **options)
    scored = [(pattern.score(name), name) for name in names.split()]
    assert len({score for score, _ in scored if score}) == len(
        [score for score, _ in scored if score]
    )
    return [name for score, name in sorted(scored, reverse=True) if score]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # One name per class: the name itself, its start, initials, words, parts, letters.
        (
            "get",
            "get Get getter get_all Get_all GlobalErrorTracker g_x_e_t do_get widget gxext",
        ),
        ("qsf", "QuerySetFilter query_set_field_and_more TheQuerySetFilter quasi_float"),
        ("MigEx", "MigEx MigExecutor Migexaminer MigrationExecutor TestMigrationExecutor"),
        ("getobjor404", "getobjor404 get_object_or_404 aget_object_or_404"),
        ("URL", "URL url URLField urlField get_URL getUrl"),
        ("init", "init initialise do_init __init__ indexed_item_table reinit"),
        ("ÄPFEL", "ÄPFEL äpfel äpfelBaum grüneÄpfel"),
    ],
)
def test_better_matches_come_first(text: str, names: str) -> None:
    assert ordered(text, " ".join(sorted(names.split()))) == names.split()


@pytest.mark.parametrize(
    ("options", "text", "names"),
    [
        ({"start": True}, "get", "get Get getall get_all"),
        ({"start": True}, "Get", "Get"),
        ({"end": True}, "all", "get_all getall"),
        ({"start": True, "end": True}, "get", "get Get"),
        ({"together": True}, "et_a", "get_all"),
        ({"start": True, "end": True, "sensitive": True}, "get", "get"),
        ({}, "", ""),
    ],
)
def test_signs_anchor_the_letters(options: dict[str, bool], text: str, names: str) -> None:
    assert ordered(text or "zzz", "get Get get_all getall widget", **options) == names.split()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getHTTPServer2Now", "gHS2N"),
        ("snake_case__x", "scx"),
        ("__init__", "i"),
        ("SCREAMING_CASE", "SC"),
        ("x86_64", "x86"),
        ("grüneÄpfel", "gÄ"),
        ("变量Name2 變", "变N2變"),
        ("==", ""),
    ],
)
def test_words_start_at_case_and_sign_changes(name: str, words: str) -> None:
    assert "".join(name[position] for position in boundaries(name)) == words


@given(NAMES)
def test_folding_preserves_the_length(name: str) -> None:
    assert len(fold(name)) == len(name)


@given(NAMES, NAMES, st.data())
def test_exactly_letters_in_order_match_a_name(name: str, other: str, data: st.DataObject) -> None:
    kept = [data.draw(st.booleans()) for _ in name]
    text = "".join(char for char, is_kept in zip(name, kept, strict=True) if is_kept)
    assert Pattern(text).score(name) > 0
    if other:
        assert bool(Pattern(other).score(name)) == is_subsequence(fold(other), fold(name))


@given(NAMES, NAMES, st.sampled_from([{}, {"start": True}, {"end": True}, {"together": True}]))
def test_only_the_name_itself_scores_one(text: str, name: str, options: dict[str, bool]) -> None:
    score = Pattern(text, **options).score(name)
    assert 0 <= score <= 1
    assert (score == 1) == (bool(text) and text == name)
