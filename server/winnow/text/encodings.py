"""Detect the encoding of a file, or the kind of a file that is not text.

A byte-order mark at the start of a file counts first. Without one, a text is UTF-8; UTF-16 if it
has the NULs of Latin letters; or Latin-1, which allows any bytes.
"""

from __future__ import annotations

import codecs
import re

from msgspec import Struct

# Detection uses the start of a file, as git and ripgrep do.
SAMPLE_BYTES = 64 * 1024


class Encoding(Struct, frozen=True):
    """An encoding: ``name`` is for answers, ``codec`` decodes the text after the ``mark``.

    ``unit`` is the width of its code units in bytes, to which line ends are aligned.
    """

    name: str
    codec: str
    mark: bytes = b""
    unit: int = 1

    @property
    def newline(self) -> bytes:
        return "\n".encode(self.codec)

    @property
    def carriage_return(self) -> bytes:
        return "\r".encode(self.codec)


UTF_8 = Encoding("utf-8", "utf-8")
LATIN_1 = Encoding("latin-1", "latin-1")
UTF_16_LE = Encoding("utf-16-le", "utf-16-le", unit=2)
UTF_16_BE = Encoding("utf-16-be", "utf-16-be", unit=2)
# The mark of UTF-32-LE begins with that of UTF-16-LE.
MARKED = (
    Encoding("utf-8-sig", "utf-8", codecs.BOM_UTF8),
    Encoding("utf-32-le", "utf-32-le", codecs.BOM_UTF32_LE, 4),
    Encoding("utf-32-be", "utf-32-be", codecs.BOM_UTF32_BE, 4),
    Encoding("utf-16-le", "utf-16-le", codecs.BOM_UTF16_LE, 2),
    Encoding("utf-16-be", "utf-16-be", codecs.BOM_UTF16_BE, 2),
)

# Kinds of files by their first bytes: (offset, bytes, kind).
_KINDS = (
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF87a", "a GIF image"),
    (0, b"GIF89a", "a GIF image"),
    (0, b"BM", "a BMP image"),
    (0, b"II*\x00", "a TIFF image"),
    (0, b"MM\x00*", "a TIFF image"),
    (0, b"\x00\x00\x01\x00", "an icon"),
    (8, b"WEBP", "a WebP image"),
    (8, b"WAVE", "a WAV sound"),
    (4, b"ftyp", "an MP4 or similar video, sound or image"),
    (0, b"ID3", "an MP3 sound"),
    (0, b"OggS", "an Ogg sound or video"),
    (0, b"fLaC", "a FLAC sound"),
    (0, b"\x1aE\xdf\xa3", "a Matroska or WebM video"),
    (0, b"\x1f\x8b", "gzip-compressed data"),
    (0, b"BZh", "bzip2-compressed data"),
    (0, b"\xfd7zXZ\x00", "xz-compressed data"),
    (0, b"(\xb5/\xfd", "zstd-compressed data"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (0, b"Rar!\x1a\x07", "a RAR archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "an ELF program or library"),
    (0, b"MZ", "a Windows program or library"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "a Java class file or a Mach-O program"),
    (0, b"\x00asm", "a WebAssembly module"),
    (0, b"!<arch>\n", "a library of object files"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Microsoft Office document"),
    (0, b"wOFF", "a font"),
    (0, b"wOF2", "a font"),
    (0, b"OTTO", "a font"),
    (0, b"\x00\x01\x00\x00", "a font"),
    (0, b"DIRC", "a git index"),
)
# Names that are among the first members of an Office file or another kind of ZIP archive.
_ZIPS = (
    (b"word/", "a Word document"),
    (b"xl/", "an Excel workbook"),
    (b"ppt/", "a PowerPoint presentation"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "an OpenDocument file"),
    (b"mimetypeapplication/epub", "an EPUB book"),
    (b"META-INF/", "a Java archive"),
)

# The first line of a PDF, of which some are ASCII.
_PDF = re.compile(rb"%PDF-\d\.\d *[\r\n]")
# Control characters that no text has: all except tab, line ends, form feed, backspace, escape.
_NO_TEXT = re.compile(rb"[\x00-\x07\x0b\x0e-\x1a\x1c-\x1f]")
# A tenth of random bytes are control characters.
_MOST_CONTROLS = 0.05


def detect(sample: bytes, is_complete: bool) -> Encoding | None:
    """Return the encoding of a file that starts with ``sample``; None if it is not text.

    ``is_complete`` is True if the sample is the entire file. ASCII counts as UTF-8;
    :func:`utf_8_or_latin_1` decides by the bytes after it.
    """
    for marked in MARKED:
        if sample.startswith(marked.mark):
            return marked
    if _PDF.match(sample):
        return None
    if b"\0" in sample:
        return _utf_16_without_mark(sample)
    if sample.isascii():
        return UTF_8
    encoding = utf_8_or_latin_1(sample, is_complete)
    if encoding is LATIN_1:
        controls = len(_NO_TEXT.findall(sample))
        if controls > len(sample) * _MOST_CONTROLS or _kind(sample):
            return None
    return encoding


def utf_8_or_latin_1(piece: bytes, last: bool) -> Encoding:
    """Return UTF-8 or Latin-1, by the first piece of a file that is not ASCII.

    Its last character may be incomplete unless it is the ``last`` piece. One broken character does
    not turn a UTF-8 text into Latin-1, in which all others would be wrong: the majority decides.
    """
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(piece, last)
    broken = text.count("\N{REPLACEMENT CHARACTER}") - piece.count(b"\xef\xbf\xbd")
    if not broken:
        return UTF_8
    non_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return UTF_8 if non_ascii - broken > broken else LATIN_1


def _utf_16_without_mark(sample: bytes) -> Encoding | None:
    """Return UTF-16 if the text is mostly Latin letters, without control characters."""
    sample = sample[: len(sample) // 2 * 2]
    units = len(sample) // 2
    nulls = sample[0::2].count(0), sample[1::2].count(0)
    encoding = UTF_16_BE if nulls[0] > nulls[1] else UTF_16_LE
    if units < 2 or max(nulls) < 0.9 * units or min(nulls) > 0:
        return None
    try:
        text = codecs.getincrementaldecoder(encoding.codec)("strict").decode(sample)
    except UnicodeDecodeError:
        return None
    return None if _NO_TEXT.search(text.encode("utf-8")) else encoding


def binary_kind(sample: bytes) -> str:
    """Return the probable kind of a binary file, with its article."""
    return _kind(sample) or "a binary file"


def _kind(sample: bytes) -> str | None:
    if sample.startswith(b"PK\x03\x04"):
        return next((kind for name, kind in _ZIPS if name in sample), "a ZIP archive")
    return next((kind for at, magic, kind in _KINDS if sample.startswith(magic, at)), None)


def decode_text(raw: bytes) -> str | None:
    """Return a file's text without its byte-order mark; None if it is not text."""
    sample = raw[:SAMPLE_BYTES]
    encoding = detect(sample, len(sample) == len(raw))
    if encoding is None:
        return None
    if encoding is UTF_8 and sample.isascii():
        encoding = utf_8_or_latin_1(raw, last=True)
    return raw[len(encoding.mark) :].decode(encoding.codec, "replace")


def to_utf_8(raw: bytes) -> bytes | None:
    """Return a file's text in UTF-8, without a byte-order mark; None if it is not text."""
    if raw.isascii() and b"\0" not in raw:
        return raw
    text = decode_text(raw)
    return None if text is None else text.encode("utf-8", "replace")
