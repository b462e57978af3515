"""One document to its text: its format, what reads it, and what becomes of one that cannot be read.

Runs in a worker, see :mod:`winnow.documents.worker`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

from winnow.documents.format import Format, Unreadable, format_of
from winnow.documents.output import Output, TextFull, Unwritable
from winnow.documents.places import TextMap
from winnow.documents.source import Budget, Source
from winnow.text.encodings import decoded

TEXT_BYTES = 16 * 1024**2  # the most text of one document
UNPACKED_BYTES = 256 * 1024**2
MEMBERS = 10_000
DEEPEST = 5  # archives in archives
MEMBER_TEXT_BYTES = 4 * 1024**2  # of a member that is a text itself


def extract(
    name: str, file: IO[bytes], write: Callable[[bytes], object], *, ocr: bool = False
) -> TextMap:
    """Take the text of a document; ``write`` gets it line by line. Raises Unreadable if there is
    none, with the reason."""
    document = format_of(name)
    if document is None:
        raise Unreadable("it is no document whose format is known")
    output = Output(write, TEXT_BYTES)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    source = Source(
        name,
        file,
        size,
        budget=Budget(UNPACKED_BYTES, MEMBERS),
        ocr=ocr,
        read_member=_read_member,
    )
    try:
        _read(document, source, output)
    except TextFull:
        output.failed(f"it has more than {TEXT_BYTES // 1024**2} MiB of text: the rest is left out")
    except Unreadable as reason:
        if not output.lines:
            raise
        output.failed(str(reason))
    return TextMap(document.name, output.lines, tuple(output.anchors), tuple(output.failures))


def _read(document: Format, source: Source, output: Output) -> None:
    if document.is_image and not source.ocr:
        raise Unreadable("it is a picture: recognition of characters (documents.ocr) is off")
    try:
        document.read(source, output)
    except (Unreadable, TextFull, Unwritable, MemoryError):
        raise
    except Exception as error:
        # Whatever a library makes of a file that is not what it says: the file's fault, not ours.
        raise Unreadable(f"it is damaged: {type(error).__name__}: {str(error)[:200]}") from error


def _read_member(source: Source, output: Output) -> None:
    """Read a member of an archive: a document, a text, or nothing to be read."""
    document = format_of(source.name)
    before = output.enter(source.name)
    try:
        if document is None:
            _read_text(source, output)
        elif source.depth > DEEPEST:
            output.failed(f"it is inside of more than {DEEPEST} archives")
        elif not document.is_image or source.ocr:
            _read(document, source, output)
    except Unreadable as reason:
        output.failed(str(reason))
        # What is over for the member is over for the archive.
        source.budget.take(0)
    finally:
        output.leave(before)


def _read_text(source: Source, output: Output) -> None:
    """A member that is a text itself; anything else has none."""
    raw = source.file.read(MEMBER_TEXT_BYTES + 1)
    text = decoded(raw[:MEMBER_TEXT_BYTES])
    if text is None:
        return
    output.text(text)
    if len(raw) > MEMBER_TEXT_BYTES:
        output.failed(f"only its first {MEMBER_TEXT_BYTES // 1024**2} MiB are read")
