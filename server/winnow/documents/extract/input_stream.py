"""The input of readers: a document, or a member of one, as a seekable file."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Protocol

from msgspec import Struct

from winnow.documents.unreadable import Unreadable

if TYPE_CHECKING:
    from winnow.documents.extract.output import TextOutput

CHUNK_BYTES = 256 * 1024
LONGEST_NAME = 1000  # locations repeat the names of members


class ByteStream(Protocol):
    """A stream of bytes, such as a member of an archive."""

    def read(self, size: int, /) -> bytes: ...


class BudgetSpent(Unreadable):
    """The budget of the document is spent. A loop over members must not catch this, because the
    budget also ends the reading of the archives around a member."""


class Budget:
    """The data that may be unpacked from a document, including all nested archives."""

    def __init__(self, max_bytes: int, members: int) -> None:
        self.max_bytes = max_bytes
        self.max_members = members
        self.left = max_bytes
        self._members_left = members

    def spend(self, size: int) -> None:
        """Raise BudgetSpent if the budget is spent."""
        self.left -= size
        if self.left < 0:
            raise BudgetSpent(
                f"it unpacks to more than {self.max_bytes // 1024**2} MiB: the rest is left out"
            )

    def count_member(self) -> None:
        """Raise BudgetSpent if there are too many members."""
        self._members_left -= 1
        if self._members_left < 0:
            raise BudgetSpent(f"it has more than {self.max_members} members: the rest is left out")


class Member(Struct, frozen=True):
    """A member of an archive, an attachment, or the content of a compressed file. ``stream`` yields
    all data before it raises; ``size`` is the size that the archive states."""

    name: str
    stream: ByteStream
    size: int | None = None


class DocumentInput:
    """A document to read: a seekable ``file`` and its ``name`` without folders.

    ``ocr`` enables text recognition in images. ``depth`` is the number of archives around the
    document.
    """

    def __init__(
        self,
        name: str,
        file: IO[bytes],
        size: int,
        *,
        budget: Budget,
        ocr: bool = False,
        depth: int = 0,
        read_member: Callable[[DocumentInput, Member, TextOutput], None] | None = None,
    ) -> None:
        self.name = name
        self.file = file
        self.size = size
        self.budget = budget
        self.ocr = ocr
        self.depth = depth
        self._read_member = read_member

    def limited(self, stream: ByteStream) -> io.BufferedReader:
        """Return a stream of unpacked data, such as a part of a DOCX, that counts its bytes.
        Reading it raises BudgetSpent when the budget is spent."""
        return io.BufferedReader(CountedStream(stream, self.budget), CHUNK_BYTES)

    def member(
        self,
        name: str,
        stream: ByteStream,
        output: TextOutput,
        *,
        size: int | None = None,
        counted: bool = False,
    ) -> None:
        """Read a member of an archive, an attachment, or the content of a compressed file. Its
        text, or the reason why there is none, goes to the output under its name. Raises
        BudgetSpent.

        ``size`` is the size that the archive states. ``counted`` is True if the stream is part of
        another one whose bytes are already counted.
        """
        assert self._read_member is not None
        self.budget.count_member()
        if not counted:
            stream = CountedStream(stream, self.budget)
        self._read_member(self, Member(member_name(name), stream, size), output)

    @contextlib.contextmanager
    def unpacked(self, member: Member) -> Iterator[DocumentInput]:
        """Unpack a member to an unnamed temporary file, and yield it as a document to read."""
        with tempfile.TemporaryFile() as file:
            size = 0
            while chunk := member.stream.read(CHUNK_BYTES):
                size += len(chunk)
                file.write(chunk)
            file.seek(0)
            yield DocumentInput(
                member.name.rpartition("/")[2],
                file,
                size,
                budget=self.budget,
                ocr=self.ocr,
                depth=self.depth + 1,
                read_member=self._read_member,
            )


def member_name(name: str) -> str:
    """Return the name of a member for display: relative, and without special characters."""
    cleaned = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    steps = cleaned.replace("\\", "/").split("/")
    shown = "/".join(step for step in steps if step not in ("", ".", ".."))
    return shown[-LONGEST_NAME:] or "unnamed"


class CountedStream(io.RawIOBase):
    """A stream that counts its bytes, and returns all data before it raises."""

    def __init__(self, stream: ByteStream, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        chunk = self._stream.read(len(view))
        self._budget.spend(len(chunk))
        view[: len(chunk)] = chunk
        return len(chunk)
