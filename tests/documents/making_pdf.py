"""Build PDFs: pages of lines in a standard font, and other objects for tests."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
FIRST = 4  # the number of the first object of ``further``


def make_pdf(pages: Sequence[Sequence[str]]) -> bytes:
    """Return a PDF with these lines on its pages, limited to characters of Windows-1252."""
    return made(shown(page) for page in pages)


def made(
    contents: Iterable[bytes],
    *,
    further: Sequence[bytes] = (),
    catalog: bytes = b"",
    tree: bytes | None = None,
    page: bytes = b"",
    resources: bytes = b"",
    password: str | None = None,
) -> bytes:
    """Return a PDF with these page contents. ``further`` are objects numbered from FIRST on,
    followed by two objects per page; other arguments are added to the dictionaries of these
    names."""
    objects = [b"", b"", FONT, *further]
    kids: list[int] = []
    for content in contents:
        number = len(objects) + 1
        kids.append(number)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents %d 0 R"
            b"/Resources<</Font<</F 3 0 R>>%s>>%s>>" % (number + 1, resources, page)
        )
        hidden = content if password is None else rc4(_object_key(number + 1, password), content)
        objects.append(stream(hidden))
    objects[0] = b"<</Type/Catalog/Pages 2 0 R%s>>" % catalog
    listed = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = tree or b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), listed)
    return assembled(objects, b"" if password is None else _encryption(password))


def assembled(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a file with these objects, numbered from 1; the first is the catalog."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    offsets: list[int] = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = len(out)
    count = len(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % count
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d/Root 1 0 R%s>>\n" % (count, trailer)
    out += b"startxref\n%d\n%%%%EOF\n" % table
    return bytes(out)


def shown(lines: Sequence[str]) -> bytes:
    """Return the content of a page with these lines, from the top."""
    texts = b"".join(b"(%s)'\n" % _escaped(line) for line in lines)
    return b"BT /F 11 Tf 14 TL 50 800 Td\n%sET" % texts


def stream(content: bytes, entries: bytes = b"") -> bytes:
    """Return a stream, compressed if it is long."""
    if len(content) > 500:
        content = zlib.compress(content, 1)
        entries += b"/Filter/FlateDecode"
    return b"<</Length %d%s>>\nstream\n%s\nendstream" % (len(content), entries, content)


def bomb(line: bytes, mebibytes: int) -> bytes:
    """Return a stream that unpacks to this many mebibytes, a few kilobytes for each."""
    packer = zlib.compressobj(9)
    begin = packer.compress(b"BT /F 11 Tf 14 TL 50 800 Td\n") + packer.flush(zlib.Z_FULL_FLUSH)
    # Data after a full flush does not refer to earlier data, so it can be repeated.
    block = packer.compress(line * (1024**2 // len(line))) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = begin + block * mebibytes
    return b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(packed), packed)


def gray_picture(width: int, height: int, pixels: bytes) -> bytes:
    """Return an image object with one byte per pixel."""
    entries = b"/Type/XObject/Subtype/Image/ColorSpace/DeviceGray/BitsPerComponent 8"
    return stream(pixels, entries + b"/Width %d/Height %d" % (width, height))


def unicode_font(texts: Sequence[str]) -> list[bytes]:
    """Return the objects, from FIRST on, of a font that maps characters from 1 on to these
    texts."""
    codes = b"".join(
        b"<%04x><%s>\n" % (code, text.encode("utf-16-be").hex().encode())
        for code, text in enumerate(texts, 1)
    )
    cmap = (
        b"/CIDInit/ProcSet findresource begin begincmap 1 begincodespacerange <0000><ffff> "
        b"endcodespacerange %d beginbfchar\n%sendbfchar endcmap end" % (len(texts), codes)
    )
    return [
        b"<</Type/Font/Subtype/Type0/BaseFont/Some/Encoding/Identity-H"
        b"/DescendantFonts[%d 0 R]/ToUnicode %d 0 R>>" % (FIRST + 1, FIRST + 2),
        b"<</Type/Font/Subtype/CIDFontType2/BaseFont/Some/DW 600/FontDescriptor %d 0 R"
        b"/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>>>" % (FIRST + 3),
        stream(cmap),
        b"<</Type/FontDescriptor/FontName/Some/Flags 4/FontBBox[0 0 600 800]/ItalicAngle 0"
        b"/Ascent 800/Descent 0/CapHeight 700/StemV 80>>",
    ]


def _escaped(text: str) -> bytes:
    raw = text.encode("cp1252", "replace")
    return raw.replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


# --- encryption, of the first kind there was (7.6 of ISO 32000-1, with RC4 of 40 bits) ------

_PADDING = bytes.fromhex("28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a")
_OWNER = bytes(range(32))  # what a real one has is made of the owner's password
_PERMISSIONS = -44


def rc4(key: bytes, content: bytes) -> bytes:
    state = list(range(256))
    at = 0
    for index in range(256):
        at = (at + state[index] + key[index % len(key)]) % 256
        state[index], state[at] = state[at], state[index]
    out = bytearray()
    at = 0
    for count, byte in enumerate(content, 1):
        index = count % 256
        at = (at + state[index]) % 256
        state[index], state[at] = state[at], state[index]
        out.append(byte ^ state[(state[index] + state[at]) % 256])
    return bytes(out)


def _file_key(password: str) -> bytes:
    padded = (password.encode("latin-1") + _PADDING)[:32]
    permissions = _PERMISSIONS.to_bytes(4, "little", signed=True)
    return hashlib.md5(padded + _OWNER + permissions).digest()[:5]


def _object_key(number: int, password: str) -> bytes:
    return hashlib.md5(_file_key(password) + number.to_bytes(3, "little") + bytes(2)).digest()[:10]


def _encryption(password: str) -> bytes:
    user = rc4(_file_key(password), _PADDING)
    return b"/Encrypt<</Filter/Standard/V 1/R 2/P %d/O<%s>/U<%s>>>" % (
        _PERMISSIONS,
        _OWNER.hex().encode(),
        user.hex().encode(),
    )
