"""Images of pages for OCR tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from documents.making_pdf import gray_picture, made, make_pdf, shown


def picture_of(lines: Sequence[str]) -> Any:
    """Return a page with these lines as a Pillow image."""
    import pypdfium2

    with pypdfium2.PdfDocument(make_pdf([lines])) as document:
        return document[0].render(scale=2).to_pil().copy()


def pdf_with_a_scan(text: Sequence[str], scanned: Sequence[str]) -> bytes:
    """Return a PDF with a page of text and a page that is an image of lines."""
    picture = picture_of(scanned).convert("L")
    return made(
        [shown(text), b"q 595 0 0 842 0 0 cm /I Do Q"],
        further=[gray_picture(picture.width, picture.height, picture.tobytes())],
        resources=b"/XObject<</I 4 0 R>>",
    )
