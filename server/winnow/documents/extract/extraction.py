"""Extract the text of a document, with the reader of its format and limits for its members.

Runs in a worker, see :mod:`winnow.documents.extract.worker`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import IO

from winnow.documents.extract.blocks import blocks_of_text
from winnow.documents.extract.input_stream import Budget, BudgetSpent, DocumentInput, Member
from winnow.documents.extract.output import TextFull, TextOutput, Unwritable
from winnow.documents.format import (
    UNSUPPORTED_EXTENSIONS,
    DocumentFormat,
    format_of,
    format_of_member,
)
from winnow.documents.library.locations import TextMap
from winnow.documents.unreadable import PICTURE, TooMuchMemory, Unreadable, damaged

TEXT_BYTES = 16 * 1024**2  # the maximum text of a document
UNPACKED_BYTES = 256 * 1024**2
MEMBERS = 50_000  # of all archives in a document, text or not
DEEPEST = 5  # nested archives
MEMBER_TEXT_BYTES = 4 * 1024**2  # of a member that is a text file


def extract(
    name: str, file: IO[bytes], write: Callable[[bytes], object], *, ocr: bool = False
) -> TextMap:
    """Extract the text of a document; ``write`` gets it line by line. Raises Unreadable with the
    reason if there is none."""
    document = format_of(name)
    if document is None:
        raise Unreadable("its format is unknown")
    output = TextOutput(write, TEXT_BYTES)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    source = DocumentInput(
        name,
        file,
        size,
        budget=Budget(UNPACKED_BYTES, MEMBERS),
        ocr=ocr,
        read_member=_read_member,
    )
    try:
        _read(document, source, output)
    except TextFull as reason:
        output.failed(str(reason))
    except Unreadable as reason:
        if not output.lines:
            raise
        output.failed(str(reason))
    return TextMap(document.name, output.lines, tuple(output.anchors), output.failures)


def _read(document: DocumentFormat, source: DocumentInput, output: TextOutput) -> None:
    if document.is_image and not source.ocr:
        raise Unreadable(PICTURE)
    try:
        document.read(source, output)
    except (Unreadable, TextFull, Unwritable):
        raise
    except MemoryError as error:
        raise TooMuchMemory from error
    except Exception as error:
        # Libraries raise arbitrary exceptions for damaged files.
        raise Unreadable(damaged(error)) from error


def _read_member(outer: DocumentInput, member: Member, output: TextOutput) -> None:
    """Read a member of an archive if it is a document or a text file."""
    document = format_of_member(member.name)
    try:
        if document is None:
            _read_text(member, output)
        elif outer.depth >= DEEPEST:
            output.failed(f"it is nested in more than {DEEPEST} archives", member.name)
        elif document.is_image and not outer.ocr:
            pass  # an image is not a document without OCR
        elif member.size is not None and member.size > outer.budget.left:
            output.failed("it exceeds the limit for unpacked data", member.name)
        else:
            with outer.unpacked(member) as source:
                _read_document(document, source, member.name, output)
    except (BudgetSpent, TextFull, Unwritable):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, Unreadable) else damaged(error)
        output.failed(reason, member.name)


def _read_document(
    document: DocumentFormat, source: DocumentInput, name: str, output: TextOutput
) -> None:
    outer = output.enter(name)
    try:
        _read(document, source, output)
    finally:
        output.leave(outer)


def _read_text(member: Member, output: TextOutput) -> None:
    """Read a member that is a text file; of any other file, only the beginning is read."""
    before, size = None, 0
    try:
        for block in blocks_of_text(member.stream):
            if before is None:
                before = output.enter(member.name)
            if size >= MEMBER_TEXT_BYTES:
                output.failed(f"only its first {MEMBER_TEXT_BYTES // 1024**2} MiB are read")
                return
            output.text(block)
            size += len(block)
        if before is None and member.name.lower().endswith(UNSUPPORTED_EXTENSIONS):
            output.failed("its format is not supported", member.name)
    finally:
        if before is not None:
            output.leave(before)
