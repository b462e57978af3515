"""Damaged and hostile office documents."""

from __future__ import annotations

import io
import os
import re
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from documents.making_office import (
    CONTAINER,
    W,
    X,
    docx,
    epub,
    lines,
    make_docx,
    opendocument,
    paragraph,
    pptx,
    read,
    shape,
    sheet,
    slide,
    xlsx,
    zipped,
)
from winnow.documents.library.locations import UnreadPart
from winnow.documents.unreadable import Unreadable

ROW = '<row r="1"><c r="A1"><v>1</v></c></row>'
DOCUMENTS: dict[str, Callable[[], bytes]] = {
    "a.docx": lambda: make_docx(["One", "Two"] * 500),
    "a.pptx": lambda: pptx([1], {"slides/slide1.xml": slide(shape("One") * 500)}),
    "a.xlsx": lambda: xlsx({"One": sheet(ROW * 500)}),
    "a.odt": lambda: opendocument("odt", "<text:p>One</text:p>" * 500),
    "a.epub": lambda: epub({"a.xhtml": "<body><p>One</p>" * 500}),
}


def why_unreadable(name: str, document: bytes) -> str:
    """Return the reason why a document is unreadable, or nothing if it has text."""
    try:
        read(name, document)
    except Unreadable as reason:
        return str(reason)
    return ""


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_truncated_document_is_reported_as_damaged(name: str) -> None:
    intact = DOCUMENTS[name]()
    assert lines(name, intact)
    for length in [1, 2, 4, 30, 100, *(len(intact) * part // 10 for part in range(1, 10)), -1]:
        with pytest.raises(Unreadable, match=r"^it is damaged: "):
            lines(name, intact[:length])
    with pytest.raises(Unreadable, match=r"^it is empty$"):
        lines(name, b"")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_any_wrong_byte_is_handled(name: str) -> None:
    intact = DOCUMENTS[name]()
    for at in range(0, len(intact), max(len(intact) // 150, 1)):
        damaged = bytearray(intact)
        damaged[at] ^= 0x55
        reason = why_unreadable(name, bytes(damaged))
        assert not reason or re.search("it is damaged: |it is encrypted: |it has no text", reason)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_missing_part_is_named(name: str) -> None:
    with pytest.raises(Unreadable, match=r"^it is damaged: its part [\w/.-]+ is missing$"):
        lines(name, zipped({"other.txt": "x"}))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_an_encrypted_part_is_reported(name: str) -> None:
    intact = bytearray(DOCUMENTS[name]())
    with zipfile.ZipFile(io.BytesIO(intact)) as archive:
        count = len(archive.infolist())
        at = archive.start_dir
    for _ in range(count):  # the flags in the directory at the end
        intact[at + 8] |= 1
        lengths = struct.unpack_from("<3H", intact, at + 28)
        at += 46 + sum(lengths)
    with pytest.raises(Unreadable, match=r"^it is encrypted: a password is needed$"):
        lines(name, bytes(intact))


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
def test_an_office_document_with_a_password_is_a_compound_file(name: str) -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1000)
    with pytest.raises(Unreadable, match=r"^it is encrypted: a password is needed$"):
        lines(name, ole + "EncryptedPackage".encode("utf-16-le") + bytes(1000))
    with pytest.raises(Unreadable, match=r"older Microsoft Office"):
        lines(name, ole)


BOMBS = {
    "billion laughs": '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>',
    "an outer entity": '<!DOCTYPE x [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
    "an entity of parameters": '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]>',
}


@pytest.mark.parametrize("declared", BOMBS.values(), ids=list(BOMBS))
def test_no_entity_is_expanded(declared: str) -> None:
    body = f"<w:document {W}><w:body>{paragraph('Seen')}<w:p><w:r><w:t>&b;</w:t></w:r></w:p>"
    document = zipped({"word/document.xml": f"{declared}{body}</w:body></w:document>"})
    with pytest.raises(Unreadable, match="declares entities, which are not expanded"):
        lines("a.docx", document)


def test_an_external_document_type_is_not_loaded() -> None:
    declared = '<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'
    body = f"<w:document {W}><w:body>{paragraph('Seen')}</w:body></w:document>"
    assert lines("a.docx", zipped({"word/document.xml": declared + body})) == ["Seen"]


def test_text_read_before_the_damage_is_kept() -> None:
    text, found = read("a.docx", docx(paragraph("Seen") + "<w:p></w:q>" + paragraph("Not")))
    assert text == ["Seen"]
    assert found.failed[0].reason.startswith("it is damaged: XML with an error: mismatched tag")


def nested(inner: str, *elements: str) -> str:
    """Return these elements, nested 100,000 times."""
    times = 100_000 // len(elements)
    begin = "".join(f"<{name}>" for name in elements)
    end = "".join(f"</{name}>" for name in reversed(elements))
    return begin * times + inner + end * times


CELLS = nested("<text:p>deep</text:p>", "table:table-cell")
TABLE = f"<table:table><table:table-row>{CELLS}</table:table-row></table:table>"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("a.docx", docx(nested(paragraph("deep"), "w:tbl", "w:tr", "w:tc"))),
        ("a.docx", docx(nested("<w:r><w:t>deep</w:t></w:r>", "w:p"))),
        ("a.docx", docx(nested(paragraph("deep"), "w:p", "w:txbxContent"))),
        ("a.pptx", pptx([1], {"slides/slide1.xml": slide(nested(shape("deep"), "a:tr", "a:tc"))})),
        ("a.xlsx", xlsx({"One": sheet(nested("<v>deep</v>", "row", "c"))})),
        ("a.odt", opendocument("odt", nested("deep", "text:p"))),
        ("a.odt", opendocument("odt", nested("<text:p>deep</text:p>", "text:note-body"))),
        ("a.ods", opendocument("ods", TABLE)),
        ("a.epub", epub({"a.xhtml": "<div>" * 100_000 + "deep"})),
        ("a.html", b"<table><tr><td>" * 100_000 + b"deep"),
        ("a.fb2", f"<body>{nested('<p>deep</p>', 'section')}</body>".encode()),
    ],
)
def test_deeply_nested_elements_are_read(name: str, document: bytes) -> None:
    assert lines(name, document) == ["deep"]


def test_wrong_bytes_in_a_part_are_damage() -> None:
    part = f"<w:document {W}><w:body>{paragraph('Seen')}".encode() + b"<w:p>\xff\xfe</w:p>"
    text, found = read("a.docx", zipped({"word/document.xml": part}))
    assert text == ["Seen"]
    assert "not well-formed" in found.failed[0].reason


def test_parts_may_be_in_other_encodings() -> None:
    part = f'<?xml version="1.0" encoding="UTF-16"?><w:document {W}><w:body>{paragraph("Grüße")}'
    document = zipped({"word/document.xml": f"{part}</w:body></w:document>".encode("utf-16")})
    assert lines("a.docx", document) == ["Grüße"]


# --- what must not take all memory ---------------------------------------------------------------

MEASURED = """
import resource, sys
from winnow.documents.extract.extraction import extract
resource.setrlimit(resource.RLIMIT_DATA, (256 << 20, 256 << 20))
text = 0
def count(line):
    global text
    text += 1
found = extract(sys.argv[1], open(sys.argv[1], "rb"), count)
status = open("/proc/self/status").read()
print(text, int(status.partition("VmHWM:")[2].split()[0]) // 1024)
for failure in found.failed:
    print(failure.reason)
"""


def measured(path: Path) -> tuple[int, int, list[str]]:
    """Return the lines of a document, the peak memory in MiB, and the unreadable parts."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    first, *failures = done.stdout.splitlines()
    count, mebibytes = map(int, first.split())
    return count, mebibytes, failures


def zip_of(path: Path, parts: dict[str, tuple[bytes, bytes, int, bytes]]) -> Path:
    """Return an archive whose part is a start, a repeated middle and an end."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, (begin, again, times, end) in parts.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(begin)
                block = again * 1000
                for _ in range(times // 1000):
                    file.write(block)
                file.write(end)
    return path


needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="measured by /proc")


@pytest.mark.slow
@needs_proc
def test_a_part_that_unpacks_to_300_megabytes_spends_the_budget(tmp_path: Path) -> None:
    begin = f"<w:document {W}><w:body>{paragraph('Seen')}".encode()
    parts = {"word/document.xml": (begin, b"<!--" + b"x" * 1000 + b"-->", 300_000, b"")}
    found = measured(zip_of(tmp_path / "a.docx", parts))
    assert found[0] == 1
    assert found[1] < 200
    assert found[2] == ["it unpacks to more than 256 MiB: the rest is left out"]


@pytest.mark.slow
@needs_proc
def test_a_paragraph_of_300_megabytes_hits_the_text_limit(tmp_path: Path) -> None:
    begin = f"<w:document {W}><w:body>{paragraph('Seen')}<w:p><w:r><w:t>".encode()
    parts = {"word/document.xml": (begin, b"word " * 200, 300_000, b"")}
    found = measured(zip_of(tmp_path / "a.docx", parts))
    assert found[0] == 1
    assert found[1] < 200
    assert found[2] == ["one of its paragraphs or rows is too long: the rest is left out"]


@needs_proc
@pytest.mark.slow
def test_a_sheet_with_half_a_million_texts_is_read_in_little_memory(tmp_path: Path) -> None:
    book = xlsx({"One": ""}, {"sharedStrings.xml": ""})
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        parts = {
            name: (archive.read(name), b"", 0, b"")
            for name in archive.namelist()
            if not name.endswith(("sheet1.xml", "sharedStrings.xml"))
        }
    parts["xl/sharedStrings.xml"] = (
        f"<sst {X}>".encode(),
        b"<si><t>a text of some length</t></si>",
        500_000,
        b"</sst>",
    )
    parts["xl/worksheets/sheet1.xml"] = (
        f"<worksheet {X}><sheetData>".encode(),
        b'<row><c t="s"><v>499999</v></c></row>',
        100_000,
        b"</sheetData></worksheet>",
    )
    count, mebibytes, failures = measured(zip_of(tmp_path / "a.xlsx", parts))
    assert (count, failures) == (100_000, [])
    assert mebibytes < 200


@pytest.mark.process
@needs_proc
def test_cells_at_both_ends_of_a_sheet_are_two_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(
        xlsx(
            {
                "One": sheet(
                    '<row r="1"><c r="A1"><v>1</v></c></row>'
                    '<row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
                )
            }
        )
    )
    count, mebibytes, failures = measured(path)
    assert (count, failures) == (2, [])
    assert mebibytes < 100


def test_parts_are_read_only_from_the_archive() -> None:
    container = CONTAINER.replace("OPS/book.opf", "../../../../etc/passwd")
    with pytest.raises(Unreadable, match=r"its part [./]+etc/passwd is missing"):
        lines("a.epub", epub({}, parts={"META-INF/container.xml": container}))


def test_a_missing_sheet_is_reported_and_the_others_are_read() -> None:
    book = xlsx({"One": sheet(ROW), "Two": sheet(ROW)})
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    del parts["xl/worksheets/sheet1.xml"]
    text, found = read("a.xlsx", zipped(parts))
    assert text == ["1"]
    assert found.failed == (
        UnreadPart("it is damaged: its part xl/worksheets/sheet1.xml is missing"),
    )


def test_a_workbook_is_no_word_document() -> None:
    with pytest.raises(Unreadable, match="does not match its file extension"):
        read("a.docx", xlsx({"Plan": sheet("")}))
