"""Books in EPUB: chapter by chapter in reading order.

Read with the standard library (zipfile and expat), and with our HTML reader for chapters. EbookLib
loads the complete book with its pictures.
"""

from __future__ import annotations

from msgspec import Struct

from winnow.documents.extract.input_stream import DocumentInput
from winnow.documents.extract.output import TextOutput
from winnow.documents.extract.paragraphs import Sections, title_of
from winnow.documents.extract.xml import Attributes, XmlReader
from winnow.documents.extract.zipped import Package, resolved
from winnow.documents.format import DocumentFormat
from winnow.documents.formats.html import read_html, read_page
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.unreadable import Unreadable

_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
# Fonts are obfuscated to prevent copying. The text is readable nevertheless.
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read(source: DocumentInput, output: TextOutput) -> None:
    """Write chapter by chapter, with the titles of the table of contents."""
    package = Package(source)
    files = package.elements("META-INF/container.xml", "rootfile")
    roots = [attributes.get("full-path") for _, attributes in files]
    root = next(filter(None, roots), "content.opf")
    book = _Book(package, root)
    encrypted = _encrypted(package)
    if book.chapters and all(chapter in encrypted for chapter in book.chapters):
        raise Unreadable("it is encrypted: only the program that it was bought for reads it")
    titles = _titles(package, book)
    for chapter in book.chapters:
        try:
            if chapter in encrypted:
                raise Unreadable("it is encrypted")
            _read_chapter(package, chapter, titles.get(chapter, ""), output)
        except Unreadable as reason:
            output.failed(f"{titles.get(chapter, chapter)}: {reason}")
            source.budget.spend(0)
    output.require_text()


def _read_chapter(package: Package, part: str, title: str, output: TextOutput) -> None:
    with package.open(part) as stream:
        page, is_complete = read_page(stream)
    chapter = _Chapter(output, title)
    read_html(_body(page), chapter.line)
    if not is_complete:
        raise Unreadable("only its beginning is read")


def _body(page: str) -> str:
    """Return the body of a page: readers do not show the title of a chapter's file."""
    begin = page.find("<body")
    return page[begin:] if begin >= 0 else page


class _Chapter:
    """Writes a chapter, whose title is that of the table of contents or its first line. A chapter
    without text, such as a cover, is omitted."""

    def __init__(self, output: TextOutput, title: str) -> None:
        self._output = output
        self._title = title
        self._sections: Sections | None = None

    def line(self, text: str, level: int | None) -> None:
        if self._sections is None:
            title = self._title or title_of(text)
            self._output.part(title, DocumentLocation(section=title, paragraph=1))
            self._sections = Sections(self._output, above=(title,))
            level = None  # avoid two rulers for a title
        self._sections.paragraph(text, level)


class _Item(Struct, frozen=True):
    path: str
    type: str
    properties: str


class _Book:
    """The package document: the files of a book, and the ``chapters`` in reading order."""

    def __init__(self, package: Package, root: str) -> None:
        self.items: dict[str, _Item] = {}
        self.toc = ""
        spine: list[str] = []
        for name, attributes in package.elements(root, "item", "itemref", "spine"):
            if name == "item":
                self.items[attributes.get("id", "")] = _Item(
                    resolved(root.rpartition("/")[0], attributes.get("href", "")),
                    attributes.get("media-type", ""),
                    attributes.get("properties", ""),
                )
            elif name == "itemref":
                spine.append(attributes.get("idref", ""))
            else:
                self.toc = attributes.get("toc", "")
        items = [self.items[item] for item in spine if item in self.items]
        self.chapters = list(dict.fromkeys(item.path for item in items if item.type in _PAGES))


def _encrypted(package: Package) -> set[str]:
    parts: set[str] = set()
    method, file = "", "META-INF/encryption.xml"
    if file not in package:
        return parts
    for name, attributes in package.elements(file, "EncryptionMethod", "CipherReference"):
        if name == "EncryptionMethod":
            method = attributes.get("Algorithm", "")
        elif method not in _FONTS:
            parts.add(resolved("", attributes.get("URI", "")))
    return parts


# --- table of contents ---------------------------------------------------------------------------


def _titles(package: Package, book: _Book) -> dict[str, str]:
    """Return the title of each part in the table of contents of EPUB 3, or of EPUB 2."""
    items = book.items.values()
    parts = [item.path for item in items if "nav" in item.properties.split()]
    parts += [
        item.path
        for item in items
        if item.type == "application/x-dtbncx+xml" or item is book.items.get(book.toc)
    ][:1]
    for part in parts:
        contents = _Contents(part)
        package.try_read(part, contents)  # chapters are readable without titles
        if contents.titles:
            return contents.titles
    return {}


class _Contents(XmlReader):
    """A table of contents: a page with links in EPUB 3, or labels with targets in EPUB 2. The title
    of a part is the first that refers to it."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.titles: dict[str, str] = {}
        self._folder = part.rpartition("/")[0]
        self._pieces: list[str] = []
        self._target = ""
        self.on("h:a navLabel", self._begin)
        self.on("h:a", end=lambda: self._refers(self._target))
        self.on("content", lambda attributes: self._refers(attributes.get("src", "")))

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def _begin(self, attributes: Attributes) -> None:
        self._target = attributes.get("href", "")
        self._pieces.clear()

    def _refers(self, reference: str) -> None:
        title = title_of(" ".join("".join(self._pieces).split()))
        if title:
            self.titles.setdefault(resolved(self._folder, reference), title)


FORMATS = (DocumentFormat(name="epub", extensions=(".epub",), read=read),)
