"""Terms: words and identifiers of any naming convention and writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.index.postings.terms import (
    WORD_CHARACTERS,
    content_words,
    name_term,
    query_terms,
    term_number,
    term_numbers,
    terms_of,
    words,
)


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("ordering", ("order",)),
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
def test_a_word_gives_its_parts_stemmed_and_the_whole(word: str, terms: tuple[str, ...]) -> None:
    assert terms_of(word) == terms


def test_one_name_in_any_convention_is_one_term() -> None:
    names = ["HTTP_cookies", "HttpCookie", "httpCookies", "http_cookie"]
    assert {name_term(name) for name in names} == {"httpcooki"}


def test_numbers_of_terms_are_the_same_in_every_process() -> None:
    # They stand in files that live longer than a process, and are sent from one to another.
    assert term_number("cooki") == 0x3D18258D93FDEA61
    assert term_numbers("HttpCookie") == tuple(map(term_number, ("http", "cooki", "httpcookie")))


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how does the connection pool work?", ["connect", "pool", "work"]),
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
def test_a_query_is_asked_without_the_words_that_questions_are_made_of(
    query: str, terms: list[str]
) -> None:
    assert query_terms(query) == terms


def test_a_query_of_nothing_else_is_asked_as_it_is() -> None:
    assert content_words("how is it") == ["how", "is", "it"]


@given(st.text())
def test_any_text_has_terms(text: str) -> None:
    for word in words(text):
        terms = terms_of(word)
        assert len(set(terms)) == len(terms)
        assert all(0 <= number < 1 << 64 for number in term_numbers(word))
