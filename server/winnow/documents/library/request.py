"""What both engines are asked, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from winnow.documents.library.locations import DocumentLocation
from winnow.text.ripgrep import TextPattern
from winnow.types import Line

EngineName = Literal["rga", "builtin"]


class DocumentFile(Struct, frozen=True):
    """A document to search: its path as ripgrep prints it, relative to the scope's root or
    absolute, the same as an absolute one, the name of its format, and the root that it is in.
    ``content`` is the file that has its content, where that is another one: what somebody is
    writing and has not saved."""

    path: str
    absolute: str
    format: str
    root: str = ""
    content: str = ""

    @property
    def file(self) -> str:
        """The file to read."""
        return self.content or self.absolute


class DocumentQuery(Struct, frozen=True):
    """What to find: lines of ``context`` before and after, at most ``max_count`` matching lines of
    one document, and lines of more than ``width`` characters cut around their first match."""

    query: TextPattern
    context: int
    max_count: int
    width: int


class DocumentHit(Struct, frozen=True):
    """A matching line. ``number`` is its line in the text of the document as a reader is shown it;
    ``before`` and ``after`` are the lines around it, as far as they are of the same part; ``cells``
    those of a sheet or a table that match."""

    number: int
    line: Line
    before: tuple[str, ...]
    after: tuple[str, ...]
    place: DocumentLocation
    cells: tuple[str, ...] = ()


class DocumentHits(Struct, frozen=True):
    """The matching lines of one document; ``more`` says that there may be others beyond
    ``max_count``."""

    document: DocumentFile
    engine: EngineName
    hits: Sequence[DocumentHit]
    more: bool = False


class ReadFailure(Struct, frozen=True):
    """A document, or a member of it, of which no text or not all of it could be searched."""

    document: DocumentFile
    reason: str
    member: str = ""


def is_written(text: bytes) -> bool:
    """Whether the unsaved text of an editor is something that was written there, and not a binary
    file that the editor shows as well as it can."""
    return b"\0" not in text and "\N{REPLACEMENT CHARACTER}".encode() not in text
