"""Terms: words and identifiers in any naming convention and script."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.index.postings import terms as terms_module
from winnow.index.postings.terms import (
    TERM_BITS,
    TERM_SHIFT,
    WORD_CHARACTERS,
    content_words,
    name_term,
    pack_names,
    pack_terms,
    query_terms,
    term_number,
    terms_of,
    words,
)


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("ordering", ("order",)),
        ("Rebuilt", ("rebuild",)),
        ("child_indices", ("child", "index", "childindices")),
        ("getHTTPCookies2", ("get", "http", "cooki", "gethttpcookies2")),
        ("get_http_cookies", ("get", "http", "cooki", "gethttpcookies")),
        ("__init__", ("init",)),
        ("MAX_SIZE", ("max", "size", "maxsize")),
        ("sha256", ("sha", "256", "sha256")),
        ("the", ()),
        ("x", ()),
        ("i18n", ("18", "i18n")),
        ("Größe", ("größe",)),
        ("如何连接", ("如何", "何连", "连接")),
        ("連", ("連",)),
        ("a" * (WORD_CHARACTERS + 1), ()),
    ],
)
def test_a_word_yields_its_stemmed_parts_and_itself(word: str, terms: tuple[str, ...]) -> None:
    assert terms_of(word) == terms


def test_one_name_in_any_convention_is_one_term() -> None:
    names = ["HTTP_cookies", "HttpCookie", "httpCookies", "http_cookie"]
    assert {name_term(name) for name in names} == {"httpcooki"}


def numbers(packed: bytes) -> list[int]:
    found: list[int] = np.frombuffer(packed, np.uint64).tolist()
    return found


def test_term_numbers_are_the_same_in_every_process() -> None:
    # They are stored in files that outlive a process, and sent between processes.
    assert term_number("cooki") == 0x3D18258D93FDEA61 % (1 << TERM_BITS) << TERM_SHIFT
    terms = [*map(term_number, ("http", "cooki", "httpcookie", "cooki"))]
    assert numbers(pack_terms(["HttpCookie", "the", "cookies"])) == terms
    assert numbers(pack_names(["HTTP_cookies"])) == [term_number("httpcooki")]


def test_more_words_than_are_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    few = terms_module._Packed(terms_module._packed_word, 2)
    monkeypatch.setattr(terms_module, "_packed_words", few.__getitem__)
    some = ["getCookie", "jar", "cookies", "jar", "getCookie"]
    terms = [term_number(term) for word in some for term in terms_of(word)]
    assert numbers(pack_terms(some)) == terms
    assert 0 < len(few) <= 2


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how does the connection pool work?", ["connect", "pool"]),
        ("use", ["use"]),
        ("how is it", ["how"]),
        (
            "where is FileLock acquired and FileLock released",
            ["file", "lock", "filelock", "acquir", "releas"],
        ),
        ("", []),
        ("😀 ??", []),
    ],
)
def test_stop_words_of_a_query_are_dropped(query: str, terms: list[str]) -> None:
    assert query_terms(query) == terms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how does undo work", ["undo"]),
        ("What happens when a node fails?", ["node", "fails"]),
        ("work stealing", ["work", "stealing"]),
        ("how does work stealing work?", ["work", "stealing"]),
        (
            "how progress reporting works during a transfer",
            ["progress", "reporting", "during", "transfer"],
        ),
        ("how is work stolen by workers", ["work", "stolen", "workers"]),
        ("how does it work", ["how", "does", "it", "work"]),
    ],
)
def test_the_verb_of_a_question_may_say_nothing(query: str, expected: list[str]) -> None:
    assert content_words(query) == expected


def test_a_query_of_stop_words_only_keeps_them() -> None:
    assert content_words("how is it") == ["how", "is", "it"]


@given(st.text())
def test_any_text_can_be_split_into_terms(text: str) -> None:
    for word in words(text):
        terms = terms_of(word)
        assert len(set(terms)) == len(terms)
        assert numbers(pack_terms([word])) == [term_number(term) for term in terms]


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_text_has_the_words_of_any_text(text: str) -> None:
    assert words(text) == words(f"{text} \xe4")[:-1]
