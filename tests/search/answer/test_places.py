"""The place in a passage that answers, its line and the reason."""

from __future__ import annotations

from winnow.search.answer.places import REASON_CHARACTERS, Place, place_in, reason
from winnow.search.answer.snippets import Excerpt, Wanted
from winnow.search.answer.telling_words import telling_words
from winnow.symbols.extract.driver import extract
from winnow.symbols.language import languages
from winnow.types import DefinedHere

SOURCE = '''"""Sessions and their cookies."""

import session_store
from cookies import expire, session_cookie

LIMIT = 20


class Session:
    """A visit."""

    def renew(self):
        return self.start(LIMIT)

    @logged
    def expire(self, store):
        """Forget the cookie of a visitor."""
        store.forget(self.key)
        return None


def unrelated(value):
    return value + 1
'''


def place(query: str, source: str = SOURCE, first: int = 1, last: int | None = None) -> Place:
    lines = source.split("\n")
    wanted = Wanted(telling_words(query))
    definitions = [
        DefinedHere(each.qualified_name, each.kind, each.line + 1, each.end_line + 1, each.doc)
        for each in extract(languages()["python"], source.encode()).definitions
        if not each.local
    ]
    passage = Excerpt(lines, first, last or len(lines), wanted)
    found = place_in(lines, passage, definitions, wanted)
    assert found is not None
    return found


def test_a_definition_is_chosen_before_imports_with_the_same_words() -> None:
    found = place("where do session cookies expire")
    assert (found.symbol, found.line) == ("Session.expire", 16)
    assert "import" not in "\n".join(SOURCE.split("\n")[found.first - 1 : found.last])


def test_a_prototype_is_declared() -> None:
    lines = ["int open_socket(int);", "", "int open_socket(int port) { return port; }"]
    wanted = Wanted(telling_words("open a socket"))
    for line, is_declared, why in ((1, True, "declares"), (3, False, "defines")):
        definition = DefinedHere("open_socket", "function", line, line, declared=is_declared)
        found = place_in(lines, Excerpt(lines, line, line, wanted), [definition], wanted)
        assert found is not None
        assert found.reasons == [f"{why} open_socket"]


def test_a_class_is_chosen_before_its_namespace() -> None:
    source = "namespace Music\\Starred;\n\nuse Music\\StarredAlbums;\n\nclass GetAlbums\n{\n}\n"
    wanted = Wanted(telling_words("which albums are starred in music"))
    lines = source.split("\n")
    found_class = DefinedHere("GetAlbums", "class", 5, 7)
    passage = Excerpt(lines, 1, 7, wanted)
    for last in (1, 7):  # a statement, or a block
        namespace = DefinedHere("Music\\Starred", "namespace", 1, last)
        found = place_in(lines, passage, [namespace, found_class], wanted)
        assert found is not None
        assert (found.symbol, found.line) == ("GetAlbums", 5)
    alone = place_in(lines, Excerpt(lines, 1, 3, wanted), [namespace], wanted)
    assert alone is not None
    assert alone.symbol == "Music\\Starred"


def test_a_match_in_an_import_counts_less_than_one_in_a_definition() -> None:
    lines = SOURCE.split("\n")
    wanted = Wanted(telling_words("unknown"))
    definitions = [
        DefinedHere("Session", "class", 9, 19),
        DefinedHere("Session.expire", "method", 16, 19),
    ]
    passage = Excerpt(lines, 1, len(lines), wanted, {4: 1.0, 18: 1.0})
    found = place_in(lines, passage, definitions, wanted)
    assert found is not None
    assert found.symbol == "Session.expire"


def test_a_line_of_the_preprocessor_or_a_heading_is_not_about_the_next_definition() -> None:
    for lines, definitions, line, symbol in (
        (
            ["#define RETRY_LIMIT 5", "int open_socket(int fd) {", "}"],
            [
                DefinedHere("RETRY_LIMIT", "macro", 1, 1),
                DefinedHere("open_socket", "function", 2, 3),
            ],
            1,
            "RETRY_LIMIT",
        ),
        (
            ["# Retry limit", "## Usage", "", "Use it."],
            [DefinedHere("Retry limit", "section", 1, 4), DefinedHere("Usage", "section", 2, 4)],
            1,
            "Retry limit",
        ),
    ):
        wanted = Wanted(telling_words("what is the retry limit"))
        found = place_in(lines, Excerpt(lines, 1, len(lines), wanted), definitions, wanted)
        assert found is not None
        assert (found.line, found.symbol) == (line, symbol)


def test_decorators_belong_to_a_definition() -> None:
    found = place("expire the visitor")
    assert (found.first, found.last, found.line) == (15, 19, 16)


def test_the_reason_says_where_the_words_are() -> None:
    assert place("expire a cookie in the store").reasons == [
        "defines expire",
        "its documentation mentions cookie",
        "mentions store",
    ]


def test_a_part_of_a_long_definition_has_its_most_telling_line() -> None:
    body = "".join(f"    step({number})\n" for number in range(30))
    source = f"def run():\n{body}    upload(retries)\n{body}"
    found = place("retry the upload", source, first=20, last=50)
    assert (found.symbol, found.line) == ("run", 32)


def test_a_value_is_shown_with_its_paragraph() -> None:
    found = place("what is the LIMIT", "import a\n\nFLOOR = 1\nLIMIT = 2\n\nx = 3\n")
    assert (found.first, found.last, found.line, found.symbol) == (3, 4, 4, "LIMIT")


def test_a_word_inside_of_another_word_is_no_reason() -> None:
    found = place("form", "def transform(form_data):\n    return transform\n")
    assert found.reasons == ["mentions form_data"]


def test_single_letters_are_no_reason() -> None:
    assert place("avoid n+1", "def avoid():\n    now = none\n").reasons == ["defines avoid"]


def test_definitions_nearby_with_some_of_the_query_are_shown_too() -> None:
    source = "def load_plugins():\n    pass\n\n\ndef load():\n    pass\n\n\ndef save():\n    pass\n"
    found = place("load plugins", source)
    assert (found.first, found.last, found.symbol) == (1, 6, "load_plugins")


def test_a_reason_fits_in_a_line() -> None:
    assert reason(["defines a", "b" * REASON_CHARACTERS, "c"]) == "defines a"
    assert len(reason(["b" * 200])) == REASON_CHARACTERS
