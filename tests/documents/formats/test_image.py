from __future__ import annotations

import io
import os
from typing import Any

import pytest

from documents.pictures import picture_of
from winnow.documents import ocr
from winnow.documents.extraction import extract
from winnow.documents.format import Unreadable, format_of
from winnow.documents.places import Place, TextMap

installed = pytest.mark.skipif(
    not ocr.is_installed() and os.environ.get("CI") != "true", reason="needs winnow-ls[ocr]"
)
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
def test_pictures_are_of_one_format_that_needs_recognition(name: str) -> None:
    found = format_of(name)
    assert found is not None
    assert (found.name, found.is_image) == ("image", True)
    assert "documents.ocr" in reason(name, b"", recognise=False)


@pytest.mark.skipif(ocr.is_installed(), reason="the extra is installed")
def test_without_the_extra_its_name_is_told() -> None:
    assert reason("a.png", b"") == ocr.MISSING


@pytest.mark.slow
@installed
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "BMP", "WEBP"])
def test_characters_are_recognised_in_each_format(kind: str) -> None:
    lines, found = read("a.png", saved(picture_of(TEXT), kind))
    assert lines == TEXT
    assert (found.anchors, found.failed) == ((), ())


@pytest.mark.slow
@installed
def test_each_page_of_a_tiff_is_a_part() -> None:
    pages = [picture_of([text]) for text in TEXT]
    lines, found = read("a.tif", saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    assert lines == TEXT
    assert [anchor.place for anchor in found.anchors] == [Place(page=1), Place(page=2)]


@pytest.mark.slow
@installed
def test_a_picture_is_recognised_upright_and_on_white() -> None:
    from PIL import Image

    picture = picture_of(TEXT)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned to the right
    turned = picture.rotate(90, expand=True)
    assert read("a.jpg", saved(turned, "JPEG", exif=exif))[0] == TEXT

    ink = picture.convert("L").point(lambda value: 255 - value)
    clear = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    clear.putalpha(ink)
    assert read("a.png", saved(clear, "PNG"))[0] == TEXT


@installed
def test_what_has_no_characters_or_is_no_picture_says_so() -> None:
    from PIL import Image

    white = Image.new("RGB", (300, 300), "white")
    assert reason("a.png", saved(white, "PNG")) == "no characters are recognised in it"
    assert reason("a.png", b"hello") == "it is damaged: no picture is found in it"
    cut_off = saved(picture_of(TEXT), "PNG")[:2000]
    assert reason("a.png", cut_off).startswith("it is damaged: ")


@installed
def test_a_picture_of_too_many_pixels_is_not_unpacked() -> None:
    from PIL import Image

    many = saved(Image.new("1", (20_000, 20_000)), "PNG")
    assert len(many) < 100_000
    assert reason("a.png", many) == "it has too many pixels"
