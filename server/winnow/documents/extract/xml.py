"""Read XML as a stream, with handlers for elements, using expat of the standard library.

Expat is written in C, builds no tree, does not recurse, and reports a declaration before it expands
it, so no further library is needed to read untrusted files safely. A file that declares an entity
is refused (in these formats, only entity bombs do), and external entities are never loaded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from xml.parsers import expat

from winnow.documents.extract.input_stream import CHUNK_BYTES, ByteStream
from winnow.documents.unreadable import Unreadable

Attributes = Mapping[str, str]

_OOXML = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
# The prefixes of names in our handlers, whatever prefixes a file uses. Formats with a single
# namespace have no prefix, so that files that do not declare the namespace are read, too.
_PREFIXES = {
    f"{_OOXML}wordprocessingml/2006/main": "w:",
    f"{_STRICT}wordprocessingml/main": "w:",
    f"{_OOXML}presentationml/2006/main": "p:",
    f"{_STRICT}presentationml/main": "p:",
    f"{_OOXML}spreadsheetml/2006/main": "",
    f"{_STRICT}spreadsheetml/main": "",
    f"{_OOXML}drawingml/2006/main": "a:",
    f"{_STRICT}drawingml/main": "a:",
    f"{_OOXML}drawingml/2006/chart": "c:",
    f"{_STRICT}drawingml/chart": "c:",
    f"{_OOXML}officeDocument/2006/math": "m:",
    f"{_STRICT}officeDocument/math": "m:",
    f"{_OOXML}officeDocument/2006/relationships": "r:",
    f"{_STRICT}officeDocument/relationships": "r:",
    f"{_OOXML}markup-compatibility/2006": "mc:",
    f"{_OOXML}package/2006/relationships": "",
    **{f"{_ODF}{name}:1.0": f"{name}:" for name in ("office", "text", "table", "style")},
    f"{_ODF}drawing:1.0": "draw:",
    f"{_ODF}presentation:1.0": "presentation:",
    f"{_ODF}manifest:1.0": "",
    f"{_ODF}container": "",
    "http://www.idpf.org/2007/opf": "",
    "http://www.daisy.org/z3986/2005/ncx/": "",
    "http://www.w3.org/2001/04/xmlenc#": "",
    "http://www.gribuser.ru/xml/fictionbook/2.0": "",
    "http://www.gribuser.ru/xml/fictionbook/2.1": "",
    "http://www.w3.org/1999/xhtml": "h:",
}


class XmlReader:
    """Handlers for the elements of an XML file.

    :meth:`text` gets the characters of all elements, or only of those registered by
    :meth:`on_text`.
    """

    def __init__(self) -> None:
        self.starts: dict[str, Callable[[Attributes], object]] = {}
        self.ends: dict[str, Callable[[], object]] = {}
        self.skipped = 0
        self.in_text = True

    def on(
        self,
        names: str,
        start: Callable[[Attributes], object] | None = None,
        end: Callable[[], object] | None = None,
    ) -> None:
        """Call these at the start and the end of elements; ``names`` are separated by spaces."""
        if start is not None:
            self.starts |= dict.fromkeys(names.split(), start)
        if end is not None:
            self.ends |= dict.fromkeys(names.split(), end)

    def on_text(self, names: str) -> None:
        """Call :meth:`text` only for the characters of these elements."""
        self.in_text = False
        self.on_flag(names, "in_text")

    def on_flag(self, names: str, flag: str) -> None:
        """Set an attribute of the reader to True inside these elements, and to False after them."""
        self.on(names, lambda _: setattr(self, flag, True), lambda: setattr(self, flag, False))

    def on_alternatives(self) -> None:
        """Read only the first of several alternatives, which older and newer programs choose."""
        chosen: list[bool] = []

        def branch(_attributes: Attributes) -> None:
            if chosen and chosen[-1]:
                self.skip()
            elif chosen:
                chosen[-1] = True

        self.on("mc:AlternateContent", lambda _: chosen.append(False), chosen.pop)
        self.on("mc:Choice mc:Fallback", branch)

    def text(self, data: str) -> None:
        """Handle some of the characters of an element."""

    def skip(self, _attributes: Attributes | None = None) -> None:
        """Skip the element that starts, with everything in it."""
        self.skipped = 1


def read_xml(stream: ByteStream, reader: XmlReader) -> None:
    """Read an XML file to its end. Raises Unreadable if it is damaged."""
    for _ in _parse(stream, reader):
        pass


def elements(stream: ByteStream, *names: str) -> Iterator[tuple[str, Attributes]]:
    """Yield the elements of these names with their attributes. Raises Unreadable if the file is
    damaged, after the elements before the damage."""
    found: list[tuple[str, Attributes]] = []

    def add(name: str, attributes: Attributes) -> None:
        found.append((name, attributes))

    reader = XmlReader()
    reader.starts = {name: functools.partial(add, name) for name in names}
    try:
        for _ in _parse(stream, reader):
            yield from found
            found.clear()
    except Unreadable:
        yield from found
        raise


def _parse(stream: ByteStream, reader: XmlReader) -> Iterator[None]:
    """Read a file; yield after each chunk."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.buffer_size = 64 * 1024
    names = _ShortNames()
    starts, ends, text = reader.starts, reader.ends, reader.text

    def start(name: str, attributes: dict[str, str]) -> None:
        if reader.skipped:
            reader.skipped += 1
            return
        handle = starts.get(names[name])
        if handle is not None:
            handle({names[key]: value for key, value in attributes.items()})

    def end(name: str) -> None:
        if reader.skipped:
            reader.skipped -= 1
            return
        handle = ends.get(names[name])
        if handle is not None:
            handle()

    def characters(data: str) -> None:
        if reader.in_text and not reader.skipped:
            text(data)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.EntityDeclHandler = _refuse
    try:
        while chunk := stream.read(CHUNK_BYTES):
            parser.Parse(chunk, False)
            yield
        parser.Parse(b"", True)
        yield
    except expat.ExpatError as error:
        raise Unreadable(f"it is damaged: XML with an error: {error}") from error


class _ShortNames(dict[str, str]):
    """The names that handlers use, by the names that expat reports."""

    def __missing__(self, name: str) -> str:
        short = self[name] = _short(name)
        return short


def _short(name: str) -> str:
    """Return `w:p` for a name in a known namespace, and any other name unchanged."""
    space, _, local = name.rpartition(" ")
    if not space:
        return local
    prefix = _PREFIXES.get(space)
    return name if prefix is None else prefix + local


def _refuse(*_declared: object) -> None:
    raise Unreadable("it is damaged: XML that declares entities, which are not expanded")
