"""The output of readers: the lines of a document and their locations."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from winnow.documents.library.locations import Anchor, DocumentLocation, UnreadPart
from winnow.documents.unreadable import Unreadable

# Typesetting that users do not type into queries: ligatures, spaces of all widths, marks where a
# word may be broken.
_TYPESETTING = {
    **{ord(char): " " for char in "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"},
    **{ord(char): " " for char in "\u2007\u2008\u2009\u200a\u202f\u205f\u3000"},
    **dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff")),
    **dict(zip(range(0xFB00, 0xFB07), ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)),
    # Control characters: with a NUL, ripgrep would treat the text as binary.
    **dict.fromkeys([*range(9), *range(14, 32), 127]),
}
_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
MOST_ANCHORS = 200_000
MOST_FAILURES = 100


def cleaned(text: str) -> str:
    """Return a text as one line without typesetting characters."""
    return _LINE_ENDS.sub(" ", text).translate(_TYPESETTING)


class TextFull(Exception):
    """The text exceeds a limit: the rest of the document is left out, for this reason."""

    def __init__(self, reason: str = "one of its paragraphs or rows is too long") -> None:
        super().__init__(f"{reason}: the rest is left out")


class Unwritable(Exception):
    """The text cannot be written, for example because the disk is full."""


class TextOutput:
    """Writes the text of a document, line by line.

    ``write`` gets each line in UTF-8. Lines beyond ``max_bytes`` raise TextFull.
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
        """Write a line, which may be empty. Line breaks in it become spaces."""
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
        """Write the lines of a text."""
        lines = _LINE_ENDS.split(text)
        if lines and not lines[-1]:
            lines.pop()
        for line in lines:
            self.line(line)

    # --- locations ----------------------------------------------------------------------------

    def part(self, title: str, place: DocumentLocation) -> None:
        """Start a part of the document. The preview shows a ruler with this title."""
        self._anchor(place, title)

    def at(self, place: DocumentLocation) -> None:
        """Set the location of the lines that follow."""
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
        """Start a member of an archive; return the member to pass to :meth:`leave`."""
        before = self._member
        self._member = f"{before}!/{member}" if before else member
        self.part(self._member, DocumentLocation())
        return before

    def leave(self, before: str) -> None:
        """Continue with the member that contains the current one."""
        self._member = before

    # --- unreadable parts ------------------------------------------------------------

    def failed(self, reason: str, member: str = "") -> None:
        """Report that a part of the document could not be read. ``member`` is a member of the
        archive that is being read; without it, the document or the member itself could not be
        read."""
        inner = [name for name in (self._member, member) if name]
        if len(self._failures) < MOST_FAILURES:
            self._failures[UnreadPart(reason, "!/".join(inner))] = None
        else:
            self._failures[UnreadPart("further parts of it could not be read")] = None

    def require_text(self) -> None:
        """Raise Unreadable if there is no text."""
        if not self.lines:
            failures = self.failures
            raise Unreadable(failures[0].reason if failures else "it has no text")

    @property
    def failures(self) -> tuple[UnreadPart, ...]:
        """The unreadable parts, without duplicates."""
        return tuple(self._failures)
