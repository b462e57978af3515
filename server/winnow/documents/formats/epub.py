"""Books in EPUB: chapter by chapter in the order in which they are read.

By the standard library (zipfile and expat), and for chapters by our reader of HTML; EbookLib holds
the whole book with its pictures.
"""

from __future__ import annotations

import contextlib

from msgspec import Struct

from winnow.documents.extract.input_stream import Source
from winnow.documents.extract.lines import Sections, title_of
from winnow.documents.extract.output import Output
from winnow.documents.extract.xml import Attributes, XmlReader
from winnow.documents.extract.zipped import Package, resolved
from winnow.documents.format import Format
from winnow.documents.formats.html import read_html, read_page
from winnow.documents.library.locations import Place
from winnow.documents.unreadable import Unreadable

_PAGES = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
# Fonts are obfuscated so that they are not copied; the text can be read all the same.
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read(source: Source, output: Output) -> None:
    """Chapter by chapter, with titles of the table of contents."""
    package = Package(source)
    book = _Book()
    root = _root(package)
    package.read(root, book)
    chapters = book.chapters(root)
    encrypted = _encrypted(package)
    if chapters and all(chapter in encrypted for chapter in chapters):
        raise Unreadable("it is encrypted: only the program that it was bought for reads it")
    titles = _titles(package, book, root)
    for chapter in chapters:
        try:
            if chapter in encrypted:
                raise Unreadable("it is encrypted")
            _read_chapter(package, chapter, titles.get(chapter, ""), output)
        except Unreadable as reason:
            output.failed(f"{titles.get(chapter, chapter)}: {reason}")
            source.budget.take(0)
    if not output.lines:
        raise Unreadable("it has no text" if not output.failures else output.failures[0].reason)


def _read_chapter(package: Package, part: str, title: str, output: Output) -> None:
    with package.open(part) as stream:
        page, whole = read_page(stream)
    chapter = _Chapter(output, title)
    read_html(_body(page), chapter.line)
    if not whole:
        raise Unreadable("only its beginning is read")


def _body(page: str) -> str:
    """What a reader sees: the title of a chapter's file is shown nowhere."""
    begin = page.find("<body")
    return page[begin:] if begin >= 0 else page


class _Chapter:
    """A chapter is called what the table of contents calls it, or what it begins with. One without
    any text, such as a cover, is not mentioned."""

    def __init__(self, output: Output, title: str) -> None:
        self._output = output
        self._title = title
        self._sections: Sections | None = None

    def line(self, text: str, level: int | None) -> None:
        if self._sections is None:
            title = self._title or title_of(text)
            self._output.part(title, Place(section=title, paragraph=1))
            self._sections = Sections(self._output, above=(title,))
            level = None  # two rulers for one title are too many
        self._sections.paragraph(text, level)


def _root(package: Package) -> str:
    container = _Container()
    package.read("META-INF/container.xml", container)
    return container.root or "content.opf"


class _Container(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.root = ""
        self.starts["rootfile"] = self._file

    def _file(self, attributes: Attributes) -> None:
        self.root = self.root or attributes.get("full-path", "")


class _Item(Struct, frozen=True):
    path: str
    type: str
    properties: str


class _Book(XmlReader):
    """The package document: which files there are, and in which order they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, _Item] = {}
        self.toc = ""
        self._spine: list[str] = []
        self.starts = {"item": self._item, "itemref": self._reference, "spine": self._begin_spine}

    def _item(self, attributes: Attributes) -> None:
        self.items[attributes.get("id", "")] = _Item(
            attributes.get("href", ""),
            attributes.get("media-type", ""),
            attributes.get("properties", ""),
        )

    def _begin_spine(self, attributes: Attributes) -> None:
        self.toc = attributes.get("toc", "")

    def _reference(self, attributes: Attributes) -> None:
        self._spine.append(attributes.get("idref", ""))

    def chapters(self, root: str) -> list[str]:
        """The parts that are read, once each."""
        items = [self.items[one] for one in self._spine if one in self.items]
        folder = root.rpartition("/")[0]
        return list(
            dict.fromkeys(resolved(folder, one.path) for one in items if one.type in _PAGES)
        )


def _encrypted(package: Package) -> frozenset[str]:
    reader = _Encryption()
    if "META-INF/encryption.xml" in package:
        package.read("META-INF/encryption.xml", reader)
    return frozenset(reader.parts)


class _Encryption(XmlReader):
    def __init__(self) -> None:
        super().__init__()
        self.parts: set[str] = set()
        self._by = ""
        self.starts = {"EncryptionMethod": self._method, "CipherReference": self._reference}

    def _method(self, attributes: Attributes) -> None:
        self._by = attributes.get("Algorithm", "")

    def _reference(self, attributes: Attributes) -> None:
        if self._by not in _FONTS:
            self.parts.add(resolved("", attributes.get("URI", "")))


# --- table of contents ---------------------------------------------------------------------------


def _titles(package: Package, book: _Book, root: str) -> dict[str, str]:
    """What the table of contents calls each part: that of EPUB 3, or the one before it."""
    folder = root.rpartition("/")[0]
    for item in book.items.values():
        if "nav" in item.properties.split():
            found = _titles_of_page(package, resolved(folder, item.path))
            if found:
                return found
    for item in book.items.values():
        if item.type == "application/x-dtbncx+xml" or item is book.items.get(book.toc):
            return _titles_of_ncx(package, resolved(folder, item.path))
    return {}


def _titles_of_page(package: Package, part: str) -> dict[str, str]:
    return _found_titles(package, part, _Links(part.rpartition("/")[0]))


def _titles_of_ncx(package: Package, part: str) -> dict[str, str]:
    return _found_titles(package, part, _NavPoints(part.rpartition("/")[0]))


def _found_titles(package: Package, part: str, reader: _Toc) -> dict[str, str]:
    with contextlib.suppress(Unreadable):  # the chapters can be read without it
        package.read(part, reader)
    return reader.found


class _Toc(XmlReader):
    """Titles with what they refer to: the first of a part is the part's."""

    def __init__(self, folder: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._folder = folder
        self._pieces: list[str] = []

    def text(self, data: str) -> None:
        self._pieces.append(data)

    def _begin(self, _attributes: Attributes) -> None:
        self._pieces.clear()

    def _refers(self, reference: str) -> None:
        title = title_of(" ".join("".join(self._pieces).split()))
        if title:
            self.found.setdefault(resolved(self._folder, reference), title)


class _Links(_Toc):
    """The table of contents of EPUB 3: a page with links."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self._target = ""
        self.starts["h:a"] = self._link
        self.ends["h:a"] = lambda: self._refers(self._target)

    def _link(self, attributes: Attributes) -> None:
        self._target = attributes.get("href", "")
        self._begin(attributes)


class _NavPoints(_Toc):
    """The table of contents of EPUB 2."""

    def __init__(self, folder: str) -> None:
        super().__init__(folder)
        self.starts = {"navLabel": self._begin, "content": self._content}

    def _content(self, attributes: Attributes) -> None:
        self._refers(attributes.get("src", ""))


FORMATS = (Format(name="epub", ends=(".epub",), read=read),)
