"""Documents that are ZIP archives of parts, as those of Microsoft Office, OpenDocument and EPUB.

By zipfile of the standard library, which unpacks as a stream; what it raises for damaged archives
is turned into reasons here.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import zipfile
import zlib
from typing import IO
from urllib.parse import unquote

from msgspec import Struct

from winnow.documents.extract.input_stream import CHUNK_BYTES, Source
from winnow.documents.extract.xml import Attributes, XmlReader, read_xml
from winnow.documents.unreadable import Unreadable

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how a compound file begins
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


class Package:
    """The parts of a document, by their paths in its archive. Raises Unreadable if it is none."""

    def __init__(self, source: Source) -> None:
        self._source = source
        try:
            self._archive = zipfile.ZipFile(source.file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            raise Unreadable(_no_archive(source)) from error
        # Names of parts differ by more than case (OPC), and some programs mind it less than others.
        self._members = {one.filename.lower(): one for one in self._archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._members

    def names(self) -> list[str]:
        """The names of all parts."""
        return [member.filename for member in self._members.values()]

    def open(self, name: str) -> io.BufferedReader:
        """A part as a stream, whose bytes are counted. Raises Unreadable if there is none."""
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
        """Read a part that is XML. Raises Unreadable if it is damaged or missing."""
        with self.open(name) as stream:
            read_xml(stream, reader)


class _Part:
    """A part as it is unpacked; errors in the packing are reasons."""

    def __init__(self, name: str, stream: IO[bytes]) -> None:
        self._name = name
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        try:
            return self._stream.read(size)
        except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError) as error:
            reason = str(error) or "it ends too early"
            raise Unreadable(f"it is damaged: its part {self._name[:100]}: {reason}") from error


def _no_archive(source: Source) -> str:
    """Why a document is no archive: those of Office with a password are compound files."""
    source.file.seek(0)
    beginning = source.file.read(8)
    if beginning == OLE:
        if _holds(source.file, _ENCRYPTED_PACKAGE):
            return "it is encrypted: a password is needed"
        return "it is a document of an old Microsoft Office in a file with the name of a new one"
    if beginning.startswith(b"PK"):
        return "it is damaged: its end is missing"
    return "it is damaged: it is not what its name says" if beginning else "it is empty"


def _holds(file: IO[bytes], mark: bytes) -> bool:
    file.seek(0)
    before = b""
    while chunk := file.read(CHUNK_BYTES):
        if mark in before + chunk:
            return True
        before = chunk[-len(mark) :]
    return False


class Relation(Struct, frozen=True):
    """What a part of an Office document refers to; ``kind`` is the last word of its type."""

    kind: str
    target: str


def relations(package: Package, part: str) -> dict[str, Relation]:
    """What a part refers to, by the names it has for it; "" are the document's own."""
    folder, _, name = part.rpartition("/")
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    reader = _Relations(folder)
    if path in package:
        package.read(path, reader)
    return reader.found


class _Relations(XmlReader):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.found: dict[str, Relation] = {}
        self._folder = folder
        self.starts["Relationship"] = self._relation

    def _relation(self, attributes: Attributes) -> None:
        if attributes.get("TargetMode") == "External":
            return
        kind = attributes.get("Type", "").rpartition("/")[2]
        target = resolved(self._folder, attributes.get("Target", ""))
        self.found[attributes.get("Id", "")] = Relation(kind, target)


def resolved(folder: str, target: str) -> str:
    """The path in an archive that a reference from a part in a folder means."""
    path = unquote(target.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")
