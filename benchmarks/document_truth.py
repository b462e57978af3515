"""Determine the expected matches of search_docs independently of the engine under test.

The expected matches in `tests/documents/fixtures` are recorded by hand. For any other document, ten
rare words and their pages are chosen from the text that another program extracts. For the built-in
engine this is poppler's pdftotext, or pandoc for documents without pages; e-books that pandoc
rejects are passed to it page by page. ripgrep-all runs these two programs itself, so its text comes
from PDFium or the built-in engine.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.documents.extract.extraction import extract
from winnow.documents.unreadable import Unreadable

sys.path.append(str(Path(__file__).parent.parent / "tests"))

from document_fixtures import FIXTURES, Where, known_to_rga, planted, unread

WORDS = 10
PLACE = ("page", "slide", "sheet", "cell", "section", "paragraph", "member")
MOST_PLACES = 3
# A complete word that consists of letters, in any script.
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{6,}(?![^\W_])")
_PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_PANDOC = {".odt": "odt", ".docx": "docx", ".epub": "epub", ".html": "html", ".rtf": "rtf"}


class Expected(Struct, frozen=True):
    """A word, and its expected locations."""

    word: str
    places: list[Where]


class Case(Struct, frozen=True):
    """A document and its expected matches.

    ``kind`` is its file extension. ``builtin`` and ``rga`` are the expected matches of these
    engines, ``compared`` are the parts of a location to compare, and ``refused`` marks a document
    that no engine can read.
    """

    path: Path
    kind: str
    builtin: list[Expected] = []
    rga: list[Expected] = []
    refused: bool = False
    compared: tuple[str, ...] = ("page", "member")


def fixtures() -> list[Case]:
    """Return the fixtures, whose expected matches are recorded by hand."""
    by_file: dict[str, list[Expected]] = {}
    for match in planted():
        by_file.setdefault(match.file, []).append(Expected(match.word, match.places))
    cases = [
        Case(
            FIXTURES / name,
            kind_of(name),
            words,
            [Expected(word.word, [known_to_rga(place) for place in word.places]) for word in words],
            compared=PLACE,
        )
        for name, words in by_file.items()
    ]
    return cases + [Case(FIXTURES / name, kind_of(name), refused=True) for name in unread()]


def public(path: Path) -> Case | None:
    """Return a public document with its expected matches; None if no other program reads it."""
    kind = kind_of(path.name)
    packed = path.suffix if path.suffix in _PACKED else ""
    name = path.name.removesuffix(packed)
    content = _PACKED[packed](path.read_bytes()) if packed else path.read_bytes()
    if name.endswith(".ps"):
        return Case(path, kind, refused=True)
    where: Where = {"member": name} if packed else {}
    if name.endswith(".pdf"):
        return Case(
            path,
            kind,
            _chosen(path, _by_pdftotext(content), where, paged=True),
            _chosen(path, _by_pdfium(content), where, paged=True),
        )
    written = _PANDOC.get(Path(name).suffix)
    if written is None:
        return None
    return Case(
        path,
        kind,
        _chosen(path, [_by_pandoc(content, written)], where),
        _chosen(path, [_by_ourselves(name, content)], where),
    )


def kind_of(name: str) -> str:
    """Return the format of a file, such as `pdf` or `pdf.gz`."""
    parts = name.lower().split(".")[1:]
    extensions = [part for part in parts if part.isalnum() and not part.isdigit()]
    packed = extensions[-1] in ("gz", "bz2", "xz", "zst") and len(extensions) > 1
    return ".".join(extensions[-2:] if packed else extensions[-1:])


def _chosen(
    path: Path, pages: Sequence[str], where: Where, *, paged: bool = False
) -> list[Expected]:
    """Choose words that occur in few places, the same in every run."""
    pages = [unicodedata.normalize("NFKC", page) for page in pages]
    counts: dict[str, int] = {}
    for page in pages:
        for word in set(_WORD.findall(page)):
            counts[word] = counts.get(word, 0) + 1
    rare = sorted(word for word, count in counts.items() if count <= MOST_PLACES)
    random.Random(path.name).shuffle(rare)
    chosen: list[Expected] = []
    for word in rare:
        places = [number for number, page in enumerate(pages, 1) if word in page]
        # As part of another word, it may occur on many more pages.
        if len(places) <= MOST_PLACES and len(chosen) < WORDS:
            found = [{"page": page} | where for page in places] if paged else [where]
            chosen.append(Expected(word, found))
    return chosen


# --- text that other programs extract ----------------------------------------------------------


def _by_pdftotext(content: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(content)
        file.flush()
        return _output("pdftotext", "-enc", "UTF-8", file.name, "-").split("\f")[:-1]


def _by_pdfium(content: bytes) -> list[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    # PDFium inserts this character into words that are hyphenated at a line break.
    return [page.get_textpage().get_text_range().replace("\ufffe", "") for page in document]


def _by_pandoc(content: bytes, written: str) -> str:
    pandoc = ["pandoc", "--sandbox", "-t", "plain", "--wrap=none"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "document")
        file.write_bytes(content)
        try:
            return _output(*pandoc, "-f", written, str(file))
        except subprocess.CalledProcessError:
            pages = _pages_of_book(file, Path(folder))
            return _output(*pandoc, "-f", "html", *map(str, pages))


def _pages_of_book(book: Path, folder: Path) -> list[Path]:
    with zipfile.ZipFile(book) as package:
        names = [name for name in package.namelist() if name.endswith("html")]
        return [Path(package.extract(name, folder)) for name in names]


def _by_ourselves(name: str, content: bytes) -> str:
    lines: list[bytes] = []
    try:
        extract(name, io.BytesIO(content), lines.append)
    except Unreadable as reason:
        print(f"{name}: {reason}", file=sys.stderr)
    return b"".join(lines).decode()


def _output(*command: str) -> str:
    output = subprocess.run(command, capture_output=True, check=True).stdout
    return output.decode("utf-8", "replace")
