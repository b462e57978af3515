"""The queries and answers of both document engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from winnow.documents.library.locations import DocumentLocation
from winnow.text.ripgrep import Line, TextPattern

# What helps with an invalid pattern.
PATTERN_ADVICE = "escape special characters with a backslash, or pass `literal`"

EngineName = Literal["rga", "builtin"]


class DocumentFile(Struct, frozen=True):
    """A document to search.

    ``path`` is relative to the root of the scope, or absolute, as ripgrep prints it; ``absolute``
    is the same file. ``format`` is the name of the format. ``content`` is the file with the current
    content if the document has unsaved changes in an editor.
    """

    path: str
    absolute: str
    format: str
    root: str = ""
    content: str = ""

    @property
    def file(self) -> str:
        """The path of the file to read."""
        return self.content or self.absolute


class DocumentQuery(Struct, frozen=True):
    """A search in documents: ``context`` lines before and after each match, at most ``max_count``
    matching lines per document, and lines cut to ``width`` characters around their first match."""

    query: TextPattern
    context: int
    max_count: int
    width: int


class DocumentHit(Struct, frozen=True):
    """A matching line.

    ``number`` is its line in the preview. ``before`` and ``after`` are the lines around it in the
    same part of the document. ``cells`` are the matching cells of a sheet or table.
    """

    number: int
    line: Line
    before: tuple[str, ...]
    after: tuple[str, ...]
    place: DocumentLocation
    cells: tuple[str, ...] = ()


class DocumentHits(Struct, frozen=True):
    """The matching lines of a document; ``more`` is True if there are more than ``max_count``."""

    document: DocumentFile
    engine: EngineName
    hits: Sequence[DocumentHit]
    more: bool = False


class ReadFailure(Struct, frozen=True):
    """A document, or a member of it, whose text could not be searched completely."""

    document: DocumentFile
    reason: str
    member: str = ""


def is_written(text: bytes) -> bool:
    """Return True if unsaved text was typed in an editor, and False if it looks like a binary file
    that the editor displays as text."""
    return b"\0" not in text and "\N{REPLACEMENT CHARACTER}".encode() not in text
