"""HTML pages."""

from __future__ import annotations

import time

import pytest

from documents.making_office import lines, places, shown
from winnow.documents.library.locations import DocumentLocation


def page(text: str) -> list[str]:
    return lines("a.html", text.encode())


def test_only_visible_text_is_read() -> None:
    assert page(
        "<!DOCTYPE html><head><title>A &amp; B</title><style>p{}</style><meta charset=utf-8></head>"
        "<body><!-- no --><script>if (a<b) '<p>no</p>'</script><template><p>no</p></template>"
        "<p>One  <b>bo</b>ld\n line</p>Bare<div>inner<div>deep</div>tail</div><br>x<br/>y"
        "<noscript>no</noscript><STYLE>no</STYLE><script src=x /><p>still</script>"
    ) == ["A & B", "One bold line", "Bare", "inner", "deep", "tail", "x", "y", "still"]


@pytest.mark.parametrize("text", ["", '<input type="{{ kind }}">', "<script src=app.js></script>"])
def test_a_page_without_text_is_no_problem(text: str) -> None:
    assert page(text) == []


def test_headings_start_sections() -> None:
    document = b"<title>T</title><h1>A<span>B</span></h1><p>x<h2>C</h2>y<h1>D</h1>"
    assert places("a.htm", document) == [
        ("T", DocumentLocation()),
        ("AB", DocumentLocation(section="AB")),
        ("x", DocumentLocation(section="AB")),
        ("C", DocumentLocation(section="AB > C")),
        ("y", DocumentLocation(section="AB > C")),
        ("D", DocumentLocation(section="D")),
    ]
    assert shown("a.html", document)[1] == "──── AB ────"


def test_a_table_row_is_a_line_unless_the_table_is_for_layout() -> None:
    assert page(
        "<table><tr><th>a\n<th> b c <tr><td><p>x</p><p>y</p></td> <td>z<br>w</td></tr></table>"
        "after<table><tr><td>menu<td>" + "long " * 300 + "<p>para</p><p>graph</p></table>"
        "<table><tr><td>outer<table><tr><td>1<td>2</table>rest</table>"
    ) == [
        "a\tb c",
        "x y\tz w",
        "after",
        "menu\t" + ("long " * 300).strip(),
        "para graph",
        "outer",
        "1\t2",
        "rest",
    ]


def test_preformatted_text_keeps_its_lines() -> None:
    assert page("<pre>a\n  b &lt;c&gt;\n\n</pre>d  e") == ["a", "  b <c>", "d e"]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("é€".encode(), "é€"),
        ("é€".encode("cp1252"), "é€"),
        ("é€".encode("utf-8-sig"), "é€"),
        ("é€".encode("utf-16"), "é€"),
        (b"<meta charset='koi8-r'>" + "мир".encode("koi8-r"), "мир"),
        (b'<meta content="text/html; charset=Shift_JIS">' + "日本".encode("cp932"), "日本"),
        (b'<?xml version="1.0" encoding="iso-8859-1"?>\x93a\x94', "“a”"),
        (b"<meta charset=utf-16>" + "é".encode(), "é"),
        (b"<meta charset=bz2>" + "é".encode(), "é"),
        (b"<meta charset=utf-8>ok \xff", "ok \ufffd"),
    ],
)
def test_the_encoding_is_declared_or_detected(raw: bytes, expected: str) -> None:
    assert lines("a.html", raw) == [expected]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("a < b <3 <> c", ["a < b <3 <> c"]),
        ("<p>a<p title='x>y'>b</i></div></td></tr></p>c", ["a", "b", "c"]),
        ('<p title="never closed>a</p>b', ["a", "b"]),
        ("a<b", ["a"]),
        ("a<!-- never closed", ["a"]),
        ("a<script>never closed", ["a"]),
        ("a &amp &#x1F600; &#xD800; &nosuch; &", ["a & 😀 \ufffd &nosuch; &"]),
        ("a<![CDATA[<b>]]>c", ["a<b>c"]),
        # Python refuses to convert so many digits.
        (f"a &#{'9' * 5_000}; b", ["a \ufffd b"]),
    ],
)
def test_invalid_markup_is_never_an_error(markup: str, expected: list[str]) -> None:
    assert page(markup) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<!--", "<!", "</", "&", "<a='", '<a="x', "<div>", "<table><tr><td>", "<![CDATA["],
)
def test_the_time_is_linear_in_the_length_of_a_page(piece: str) -> None:
    markup = "seen<p>" + piece * (500_000 // len(piece))
    began = time.process_time()
    assert page(markup)[0] == "seen"
    # A quadratic scan would take hours.
    assert time.process_time() - began < 30
