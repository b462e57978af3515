"""Phrases: over the ends of lines, and with typographic characters."""

from __future__ import annotations

import re

import pytest

from winnow.documents.library.phrases import as_phrase
from winnow.text.ripgrep import TextPattern


def matched(query: str, text: str, *, literal: bool = True) -> list[str]:
    pattern = as_phrase(TextPattern(query, literal=literal)).pattern
    return [match[0] for match in re.finditer(pattern, text)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("notice three months", "notice three\n  months"),
        ("notice  three", "notice\nthree"),
        ("notice\u00a0three", "notice three"),
        ("self-employed", "self-\nemployed"),
        ("self-employed", "selfemployed"),
        ("COVID-19", "COVID-\n19"),
        ("employee's", "employee’s"),
        ("employee’s", "employee's"),
        ('"entitlement"', "“entitlement”"),
        ("«entitlement»", '"entitlement"'),
        ("thirty-two", "thirty‑two"),
        ("days - see", "days –\nsee"),
        ("\ufb01nd soft\u00adware", "find software"),
        ("3.5 (net)", "3.5\n(net)"),
    ],
)
def test_a_phrase_is_found_as_a_document_has_it(query: str, text: str) -> None:
    assert matched(query, text) == [text]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("notice three", "notice\n\nthree"),
        ("notice three", "noticethree"),
        ("10-12", "1012"),
        ("3.5", "345"),
    ],
)
def test_another_text_is_not_found(query: str, text: str) -> None:
    assert matched(query, text) == []


def test_words_of_a_regular_expression_are_a_phrase() -> None:
    assert matched("notice thr.e", "notice\nthree", literal=False) == ["notice\nthree"]
    pattern = TextPattern("notice (three|two)")
    assert as_phrase(pattern) == pattern


def test_blanks_around_a_phrase_do_not_match_the_end_of_a_line() -> None:
    assert matched(" months ", "three\nmonths\nlater, months too") == [" months "]


def test_a_word_needs_no_search_over_lines() -> None:
    assert not as_phrase(TextPattern("employee's")).multiline
    assert as_phrase(TextPattern("the notice")).multiline
