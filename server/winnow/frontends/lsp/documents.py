"""The text of open documents, exactly as in the editor.

pygls' documents split lines with ``str.splitlines``, also at form feeds, U+0085, U+2028 and others.
LSP knows only ``\\n``, ``\\r\\n`` and ``\\r``, so an edit after such a character changed another
line. They also create a list of all lines for every change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes

from lsprotocol import types
from msgspec import Struct

from winnow.frontends.lsp.convert import path_of

logger = logging.getLogger(__name__)


class OpenDocument(Struct, frozen=True):
    """An open document; ``path`` is None if its URI is not a file's."""

    path: Path | None
    version: int
    text: str


class OpenDocuments:
    """The client's open documents, by URI. ``tell`` is called with each file that it opens."""

    def __init__(self) -> None:
        self.tell: Callable[[Path], None] = lambda path: None
        self._open: dict[bytes, OpenDocument] = {}

    def open(self, uri: str, version: int, text: str) -> None:
        """Add a document, or replace the text of one that is already open."""
        name = _name(uri)
        # Removed first, so that the document opened last comes last; see `texts`.
        self._open.pop(name, None)
        document = self._open[name] = OpenDocument(_path(uri), version, text)
        if document.path is not None:
            self.tell(document.path)

    def get(self, uri: str) -> OpenDocument | None:
        """Return an open document, or None if it isn't open."""
        return self._open.get(_name(uri))

    def change(
        self,
        uri: str,
        version: int,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: str,
    ) -> None:
        """Apply changes in order, each to the result of the previous one."""
        document = self.get(uri)
        if document is None:
            logger.debug("A change to a document that is not open: %s", uri)
            return
        text = document.text
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                text = apply_change(text, change.range, change.text, encoding)
            else:
                text = change.text
        self._open[_name(uri)] = OpenDocument(document.path, version, text)

    def close(self, uri: str) -> None:
        """Forget a document. Searches use the file on disk again."""
        self._open.pop(_name(uri), None)

    def texts(self) -> dict[Path, str]:
        """Return the text of every open file; for a file with two URIs, the one opened last."""
        # Other threads call this while the event loop opens and closes documents: copy first.
        documents = tuple(self._open.values())
        return {document.path: document.text for document in documents if document.path is not None}


def _name(uri: str) -> bytes:
    """Return the unquoted URI, because clients quote URIs inconsistently."""
    return unquote_to_bytes(uri.encode("utf-8", "surrogatepass"))


def _path(uri: str) -> Path | None:
    try:
        return path_of(uri)
    except ValueError:  # `file://[`, or half a surrogate pair
        return None


# --- changes -------------------------------------------------------------------------------


def apply_change(text: str, range: types.Range | None, new_text: str, encoding: str) -> str:  # noqa: A002
    """Return the text with a range replaced, or the new text if there is no range.

    Positions count units of the encoding: `utf-8`, `utf-16` or `utf-32`. A character beyond the end
    of its line means the line's end, a line beyond the last means the end of the text, and a
    position inside a character means the position before it. A range whose start is after its end
    is reversed, as in vscode-languageserver-textdocument.
    """
    if range is None:
        return new_text
    first, last = sorted((range.start, range.end))
    first_line = _line_start(text, first.line, 0)
    last_line = _line_start(text, last.line - first.line, first_line)
    start = _offset(text, first_line, first.character, encoding)
    end = _offset(text, last_line, last.character, encoding)
    return _replaced(text, start, end, new_text)


def _line_start(text: str, lines: int, start: int) -> int:
    """Return the offset of the line that is this many lines after the one at ``start``.

    Bisect, because counting line ends is several times as fast as finding each.
    """
    if lines == 0:
        return start
    low, high = start, len(text)
    while high - low > 1:
        middle = (low + high) // 2
        ends = _line_ends(text, low, middle)
        if ends < lines:
            low = middle
            lines -= ends
        else:
            high = middle
    return high


def _line_ends(text: str, start: int, end: int) -> int:
    r"""Return the number of lines that end in a range. A `\r\n` ends at its `\n`."""
    newlines = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    return newlines + returns - (text.count("\r\n", start, end + 1) if returns else 0)


def _offset(text: str, line_start: int, character: int, encoding: str) -> int:
    """Return the offset of a character in a line, counted in units of the encoding."""
    # Every character has at least one unit, so the offset is at most this.
    end = min(len(text), line_start + character)
    for line_end in "\n\r":
        found = text.find(line_end, line_start, end)
        if found >= 0:
            end = found
    if encoding == "utf-32":
        return end
    # Bisect, which is exact for every position and encoding: take the half if it fits.
    place, units = line_start, character
    while place < end:
        middle = (place + end + 1) // 2
        size = _units(text[place:middle], encoding)
        if size <= units:
            place = middle
            units -= size
        else:
            end = middle - 1
    return place


def _units(text: str, encoding: str) -> int:
    if text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _replaced(text: str, start: int, end: int, new_text: str) -> str:
    """Return the text with a part replaced. Join the halves of a surrogate pair that meet.

    A client that counts in UTF-16 may send a character in two halves.
    """
    before, after = text[:start], text[end:]
    if "\ud800" <= before[-1:] <= "\udbff" or "\udc00" <= after[:1] <= "\udfff":
        new_text = before[-1:] + new_text + after[:1]
        new_text = new_text.encode("utf-16-le", "surrogatepass").decode(
            "utf-16-le", "surrogatepass"
        )
        before, after = before[:-1], after[1:]
    return "".join((before, new_text, after))
