"""The text of open documents: positions, changes, and which document is whose."""

from __future__ import annotations

import itertools
import logging
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from conftest import requires_posix
from winnow.frontends.lsp.documents import OpenDocuments, apply_change

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def span(start_line: int, start: int, end_line: int, end: int) -> types.Range:
    return types.Range(types.Position(start_line, start), types.Position(end_line, end))


def marked(text: str, line: int, character: int, encoding: str = "utf-16") -> str:
    """Return the text with a bar at the position."""
    return apply_change(text, span(line, character, line, character), "|", encoding)


# --- positions -----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "within", ["\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_only_the_line_ends_of_lsp_end_a_line(within: str, encoding: str) -> None:
    assert marked(f"a{within}b\nc", 1, 0, encoding) == f"a{within}b\n|c"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (0, "|a\r\nb\rc\n\r\n\n\rd"),
        (1, "a\r\n|b\rc\n\r\n\n\rd"),
        (2, "a\r\nb\r|c\n\r\n\n\rd"),
        (3, "a\r\nb\rc\n|\r\n\n\rd"),
        (4, "a\r\nb\rc\n\r\n|\n\rd"),
        (5, "a\r\nb\rc\n\r\n\n|\rd"),
        (6, "a\r\nb\rc\n\r\n\n\r|d"),
    ],
)
def test_every_kind_of_line_end_counts_once(line: int, expected: str) -> None:
    assert marked("a\r\nb\rc\n\r\n\n\rd", line, 0) == expected


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_character_beyond_the_line_is_before_its_line_end(line_end: str) -> None:
    assert marked(f"ab{line_end}cd", 0, 3) == f"ab|{line_end}cd"
    assert marked(f"ab{line_end}cd", 0, 2**31 - 1) == f"ab|{line_end}cd"
    assert marked(f"ab{line_end}cd", 1, 9) == f"ab{line_end}cd|"


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb", "a\r"])
def test_a_line_beyond_the_last_is_the_end_of_the_text(text: str) -> None:
    assert marked(text, 2, 0) == f"{text}|"
    assert marked(text, 2**31 - 1, 2**31 - 1) == f"{text}|"


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        # Where the characters 0, 1, 2 ... of the line are, as places in "é€😀x".
        ("utf-8", [0, 0, 1, 1, 1, 2, 2, 2, 2, 3, 4, 4]),
        ("utf-16", [0, 1, 2, 2, 3, 4, 4]),
        ("utf-32", [0, 1, 2, 3, 4, 4]),
    ],
)
def test_a_position_inside_a_character_is_before_it(encoding: str, expected: list[int]) -> None:
    for line_end in ("", "\n", "\r\n€"):
        text = f"é€😀x{line_end}"
        places = [marked(text, 0, at, encoding).index("|") for at in range(len(expected))]
        assert places == expected


# --- changes -------------------------------------------------------------------------------


def test_a_range_is_replaced() -> None:
    assert apply_change("one\ntwo\nthree", span(0, 2, 2, 1), "-\r\n-", "utf-16") == "on-\r\n-hree"
    assert apply_change("one\ntwo", span(0, 3, 1, 0), "", "utf-16") == "onetwo"


def test_without_a_range_the_text_is_replaced() -> None:
    assert apply_change("one\ntwo", None, "three", "utf-16") == "three"


@pytest.mark.parametrize("backward", [span(1, 2, 0, 1), span(1, 99, 0, 1), span(9, 0, 0, 1)])
def test_a_range_whose_start_is_after_its_end_is_reversed(backward: types.Range) -> None:
    forward = types.Range(backward.end, backward.start)
    changed = apply_change("abc\nde", backward, "X", "utf-16")
    assert changed == apply_change("abc\nde", forward, "X", "utf-16") == "aX"


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_two_surrogate_halves_become_one_character(encoding: str) -> None:
    half = apply_change("ab", span(0, 1, 0, 1), "\ud83d", encoding)
    assert half == "a\ud83db"
    place = {"utf-8": 4, "utf-16": 2, "utf-32": 2}[encoding]
    after = span(0, place, 0, place)
    assert apply_change(half, after, "\ude00", encoding) == "a😀b"
    assert apply_change("a\ude00b", span(0, 1, 0, 1), "\ud83d", encoding) == "a😀b"
    assert apply_change("\ud83dx\ude00", span(0, place - 1, 0, place), "", encoding) == "😀"


# --- against another way to do it ----------------------------------------------------------

ALPHABET = [*"ab\n\r\x0b\x0c\x1c\x1e\x85\u2028\u2029é€😀𐐀", "\ud83d", "\ude00", "\r\n"]


def whole(text: str) -> str:
    """Return the text as JSON decodes it: adjacent surrogate halves become one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def expected_place(text: str, position: types.Position, encoding: str) -> int:
    """Compute the offset of a position character by character."""
    codec, width = CODECS[encoding]
    pieces = re.split(r"(\r\n|\n|\r)", text)
    lines, line_ends = pieces[::2], [*pieces[1::2], ""]
    if position.line >= len(lines):
        return len(text)
    before = sum(map(len, lines[: position.line] + line_ends[: position.line]))
    sizes = [len(one.encode(codec, "surrogatepass")) // width for one in lines[position.line]]
    return before + sum(end <= position.character for end in itertools.accumulate(sizes))


texts = st.lists(st.sampled_from(ALPHABET), max_size=30).map("".join).map(whole)
positions = st.builds(types.Position, st.integers(0, 9), st.integers(0, 20))


@given(texts, positions, positions, texts, st.sampled_from(ENCODINGS))
def test_changes_match_a_simple_implementation(
    text: str, start: types.Position, end: types.Position, new_text: str, encoding: str
) -> None:
    first, last = sorted(expected_place(text, one, encoding) for one in (start, end))
    changed = apply_change(text, types.Range(start, end), new_text, encoding)
    assert changed == whole(text[:first] + new_text + text[last:])


@given(texts, positions, st.sampled_from(ENCODINGS))
def test_an_empty_change_leaves_the_text(
    text: str, position: types.Position, encoding: str
) -> None:
    assert apply_change(text, types.Range(position, position), "", encoding) == text


# --- documents -----------------------------------------------------------------------------

URI = "file:///folder/a.py"
PATH = Path("/folder/a.py")


def partial(text: str, *place: int) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(range=span(*place), text=text)


def opened(uri: str = URI, text: str = "one\ntwo\n") -> OpenDocuments:
    documents = OpenDocuments()
    documents.open(uri, 1, text)
    return documents


@requires_posix
def test_an_open_document_is_known_by_path_until_it_is_closed() -> None:
    documents = opened()
    assert documents.texts() == {PATH: "one\ntwo\n"}
    documents.close(URI)
    assert documents.texts() == {}
    documents.close(URI)


def test_changes_are_applied_in_order_and_give_the_version() -> None:
    documents = opened()
    whole_text = types.TextDocumentContentChangeWholeDocument(text="😀\nnew")
    changes: list[types.TextDocumentContentChangeEvent] = [
        partial("x\n", 0, 0, 0, 0),
        whole_text,
        partial("y", 0, 2, 1, 1),
    ]
    documents.change(URI, 7, changes, types.PositionEncodingKind.Utf16)
    document = documents.get(URI)
    assert document is not None
    assert (document.version, document.text) == (7, "😀yew")


def test_a_change_without_changes_gives_the_version() -> None:
    documents = opened()
    documents.change(URI, 2, [], "utf-16")
    document = documents.get(URI)
    assert document is not None
    assert (document.version, document.text) == (2, "one\ntwo\n")


def test_a_change_to_a_document_that_is_not_open_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents = OpenDocuments()
    with caplog.at_level(logging.DEBUG, "winnow.frontends.lsp.documents"):
        documents.change(URI, 2, [partial("x", 0, 0, 0, 0)], "utf-16")
    assert documents.get(URI) is None
    [record] = caplog.records
    assert record.levelno == logging.DEBUG
    assert URI in record.getMessage()


def test_a_document_opened_twice_has_the_newest_text_and_is_closed_once() -> None:
    documents = opened()
    documents.open(URI, 1, "newer")
    assert list(documents.texts().values()) == ["newer"]
    documents.close(URI)
    assert documents.texts() == {}


def test_a_document_that_is_not_a_file_has_no_path() -> None:
    documents = OpenDocuments()
    uris = ["untitled:Untitled-1", "git:/folder/a.py", "file://[", "file:///\ud800", "", "%"]
    uris.append("file:///folder/a%00.py")
    for uri in uris:
        documents.open(uri, 1, "a")
        documents.change(uri, 2, [partial("b", 0, 1, 0, 1)], "utf-16")
    assert documents.texts() == {}
    kept = [documents.get(uri) for uri in uris]
    assert [one.text for one in kept if one] == ["ab"] * len(uris)


def test_a_uri_may_be_quoted_in_more_than_one_way() -> None:
    documents = opened("file:///folder/a%20%28b%29.py", "x")
    documents.change("file:///folder/a%20(b).py", 2, [partial("y", 0, 1, 0, 1)], "utf-16")
    assert list(documents.texts().values()) == ["xy"]
    documents.close("file:///folder/a (b).py")
    assert documents.texts() == {}


@requires_posix
def test_names_with_invalid_unicode_are_distinct() -> None:
    documents = opened("file:///folder/%FE.py", "a")
    documents.open("file:///folder/%FF.py", 1, "b")
    assert documents.texts() == {Path("/folder/\udcfe.py"): "a", Path("/folder/\udcff.py"): "b"}


def test_the_last_opened_of_two_uris_for_a_file_wins() -> None:
    documents = opened()
    documents.open(f"{URI}#part", 1, "part")
    documents.open(URI, 1, "again")
    assert list(documents.texts().values()) == ["again"]
    documents.close(URI)
    assert list(documents.texts().values()) == ["part"]


def test_returned_texts_do_not_change() -> None:
    documents = opened()
    before = documents.texts()
    documents.change(URI, 2, [partial("x", 0, 0, 0, 0)], "utf-16")
    assert list(before.values()) == ["one\ntwo\n"]


@pytest.mark.parametrize(
    "text", ["some words on a line\n", "ein paar Wörter 😀 \r\n", "ein Wört😀"]
)
def test_a_change_to_a_document_of_ten_million_characters_is_fast(text: str) -> None:
    big = text * (10_000_000 // len(text))
    place = (big.count("\n"), 0) if "\n" in text else (0, 9_000_000)
    before = time.process_time()  # other programs don't count
    changed = apply_change(big, span(*place, *place), "x", "utf-16")
    assert time.process_time() - before < 1
    assert len(changed) == len(big) + 1
