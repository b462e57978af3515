"""Images: the text that OCR recognizes (:mod:`winnow.documents.extract.ocr`).

Pillow, a dependency of the OCR library, decodes all variants of these formats.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from winnow.documents.extract import ocr
from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.format import DocumentFormat
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DECODERS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP")
# The pages of a TIFF; each takes seconds.
MOST_PAGES = 50


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write a line for each line of text in the image, and a part for each page of a TIFF. Raises
    Unreadable if there is no text, or if OCR is not installed."""
    if not ocr.is_installed():
        raise Unreadable(ocr.MISSING)
    before = output.lines
    with _opened(source) as picture:
        pages = picture.n_frames if picture.format == "TIFF" else 1
        for page in range(min(pages, MOST_PAGES)):
            if pages > 1:
                picture.seek(page)
                output.part(f"Page {page + 1}", DocumentLocation(page=page + 1))
            for line in ocr.recognized_lines(_pixels(picture)):
                output.line(line)
    if pages > MOST_PAGES:
        output.failed(f"it has {pages} pages: only the first {MOST_PAGES} are read")
    if output.lines == before:
        raise Unreadable("OCR found no text in it")


def _opened(source: DocumentInput) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            # Raised beyond 89 million pixels, which exceeds any scanned page.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            return Image.open(source.file, formats=_DECODERS)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError):
        raise Unreadable("it has too many pixels") from None
    except UnidentifiedImageError:
        raise Unreadable("it is damaged: it contains no image") from None


def _pixels(picture: Any) -> NDArray[np.uint8]:
    """Return an image upright, on white and scaled down for OCR, as blue, green and red."""
    import numpy as np
    from PIL import Image, ImageOps

    # Copy a TIFF, whose pages differ in size. A JPEG is scaled down while it is decoded.
    if picture.format == "TIFF":
        picture = picture.copy()
    picture.thumbnail((ocr.LONGEST_SIDE, ocr.LONGEST_SIDE))
    picture = ImageOps.exif_transpose(picture).convert("RGBA")
    paper = Image.new("RGB", picture.size, "white")
    paper.paste(picture, mask=picture)
    return np.ascontiguousarray(np.asarray(paper)[:, :, ::-1])


FORMATS = (
    DocumentFormat(
        name="image",
        extensions=(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp"),
        read=read,
        is_image=True,
    ),
)
