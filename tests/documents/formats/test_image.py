from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pytest

from conftest import CI
from documents.pictures import picture_of
from winnow.documents.extract import ocr
from winnow.documents.extract.extraction import extract
from winnow.documents.format import format_of
from winnow.documents.library.locations import DocumentLocation, TextMap
from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

installed = pytest.mark.skipif(not ocr.is_installed() and not CI, reason="needs winnow-ls[ocr]")
TEXT = ["The quick brown fox", "jumps over 42 lazy dogs"]


def read(name: str, content: bytes, *, recognise: bool = True) -> tuple[list[str], TextMap]:
    written: list[bytes] = []
    found = extract(name, io.BytesIO(content), written.append, ocr=recognise)
    return b"".join(written).decode().splitlines(), found


def reason(name: str, content: bytes, *, recognise: bool = True) -> str:
    with pytest.raises(Unreadable) as raised:
        read(name, content, recognise=recognise)
    return str(raised.value)


def saved(picture: Any, kind: str, **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


@pytest.mark.parametrize("name", ["a.png", "A.JPG", "a.jpeg", "a.tif", "a.tiff", "a.bmp", "a.webp"])
def test_all_image_extensions_are_one_format_that_needs_ocr(name: str) -> None:
    found = format_of(name)
    assert found is not None
    assert (found.name, found.is_image) == ("image", True)
    assert "documents.ocr" in reason(name, b"", recognise=False)


@pytest.mark.skipif(ocr.is_installed(), reason="the extra is installed")
def test_a_missing_extra_is_named() -> None:
    assert reason("a.png", b"") == ocr.MISSING


@pytest.mark.slow
@installed
@pytest.mark.usefixtures("recognition")
def test_text_in_an_image_is_recognized() -> None:
    lines, found = read("a.png", saved(picture_of(TEXT), "PNG"))
    assert lines == TEXT
    assert (found.anchors, found.failed) == ((), ())


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.uint8]]:
    """Replace the slow OCR; return the list of images that it gets."""
    pictures: list[NDArray[np.uint8]] = []

    def recognized_lines(picture: NDArray[np.uint8]) -> list[str]:
        pictures.append(picture)
        return [f"picture {len(pictures)}"]

    monkeypatch.setattr(ocr, "recognized_lines", recognized_lines)
    return pictures


def is_picture(pixels: NDArray[np.uint8], picture: Any) -> bool:
    """Return True if these blue, green and red values are an image, except for invisible losses:
    less than half of the pixels that are not white differ."""
    import numpy as np

    expected = np.asarray(picture.convert("RGB"))[:, :, ::-1].astype(int)
    if pixels.shape != expected.shape:
        return False
    return bool(np.abs(pixels - expected).sum() < (255 - expected).sum() / 2)


@installed
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "WEBP"])
def test_images_of_each_format_are_decoded(kind: str, given: list[NDArray[np.uint8]]) -> None:
    picture = picture_of(TEXT)
    picture.paste("red", (0, 0, picture.width // 2, picture.height // 4))
    lines, found = read("a.png", saved(picture, kind))
    assert lines == ["picture 1"]
    assert is_picture(given[0], picture)
    assert (found.anchors, found.failed) == ((), ())


@installed
def test_each_page_of_a_tiff_is_a_part(given: list[NDArray[np.uint8]]) -> None:
    pages = [picture_of([text]) for text in TEXT]
    lines, found = read("a.tif", saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    assert lines == ["picture 1", "picture 2"]
    assert all(map(is_picture, given, pages))
    assert not is_picture(given[0], pages[1])
    assert [anchor.place for anchor in found.anchors] == [
        DocumentLocation(page=1),
        DocumentLocation(page=2),
    ]


@installed
def test_an_image_is_passed_to_ocr_upright_and_on_white(given: list[NDArray[np.uint8]]) -> None:
    from PIL import Image

    picture = picture_of(TEXT)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned to the right
    turned = picture.rotate(90, expand=True)
    read("a.jpg", saved(turned, "JPEG", exif=exif))
    assert is_picture(given[0], picture)
    assert not is_picture(given[0], picture.rotate(180))

    ink = picture.convert("L").point(lambda value: 255 - value)
    clear = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    clear.putalpha(ink)
    read("a.png", saved(clear, "PNG"))
    assert is_picture(given[1], picture)


@installed
@pytest.mark.usefixtures("recognition")
def test_images_without_text_and_other_files_have_a_reason() -> None:
    from PIL import Image

    white = Image.new("RGB", (300, 300), "white")
    assert reason("a.png", saved(white, "PNG")) == "OCR found no text in it"
    assert reason("a.png", b"hello") == "it is damaged: it contains no image"
    cut_off = saved(picture_of(TEXT), "PNG")[:2000]
    assert reason("a.png", cut_off).startswith("it is damaged: ")


@installed
def test_an_image_with_too_many_pixels_is_not_decoded() -> None:
    from PIL import Image

    many = saved(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(many) < 100_000
    assert reason("a.png", many) == "it has too many pixels"
