"""Documents that are ZIP archives of XML parts: Microsoft Office, OpenDocument and EPUB.

Archives are read by zipfile of the standard library, which unpacks as a stream. Its exceptions for
damaged archives become reasons here.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO
from urllib.parse import unquote

from msgspec import Struct

from winnow.documents.extract import xml
from winnow.documents.extract.input_stream import CHUNK_BYTES, DocumentInput
from winnow.documents.extract.xml import Attributes, XmlReader, read_xml
from winnow.documents.unreadable import Unreadable

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # the first bytes of a compound file
_FOLDERS = ("word", "xl", "ppt")  # of the parts of Word, Excel and PowerPoint
_OTHER_FORMAT = "it is damaged: it does not match its file extension"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


class Relation(Struct, frozen=True):
    """A reference of a part to another part; ``kind`` is the last word of its type."""

    kind: str
    target: str


class Package:
    """The parts of a document, by their paths in its archive.

    Raises Unreadable if the document is not an archive.
    """

    def __init__(self, source: DocumentInput) -> None:
        self._source = source
        try:
            self._archive = zipfile.ZipFile(source.file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable(_no_archive(source)) from error
        # Part names are case-insensitive (OPC), and some programs mix the case.
        self._members = {member.filename.lower(): member for member in self._archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._members

    def names(self) -> list[str]:
        """Return the names of all parts."""
        return [member.filename for member in self._members.values()]

    def open(self, name: str) -> io.BufferedReader:
        """Open a part as a stream whose bytes are counted. Raises Unreadable if it is missing."""
        member = self._members.get(name.lower())
        if member is None:
            raise Unreadable(f"it is damaged: its part {name[:100]} is missing")
        if member.flag_bits & 1:
            raise Unreadable("it is encrypted: a password is needed")
        try:
            return self._source.limited(_Part(name, self._archive.open(member)))
        except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
            raise Unreadable(f"it is damaged: its part {name[:100]}: {error}") from error

    def read(self, name: str, reader: XmlReader) -> None:
        """Read an XML part. Raises Unreadable if it is damaged or missing."""
        with self.open(name) as stream:
            read_xml(stream, reader)

    def try_read(self, name: str, reader: XmlReader) -> str:
        """Read an XML part up to its first error; return the reason if there is an error."""
        try:
            self.read(name, reader)
        except Unreadable as reason:
            return str(reason)
        return ""

    def elements(self, name: str, *elements: str) -> Iterator[tuple[str, Attributes]]:
        """Yield the elements of these names in an XML part, with their attributes. Raises
        Unreadable if the part is damaged or missing."""
        with self.open(name) as stream:
            yield from xml.elements(stream, *elements)

    def relations(self, part: str) -> dict[str, Relation]:
        """Return the references of a part to others, by id; the part "" is the document itself."""
        folder, _, name = part.rpartition("/")
        path = posixpath.join(folder, "_rels", f"{name}.rels")
        if path not in self:
            return {}
        return {
            attributes.get("Id", ""): Relation(
                attributes.get("Type", "").rpartition("/")[2],
                resolved(folder, attributes.get("Target", "")),
            )
            for _, attributes in self.elements(path, "Relationship")
            if attributes.get("TargetMode") != "External"
        }

    def targets(self, part: str, *kinds: str) -> list[str]:
        """Return the parts that a part refers to by relations of these kinds."""
        return [ref.target for ref in self.relations(part).values() if ref.kind in kinds]

    def main_part(self, default: str) -> str:
        """Return the part that holds the content of an Office document. Raises Unreadable if it is
        the part of another program than the default's."""
        targets = self.targets("", "officeDocument")
        main = next((target for target in targets if target in self), default)
        folder = main.partition("/")[0]
        if folder in _FOLDERS and folder != default.partition("/")[0]:
            raise Unreadable(_OTHER_FORMAT)
        return main


class _Part:
    """The unpacked stream of a part, which raises Unreadable for damaged data."""

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name = name
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        try:
            return self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
            reason = str(error) or "it ends too early"
            raise Unreadable(f"it is damaged: its part {self._name[:100]}: {reason}") from error


def _no_archive(source: DocumentInput) -> str:
    """Return why a document is not an archive: an encrypted one is a compound file."""
    source.file.seek(0)
    beginning = source.file.read(8)
    if beginning == OLE:
        if _holds(source.file, _ENCRYPTED_PACKAGE):
            return "it is encrypted: a password is needed"
        return "it is a document of an older Microsoft Office with the extension of a newer one"
    if beginning.startswith(b"PK"):
        return "it is damaged: its end is missing"
    return _OTHER_FORMAT if beginning else "it is empty"


def _holds(file: IO[bytes], mark: bytes) -> bool:
    file.seek(0)
    before = b""
    while chunk := file.read(CHUNK_BYTES):
        if mark in before + chunk:
            return True
        before = chunk[-len(mark) :]
    return False


def resolved(folder: str, target: str) -> str:
    """Return the path in an archive that a reference from a part in a folder points to."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")
