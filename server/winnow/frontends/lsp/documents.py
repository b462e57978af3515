"""The text of open documents, exactly as the editor has it.

Not by way of pygls' documents: these split lines as ``str.splitlines`` does, also at form feeds,
U+0085, U+2028 and more, where LSP knows only ``\\n``, ``\\r\\n`` and ``\\r``, so that an edit after
such a character went to another line. They also make a list of all lines for every change.
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
    """An open document; ``path`` is None where its URI is not that of a file."""

    path: Path | None
    version: int
    text: str


class OpenDocuments:
    """The documents that the client has open, by URI; ``tell`` hears of each file that it opens."""

    def __init__(self) -> None:
        self.tell: Callable[[Path], None] = lambda path: None
        self._open: dict[bytes, OpenDocument] = {}

    def open(self, uri: str, version: int, text: str) -> None:
        """Keep a document; one that is open already takes the new text."""
        name = _name(uri)
        # Taken out first: the document that was opened last stands last, see `texts`.
        self._open.pop(name, None)
        document = self._open[name] = OpenDocument(_path(uri), version, text)
        if document.path is not None:
            self.tell(document.path)

    def get(self, uri: str) -> OpenDocument | None:
        """An open document; None when it is not open."""
        return self._open.get(_name(uri))

    def change(
        self,
        uri: str,
        version: int,
        changes: Sequence[types.TextDocumentContentChangeEvent],
        encoding: str,
    ) -> None:
        """Apply changes in their order, each to the text that the one before it has left."""
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
        """Forget a document: from now on the file on disk counts."""
        self._open.pop(_name(uri), None)

    def texts(self) -> dict[Path, str]:
        """Return the text of every open file; for a file with two URIs, the one opened last."""
        # Other threads call this while the event loop opens and closes documents: copy first.
        documents = tuple(self._open.values())
        return {document.path: document.text for document in documents if document.path is not None}


def _name(uri: str) -> bytes:
    """The same for a URI however it is quoted: not every client always quotes in one way."""
    return unquote_to_bytes(uri.encode("utf-8", "surrogatepass"))


def _path(uri: str) -> Path | None:
    try:
        return path_of(uri)
    except ValueError:  # `file://[`, or half a surrogate pair
        return None


# --- changes -------------------------------------------------------------------------------


def apply_change(text: str, range: types.Range | None, new_text: str, encoding: str) -> str:  # noqa: A002
    """The text with a range replaced, or replaced as a whole where there is no range.

    Positions are counted in units of the encoding: `utf-8`, `utf-16` or `utf-32`. A character
    beyond the end of its line is the line's end, a line beyond the last the end of the text, and
    a place inside of a character is before it. A range whose start is after its end is taken the
    other way round, as vscode-languageserver-textdocument does.
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
    """Where the line begins that is so many lines after the one beginning at start.

    By halves: counting line ends is several times as fast as looking for each.
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
    r"""How many lines end between two places; the end of `\r\n` is its `\n`."""
    newlines = text.count("\n", start, end)
    returns = text.count("\r", start, end)
    return newlines + returns - (text.count("\r\n", start, end + 1) if returns else 0)


def _offset(text: str, line_start: int, character: int, encoding: str) -> int:
    """The place of a character of a line, counted in units of the encoding."""
    # Every character has at least one unit, so that it is no further than this.
    end = min(len(text), line_start + character)
    for line_end in "\n\r":
        found = text.find(line_end, line_start, end)
        if found >= 0:
            end = found
    if encoding == "utf-32":
        return end
    # By halves, because this is exact for every place and encoding: the half is taken if it fits.
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
    """The text with a part replaced; halves of a surrogate pair that meet are one character.

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
