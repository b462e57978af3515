"""XML as it streams by: handlers of elements, by expat of the standard library.

Expat reads in C, holds no tree, does not recurse, and says what a file declares before it would
expand it: no library is needed to be safe with it. An entity that a file declares itself ends the
reading (nothing but bombs has them in these formats), and no external one is ever asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from xml.parsers import expat

from winnow.documents.extract.input_stream import CHUNK_BYTES, Readable
from winnow.documents.unreadable import Unreadable

Attributes = Mapping[str, str]

_OOXML = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
# What names are written with in our handlers, whatever prefix a file has for it. Names of formats
# that need only one namespace have none, so that files that forgot to say theirs are read, too.
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
    """What is done with the elements of a file.

    ``starts`` and ``ends`` are called for elements of these names, and ``text`` with what stands
    in any element. After :meth:`skip`, nothing is called up to the end of the element that starts.
    """

    def __init__(self) -> None:
        self.starts: dict[str, Callable[[Attributes], object]] = {}
        self.ends: dict[str, Callable[[], object]] = {}
        self.skipped = 0

    def text(self, data: str) -> None:
        """Characters of a text, or a part of them."""

    def skip(self, _attributes: Attributes | None = None) -> None:
        """Leave out the element that starts, with all that is in it."""
        self.skipped = 1


def read_xml(stream: Readable, reader: XmlReader) -> None:
    """Read a file in XML to its end. Raises Unreadable if it is damaged."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.buffer_size = 64 * 1024
    parser.StartElementHandler = _starter(reader)
    parser.EndElementHandler = _ender(reader)
    parser.CharacterDataHandler = _texter(reader)
    parser.EntityDeclHandler = _refuse
    try:
        while chunk := stream.read(CHUNK_BYTES):
            parser.Parse(chunk, False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise Unreadable(f"it is damaged: XML with an error: {error}") from error


class _Names(dict[str, str]):
    """Names as our handlers write them, by names as expat has them."""

    def __missing__(self, name: str) -> str:
        short = self[name] = _short(name)
        return short


def _starter(reader: XmlReader) -> Callable[[str, dict[str, str]], None]:
    names = _Names()

    def start(name: str, attributes: dict[str, str]) -> None:
        if reader.skipped:
            reader.skipped += 1
            return
        handle = reader.starts.get(names[name])
        if handle is not None:
            if attributes:
                attributes = {names[key]: value for key, value in attributes.items()}
            handle(attributes)

    return start


def _ender(reader: XmlReader) -> Callable[[str], None]:
    names = _Names()

    def end(name: str) -> None:
        if reader.skipped:
            reader.skipped -= 1
            return
        handle = reader.ends.get(names[name])
        if handle is not None:
            handle()

    return end


def _texter(reader: XmlReader) -> Callable[[str], None]:
    take = reader.text

    def text(data: str) -> None:
        if not reader.skipped:
            take(data)

    return text


def _short(name: str) -> str:
    """`w:p` for one of a namespace that is known here, any other as it came."""
    space, _, local = name.rpartition(" ")
    if not space:
        return local
    prefix = _PREFIXES.get(space)
    return name if prefix is None else prefix + local


def _refuse(*_declared: object) -> None:
    raise Unreadable("it is damaged: XML that declares entities, which are not expanded")
