"""Queries: their words, and what they look like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.learning.queries import WORDS, kind_of, likeness, words_of


def test_words_are_those_of_identifiers_without_ends_and_without_idle_ones() -> None:
    assert words_of("How are the plugins loaded by PluginLoader.load_all?") == (
        "plugin", "load", "all",
    )  # fmt: skip
    assert words_of("getHTTPCookies2") == ("http", "cook", "2")
    assert words_of("what is it") == ("what", "is", "it")
    assert words_of("größe_ändern 設定") == ("größ", "ändern", "設定")
    assert words_of(" .*+ ") == ()


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
