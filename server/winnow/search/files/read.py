"""Read lines of a file, of the editor's unsaved text, or of a document's text.

All disk access happens in one thread, which checks after each megabyte if the request was
cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from winnow.config import Limits
from winnow.errors import BinaryFile, NotAFile, NotFound, SearchError, UnreadableDocument
from winnow.search.answer.cursor import stamp_of
from winnow.storage.paths import real_path, shown_path
from winnow.text.encodings import UTF_8, Encoding, binary_kind, decode_text
from winnow.text.paths import Located, is_in_later_root, locate, open_regular
from winnow.text.reading import (
    CHARACTER_BYTES,
    LineRange,
    NoText,
    ReadLimits,
    ReadResult,
    merge_ranges,
    read_lines,
)
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    from winnow.search.documents.text import DocumentText

# Longer lines are cut: generated files have lines of megabytes, which are rarely read in full.
LINE_CHARACTERS = 2_000
# The lines to read around a place with a single line, such as `a.py:12`.
LINES_BEFORE, LINES_AFTER = 5, 14


class ReadRequest(Struct, frozen=True):
    """The lines to read: those of `ranges`, from line `first` on, up to `max_lines`."""

    path: str
    ranges: Sequence[LineRange]
    first: int
    max_lines: int


class ReadSource(Struct, frozen=True):
    """A text to read. `read` returns the next bytes; `stamp` changes whenever the text does.

    Without an `encoding`, it is detected.
    """

    read: Callable[[int], bytes]
    size: int
    stamp: Callable[[], bytes]
    encoding: Encoding | None = None
    unsaved: bool = False


class FileText(Struct, frozen=True):
    """The lines that were read, and the file that they come from.

    `document` is the format of a document whose text was read. `seconds` is the time limit.
    `repository` and `commit` are those of a text from a search cluster. `symbol` is the qualified
    name if the lines are its definition.
    """

    root: Path
    located: Located
    ranges: Sequence[LineRange]
    reading: ReadResult
    stamp: bytes
    unsaved: bool
    document: str | None
    seconds: float
    warnings: Sequence[str]
    repository: str | None = None
    commit: str | None = None
    symbol: str | None = None

    @property
    def uri(self) -> str | None:
        """The exact URI, if answers show the path escaped."""
        encoded = shown_path(self.located.below)[1]
        return f"{self.root.as_uri()}/{encoded}" if encoded else None


async def read_file_text(workspace: EngineWorkspace, request: ReadRequest) -> FileText:
    """Read lines of a file or document of the workspace.

    Raises NoWorkspace, NotFound, PathOutsideWorkspace, NotAFile, BinaryFile and UnreadableDocument.
    """
    limits = workspace.config.limits
    roots, buffers = tuple(workspace.search_roots()), workspace.buffers
    document, problem = await _document(workspace, request.path)
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(
            read_text, roots, buffers, request, limits, cancelled.is_set, document
        )
    except BinaryFile:
        if problem is not None:
            raise problem from None
        raise
    finally:
        cancelled.set()


async def _document(
    workspace: EngineWorkspace, path: str
) -> tuple[DocumentText | None, UnreadableDocument | None]:
    """Return the text of a binary document, or why it cannot be read; neither for other files."""
    # Not needed for other files.
    from winnow.documents.format import formats
    from winnow.documents.library.request import is_written
    from winnow.search.documents.text import document_at, read_document

    try:
        _, located, document = await asyncio.to_thread(document_at, workspace.search_roots(), path)
    except SearchError:
        return None, None  # `read_text` reports it
    written = unsaved_text(located, workspace.buffers)
    if formats()[document.format].is_text or (
        written and is_written(written.encode("utf-8", "replace"))
    ):
        return None, None
    try:
        return await read_document(workspace, document), None
    except UnreadableDocument as error:
        return None, error


def read_text(
    roots: Sequence[Path],
    buffers: Mapping[Path, str],
    request: ReadRequest,
    limits: Limits,
    cancelled: Callable[[], bool] = lambda: False,
    document: DocumentText | None = None,
) -> FileText:
    """Read lines in the calling thread, until `cancelled` returns True.

    Reads the text of `document`, if given, instead of the file.
    """
    deadline = time.monotonic() + limits.search_seconds
    located = locate(request.path, roots, tuple(buffers))
    root = roots[located.place]
    if located.lines and request.ranges == merge_ranges([]):
        request = structs.replace(request, ranges=[lines_of_place(*located.lines)])
    bounds = bounds_of(request, limits)
    shown = shown_path(located.below)[0]
    with _source(located, root, unsaved_text(located, buffers), document) as source:
        stamp = source.stamp()
        try:
            reading = read_lines(
                source.read,
                request.ranges,
                bounds,
                first=request.first,
                encoding=source.encoding,
                stopped=lambda: cancelled() or time.monotonic() > deadline,
            )
        except NoText as no_text:
            raise BinaryFile(shown, source.size, binary_kind(no_text.sample)) from None
        except OSError as error:
            raise NotAFile(shown, f"it cannot be read: {error.strerror or error}") from None
        warnings = []
        if source.stamp() != stamp:
            warnings.append("the file changed while it was read")
    if is_in_later_root(request.path, located, roots):
        warnings.append(f"{request.path!r} is in several folders: this is the one in {root}")
    return FileText(
        root=root,
        located=located,
        ranges=request.ranges,
        reading=reading,
        stamp=stamp,
        unsaved=source.unsaved,
        document=document.document.format if document else None,
        seconds=limits.search_seconds,
        warnings=warnings,
    )


def bounds_of(request: ReadRequest, limits: Limits) -> ReadLimits:
    """Return the limits of an answer."""
    return ReadLimits(
        lines=request.max_lines, line_characters=LINE_CHARACTERS, bytes=limits.answer_bytes
    )


def lines_of_place(first: int, last: int | None) -> LineRange:
    """Return the lines of a place: those that it names, or some around a single one."""
    if last is None:
        return LineRange(max(1, first - LINES_BEFORE), first + LINES_AFTER)
    return LineRange(max(1, min(first, last)), max(first, last))


# --- sources -------------------------------------------------------------------------------


def unsaved_text(located: Located, buffers: Mapping[Path, str]) -> str | None:
    """Return the text of the open document at a path, however the client spells it."""
    for path, text in buffers.items():
        with contextlib.suppress(OSError, ValueError):
            if real_path(path) == located.real and _can_be_document(located.real):
                return text
    return None


def _can_be_document(real: str) -> bool:
    """Return False for folders, FIFOs and the like: a document may have the name of one."""
    try:
        return stat.S_ISREG(os.stat(real).st_mode)
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def _source(
    located: Located, root: Path, text: str | None, document: DocumentText | None
) -> Iterator[ReadSource]:
    """Open a document's text, else the editor's text if it is unsaved, else the file.

    Raises as :func:`open_regular` does.
    """
    if document is not None:
        raw = "".join(f"{line}\n" for line in document.lines).encode()
        yield ReadSource(io.BytesIO(raw).read, len(raw), lambda: document.stamp, UTF_8)
        return
    if text is not None and _differs(text, located.real, root):
        raw = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
        stamp = stamp_of(raw)
        yield ReadSource(io.BytesIO(raw).read, len(raw), lambda: stamp, UTF_8, unsaved=True)
        return
    with _opened(located.real, root) as file:

        def state() -> bytes:
            now = os.fstat(file.fileno())
            return stamp_of(now.st_size, now.st_mtime_ns, now.st_ino)

        yield ReadSource(file.read, os.fstat(file.fileno()).st_size, state)


def _opened(real: str, root: Path) -> io.FileIO:
    return os.fdopen(open_regular(real, str(root)), "rb", buffering=0)


def _differs(text: str, real: str, root: Path) -> bool:
    """Return True if a text differs from that of the file, in whatever encoding the file is."""
    try:
        with _opened(real, root) as file:
            limit = (len(text) + 1) * CHARACTER_BYTES
            if os.fstat(file.fileno()).st_size > limit:
                return True
            with io.BufferedReader(file) as buffered:
                return decode_text(buffered.read()) != text
    except (NotFound, NotAFile, OSError):
        return True
