"""Word documents."""

from __future__ import annotations

import io
import zipfile

from documents.making_office import W, docx, lines, make_docx, paragraph, places, shown, zipped
from winnow.documents.library.locations import DocumentLocation

STRICT = "http://purl.oclc.org/ooxml"


def run(content: str) -> str:
    return f"<w:p><w:r>{content}</w:r></w:p>"


def test_each_paragraph_with_text_is_a_line_with_its_number() -> None:
    assert places("a.docx", make_docx(["One", "", "Two & <three>"])) == [
        ("One", DocumentLocation(paragraph=1)),
        ("Two & <three>", DocumentLocation(paragraph=2)),
    ]


def test_headings_by_style_name_level_or_base_style_start_sections() -> None:
    body = (
        paragraph("Before")
        + paragraph("Einleitung", "berschrift1")
        + paragraph("Text")
        + paragraph("Details", "H2")
        + paragraph("Mine", "Mine")
        + '<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Own</w:t></w:r></w:p>'
        + '<w:p><w:pPr><w:pStyle w:val="H2"/><w:outlineLvl w:val="9"/></w:pPr>'
        + "<w:r><w:t>No heading</w:t></w:r></w:p>"
    )
    assert places("a.docx", docx(body)) == [
        ("Before", DocumentLocation(paragraph=1)),
        ("Einleitung", DocumentLocation(section="Einleitung", paragraph=2)),
        ("Text", DocumentLocation(section="Einleitung", paragraph=3)),
        ("Details", DocumentLocation(section="Einleitung > Details", paragraph=4)),
        ("Mine", DocumentLocation(section="Mine", paragraph=5)),
        ("Own", DocumentLocation(section="Mine > Own", paragraph=6)),
        ("No heading", DocumentLocation(section="Mine > Own", paragraph=7)),
    ]


def test_runs_in_a_word_are_joined_and_breaks_separate() -> None:
    body = (
        "<w:p><w:r><w:t>bro</w:t></w:r><w:hyperlink><w:r><w:t>wn</w:t></w:r></w:hyperlink>"
        "<w:r><w:tab/><w:t>fox</w:t><w:br/><w:t>runs</w:t><w:cr/><w:t>up</w:t></w:r></w:p>"
        + run("<w:t>non</w:t><w:noBreakHyphen/><w:t>stop soft</w:t><w:softHyphen/><w:t>ly</w:t>")
        + run('<w:sym w:font="Wingdings" w:char="F0FC"/><w:t>done</w:t><w:sym w:char="03B1"/>')
    )
    assert lines("a.docx", docx(body)) == ["brown\tfox runs up", "non-stop softly", "doneα"]


def test_tab_stops_are_not_text() -> None:
    body = "<w:p><w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr><w:r><w:t>a</w:t></w:r></w:p>"
    assert lines("a.docx", docx(body)) == ["a"]


def test_a_row_is_a_line_with_tabs_between_its_cells() -> None:
    inner = (
        f"<w:tbl><w:tr><w:tc>{paragraph('x')}</w:tc><w:tc>{paragraph('y')}</w:tc></w:tr></w:tbl>"
    )
    body = (
        "<w:tbl><w:tr>"
        f"<w:tc>{paragraph('Two')}{paragraph('paragraphs')}</w:tc><w:tc>{paragraph('')}</w:tc>"
        f"<w:tc>{inner}</w:tc></w:tr><w:tr><w:tc>{paragraph('')}</w:tc>"
        f"<w:tc>{paragraph('second')}</w:tc></w:tr></w:tbl>" + paragraph("after")
    )
    assert places("a.docx", docx(body)) == [
        ("Two paragraphs\t\tx y", DocumentLocation(paragraph=1)),
        ("\tsecond", DocumentLocation(paragraph=2)),
        ("after", DocumentLocation(paragraph=3)),
    ]


def test_deleted_and_moved_text_and_field_codes_are_left_out() -> None:
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r>"
        "<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:instrText>PAGEREF x</w:instrText></w:r><w:r><w:t> 12</w:t></w:r></w:p>"
    )
    assert lines("a.docx", docx(body)) == ["kept inserted 12"]


def test_a_text_box_is_read_once_and_after_its_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph('in the box')}</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>be</w:t></w:r><w:r><mc:AlternateContent>"
        f"<mc:Choice Requires='wps'>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
        "</mc:AlternateContent></w:r><w:r><w:t>fore</w:t></w:r></w:p>"
    )
    assert lines("a.docx", docx(body)) == ["before", "in the box"]


def test_notes_comments_and_headers_follow_the_text() -> None:
    parts = {
        "footnotes.xml": f"<w:footnotes {W}><w:footnote>{paragraph('A note')}</w:footnote>"
        "</w:footnotes>",
        "comments.xml": f"<w:comments {W}><w:comment>{paragraph('Why?')}</w:comment></w:comments>",
        "header1.xml": f"<w:hdr {W}>{paragraph('Secret')}{paragraph('7')}</w:hdr>",
        "header2.xml": f"<w:hdr {W}>{paragraph('Secret')}</w:hdr>",
    }
    kinds = {name: name.rstrip("12.xml").rstrip("12") for name in parts}
    assert kinds["header1.xml"] == "header"
    assert shown("a.docx", docx(paragraph("Text"), parts, kinds)) == [
        "Text",
        "──── Footnotes ────",
        "A note",
        "──── Comments ────",
        "Why?",
        "──── Headers ────",
        "Secret",
    ]


def test_formulas_are_read() -> None:
    body = "<w:p><m:oMath><m:r><m:t>E=m</m:t></m:r><m:r><m:t>c</m:t></m:r></m:oMath></w:p>"
    assert lines("a.docx", docx(body)) == ["E=mc"]


def test_a_document_in_strict_open_xml_is_read() -> None:
    with zipfile.ZipFile(io.BytesIO(docx(paragraph("Kapitel", "berschrift1")))) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    office = "http://schemas.openxmlformats.org"
    strict = {
        name: part.replace(
            f"{office}/wordprocessingml/2006/", f"{STRICT}/wordprocessingml/"
        ).replace(f"{office}/officeDocument/2006/", f"{STRICT}/officeDocument/")
        for name, part in parts.items()
    }
    assert strict["word/document.xml"] != parts["word/document.xml"]
    assert places("a.docx", zipped(strict)) == [
        ("Kapitel", DocumentLocation(section="Kapitel", paragraph=1))
    ]
