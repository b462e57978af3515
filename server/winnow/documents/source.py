"""What an extractor reads: a document, or a member of one, as a file that can be sought in."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Protocol

from winnow.documents.format import Unreadable

if TYPE_CHECKING:
    from winnow.documents.output import Output

CHUNK_BYTES = 256 * 1024
# A member of an archive is held in memory up to this size, and in a temporary file beyond.
SPOOLED_BYTES = 2 * 1024 * 1024


class Readable(Protocol):
    """A stream, as members of archives are."""

    def read(self, size: int, /) -> bytes: ...


class Budget:
    """How much may be unpacked of one document in all, whatever it is nested in."""

    def __init__(self, max_bytes: int, members: int) -> None:
        self.max_bytes = max_bytes
        self.members = members
        self._left = max_bytes

    def take(self, size: int) -> None:
        """Raises Unreadable when there is no more."""
        self._left -= size
        if self._left < 0:
            raise Unreadable(
                f"it unpacks to more than {self.max_bytes // 1024**2} MiB: the rest is left out"
            )

    def take_member(self) -> None:
        """Raises Unreadable when there were too many."""
        self.members -= 1
        if self.members < 0:
            raise Unreadable("it has too many members: the rest is left out")


class Source:
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
        read_member: Callable[[Source, Output], None] | None = None,
    ) -> None:
        self.name = name
        self.file = file
        self.size = size
        self.budget = budget
        self.ocr = ocr
        self.depth = depth
        self._read_member = read_member

    def limited(self, stream: Readable) -> io.BufferedReader:
        """A stream of something unpacked, such as a part of a DOCX, whose bytes are counted.
        Reading it raises Unreadable when the budget is spent."""
        return io.BufferedReader(_Limited(stream, self.budget), CHUNK_BYTES)

    def member(self, name: str, stream: Readable, output: Output) -> None:
        """Read a member of an archive, an attachment, or what is compressed: its text goes to the
        output under its name, or the reason why there is none. Raises Unreadable when the budget
        is spent."""
        assert self._read_member is not None
        self.budget.take_member()
        with tempfile.SpooledTemporaryFile(SPOOLED_BYTES) as file:
            size = 0
            while chunk := stream.read(CHUNK_BYTES):
                self.budget.take(len(chunk))
                size += len(chunk)
                file.write(chunk)
            file.seek(0)
            inner = Source(
                name,
                file,
                size,
                budget=self.budget,
                ocr=self.ocr,
                depth=self.depth + 1,
                read_member=self._read_member,
            )
            self._read_member(inner, output)


class _Limited(io.RawIOBase):
    def __init__(self, stream: Readable, budget: Budget) -> None:
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
