"""read_file: from the path of the params to the page of lines that is answered.

Everything that touches the disk runs in one thread, which looks between megabytes whether it is
still wanted. What is read is one :class:`Source`: the file, or the editor's text of it.
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

import msgspec

from winnow.config import Limits
from winnow.errors import (
    BinaryFile,
    InvalidParams,
    NotAFile,
    NotFound,
    SearchError,
    UnreadableDocument,
)
from winnow.search.answer import cursor
from winnow.search.answer.shorten import estimated_tokens, shorten
from winnow.storage.paths import real_path, shown_path
from winnow.text.encodings import UTF_8, Encoding, binary_kind, decoded
from winnow.text.paths import Located, also_in, locate, open_regular
from winnow.text.reading import (
    CHARACTER_BYTES,
    LineRange,
    NoText,
    ReadLimits,
    ReadLine,
    ReadResult,
    count_within,
    first_from,
    merged,
    read_lines,
)
from winnow.types import Completeness, Progress, Skipped
from winnow.types.read_file import Chunk, LineEndings, ReadFileParams, ReadFileResult, Span
from winnow.workspace import Workspace

if TYPE_CHECKING:
    from winnow.search.documents.text import Shown

# More of a line is rarely read, and lines of generated files can be megabytes long.
LINE_CHARACTERS = 2_000
# What is left of each line when the answer has to be short, before lines are left out.
SHORT_LINE_CHARACTERS = 200
# Warnings name so many line numbers; more say no more.
NAMED_LINES = 5


class Source(msgspec.Struct, frozen=True):
    """Something to read: ``read`` gives its next bytes, ``stamp`` is another one after a change.

    Without an ``encoding`` it is detected.
    """

    read: Callable[[int], bytes]
    size: int
    stamp: Callable[[], bytes]
    encoding: Encoding | None = None
    unsaved: bool = False


class Page(msgspec.Struct, frozen=True):
    """What was asked for and what was read: all that the answer is made of.

    ``warnings`` are about the path and the file; ``changed`` says that the file is not the one
    that the cursor was made for.
    """

    params: ReadFileParams
    root: Path
    located: Located
    ranges: Sequence[LineRange]
    reading: ReadResult
    stamp: bytes
    unsaved: bool
    document: str | None
    seconds: float
    changed: bool
    warnings: Sequence[str]


async def read(workspace: Workspace, params: ReadFileParams, progress: Progress) -> ReadFileResult:
    """The lines that were asked for.

    Raises InvalidParams, NoWorkspace, NotFound, PathOutsideWorkspace, NotAFile and BinaryFile.
    """
    progress(f"Reading {params.path}")
    limits = workspace.config.limits
    roots, buffers = tuple(workspace.search_roots()), dict(workspace.buffers)
    document, problem = await _document(workspace, params.path)
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(
            answer, roots, buffers, params, limits, cancelled.is_set, document
        )
    except BinaryFile:
        if problem is not None:
            raise problem from None
        raise
    finally:
        cancelled.set()


async def _document(
    workspace: Workspace, path: str
) -> tuple[Shown | None, UnreadableDocument | None]:
    """The text of a document that is no text itself, or why there is none; neither of a file."""
    # Not needed for files.
    from winnow.documents.format import formats
    from winnow.documents.library.request import is_written
    from winnow.search.documents.text import document_at, shown_text

    try:
        _, located, document = await asyncio.to_thread(document_at, workspace.search_roots(), path)
    except SearchError:
        return None, None  # which is said below, in the words for files
    written = _text_of(located, workspace.buffers)
    if formats()[document.format].is_text or (
        written and is_written(written.encode("utf-8", "replace"))
    ):
        return None, None
    try:
        return await shown_text(workspace, document), None
    except UnreadableDocument as error:
        return None, error


def answer(
    roots: Sequence[Path],
    buffers: Mapping[Path, str],
    params: ReadFileParams,
    limits: Limits,
    cancelled: Callable[[], bool] = lambda: False,
    document: Shown | None = None,
) -> ReadFileResult:
    """What :func:`read` answers, made in the calling thread; worthless once ``cancelled``. The text
    of a ``document`` stands in the place of the file's."""
    deadline = time.monotonic() + limits.search_seconds
    ranges = merged([_lines(span, place) for place, span in enumerate(params.spans)])
    first, expected = cursor.decode(params, int) or (1, None)
    located = locate(params.path, roots, tuple(buffers))
    root = roots[located.place]
    bounds = ReadLimits(
        lines=params.max_lines, line_characters=LINE_CHARACTERS, bytes=limits.answer_bytes
    )
    shown = shown_path(located.below)[0]
    with _source(located, root, _text_of(located, buffers), document) as source:
        stamp = source.stamp()
        try:
            reading = read_lines(
                source.read,
                ranges,
                bounds,
                first=first,
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
    if also_in(params.path, located, roots):
        warnings.append(f"{params.path!r} is in several folders: this is the one in {root}")
    page = Page(
        params=params,
        root=root,
        located=located,
        ranges=ranges,
        reading=reading,
        stamp=stamp,
        unsaved=source.unsaved,
        document=document.document.format if document else None,
        seconds=limits.search_seconds,
        changed=expected not in (None, stamp),
        warnings=warnings,
    )
    return _result(page)


def _lines(span: Span, place: int) -> LineRange:
    """The span from line 1 on. Raises InvalidParams for one that ends before it starts."""
    start = max(1, span.start)
    if span.end is not None and span.end < start:
        raise InvalidParams(f"spans[{place}]", f"its end {span.end} is before its start {start}")
    return LineRange(start, span.end)


# --- what is read --------------------------------------------------------------------------


def _text_of(located: Located, buffers: Mapping[Path, str]) -> str | None:
    """The text of the open document that the path stands for, however the client spells it."""
    for path, text in buffers.items():
        with contextlib.suppress(OSError, ValueError):
            if real_path(path) == located.real and _can_be_document(located.real):
                return text
    return None


def _can_be_document(real: str) -> bool:
    """Whether there is a file, or nothing: a document can have the name of a folder or a FIFO."""
    try:
        return stat.S_ISREG(os.stat(real).st_mode)
    except FileNotFoundError:
        return True


@contextlib.contextmanager
def _source(
    located: Located, root: Path, text: str | None, document: Shown | None
) -> Iterator[Source]:
    """A document's text; the editor's text if it is not what is on disk; else the file. Raises as
    open_regular."""
    if document is not None:
        raw = "".join(f"{line}\n" for line in document.lines).encode()
        yield Source(io.BytesIO(raw).read, len(raw), lambda: document.stamp, UTF_8)
        return
    if text is not None and _differs(text, located.real, root):
        raw = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
        stamp = cursor.stamp_of(raw)
        yield Source(io.BytesIO(raw).read, len(raw), lambda: stamp, UTF_8, unsaved=True)
        return
    with _opened(located.real, root) as file:

        def state() -> bytes:
            now = os.fstat(file.fileno())
            return cursor.stamp_of(now.st_size, now.st_mtime_ns, now.st_ino)

        yield Source(file.read, os.fstat(file.fileno()).st_size, state)


def _opened(real: str, root: Path) -> io.FileIO:
    return os.fdopen(open_regular(real, str(root)), "rb", buffering=0)


def _differs(text: str, real: str, root: Path) -> bool:
    """Whether the text is not that of the file, in whichever encoding the file is."""
    try:
        with _opened(real, root) as file:
            most = (len(text) + 1) * CHARACTER_BYTES
            if os.fstat(file.fileno()).st_size > most:
                return True
            with io.BufferedReader(file) as buffered:
                return decoded(buffered.read()) != text
    except (NotFound, NotAFile, OSError):
        return True


# --- what is answered ----------------------------------------------------------------------


def _result(page: Page) -> ReadFileResult:
    """The answer, in at most ``max_tokens``."""
    lines = page.reading.lines
    whole = _with(page, lines)
    short = [_shortened(line) for line in lines]
    steps = [
        lambda: _with(page, short, shortened=True),
        lambda: _with(page, short[: _fitting(page, short)], shortened=True),
    ]
    return shorten(whole, page.params.max_tokens, steps)


def _fitting(page: Page, lines: Sequence[ReadLine]) -> int:
    """How many of the lines fit, but one at least, so that the cursor moves on."""
    fits, too_many = 1, len(lines)
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        shorter = _with(page, lines[:count], shortened=True)
        if estimated_tokens(shorter) <= page.params.max_tokens:
            fits = count
        else:
            too_many = count
    return fits


def _shortened(line: ReadLine) -> ReadLine:
    if len(line.text) <= SHORT_LINE_CHARACTERS:
        return line
    text = line.text[:SHORT_LINE_CHARACTERS] + "…"
    return msgspec.structs.replace(line, text=text, cut=True)


def _with(page: Page, lines: Sequence[ReadLine], shortened: bool = False) -> ReadFileResult:
    """The answer with some first ones of the lines that were read."""
    reading, located = page.reading, page.located
    # Without a single line, the next page would be the same again.
    next_line = first_from(lines[-1].number + 1, page.ranges) if lines else None
    if next_line is not None and reading.ended and next_line > reading.seen:
        next_line = None
    path, encoded = shown_path(located.below)
    cut = [line for line in lines if line.cut]
    reasons = list(_reasons(page, cut, shortened))
    return ReadFileResult(
        root=shown_path(str(page.root))[0],
        path=path,
        uri=f"{page.root.as_uri()}/{encoded}" if encoded else None,
        total_lines=reading.seen if reading.ended else None,
        chunks=_chunks(lines, page.params.line_endings == "keep"),
        encoding=reading.encoding.name,
        byte_order_mark=bool(reading.encoding.mark),
        line_endings=_line_endings(lines),
        unsaved=page.unsaved,
        document=page.document,
        total_found=count_within(page.ranges, reading.seen),
        returned=len(lines),
        truncated=next_line is not None or bool(cut) or reading.missed,
        completeness=Completeness(
            complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=reading.missed
        ),
        warnings=list(_warnings(page, lines)),
        cursor=cursor.encode(page.params, next_line, page.stamp) if next_line else None,
    )


def _chunks(lines: Sequence[ReadLine], keep: bool) -> list[Chunk]:
    runs: list[list[ReadLine]] = []
    for line in lines:
        if runs and runs[-1][-1].number + 1 == line.number:
            runs[-1].append(line)
        else:
            runs.append([line])
    return [
        Chunk(
            start=run[0].number,
            end=run[-1].number,
            content="".join(line.text + (line.end if keep else line.end[-1:]) for line in run),
        )
        for run in runs
    ]


def _line_endings(lines: Sequence[ReadLine]) -> LineEndings | None:
    ends = {line.end for line in lines if line.end}
    if not ends:
        return "cr" if any("\r" in line.text for line in lines) else None
    if len(ends) > 1:
        return "mixed"
    return "crlf" if "\r\n" in ends else "lf"


def _reasons(page: Page, cut: Sequence[ReadLine], shortened: bool) -> Iterator[str]:
    """Why the answer is not all of what was asked for, or not of one file."""
    if cut:
        most = SHORT_LINE_CHARACTERS if shortened else LINE_CHARACTERS
        yield f"{_counted(len(cut))} of more than {most:,} characters: cut"
    if page.reading.missed:
        yield (
            f"stopped after {page.seconds:g} seconds at line {page.reading.seen:,}: not every"
            " line that was asked for was reached"
        )
    if page.changed:
        yield "the file changed since the answer that the cursor continues: lines may have moved"


def _warnings(page: Page, lines: Sequence[ReadLine]) -> Iterator[str]:
    yield from page.warnings
    reading = page.reading
    if reading.ended:
        for one in page.ranges:
            if one.start > max(reading.seen, 1):
                total = _counted(reading.seen)
                yield f"{_named(one)} beyond the end: the file has {total}"
    elif not reading.missed:
        yield f"the lines of the file could not all be counted in {page.seconds:g} seconds"
    if invalid := [line.number for line in lines if line.invalid]:
        name = reading.encoding.name.upper()
        yield f"not valid {name}, shown with \N{REPLACEMENT CHARACTER}: {_numbers(invalid)}"
    if null := [line.number for line in lines if "\0" in line.text]:
        yield f"NUL characters, as binary files have them: {_numbers(null)}"


def _named(lines: LineRange) -> str:
    if lines.end == lines.start:
        return f"line {lines.start} is"
    return f"lines {lines.start}-{lines.end or ''} are"


def _numbers(numbers: Sequence[int]) -> str:
    """The first of the line numbers, and how many there are besides."""
    more = len(numbers) - NAMED_LINES
    shown = ", ".join(map(str, numbers[:NAMED_LINES])) + (f" and {more} more" if more > 0 else "")
    return f"line{'s' * (len(numbers) > 1)} {shown}"


def _counted(lines: int) -> str:
    return f"{lines:,} line{'s' * (lines != 1)}"
