"""Determine the expected matches of search_docs independently of the engine under test.

For the documents in `tests/documents/fixtures`, they are written down. For any other document, ten
rare words and their pages are chosen from a text that another program extracts. For the built-in
engine this is poppler's pdftotext, or pandoc for documents without pages; e-books that pandoc
refuses are passed to it page by page. For ripgrep-all, which runs these two itself, it is PDFium or
the built-in engine's text.
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
# A whole word of letters only, in any writing.
_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{6,}(?![^\W_])")
_PACKED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_PANDOC = {".odt": "odt", ".docx": "docx", ".epub": "epub", ".html": "html", ".rtf": "rtf"}


class Expected(Struct, frozen=True):
    """A word, and where it stands."""

    word: str
    places: list[Where]


class Case(Struct, frozen=True):
    """A document; `kind` is the end of its name. ``builtin`` and ``rga`` are what these should
    find, and ``compared`` what is known of places; a document that cannot be read has ``refused``
    instead."""

    path: Path
    kind: str
    builtin: list[Expected] = []
    rga: list[Expected] = []
    refused: bool = False
    compared: tuple[str, ...] = ("page", "member")


def fixtures() -> list[Case]:
    """The documents whose words were planted."""
    by_file: dict[str, list[Expected]] = {}
    for one in planted():
        by_file.setdefault(one.file, []).append(Expected(one.word, one.places))
    cases = [
        Case(
            FIXTURES / name,
            kind_of(name),
            words,
            [Expected(one.word, [known_to_rga(place) for place in one.places]) for one in words],
            compared=PLACE,
        )
        for name, words in by_file.items()
    ]
    return cases + [Case(FIXTURES / name, kind_of(name), refused=True) for name in unread()]


def public(path: Path) -> Case | None:
    """A document of anybody's; None if nothing else here reads it."""
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
    """What a row of the table is about: `pdf`, `pdf.gz`."""
    ends = [end for end in name.lower().split(".")[1:] if end.isalnum() and not end.isdigit()]
    packed = ends[-1] in ("gz", "bz2", "xz", "zst") and len(ends) > 1
    return ".".join(ends[-2:] if packed else ends[-1:])


def _chosen(
    path: Path, pages: Sequence[str], where: Where, *, paged: bool = False
) -> list[Expected]:
    """Words that stand in few places, the same in every run."""
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
        # In another word it may stand on many more.
        if len(places) <= MOST_PLACES and len(chosen) < WORDS:
            found = [{"page": page} | where for page in places] if paged else [where]
            chosen.append(Expected(word, found))
    return chosen


# --- what other programs read ------------------------------------------------------------------


def _by_pdftotext(content: bytes) -> list[str]:
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(content)
        file.flush()
        return _output("pdftotext", "-enc", "UTF-8", file.name, "-").split("\f")[:-1]


def _by_pdfium(content: bytes) -> list[str]:
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    # A word that is broken at a line's end has this inside.
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
