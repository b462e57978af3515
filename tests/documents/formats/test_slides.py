"""PowerPoint presentations."""

from __future__ import annotations

from documents.making_office import P, places, pptx, read, relations, shape, shown, slide
from winnow.documents.library.locations import DocumentLocation, UnreadPart


def test_slides_are_in_presentation_order_with_their_titles() -> None:
    document = pptx(
        [2, 1],
        {
            "slides/slide1.xml": slide(shape("Second")),
            "slides/slide2.xml": slide(
                shape("point one", "point two") + shape("Budget", kind="title")
            ),
        },
    )
    assert places("a.pptx", document) == [
        ("point one", DocumentLocation(slide=1)),
        ("point two", DocumentLocation(slide=1)),
        ("Budget", DocumentLocation(slide=1)),
        ("Second", DocumentLocation(slide=2)),
    ]
    assert shown("a.pptx", document)[0] == "──── Slide 1: Budget ────"


def test_notes_tables_and_chart_names_are_read_but_not_slide_numbers() -> None:
    table = (
        "<a:tbl><a:tr>"
        + "".join(
            f"<a:tc><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"
            for text in ("a", "b")
        )
        + "</a:tr></a:tbl>"
    )
    names = "<c:strCache><c:pt><c:v>North</c:v></c:pt><c:pt><c:v>South</c:v></c:pt></c:strCache>"
    numbers = "<c:numCache><c:pt><c:v>17</c:v></c:pt></c:numCache>"
    document = pptx(
        [1],
        {
            "slides/slide1.xml": slide(table + shape("7", kind="sldNum")),
            "slides/_rels/slide1.xml.rels": relations(
                {
                    "n": ("notesSlide", "../notesSlides/n.xml"),
                    "c": ("chart", "../charts/c.xml"),
                }
            ),
            "notesSlides/n.xml": slide(shape("7", kind="sldNum") + shape("Say it", kind="body")),
            "charts/c.xml": f"<c:chart {P}>{names}{numbers}{names}</c:chart>",
        },
    )
    assert shown("a.pptx", document) == [
        "──── Slide 1 ────",
        "a\tb",
        "North",
        "South",
        "──── Slide 1: notes ────",
        "Say it",
    ]


def test_a_damaged_slide_is_named_and_the_others_are_read() -> None:
    document = pptx(
        [1, 2, 3],
        {
            "slides/slide1.xml": slide(shape("One")),
            "slides/slide2.xml": slide(shape("Two"))[:-30],
        },
    )
    text, found = read("a.pptx", document)
    assert text == ["One", "Two"]
    assert [failure.reason.partition(" error:")[0] for failure in found.failed] == [
        "slide 2: it is damaged: XML with an",
        "slide 3: it is damaged: its part ppt/slides/slide3.xml is missing",
    ]
    assert all(isinstance(failure, UnreadPart) for failure in found.failed)
