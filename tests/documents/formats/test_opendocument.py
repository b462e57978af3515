"""OpenDocument texts, sheets and slides."""

from __future__ import annotations

import pytest

from documents.making_office import O, lines, opendocument, places, shown
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable


def test_a_text_has_paragraphs_and_headings() -> None:
    body = (
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
        '<text:h text:outline-level="1">First</text:h>'
        "<text:p>\n  One<text:s/> two<text:tab/>three<text:line-break/>fo<text:span>ur</text:span>"
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation>'
        "<text:note-body><text:p>A note</text:p></text:note-body></text:note>.\n</text:p>"
        '<text:h text:outline-level="2">Second</text:h>'
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p>"
        "</table:table-cell><table:table-cell><text:p>c</text:p></table:table-cell>"
        "</table:table-row></table:table>"
        "<text:p>be<draw:frame><draw:text-box><text:p>box</text:p></draw:text-box></draw:frame>"
        "fore<office:annotation><text:p>Why?</text:p></office:annotation></text:p>"
    )
    assert places("a.odt", opendocument("odt", body)) == [
        ("First", DocumentLocation(section="First", paragraph=1)),
        ("One  two\tthree four.", DocumentLocation(section="First", paragraph=2)),
        ("Second", DocumentLocation(section="First > Second", paragraph=3)),
        ("a b\tc", DocumentLocation(section="First > Second", paragraph=4)),
        ("before", DocumentLocation(section="First > Second", paragraph=5)),
        ("box", DocumentLocation(section="First > Second", paragraph=6)),
        ("A note", DocumentLocation(section="Footnotes", paragraph=1)),
        ("Why?", DocumentLocation(section="Comments", paragraph=1)),
    ]


def test_headers_and_footers_follow_the_text() -> None:
    styles = (
        f"<office:document-styles {O}><office:master-styles><style:master-page>"
        "<style:header><text:p>Above</text:p></style:header>"
        "<style:footer><text:p>Page <text:page-number>1</text:page-number></text:p></style:footer>"
        "</style:master-page></office:master-styles></office:document-styles>"
    )
    document = opendocument("odt", "<text:p>Text</text:p>", {"styles.xml": styles})
    assert shown("a.odt", document) == [
        "Text",
        "──── Headers ────",
        "Above",
        "──── Footers ────",
        "Page",
    ]


def cell(text: str, attributes: str = "") -> str:
    return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"


def test_repeated_empty_cells_are_skipped_and_other_repetitions_are_limited() -> None:
    body = (
        '<table:table table:name="S"><table:table-row table:number-rows-repeated="1048000">'
        '<table:table-cell table:number-columns-repeated="16384"/></table:table-row>'
        f'<table:table-row><table:table-cell table:number-columns-repeated="2"/>{cell("x")}'
        "<table:covered-table-cell/>"
        + cell("y", 'table:number-columns-repeated="2"')
        + '</table:table-row><table:table-row table:number-rows-repeated="1000000">'
        + cell("z", 'table:number-columns-repeated="100000"')
        + "</table:table-row></table:table>"
    )
    found = places("a.ods", opendocument("ods", body))
    assert found[0] == ("x\t\ty\ty", DocumentLocation(sheet="S", row=1048001, column=3))
    assert found[1] == ("\t".join("z" * 64), DocumentLocation(sheet="S", row=1048002, column=1))
    assert found[-1][1] == DocumentLocation(sheet="S", row=1048101, column=1)
    assert len(found) == 101


def test_a_cell_without_text_shows_its_value_and_notes_follow() -> None:
    body = (
        '<table:table table:name="S"><table:table-row>'
        '<table:table-cell office:date-value="2024-01-31"/>'
        "<table:table-cell><office:annotation><text:p>Note</text:p></office:annotation>"
        "<text:p>31.01.24</text:p></table:table-cell>"
        '<table:table-cell office:value="1500"><text:p>1.500,00 €</text:p></table:table-cell>'
        "</table:table-row></table:table>"
    )
    assert places("a.ods", opendocument("ods", body)) == [
        ("2024-01-31\t31.01.24\t1500 (1.500,00 €)", DocumentLocation(sheet="S", row=1, column=1)),
        ("Note", DocumentLocation(sheet="S", row=1, column=2)),
    ]


def test_slides_have_titles_and_notes() -> None:
    def frame(text: str, kind: str = "") -> str:
        box = f"<draw:text-box><text:p>{text}</text:p></draw:text-box>"
        return f'<draw:frame presentation:class="{kind}">{box}</draw:frame>'

    notes = f"<presentation:notes>{frame('Say it')}</presentation:notes>"
    body = (
        f"<draw:page>{frame('point')}{frame('Budget', 'title')}{notes}</draw:page>"
        f"<draw:page>{frame('more')}</draw:page>"
    )
    assert shown("a.odp", opendocument("odp", body)) == [
        "──── Slide 1: Budget ────",
        "point",
        "Budget",
        "──── Slide 1: notes ────",
        "Say it",
        "──── Slide 2 ────",
        "more",
    ]


def test_a_flat_document_is_read_without_its_images() -> None:
    document = (
        f"<office:document {O}><office:meta><text:p>no</text:p></office:meta><office:body>"
        "<office:text><text:p>Yes<draw:frame><draw:image><office:binary-data>QUJD"
        "</office:binary-data></draw:image></draw:frame></text:p></office:text></office:body>"
        "</office:document>"
    )
    assert lines("a.fodt", document.encode()) == ["Yes"]


def test_an_encrypted_document_is_reported() -> None:
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/>'
        "</manifest:file-entry></manifest:manifest>"
    )
    document = opendocument("odt", "", {"META-INF/manifest.xml": manifest})
    with pytest.raises(Unreadable, match=r"^it is encrypted: a password is needed$"):
        lines("a.odt", document)
