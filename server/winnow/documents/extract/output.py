"""Where extractors write the text of a document, with the places that it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from winnow.documents.library.locations import Anchor, DocumentLocation, UnreadPart
from winnow.documents.unreadable import Unreadable

# What a page is set with, and nobody types when searching: ligatures, spaces of all widths, marks
# where a word may be broken.
_TYPESETTING = {
    **{ord(char): " " for char in "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"},
    **{ord(char): " " for char in "\u2007\u2008\u2009\u200a\u202f\u205f\u3000"},
    **dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff")),
    **dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)),
    # No character of a text; a NUL would make ripgrep take the text for binary.
    **dict.fromkeys([*range(9), *range(14, 32), 127]),
}
_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
MOST_ANCHORS = 200_000
MOST_FAILURES = 100


def cleaned(text: str) -> str:
    """One line without what a page is set with."""
    return _LINE_ENDS.sub(" ", text).translate(_TYPESETTING)


class TextFull(Exception):
    """There is no room for more text: the rest of the document is left out, for this reason."""

    def __init__(self, reason: str = "one of its paragraphs or rows has no end") -> None:
        super().__init__(f"{reason}: the rest is left out")


class Unwritable(Exception):
    """The text cannot be written: the disk is full, for instance."""


class TextOutput:
    """Takes the text of one document, line by line.

    ``write`` gets each line as bytes in UTF-8; after ``max_bytes`` of them, TextFull is raised.
    """

    def __init__(self, write: Callable[[bytes], object], max_bytes: int) -> None:
        self.lines = 0
        self.bytes = 0
        self.anchors: list[Anchor] = []
        self._failures: dict[UnreadPart, None] = {}
        self._write = write
        self._max_bytes = max_bytes
        self._member = ""

    # --- text ------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One line; line ends in it become spaces. An empty one counts as a line, too."""
        encoded = cleaned(text).rstrip().encode("utf-8", "replace") + b"\n"
        if self.bytes + len(encoded) > self._max_bytes:
            limit = self._max_bytes // 1024**2
            raise TextFull(f"it has more than {limit} MiB of text")
        self.lines += 1
        self.bytes += len(encoded)
        try:
            self._write(encoded)
        except OSError as error:
            raise Unwritable(error.strerror or str(error)) from error

    def text(self, text: str) -> None:
        """Several lines, as the text has them."""
        lines = _LINE_ENDS.split(text)
        if lines and not lines[-1]:
            lines.pop()
        for line in lines:
            self.line(line)

    # --- places ----------------------------------------------------------------------------

    def part(self, title: str, place: DocumentLocation) -> None:
        """A part of the document begins, which a reader sees under a ruler with this title."""
        self._anchor(place, title)

    def at(self, place: DocumentLocation) -> None:
        """The next line comes from here."""
        self._anchor(place, "")

    def _anchor(self, place: DocumentLocation, ruler: str) -> None:
        if len(self.anchors) >= MOST_ANCHORS:
            raise TextFull(f"it has more than {MOST_ANCHORS} parts")
        if self._member:
            place = msgspec.structs.replace(place, member=self._member)
        ruler = cleaned(ruler).strip()
        self.anchors.append(Anchor(self.lines + 1, place, ruler))

    # --- members of archives ---------------------------------------------------------------

    def enter(self, member: str) -> str:
        """What follows is of a member of the archive; gives what it was of before."""
        before = self._member
        self._member = f"{before}!/{member}" if before else member
        self.part(self._member, DocumentLocation())
        return before

    def leave(self, before: str) -> None:
        """Back to what it was of before."""
        self._member = before

    # --- what could not be read ------------------------------------------------------------

    def failed(self, reason: str, member: str = "") -> None:
        """A part of the document could not be read; ``member`` names a member of the archive that
        is read now. What is not named is the document, or the member, itself."""
        inner = [name for name in (self._member, member) if name]
        if len(self._failures) < MOST_FAILURES:
            self._failures[UnreadPart(reason, "!/".join(inner))] = None
        else:
            self._failures[UnreadPart("more of it could not be read than is told")] = None

    def require_text(self) -> None:
        """Raise Unreadable if there is no text."""
        if not self.lines:
            failures = self.failures
            raise Unreadable(failures[0].reason if failures else "it has no text")

    @property
    def failures(self) -> tuple[UnreadPart, ...]:
        """What could not be read, each told once."""
        return tuple(self._failures)
