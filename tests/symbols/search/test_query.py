"""Queries as people type them. No text is an error."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.symbols.search.query import QUERY_CHARACTERS, WORDS, SymbolQuery, Term, kinds_of, parse


def word(text: str, **more: object) -> Term:
    return Term(text, **{"whole": text, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("send", word("send")),
        ("Client.send", Term("send", ("Client",), (".",), whole="Client.send")),
        ("a::b.c", Term("c", ("a", "b"), ("::", "."), whole="a::b.c")),
        ("src/client#send", Term("send", ("src", "client"), ("/", "#"), whole="src/client#send")),
        ("App\\User", Term("User", ("App",), ("\\",), whole="App\\User")),
        ("Client:send", Term("send", ("Client",), (":",), whole="Client:send")),
        ("ptr->next", Term("next", ("ptr",), ("->",), whole="ptr->next")),
        ("Client.", Term("", ("Client",), (".",), whole="Client.")),
        (".send", Term("send", whole=".send")),
        ("^send", word("send", start=True)),
        ("send$", word("send", end=True)),
        ("^send$", word("send", start=True, end=True)),
        ("'send", word("send", together=True)),
        ('"two words"', word("two words", together=True)),
        ("`send`", word("send")),
        ("send()", word("send")),
        ("send(self, *args)", word("send")),
        ("send(", word("send")),
        ("(*Client).Do", Term("Do", ("Client",), (".",), whole="Client.Do")),
        ("Vec<T>::push", Term("push", ("Vec",), ("::",), whole="Vec::push")),
        ("operator<", word("operator<")),
        ("empty?", word("empty?")),
        ("$scope", word("$scope")),
        ("==", word("==")),
        ("/", word("/")),
        ("...", word("...")),
        ("->", word("->")),
        ("$", word("$")),
        ("^", word("^")),
    ],
)  # fmt: skip
def test_words_are_parsed(text: str, term: Term) -> None:
    assert parse(text) == SymbolQuery((term,))


def test_filters_are_not_part_of_the_name() -> None:
    assert parse("kind:class,fn send path:src/ file:a.py lang:.PY") == SymbolQuery(
        (word("send"),),
        kinds=kinds_of("class") | kinds_of("function"),  # type: ignore[operator]
        paths=("src/", "a.py"),
        languages=("py",),
    )
    # An incomplete filter, and a qualified name.
    assert parse("kind: kind::x") == SymbolQuery(
        (Term("x", ("kind",), ("::",), whole="kind::x"),),
    )
    assert parse("kind:thing") == SymbolQuery(unknown=("thing",))


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("class", {"class", "struct", "union", "object"}),
        ("Classes", {"class", "struct", "union", "object"}),
        ("fn", {"function", "method", "constructor", "operator"}),
        ("methods", {"method", "constructor", "operator"}),
        ("protocol", {"trait", "interface"}),
        ("enum-member", {"enum_member"}),
        ("const", {"constant", "enum_member", "macro"}),
    ],
)
def test_words_select_kinds(word: str, kinds: set[str]) -> None:
    assert kinds_of(word) == frozenset(kinds)


def test_unknown_words_select_no_kind() -> None:
    assert [kinds_of(word) for word in ("", "s", "es", "thing")] == [None] * 4


def test_long_queries_are_cut() -> None:
    assert len(parse("a " * 1000).terms) == WORDS
    assert parse("a" * 1000).terms == (word("a" * QUERY_CHARACTERS),)


@given(st.text(st.sampled_from("aB_.:/#-><()*&^$'\"` \\kind:path")) | st.text())
def test_no_text_is_an_error(text: str) -> None:
    query = parse(text)
    assert all(term.text or term.qualifiers for term in query.terms)
    assert all(len(term.qualifiers) == len(term.separators) for term in query.terms)
    assert all(all(term.qualifiers) for term in query.terms)
