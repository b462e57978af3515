"""Pages whose lines PDFium mistakes for columns of vertical writing."""

from __future__ import annotations

import pypdfium2
import pytest

from document_fixtures import FIXTURES
from winnow.documents.extract.pdf_lines import is_scattered, text_by_places


@pytest.fixture(scope="module")
def pages() -> list[pypdfium2.PdfTextPage]:
    document = pypdfium2.PdfDocument((FIXTURES / "pages-chromium.pdf").read_bytes())
    return [page.get_textpage() for page in document]


def test_only_a_page_with_one_character_per_line_is_scattered(
    pages: list[pypdfium2.PdfTextPage],
) -> None:
    scattered = [is_scattered(page.get_text_range()) for page in pages]
    assert scattered == [False, False, True, False, False]


def test_lines_and_words_follow_from_the_positions_of_characters(
    pages: list[pypdfium2.PdfTextPage],
) -> None:
    assert [text_by_places(page).split("\n") for page in pages] == [
        ["First", "The albatross begins, and the officiary moves affinely."],
        ["The bandicoot lost her naïveté in Łódź, beside marmolite."],
        [
            "The cormorant is in the left column of this page",
            "and goes on for long enough that the right column",
            "has a dugong too.",
        ],
        ["A narrow line", "ends in", "incommen‐", "surable words.", "Zephyrine Okonkwo"],
        ["The echidna ends the book, and 図書館 is its last word beside a copper kettle."],
    ]


def test_a_table_of_short_cells_is_not_scattered() -> None:
    assert not is_scattered("1\r\n2\r\n3\r\n4\r\n5\r\n6\r\nSeven\r\nEight\r\nNine\r\n")
