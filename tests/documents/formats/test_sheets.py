"""Excel workbooks."""

from __future__ import annotations

import io

import pytest

from documents.making_office import X, lines, places, relations, sheet, shown, xlsx
from winnow.documents.extract.input_stream import Budget, DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.formats.sheets import number_format, number_text, read_by_calamine
from winnow.documents.library.locations import DocumentLocation, TextMap, cell_at
from winnow.documents.unreadable import Unreadable

STYLES = (
    f'<styleSheet {X}><numFmts><numFmt numFmtId="170" formatCode="[$-407]d/\\ mmm\\ yyyy;@"/>'
    '</numFmts><cellStyleXfs><xf numFmtId="9"/></cellStyleXfs>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/><xf numFmtId="170"/>'
    "</cellXfs></styleSheet>"
)
TEXTS = (
    f"<sst {X}><si><t>plain</t></si><si><r><t>ri</t></r><r><t>ch</t></r><rPh><t>x</t></rPh></si>"
    "</sst>"
)


def test_cells_are_read_as_displayed() -> None:
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
        '<c r="C1" t="inlineStr"><is><t>in</t><r><t>line</t></r></is></c>'
        '<c r="D1" t="str"><f>A1</f><v>formula</v></c><c r="E1" t="b"><v>1</v></c>'
        '<c r="F1" t="e"><v>#N/A</v></c><c r="G1"><v>3.0</v></c><c r="H1"><v>0.1</v></c>'
        '<c r="I1"><v>0.30000000000000004</v></c><c r="J1" s="1"><v>45322</v></c>'
        '<c r="K1" s="2"><v>0.255</v></c><c r="L1" s="3"><v>45322</v></c>'
        '<c r="M1" t="s"><v>99</v></c></row>'
    )
    document = xlsx({"One": sheet(rows)}, {"styles.xml": STYLES, "sharedStrings.xml": TEXTS})
    assert lines("a.xlsx", document) == [
        "plain\trich\tinline\tformula\tTRUE\t#N/A\t3\t0.1\t0.3\t2024-01-31\t0.255 (25.50%)"
        "\t2024-01-31 (31/ Jan 2024)"
    ]


def test_a_gap_between_cells_starts_a_new_location() -> None:
    rows = (
        '<row r="2"><c r="B2"><v>1</v></c><c r="D2"><v>2</v></c></row>'
        '<row r="3"><c r="B3"><v>3</v></c></row><row r="4"/>'
        '<row r="7"><c r="A7"><v>4</v></c><c r="XFD7"><v>5</v></c></row>'
        "<row><c><v>6</v></c><c><v>7</v></c></row>"
    )
    found = places("a.xlsx", xlsx({"Data": sheet(rows)}))
    assert found == [
        ("1\t\t2", DocumentLocation(sheet="Data", row=2, column=2)),
        ("3", DocumentLocation(sheet="Data", row=3, column=2)),
        ("4", DocumentLocation(sheet="Data", row=7, column=1)),
        ("5", DocumentLocation(sheet="Data", row=7, column=16384)),
        ("6\t7", DocumentLocation(sheet="Data", row=8, column=1)),
    ]
    assert cell_at(found[0][1], "1\t\t") == "D2"
    assert cell_at(found[3][1], "") == "XFD7"


def test_sheets_have_rulers_and_notes_and_drawings_follow() -> None:
    row = '<row r="1"><c r="A1"><v>1</v></c></row>'
    parts = {
        "worksheets/_rels/sheet1.xml.rels": relations(
            {"c": ("comments", "../comments1.xml"), "d": ("drawing", "../drawings/d.xml")}
        ),
        "comments1.xml": f'<comments {X}><commentList><comment ref="C3"><text><r><t>No</t></r>'
        "<r><t>te</t></r></text></comment></commentList></comments>",
        "drawings/d.xml": '<a:p xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        "<a:r><a:t>Arrow</a:t></a:r></a:p>",
    }
    document = xlsx({"First": sheet(row), "Empty": sheet(""), "Last": sheet(row)}, parts)
    assert shown("a.xlsx", document) == [
        "──── Sheet First ────",
        "1",
        "──── Sheet First: notes ────",
        "Note",
        "──── Sheet First: drawings ────",
        "Arrow",
        "──── Sheet Last ────",
        "1",
    ]
    assert places("a.xlsx", document)[1] == (
        "Note",
        DocumentLocation(sheet="First", row=3, column=3),
    )


@pytest.mark.parametrize(
    ("code", "value", "expected"),
    [
        ("General", "12345678901234", "12345678901234"),
        ("General", "1E+3", "1000"),
        ("General", "-0.5", "-0.5"),
        ("#,##0.00", "1234.5", "1234.5 (1,234.50)"),
        ('#,##0 "EUR"', "1500", "1500 (1,500 EUR)"),
        ("#,##0.00_);[Red](#,##0.00)", "-1234.5", "-1234.5 ((1,234.50))"),
        ("[$€-407] #,##0.##", "-12000", "-12000 (-€ 12,000)"),
        ("00000", "1234", "01234"),
        ("0.00", "1.005", "1.005 (1.01)"),
        ("0.0,", "1234", "1234"),
        ("# ?/?", "0.5", "0.5"),
        ("0.00E+00", "1234", "1234"),
        ("0.00", "1e300", "1e+300"),
        ("0%", "0.25", "0.25 (25%)"),
        ("0.0#%", "0.25", "0.25 (25.0%)"),
        ("yyyy\\-mm\\-dd", "45322", "2024-01-31"),
        ("mmm yy", "45322", "2024-01-31 (Jan 24)"),
        ("dddd, d/m/yyyy", "45322", "2024-01-31 (Wednesday, 31/1/2024)"),
        ("dd.mm.yyyy hh:mm", "45322.5", "2024-01-31 12:00 (31.01.2024 12:00)"),
        ("h:mm AM/PM", "0.573611", "13:46 (1:46 PM)"),
        ("mm:ss", "0.0005", "00:00:43"),
        ("[h]:mm", "1.25", "30:00:00"),
        ('0 "days"', "3", "3 days"),
        ("[Red]0.0", "3", "3.0"),
        ("yyyy", "1", "1900-01-01"),
        ("yyyy", "59", "1900-02-28"),
        ("yyyy", "61", "1900-03-01"),
        ("yyyy", "1e300", "1e300"),
        ("yyyy", "nonsense", "nonsense"),
        ("General", "inf", "inf"),
        ("yyyy", "nan", "nan"),
    ],
)
def test_numbers_are_written_by_their_formats(code: str, value: str, expected: str) -> None:
    assert number_text(value, number_format(code)) == expected


def test_dates_count_from_1904_in_workbooks_with_that_setting() -> None:
    rows = '<row r="1"><c r="A1" s="1"><v>43860</v></c></row>'
    document = xlsx(
        {"One": sheet(rows)}, {"styles.xml": STYLES}, properties='<workbookPr date1904="1"/>'
    )
    assert lines("a.xlsx", document) == ["2024-01-31"]


def old(name: str, document: bytes) -> list[tuple[str, DocumentLocation]]:
    """Read a workbook with calamine, which reads old and binary workbooks."""
    text = bytearray()
    output = TextOutput(text.extend, 1 << 20)
    source = DocumentInput(name, io.BytesIO(document), len(document), budget=Budget(1 << 20, 1))
    read_by_calamine(source, output)
    found = TextMap("xls", output.lines, tuple(output.anchors))
    return [
        (line, found.place_at(number)) for number, line in enumerate(text.decode().splitlines(), 1)
    ]


def test_old_and_binary_workbooks_have_the_same_locations() -> None:
    rows = (
        '<row r="3"><c r="B3" t="str"><v>a</v></c><c r="D3"><v>3.0</v></c></row>'
        '<row r="4"><c r="B4" s="1"><v>45322</v></c><c r="C4" s="1"><v>45322.5</v></c>'
        '<c r="D4" t="b"><v>1</v></c></row><row r="9"><c r="C9"><v>0.5</v></c></row>'
    )
    book = xlsx({"Empty": sheet(""), "Old": sheet(rows)}, {"styles.xml": STYLES})
    assert old("a.xls", book) == [
        ("a\t\t3", DocumentLocation(sheet="Old", row=3, column=2)),
        ("2024-01-31\t2024-01-31 12:00\tTRUE", DocumentLocation(sheet="Old", row=4, column=2)),
        ("0.5", DocumentLocation(sheet="Old", row=9, column=3)),
    ]


def test_a_new_workbook_may_have_an_old_extension() -> None:
    row = '<row r="1"><c r="A1"><v>1</v></c></row>'
    assert lines("a.xls", xlsx({"One": sheet(row)})) == ["1"]


def test_an_invalid_old_workbook_is_damaged() -> None:
    with pytest.raises(Unreadable, match=r"^it is damaged: "):
        lines("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))
    with pytest.raises(Unreadable, match=r"^it is damaged: it does not match its file extension$"):
        lines("a.xls", b"<html><table><tr><td>1</table>")


def test_invalid_numbers_do_no_harm() -> None:
    digits = "9" * 5000
    rows = (
        f'<row r="{digits}"><c r="A1" t="s"><v>{digits}</v></c><c r="ZZZZ1"><v>1</v></c>'
        f'<c r="{digits}" t="zzz" s="{digits}"><v>2</v></c></row>'
    )
    document = xlsx({"One": sheet(rows)}, {"sharedStrings.xml": TEXTS})
    assert [line for line, _ in places("a.xlsx", document)] == ["1\t2"]
