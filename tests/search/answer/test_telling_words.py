"""The words of a question that say what it is about."""

from __future__ import annotations

import pytest

from winnow.search.answer.telling_words import search_terms, stems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTPServerError", ["http", "server", "error"]),
        ("apply_migration", ["apply", "migration"]),
        ("how are the migrations ordered", ["migrations", "ordered"]),
        ("base64 utf8Decoder", ["base", "64", "utf", "8", "decoder"]),
        ("", []),
    ],
)
def test_words_split_humps_underscores_and_digits(text: str, expected: list[str]) -> None:
    assert list(stems(text).values()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "order ordered orders ordering",
        "class classes",
        "type types typed",
        "query queries",
        "map maps mapped mapping",
        "connection connections",
        "configure configuration",
    ],
)
def test_forms_of_a_word_have_one_stem(text: str) -> None:
    assert len(stems(text)) == 1


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how does the FileLock work", ["FileLock"]),
        ("where is foo_bar or std::vector freed", ["std::vector", "foo_bar", "freed"]),
        ("how is it", ["how", "is", "it"]),
        ("???", []),
        ("x", ["x"]),
        ("größe der Datei", ["Datei", "größe", "der"]),
        ("如何连接", ["如何", "何连", "连接"]),
        ("Foo foo_bar Foo", ["foo_bar", "Foo"]),
    ],
)
def test_the_most_specific_words_of_a_question_come_first(query: str, terms: list[str]) -> None:
    assert search_terms(query) == terms
