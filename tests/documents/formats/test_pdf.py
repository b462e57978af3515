from __future__ import annotations

import io
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from documents.making_pdf import (
    FIRST,
    FONT,
    assembled,
    bomb,
    gray_picture,
    made,
    make_pdf,
    shown,
    stream,
    unicode_font,
)
from winnow.documents.extract import ocr
from winnow.documents.extract.extraction import extract
from winnow.documents.formats.pdf import Title, ranges, sections_of
from winnow.documents.library.locations import Anchor, DocumentLocation, TextMap, UnreadPart
from winnow.documents.unreadable import Unreadable


def read(content: bytes, *, recognise: bool = False) -> tuple[list[str], TextMap]:
    written: list[bytes] = []
    found = extract("a.pdf", io.BytesIO(content), written.append, ocr=recognise)
    return b"".join(written).decode().splitlines(), found


def reason(content: bytes, *, recognise: bool = False) -> str:
    with pytest.raises(Unreadable) as raised:
        read(content, recognise=recognise)
    return str(raised.value)


# --- pages and their text ------------------------------------------------------------------


def test_each_page_is_a_part_even_without_text() -> None:
    lines, found = read(make_pdf([["One (of) three\\", "pages"], [], ["Café – “naïve”"]]))
    assert lines == ["One (of) three\\", "pages", "Café – “naïve”"]
    assert found == TextMap(
        "pdf",
        3,
        (
            Anchor(1, DocumentLocation(page=1), "Page 1"),
            Anchor(3, DocumentLocation(page=2), "Page 2"),
            Anchor(3, DocumentLocation(page=3), "Page 3"),
        ),
    )


def test_a_hyphenated_word_is_joined_in_its_first_line() -> None:
    lines, _ = read(make_pdf([["the manip-", "ulation of declara-", "tions is one-", "sided"]]))
    assert lines == ["the manipulation", "of declarations", "is onesided"]


def test_a_hyphen_at_the_end_of_a_page_stays() -> None:
    lines, _ = read(make_pdf([["a long con-"], ["versation"]]))
    assert lines == ["a long con-", "versation"]


def test_kerning_does_not_split_words_and_wide_gaps_do() -> None:
    content = b"BT /F 11 Tf 50 700 Td [(A)80(V)80(A)70(T)-20(AR)-600(next)] TJ 90 0 Td (far) Tj ET"
    assert read(made([content]))[0] == ["AVATAR next far"]


def test_presentation_forms_become_the_characters_that_users_type() -> None:
    # A ligature, a combining accent, a radical, Arabic presentation forms, and a character of two
    # UTF-16 units.
    texts = ["ﬁ", "le", " ", "e\u0301", "\u2f42", "ﻣ", "ﺮ", "𝑥"]
    codes = b"".join(b"%04x" % code for code in [1, 2, 3, 4, 3, 5, 3, 8])
    content = b"BT /F 11 Tf 50 700 Td <%s> Tj ET BT /F 11 Tf 50 600 Td <00070006> Tj ET" % codes
    lines, _ = read(made([content], further=unicode_font(texts), resources=b"/Font<</F 4 0 R>>"))
    assert lines == ["file é 文 𝑥", "مر"]


def test_an_outline_entry_names_the_section_of_the_following_pages() -> None:
    first_page = FIRST + 4
    entry = b"<</Title(%s)/Parent 4 0 R/Dest[%d 0 R/Fit]%s>>"
    further = [
        b"<</Type/Outlines/First 5 0 R/Last 6 0 R>>",
        entry % (b"One", first_page + 2, b"/Next 6 0 R/First 7 0 R/Last 7 0 R"),
        # Refers back to the first entry.
        entry % (b"Two", first_page + 6, b"/Prev 5 0 R/Next 5 0 R"),
        entry % (b"A  detail", first_page + 2, b""),
    ]
    pages = [shown([f"text {n}"]) for n in range(1, 5)]
    _, found = read(made(pages, further=further, catalog=b"/Outlines 4 0 R"))
    assert [anchor.place for anchor in found.anchors] == [
        DocumentLocation(page=1),
        DocumentLocation(page=2, section="A detail"),
        DocumentLocation(page=3, section="A detail"),
        DocumentLocation(page=4, section="Two"),
    ]


def outlined(pages: list[list[str]], titles: list[tuple[str, int, bytes]]) -> TextMap:
    """Extract a PDF with these pages and this outline: title, page and position."""
    first_page = FIRST + 1 + len(titles)
    further = [b"<</Type/Outlines/First 5 0 R/Last %d 0 R>>" % (FIRST + len(titles))]
    for number, (title, page, place) in enumerate(titles, FIRST + 1):
        following = b"/Next %d 0 R" % (number + 1) if number < FIRST + len(titles) else b""
        target = b"/Dest[%d 0 R%s]" % (first_page + 2 * (page - 1), place)
        entry = b"<</Title(%s)/Parent 4 0 R%s%s>>" % (title.encode(), target, following)
        further.append(entry)
    contents = [shown(page) for page in pages]
    return read(made(contents, further=further, catalog=b"/Outlines 4 0 R"))[1]


def test_a_section_starts_at_its_title_on_the_page() -> None:
    pages = [
        ["before", "1.  INSTALLING", "by hand", "Removing", "by hand, too"],
        ["still of removing", "1.3 A long", "title", "text"],
    ]
    middle = b"/XYZ 50 400 0"
    titles = [("Installing", 1, middle), ("1.2 Removing", 1, middle), ("A long title", 2, middle)]
    found = outlined(pages, titles)
    assert found.anchors == (
        Anchor(1, DocumentLocation(page=1), "Page 1"),
        Anchor(2, DocumentLocation(page=1, section="Installing")),
        Anchor(4, DocumentLocation(page=1, section="1.2 Removing")),
        Anchor(6, DocumentLocation(page=2, section="1.2 Removing"), "Page 2"),
        Anchor(7, DocumentLocation(page=2, section="A long title")),
    )


def test_a_title_missing_from_the_page_names_the_next_page() -> None:
    found = outlined([["one"], ["two"], ["three"]], [("Two", 1, b"/XYZ 50 400 0")])
    places = [anchor.place for anchor in found.anchors]
    assert places == [
        DocumentLocation(page=1),
        DocumentLocation(page=2, section="Two"),
        DocumentLocation(page=3, section="Two"),
    ]


def test_a_title_that_refers_to_the_top_of_a_page_names_the_page() -> None:
    titles = [("Top", 1, b"/XYZ 0 842 0"), ("Whole", 2, b"/Fit"), ("Middle", 3, b"/FitH 400")]
    found = outlined([["one"], ["two"], ["three"], ["four"]], titles)
    sections = [anchor.place.section for anchor in found.anchors]
    assert sections == ["Top", "Whole", "Whole", "Middle"]


def test_titles_are_searched_in_order() -> None:
    lines = ["Notes", "Plan", "Notes", "", "2024", "Plan"]
    assert sections_of(lines, "Before", []) == {0: "Before"}
    titles = [Title("Plan"), Title("Notes"), Title("Gone", at_top=True), Title("2024")]
    assert sections_of(lines, "Before", titles) == {0: "Before", 1: "Plan", 2: "Notes", 4: "2024"}
    assert sections_of(lines, "Before", [Title("Notes")]) == {0: "Notes"}
    assert sections_of([], "Before", [Title("Notes", at_top=True)]) == {0: "Notes"}


# --- annotations, form values and attachments ----------------------------------------------


def test_notes_and_form_values_follow_the_text_of_their_page() -> None:
    box = b"/Rect[50 50 150 70]"
    further = [
        b"<</Type/Annot/Subtype/Text/Contents(ask the lawyer)%s>>" % box,
        b"<</Type/Annot/Subtype/Link/Contents(of a link)%s>>" % box,
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ada Lovelace)%s>>" % box,
        b"<</Fields[6 0 R]>>",
    ]
    content = made(
        [shown(["Name:"])],
        further=further,
        page=b"/Annots[4 0 R 5 0 R 6 0 R]",
        catalog=b"/AcroForm 7 0 R",
    )
    assert read(content)[0] == ["Name:", "ask the lawyer", "Ada Lovelace"]


def with_attachment(attached: bytes, pages: list[bytes]) -> bytes:
    further = [
        b"<</Names[(notes.txt)5 0 R]>>",
        b"<</Type/Filespec/F(notes.txt)/EF<</F 6 0 R>>>>",
        attached,
    ]
    return made(pages, further=further, catalog=b"/Names<</EmbeddedFiles 4 0 R>>")


def test_an_attached_file_is_a_member() -> None:
    packed = stream(b"what was said", b"/Type/EmbeddedFile")
    lines, found = read(with_attachment(packed, [shown(["see the notes"])]))
    assert lines == ["see the notes", "what was said"]
    assert found.place_at(2) == DocumentLocation(member="notes.txt")


def test_a_missing_attachment_does_not_affect_the_pages() -> None:
    lines, found = read(with_attachment(b"null", [shown(["see the notes"])]))
    assert lines == ["see the notes"]
    assert found.failed == ()


# --- scanned pages ------------------------------------------------------------------------

PICTURE = gray_picture(8, 8, bytes(64))
SHOWS_PICTURE = b"q 500 0 0 700 40 40 cm /I Do Q"


def scanned(pages: list[bytes]) -> bytes:
    return made(pages, further=[PICTURE], resources=b"/XObject<</I 4 0 R>>")


def test_a_scanned_document_has_no_text() -> None:
    expected = "it has no text: its pages are images (documents.ocr reads them)"
    assert reason(scanned([SHOWS_PICTURE] * 2)) == expected


def test_scanned_pages_among_others_are_reported() -> None:
    pages = [SHOWS_PICTURE, shown(["text"]), b"", SHOWS_PICTURE, SHOWS_PICTURE]
    lines, found = read(scanned(pages))
    assert lines == ["text"]
    expected = "pages 1, 4-5 are images without text (documents.ocr reads them)"
    assert found.failed == (UnreadPart(expected),)


def test_outlined_characters_are_an_image_and_a_frame_is_not() -> None:
    frame = b"50 50 400 600 re S\n"
    assert "images" in reason(made([frame * 100]))
    assert reason(made([frame, b""])) == "it has no text: its pages are empty"


@pytest.mark.skipif(ocr.is_installed(), reason="the extra is installed")
def test_a_missing_extra_is_named() -> None:
    expected = reason(scanned([SHOWS_PICTURE]), recognise=True)
    assert expected == f"it has no text: its pages are images ({ocr.MISSING})"


def test_ranges_are_limited_to_ten() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert ranges(list(range(1, 24, 2))) == "1, 3, 5, 7, 9, 11, 13, 15, 17, 19 and 2 more ranges"


# --- encrypted and damaged -----------------------------------------------------------------


def test_a_missing_password_is_reported() -> None:
    content = made([shown(["secret"])], password="sesame")
    assert reason(content) == "it is encrypted: a password is needed"


def test_a_document_protected_against_changes_is_read() -> None:
    content = made([shown(["for all eyes"])], password="")
    assert b"for all eyes" not in content
    assert read(content)[0] == ["for all eyes"]


@pytest.mark.parametrize(
    "content", [b"", b"%PDF-1.7\n", b"%PDF-1.7\n" + bytes(range(256)) * 100, b"hello"]
)
def test_a_file_that_is_not_a_pdf_is_damaged(content: bytes) -> None:
    assert reason(content) == "it is damaged: it contains no pages"


def test_a_truncated_file_is_read_or_damaged_but_never_empty() -> None:
    intact = make_pdf([[f"line {line} of {page}" for line in range(30)] for page in range(20)])
    expected, _ = read(intact)
    outcomes = set()
    for length in [*range(0, len(intact), len(intact) // 40), len(intact) - 10]:
        try:
            lines, _ = read(intact[:length])
        except Unreadable as error:
            outcomes.add(str(error))
        else:
            assert lines == expected
            outcomes.add("read")
    assert outcomes == {"it is damaged: it contains no pages", "read"}


def test_a_file_without_object_table_is_read() -> None:
    intact = make_pdf([["text"]])
    table, trailer = intact.index(b"xref\n"), intact.index(b"trailer")
    assert read(intact[:table] + intact[trailer:])[0] == ["text"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tree", "damaged"),
    [
        (b"<</Type/Pages/Count 3/Kids[4 0 R 2 0 R 6 0 R]>>", "3"),
        (b"<</Type/Pages/Count 100000/Kids[4 0 R 6 0 R]>>", "3-100000"),
        (b"<</Type/Pages/Count 3/Kids[4 0 R 6 0 R 99 0 R]>>", "3"),
    ],
)
def test_missing_pages_are_reported(tree: bytes, damaged: str) -> None:
    lines, found = read(made([shown(["one"]), shown(["two"])], tree=tree))
    assert lines == ["one", "two"]
    assert [anchor.place.page for anchor in found.anchors] == [1, 2]
    assert found.failed == (UnreadPart(f"damaged pages: {damaged}"),)


def test_a_page_of_any_size_is_read() -> None:
    for box in (b"[0 0 1e30 1e30]", b"[0 0 0 0]", b"[9 9 -9 -9]"):
        assert read(made([shown(["text"])], page=b"/MediaBox" + box))[0] == ["text"]


# --- in bounded memory ---------------------------------------------------------------------

IN_A_CHILD = textwrap.dedent(
    """
    import resource, sys
    from winnow.documents.extract.extraction import extract

    limit = 256 * 1024**2
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(sys.argv[1], "rb") as file:
        print(extract("a.pdf", file, lambda line: None).lines)
    # Not ru_maxrss, which includes the memory of the parent.
    with open("/proc/self/status") as status:
        print(int(status.read().split("VmHWM:")[1].split()[0]) * 1024)
    """
)


def in_a_child(content: bytes, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "a.pdf"
    path.write_bytes(content)
    return subprocess.run(
        [sys.executable, "-c", IN_A_CHILD, str(path)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_four_thousand_pages_are_read_in_little_memory(tmp_path: Path) -> None:
    pages = [[f"page {page}, line {line}" for line in range(20)] for page in range(4_000)]
    child = in_a_child(make_pdf(pages), tmp_path)
    assert child.returncode == 0, child.stderr
    lines, peak = map(int, child.stdout.split())
    assert lines == 80_000
    assert peak < 200 * 1024**2


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
def test_a_page_that_unpacks_to_a_gigabyte_hits_the_memory_limit(tmp_path: Path) -> None:
    packed = bomb(b"(words of text)'\n", 1024)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
        FONT,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R"
        b"/Resources<</Font<</F 3 0 R>>>>>>",
        packed,
    ]
    child = in_a_child(assembled(objects), tmp_path)
    assert child.returncode < 0, child.stderr  # by a signal: PDFium ends where memory does
    assert child.stdout == ""
