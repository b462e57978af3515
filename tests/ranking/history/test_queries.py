"""Queries: their words, and what they look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.ranking.history.queries import WORDS, kind_of, likeness, words_of


def test_words_are_terms_each_once_and_the_first_ones() -> None:
    assert words_of("How are the plugins loaded by load_plugin?") == (
        "plugin", "load", "loadplugin",
    )  # fmt: skip
    assert words_of(" .*+ ") == ()
    many = " ".join(f"w{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(99))
    assert len(words_of(many)) == WORDS


@given(st.text(max_size=300))
def test_any_text_has_few_words_each_once_and_is_like_itself(text: str) -> None:
    words = words_of(text)
    assert len(words) == len(set(words)) <= WORDS
    assert likeness(set(words), set(words)) == float(bool(words))
    assert kind_of(text) in ("path", "regex", "symbol", "words", "question")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("load_plugin", "symbol"),
        ("Client.send", "symbol"),
        ("std::move", "symbol"),
        ("send()", "symbol"),
        ("src/loader.py", "path"),
        ("**/*.rs", "path"),
        ("test_*.py", "path"),
        (r"def \w+\(", "regex"),
        ("^import", "regex"),
        ("foo.*bar", "regex"),
        ("a|b", "regex"),
        ("connection refused", "words"),
        ("where are plugins loaded", "question"),
        ("why slow?", "question"),
    ],
)
def test_a_query_looks_like_what_it_is(query: str, kind: str) -> None:
    assert kind_of(query) == kind
