"""Documents in Rich Text Format."""

from __future__ import annotations

import pytest

from documents.making_office import lines, places, shown
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable


def rtf(body: str) -> bytes:
    return b"{\\rtf1\\ansi\\ansicpg1252\\deff0" + body.encode("latin-1") + b"}"


def test_paragraphs_are_lines_and_words_are_not_split() -> None:
    body = (
        "{\\fonttbl{\\f0\\fswiss Arial;}{\\f1\\fcharset204 Times;}}{\\colortbl;\\red0;}"
        "{\\info{\\title no}}\\pard One {\\b wo}rd\\par\n"
        "Two\\tab tabs\\line br\\'e4uche \\~x\\_y\\-z"
        "\\par {\\f1 \\'ec\\'e8\\'f0}\\par \\u8364?\\u-10179?\\u-8704? {\\uc2\\u233\\'c3\\'a9}t"
        "\\par {\\pict\\pngblip 0123456789\nabcdef}"
        "{\\*\\unknown no}{\\v hidden}{\\*\\bkmkstart x}end"
    )
    assert places("a.rtf", rtf(body)) == [
        ("One word", DocumentLocation(paragraph=1)),
        ("Two\ttabs bräuche  x-yz", DocumentLocation(paragraph=2)),
        ("мир", DocumentLocation(paragraph=3)),
        ("€😀 ét", DocumentLocation(paragraph=4)),
        ("end", DocumentLocation(paragraph=5)),
    ]


def test_headings_are_detected_by_level_and_style() -> None:
    body = (
        "{\\stylesheet{\\s1\\b heading 1;}{\\s2\\outlinelevel1 Mine;}{\\s3 Body;}}"
        "\\pard\\s1 A\\par\\pard text\\par"
        "\\pard\\s2 B\\par\\pard\\outlinelevel0 C\\par\\pard\\s3 d\\par"
    )
    assert shown("a.rtf", rtf(body)) == [
        *("──── A ────", "A", "text", "──── B ────", "B", "──── C ────", "C", "d"),
    ]


def test_a_row_is_a_line_with_tabs_between_its_cells() -> None:
    body = (
        "\\trowd\\pard\\intbl a\\par b\\cell c\\tab d\\cell\\row"
        "\\trowd{\\pard\\intbl e\\par}\n\\cell{\\pard\\intbl\\cell}f\\cell\\row\\pard after\\par"
    )
    assert lines("a.rtf", rtf(body)) == ["a b\tc d", "e\t\tf", "after"]


def test_notes_and_headers_follow_the_text() -> None:
    body = (
        "{\\header Above\\par}Text{\\*\\footnote{\\super 1} A note}s and {\\field{\\*\\fldinst no}"
        "{\\fldrslt link}}{\\*\\atnauthor no}{\\*\\annotation Why?}"
        "{\\shp{\\*\\shpinst{\\sp{\\sn n}{\\sv v}}{\\shptxt box\\par}}{\\shprslt no}}.\\par"
    )
    assert shown("a.rtf", rtf(body)) == [
        "Texts and link.",
        *("──── Headers ────", "Above"),
        *("──── Footnotes ────", "1 A note"),
        *("──── Comments ────", "Why?"),
        *("──── Text boxes ────", "box"),
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (b"{\\rtf1 cut in the mid", ["cut in the mid"]),
        (b"{\\rtf1 a}}}}b", ["ab"]),
        (b"{\\rtf1 {\\pict\\bin99999999999 x", []),
        (b"{\\rtf1\\ansicpg99999 a\\'e9 \\u \\'zz \\", ["aé zz"]),
        (b"{\\rtf1 " + b"{" * 200_000 + b"deep", ["deep"]),
        (b"{\\rtf1 {\\pict\\bin4 }}}}}seen", ["seen"]),
    ],
)
def test_a_malformed_file_is_read_as_far_as_possible(document: bytes, expected: list[str]) -> None:
    if expected:
        assert lines("a.rtf", document) == expected
    else:
        with pytest.raises(Unreadable, match=r"^it has no text$"):
            lines("a.rtf", document)


def test_a_file_that_is_not_rtf_is_damaged() -> None:
    with pytest.raises(Unreadable, match=r"^it is damaged: it does not match its file extension$"):
        lines("a.rtf", b"plain text")
