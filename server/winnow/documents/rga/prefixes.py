"""Parse the prefixes of rga's lines: pages and members of archives.

rga has no fields for them. It puts them at the start of each line: ``Page 3: ``, ``member.txt: ``,
or several in a row (``inner.zip: report.pdf: Page 3: ``). Their number follows from the file names,
because rga goes only by those.

Two cases are inexact. The name of a member that contains ``: `` ends there. Of a name with a line
break, only the last line is known.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from winnow.documents.formats.archive import directory_bytes
from winnow.documents.library.locations import DocumentLocation
from winnow.documents.rga.settings import PANDOC_EXTENSIONS
from winnow.storage.paths import real_path
from winnow.storage.untrusted import open_untrusted

Kind = Literal["pages", "members", "pandoc", "text"]

_PANDOC = frozenset(end for extensions in PANDOC_EXTENSIONS.values() for end in extensions)
_ZIP = frozenset(("zip", "jar", "xpi", "kra", "snagx"))
_COMPRESSED = frozenset(("als", "bz2", "gz", "tbz", "tbz2", "tgz", "xz", "zst"))
_TARS = frozenset(("tgz", "tbz", "tbz2"))
EXTENSIONS = frozenset(("pdf", "tar")) | _PANDOC | _ZIP | _COMPRESSED

_PAGE = re.compile(r"Page (\d+): ")
# Of a regex: anchors, escapes, and character classes, in which a bracket may come first.
_TOKEN = re.compile(r"\^|\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]", re.S)
# rga writes these in place of a text that it does not extract.
_NO_TEXT = re.compile(r"\[rga: (?:binary data|max archive recursion reached \(\d+\))\]")
# Replaced by spaces, which keeps offsets valid.
_LINE_BREAKS = str.maketrans(dict.fromkeys("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029", " "))


def extension_of(name: str) -> str:
    """Return the part of a name after its last dot."""
    return name.rpartition(".")[2] if "." in name else ""


def kind_of(name: str) -> Kind:
    """Return how rga treats a file with this name."""
    extension = extension_of(unpacked(name)).lower()
    if extension == "pdf":
        return "pages"
    if extension == "tar" or extension in _ZIP:
        return "members"
    return "pandoc" if extension in _PANDOC else "text"


def unpacked(name: str) -> str:
    """Return the name of a file after rga has decompressed it."""
    while (extension := extension_of(name)).lower() in _COMPRESSED:
        stem = name[: -len(extension) - 1]
        if not stem:
            break
        # rga compares this extension case-sensitively: it does not find a TAR in `A.TGZ`.
        name = f"{stem}.tar" if extension in _TARS else stem
    return name


class PrefixedLine(Struct, frozen=True):
    """A line of rga's output without its prefixes, which have ``length`` characters."""

    place: DocumentLocation
    length: int
    text: str

    def ranges(
        self, ranges: Sequence[tuple[int, int]], *, literal: bool
    ) -> tuple[tuple[int, int], ...]:
        """Return the matches within the text.

        A match that starts in a prefix loses that part (``.*word``). A literal match does not occur
        in the document then, so it is dropped.
        """
        return tuple(
            (max(start, self.length) - self.length, end - self.length)
            for start, end in ranges
            if (start >= self.length or (end > self.length and not literal))
            and end - self.length <= len(self.text)
        )


class LinePrefixes:
    """A parser for the lines of a document with this name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kind = kind_of(name)

    @property
    def has_pages(self) -> bool:
        """True if the document has pages, which the preview separates by rulers."""
        return self._kind == "pages"

    @property
    def has_prefixes(self) -> bool:
        """True if rga puts a prefix before each line."""
        return self._kind in ("pages", "members")

    def parse(self, line: str) -> PrefixedLine:
        """Split a line into its location and its text."""
        kind, position, names = self._kind, 0, list[str]()
        while kind == "members":
            end = line.find(": ", position)
            if end < 0:
                break
            names.append(line[position:end])
            position = end + 2
            kind = kind_of(names[-1])
        compressed = names[-1] if names else self._name
        if kind in ("pages", "pandoc") and unpacked(compressed) != compressed:
            names.append(unpacked(compressed))  # rga does not name it
        page = _PAGE.match(line, position) if kind == "pages" else None
        if page:
            position = page.end()
        place = DocumentLocation(
            page=int(page[1]) if page else None, member="!/".join(names) or None
        )
        text = line[position:]
        if _NO_TEXT.fullmatch(text):
            text = ""
        return PrefixedLine(place, position, text.translate(_LINE_BREAKS))


def is_anchored(pattern: str) -> bool:
    """Return True if a regex matches only at the start of a line, which rga's prefixes displace."""
    return any(token[0] in ("^", r"\A") for token in _TOKEN.finditer(pattern))


# --- the directory of a ZIP file -----------------------------------------------------------

_MAX_DIRECTORY_BYTES = 1024**2
_ENCRYPTED = 0x1  # a bit of a member's flags


class ZipDirectory(Struct, frozen=True):
    """The number of members, and of those that are encrypted."""

    count: int = 0
    encrypted: int = 0


def directory_of(path: str) -> ZipDirectory:
    """Return the directory of a ZIP file, or an empty one if it is too large or damaged, or if the
    file extension is not that of a ZIP file."""
    if extension_of(path).lower() not in _ZIP:
        return ZipDirectory()
    try:
        with os.fdopen(open_untrusted(real_path(path)), "rb") as file:
            if directory_bytes(file, file.seek(0, os.SEEK_END)) > _MAX_DIRECTORY_BYTES:
                return ZipDirectory()
            with zipfile.ZipFile(file) as archive:
                members = [member for member in archive.infolist() if not member.is_dir()]
    except (OSError, ValueError, NotImplementedError, struct.error, zipfile.BadZipFile):
        return ZipDirectory()
    return ZipDirectory(
        len(members), sum(bool(member.flag_bits & _ENCRYPTED) for member in members)
    )
