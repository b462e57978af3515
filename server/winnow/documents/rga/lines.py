"""What rga writes before the lines of a document: pages and members of archives.

rga has no fields for them, they are the beginning of each line: ``Page 3: ``, ``member.txt: ``, or
one after the other (``inner.zip: report.pdf: Page 3: ``). How many there are follows from the
names, as rga goes by these alone.

Not exact: the name of a member that has ``: `` in it ends there, unless it is one of the ZIP file
itself, whose directory is read; and a name with a line end is only what stands behind it.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Collection, Sequence
from typing import IO, Literal

from msgspec import Struct

from winnow.documents.library.locations import Place
from winnow.documents.rga.settings import PANDOC_ENDS
from winnow.storage.paths import real_path
from winnow.storage.untrusted import open_untrusted

Kind = Literal["pages", "members", "pandoc", "text"]

_PANDOC = frozenset(end for ends in PANDOC_ENDS.values() for end in ends)
_ZIP = frozenset(("zip", "jar", "xpi", "kra", "snagx"))
_COMPRESSED = frozenset(("als", "bz2", "gz", "tbz", "tbz2", "tgz", "xz", "zst"))
_TARS = frozenset(("tgz", "tbz", "tbz2"))
KNOWN_ENDS = frozenset(("pdf", "tar")) | _PANDOC | _ZIP | _COMPRESSED

_PAGE = re.compile(r"Page (\d+): ")
# Texts of rga's own in the place of one that it does not give.
_NO_TEXT = re.compile(r"\[rga: (?:binary data|max archive recursion reached \(\d+\))\]")
# A line stays one, whatever shows it, and its offsets stay true.
_LINE_ENDS = str.maketrans(dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def end_of(name: str) -> str:
    """The end of a name, behind its last dot."""
    return name.rpartition(".")[2] if "." in name else ""


def kind_of(name: str) -> Kind:
    """What rga makes of a file with this name."""
    end = end_of(unpacked(name)).lower()
    if end == "pdf":
        return "pages"
    if end == "tar" or end in _ZIP:
        return "members"
    return "pandoc" if end in _PANDOC else "text"


def unpacked(name: str) -> str:
    """The name that is left when rga has undone all compression."""
    while (end := end_of(name)).lower() in _COMPRESSED:
        stem = name[: -len(end) - 1]
        if not stem:
            break
        # rga compares this end as it is written: from `A.TGZ` it does not come to a TAR.
        name = f"{stem}.tar" if end in _TARS else stem
    return name


class Part(Struct, frozen=True):
    """A line of rga's output without what stands before it: ``length`` characters less."""

    place: Place
    length: int
    text: str


class Lines:
    """Takes apart the lines of a document; ``members`` are the names that its directory has."""

    def __init__(self, name: str, members: Collection[str] = ()) -> None:
        self._name = name
        self._kind = kind_of(name)
        self._members = members

    @property
    def paged(self) -> bool:
        """Whether the document is pages, which a reader sees below rulers."""
        return self._kind == "pages"

    @property
    def prefixed(self) -> bool:
        """Whether anything stands before its lines."""
        return self._kind in ("pages", "members")

    def part(self, line: str) -> Part:
        """The line itself, and where it comes from."""
        kind, position, names = self._kind, 0, list[str]()
        while kind == "members":
            name = self._member(line, position, first=not names)
            if name is None:
                break
            names.append(name)
            position += len(name) + 2
            kind = kind_of(name)
        names += _document_in(names[-1] if names else self._name, kind)
        page = _PAGE.match(line, position) if kind == "pages" else None
        if page:
            position = page.end()
        place = Place(page=int(page[1]) if page else None, member="!/".join(names) or None)
        text = line[position:]
        if _NO_TEXT.fullmatch(text):
            text = ""
        return Part(place, position, text.translate(_LINE_ENDS))

    def _member(self, line: str, position: int, *, first: bool) -> str | None:
        """The longest name that the directory has, else what stands before the first colon."""
        shortest, longest = None, None
        end = line.find(": ", position)
        while end >= 0:
            name = line[position:end]
            shortest = name if shortest is None else shortest
            if not first or not self._members:
                break
            if name in self._members:
                longest = name
            end = line.find(": ", end + 1)
        return shortest if longest is None else longest


def _document_in(name: str, kind: Kind) -> list[str]:
    """The name of a document that is compressed, which rga does not name."""
    inner = unpacked(name)
    return [inner] if inner != name and kind in ("pages", "pandoc") else []


def kept_ranges(
    ranges: Sequence[tuple[int, int]], part: Part, *, literal: bool
) -> tuple[tuple[int, int], ...]:
    """The matches that are in the line itself.

    One that begins before it loses that piece (``.*word``), unless it was to be found as it is
    written: it is in no line of the document then.
    """
    kept = []
    for start, end in ranges:
        if start >= part.length:
            kept.append((start - part.length, end - part.length))
        elif end > part.length and not literal:
            kept.append((0, end - part.length))
    return tuple(one for one in kept if one[1] <= len(part.text))


def anchored(pattern: str) -> bool:
    """Whether a regex asks for the beginning of a line, which rga's lines do not have."""
    classes: list[int] = []  # where those begin that the place is in
    escaped = False
    for place, char in enumerate(pattern):
        if escaped:
            if char == "A" and not classes:
                return True
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == "[":
            classes.append(place)
        elif char == "]" and classes:
            # The first one in a class is a character of it.
            if pattern[classes[-1] + 1 : place] not in ("", "^"):
                classes.pop()
        elif char == "^" and not classes:
            return True
    return False


# --- the directory of a ZIP file -----------------------------------------------------------

_END_OF_DIRECTORY = b"PK\x05\x06"
_ZIP64 = b"PK\x06\x07"
_TAIL_BYTES = 22 + 65_535  # that record and the longest comment
_DIRECTORY_BYTES = 1024**2
_ENCRYPTED, _UTF8 = 0x1, 0x800  # bits of a member's flags


class Directory(Struct, frozen=True):
    """The names of the members, folders left out, and how many of them are encrypted."""

    names: frozenset[str] = frozenset()
    count: int = 0
    encrypted: int = 0


def directory_of(path: str) -> Directory:
    """What the ZIP file says of its members; nothing if that is too large or damaged, or if it is
    no ZIP file by its name."""
    if end_of(path).lower() not in _ZIP:
        return Directory()
    try:
        with os.fdopen(open_untrusted(real_path(path)), "rb") as file:
            if not _is_small(file):
                return Directory()
            with zipfile.ZipFile(file) as archive:
                members = [one for one in archive.infolist() if not one.is_dir()]
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return Directory()
    return Directory(
        frozenset(name for one in members for name in _names(one)),
        len(members),
        sum(bool(one.flag_bits & _ENCRYPTED) for one in members),
    )


def _is_small(file: IO[bytes]) -> bool:
    """Whether the directory is one that is read in no time; one of ZIP64 is taken for large."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _TAIL_BYTES))
    tail = file.read(_TAIL_BYTES)
    found = tail.rfind(_END_OF_DIRECTORY)
    if found < 0 or len(tail) < found + 22 or tail[max(0, found - 20) :].startswith(_ZIP64):
        return False
    (length,) = struct.unpack_from("<I", tail, found + 12)
    return int(length) <= _DIRECTORY_BYTES


def _names(member: zipfile.ZipInfo) -> list[str]:
    """The name as Python reads it, and as rga does, which takes every name for UTF-8."""
    name = member.orig_filename
    if member.flag_bits & _UTF8:
        return [name]
    return [name, name.encode("cp437", "replace").decode("utf-8", "replace")]
