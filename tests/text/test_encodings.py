"""Detection of encodings, and of the kinds of binary files."""

from __future__ import annotations

import codecs
import gzip
import io
import random
import sqlite3
import sys
import zipfile
from pathlib import Path

import pytest

from winnow.text.encodings import (
    LATIN_1,
    UTF_8,
    UTF_16_BE,
    UTF_16_LE,
    binary_kind,
    decode_text,
    detect,
    utf_8_or_latin_1,
)

TEXT = "class Größe:\n    pass\n"


def name_of(raw: bytes) -> str | None:
    encoding = detect(raw, is_complete=True)
    return encoding.name if encoding else None


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"", "utf-8"),
        (b"ascii\n", "utf-8"),
        (TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-8-sig"), "utf-8-sig"),
        (TEXT.encode("latin-1"), "latin-1"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be"),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "utf-32-le"),
        (codecs.BOM_UTF32_BE + TEXT.encode("utf-32-be"), "utf-32-be"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (b"caf\xe9", "latin-1"),
    ],
)
def test_the_encoding_of_a_text_is_found(raw: bytes, name: str) -> None:
    assert name_of(raw) == name
    if raw not in (b"", b"caf\xe9", b"ascii\n"):
        assert decode_text(raw) == TEXT


def test_a_character_cut_by_the_sample_does_not_suggest_latin_1() -> None:
    raw = "é".encode() * 10
    assert detect(raw[:-1], is_complete=False) is UTF_8
    assert detect(b"x" * 9 + raw[:1], is_complete=False) is UTF_8
    assert detect(b"x" * 9 + raw[:1], is_complete=True) is LATIN_1


def test_a_single_invalid_byte_does_not_turn_utf_8_into_latin_1() -> None:
    assert utf_8_or_latin_1("äöü".encode() + b"\xe9 x", last=True) is UTF_8
    assert utf_8_or_latin_1("äöü".encode("latin-1") + b"\xe9 x", last=True) is LATIN_1
    assert utf_8_or_latin_1("\N{REPLACEMENT CHARACTER}".encode(), last=True) is UTF_8


@pytest.mark.parametrize(
    "raw",
    [
        b"a\0",
        b"text with a \0 in it\n" * 20,
        b"\0" * 1000,
        b"\x01\0\x02\0\x03\0\x04\0" * 50,
        b"\0\x10\0\x11\0\x12" * 50,
        b"a\0b\0\0\0c\0" * 20,
    ],
)
def test_nuls_mean_binary_unless_the_text_is_clearly_utf_16(raw: bytes) -> None:
    assert name_of(raw) is None


def test_utf_16_without_a_mark_is_detected_in_an_incomplete_sample() -> None:
    raw = ("Größe 12\r\n" * 50).encode("utf-16-le")
    assert detect(raw[:333], is_complete=False) is UTF_16_LE
    assert detect(raw[1:333], is_complete=False) is UTF_16_BE  # as it then appears


def test_random_bytes_without_a_nul_are_binary() -> None:
    rng = random.Random(1)
    raw = bytes(rng.randrange(1, 256) for _ in range(400))
    assert name_of(raw) is None
    assert binary_kind(raw) == "a binary file"


def zipped(*names: str) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name in names:
            archive.writestr(name, "content")
    return memory.getvalue()


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "a PDF document"),
        (b"%PDF-1.4\n1 0 obj", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "a JPEG image"),
        (b"GIF89a\x10\0\x10\0\xf0", "a GIF image"),
        (gzip.compress(b"x" * 100, mtime=0), "gzip-compressed data"),
        (zipped("a.txt"), "a ZIP archive"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a Word document"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "an ELF program or library"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", "a Java class file or a Mach-O program"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a WebP image"),
    ],
)
def test_binary_files_are_named_by_kind(raw: bytes, what: str) -> None:
    assert name_of(raw) is None
    assert binary_kind(raw) == what
    assert decode_text(raw) is None


def test_real_binary_files_are_recognized(tmp_path: Path) -> None:
    database = tmp_path / "a.db"
    connection = sqlite3.connect(database)
    connection.execute("create table a (b)")
    connection.close()
    raw = database.read_bytes()
    assert (name_of(raw), binary_kind(raw)) == (None, "an SQLite database")
    if sys.platform == "linux":
        raw = Path(sys.executable).read_bytes()[:4096]
        assert (name_of(raw), binary_kind(raw)) == (None, "an ELF program or library")


def test_a_text_that_starts_like_a_binary_file_is_text() -> None:
    for beginning in ("%PDF-1.4 begins a PDF\n", "GIF89a is a format\n", "BM, MZ\n"):
        assert name_of(beginning.encode()) == "utf-8"
        assert name_of((beginning + "é").encode()) == "utf-8"
