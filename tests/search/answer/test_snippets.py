"""The selection of a passage's lines for a snippet."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from winnow.search.answer.snippets import FEWER_LINES, LINES, Excerpt, Snippet, Wanted, any_of


def shown(text: str, words: dict[str, float], most: int = 4, **more: object) -> Snippet | None:
    lines = text.split("\n")
    return Excerpt(lines, 1, len(lines), Wanted(words), **more).snippet(most)  # type: ignore[arg-type]


TEXT = (
    "import os\n\ndef first(): pass\n\n" + "x = 1\n" * 8 + "# retry the upload\n"
    "def retry(upload):\n    return upload\n\n\ny = 2"
)


def test_the_most_relevant_lines_are_shown_with_context() -> None:
    assert shown(TEXT, {"retry": 1.0, "upload": 1.0}, head=False) == Snippet(
        12, "x = 1\n# retry the upload\ndef retry(upload):\n    return upload"
    )


def test_the_head_of_a_definition_is_shown_if_there_is_room() -> None:
    assert shown("def f():\n    a()\n    b()\n    c()\n    d()", {"b": 1.0}) == Snippet(
        1, "def f():\n    a()\n    b()\n    c()"
    )
    assert shown("def f():\n" + "    a()\n" * 20 + "    b()", {"b": 1.0}) == Snippet(
        21, "    a()\n    b()"
    )


def test_without_relevant_lines_the_first_lines_are_shown() -> None:
    assert shown("\n\na\nb\n\n\nc", {"zzz": 1.0}) == Snippet(3, "a\nb")
    assert shown("", {"a": 1.0}) == Snippet(1, "")


def test_a_definition_weighs_more_than_a_use() -> None:
    text = "\n".join(["load(a)", *["."] * 20, "def load(x):", "    pass"])
    found = shown(text, {"load": 1.0}, head=False)
    assert found == Snippet(21, ".\ndef load(x):\n    pass")


def test_a_part_always_shows_its_best_line() -> None:
    lines = ["load(a)", *["."] * 30, "load(b)", *["."] * 2, "x = load(c)", "."]
    passage = Excerpt(lines, 1, len(lines), Wanted({"load": 1.0}), head=False)
    for best in (1, 12, 31, 35):
        for most in (*FEWER_LINES, LINES):
            found = passage.part(1, len(lines), best).snippet(most)
            assert found is not None
            assert found.first <= best <= found.first + found.text.count("\n")


def test_marked_lines_are_shown_even_without_words() -> None:
    text = "\n".join(map(str, range(1, 50)))
    found = shown(text, {}, marks={30: 1.0, 31: 1.0}, head=False)
    assert found == Snippet(29, "29\n30\n31\n32")


def test_a_long_line_is_cut_around_the_first_word() -> None:
    found = shown("a" * 1_000 + " needle " + "b" * 1_000, {"needle": 1.0})
    assert found is not None
    assert len(found.text) == 242
    assert "needle" in found.text
    assert (found.text[0], found.text[-1]) == ("…", "…")


def test_control_characters_are_shown_as_signs() -> None:
    assert shown("a\x1b[31mb", {"a": 1.0}) == Snippet(1, "a\N{REPLACEMENT CHARACTER}[31mb")


@given(
    st.lists(st.sampled_from(["", "  ", "a", "a b", "def b():", "zzz"]), max_size=40),
    st.integers(1, 45),
    st.integers(1, 45),
    st.sampled_from([*FEWER_LINES, LINES]),
    st.booleans(),
)
def test_a_snippet_is_lines_of_the_passage(
    lines: list[str], first: int, last: int, most: int, head: bool
) -> None:
    passage = Excerpt(lines, first, last, Wanted({"a": 1.0, "b": 2.0}), head=head)
    snippet = passage.snippet(most)
    if first > min(last, len(lines)):
        assert snippet is None
        return
    assert snippet is not None
    text = snippet.text.split("\n")
    end = snippet.first + len(text) - 1
    assert first <= snippet.first <= end <= min(last, len(lines))
    assert len(text) <= most
    assert text == [line.rstrip() for line in lines[snippet.first - 1 : end]]
    if any(set(line.split()) & {"a", "b"} for line in lines[first - 1 : last]):
        assert passage.is_relevant
        assert any("a" in line or "b" in line for line in text)


@given(
    st.lists(st.text(st.sampled_from("ab.é"), min_size=1, max_size=4), unique=True),
    st.text(st.sampled_from("abA.é \n"), max_size=30),
)
def test_the_longest_word_at_a_place_is_found(words: list[str], text: str) -> None:
    by_length = sorted(words, key=len, reverse=True)
    plain = re.compile("|".join(map(re.escape, by_length)) or r"(?!)")
    wanted = re.compile(any_of(words))
    assert wanted.findall(text) == plain.findall(text)


def test_few_words_are_tried_at_each_place_of_a_text() -> None:
    assert any_of(["save", "saved", "send", "get"]) == "s(?:aved|ave|end)|g(?:et)"
