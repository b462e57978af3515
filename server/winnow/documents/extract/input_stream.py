"""What an extractor reads: a document, or a member of one, as a file that can be sought in."""

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
# A member of an archive is held in memory up to this size, and in a temporary file beyond.
SPOOLED_BYTES = 2 * 1024 * 1024
LONGEST_NAME = 1000  # places hold the names of members again and again


class ByteStream(Protocol):
    """A stream, as members of archives are."""

    def read(self, size: int, /) -> bytes: ...


class BudgetSpent(Unreadable):
    """What is over for a member is over for all that it is inside of: whoever reads members in a
    loop lets this pass."""


class Budget:
    """How much may be unpacked of one document in all, whatever it is nested in."""

    def __init__(self, max_bytes: int, members: int) -> None:
        self.max_bytes = max_bytes
        self.max_members = members
        self.left = max_bytes
        self._members_left = members

    def take(self, size: int) -> None:
        """Raises BudgetSpent when there is no more."""
        self.left -= size
        if self.left < 0:
            raise BudgetSpent(
                f"it unpacks to more than {self.max_bytes // 1024**2} MiB: the rest is left out"
            )

    def take_member(self) -> None:
        """Raises BudgetSpent when there were too many."""
        self._members_left -= 1
        if self._members_left < 0:
            raise BudgetSpent(f"it has more than {self.max_members} members: the rest is left out")


class Member(Struct, frozen=True):
    """A member of an archive, an attachment, or what is compressed. ``stream`` gives what there is
    before it raises; ``size`` is what the archive says of it."""

    name: str
    stream: ByteStream
    size: int | None = None


class _Spooled(tempfile.SpooledTemporaryFile[bytes]):
    """As it is from Python 3.11 on: a file that says what can be done with it; `zipfile` asks."""

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True


class DocumentInput:
    """A document to read: ``file`` can be sought in, ``name`` is its own, without folders.

    ``ocr`` says that characters in pictures are to be recognised. ``depth`` is how many archives
    it is inside of.
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
        """A stream of something unpacked, such as a part of a DOCX, whose bytes are counted.
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
        """Read a member of an archive, an attachment, or what is compressed: its text goes to the
        output under its name, or the reason why there is none. Raises BudgetSpent.

        ``size`` is what the archive says of it; ``counted`` says that the stream is a part of one
        whose bytes are counted already.
        """
        assert self._read_member is not None
        self.budget.take_member()
        if not counted:
            stream = CountedStream(stream, self.budget)
        self._read_member(self, Member(member_name(name), stream, size), output)

    @contextlib.contextmanager
    def unpacked(self, member: Member) -> Iterator[DocumentInput]:
        """A member as a document to read."""
        with _Spooled(SPOOLED_BYTES) as file:
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
    """A member's name as it is shown: whatever the archive says, it leads nowhere."""
    cleaned = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    steps = cleaned.replace("\\", "/").split("/")
    shown = "/".join(step for step in steps if step not in ("", ".", ".."))
    return shown[-LONGEST_NAME:] or "unnamed"


class CountedStream(io.RawIOBase):
    """A stream whose bytes are counted, which gives what there is before it raises."""

    def __init__(self, stream: ByteStream, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        chunk = self._stream.read(len(view))
        self._budget.take(len(chunk))
        view[: len(chunk)] = chunk
        return len(chunk)
