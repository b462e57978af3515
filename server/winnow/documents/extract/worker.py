"""A child process that reads documents, started by :mod:`winnow.documents.library.library`.

Only workers open an untrusted document with a library for its format. Their memory and the time for
a document are limited, and they exit with the server.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from winnow.documents.extract.extraction import extract
from winnow.documents.extract.job import (
    NEVER,
    ExtractionJob,
    ExtractionResult,
    postponed,
    stamp_of,
    stamp_when_read,
    unreadable,
)
from winnow.documents.extract.output import Unwritable
from winnow.documents.format import format_of
from winnow.documents.library.locations import TextMap
from winnow.documents.library.texts import TextStore, key_of
from winnow.documents.unreadable import TooMuchMemory, Unreadable
from winnow.errors import NotFound, SearchError
from winnow.processes.worker_side import serve
from winnow.text.paths import open_regular

# How often a file is read that changes while it is read.
ATTEMPTS = 3


def main() -> None:
    """Answer jobs until the input ends."""
    encode = msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(ExtractionJob)
    serve(lambda message: encode(_answer(decoder.decode(message))), float(sys.argv[1]))


def _answer(job: ExtractionJob) -> ExtractionResult:
    try:
        return extract_to_cache(job)
    except MemoryError:
        return postponed(job, str(TooMuchMemory()))


def extract_to_cache(job: ExtractionJob) -> ExtractionResult:
    """Read a document, and write its text to the cache."""
    path = os.fsdecode(job.path)
    try:
        descriptor = open_regular(path, os.fsdecode(job.root))
    except NotFound:
        return ExtractionResult(None)
    except SearchError as error:  # not readable, not a regular file, or moved outside of the root
        return unreadable(job, error.message)
    with os.fdopen(descriptor, "rb") as file:
        for _ in range(ATTEMPTS):
            with contextlib.suppress(_Changed):
                return _extract(job, path, file)
            file.seek(0)
    return unreadable(job, "it was changed while it was read")


class _Changed(Exception):
    """The file was written while it was read."""


def _extract(job: ExtractionJob, path: str, file: IO[bytes]) -> ExtractionResult:
    """Read a document. Raises _Changed before its text is saved."""
    state = os.fstat(file.fileno())
    stamp = stamp_when_read(state)
    document = format_of(path)
    if document is None:
        return ExtractionResult(stamp, problem="its format is unknown")
    if state.st_size > job.max_bytes:
        size = f"{state.st_size / 1024**2:,.0f} MiB"
        return ExtractionResult(
            stamp, problem=f"it is too large: {size} (see documents.file_bytes)"
        )
    texts = TextStore(Path(os.fsdecode(job.folder)))

    def check() -> None:
        """Raise _Changed if the file has changed."""
        fresh = stamp.ctime_ns == NEVER  # the file system's clock may be too coarse
        if fresh:
            file.seek(0)
        same = not fresh or key_of(file, document.name, job.ocr) == key
        if not same or stamp_of(os.fstat(file.fileno())) != stamp_of(state):
            raise _Changed

    def read(write: Callable[[bytes], object]) -> TextMap:
        text_map = extract(os.path.basename(path), file, write, ocr=job.ocr)
        check()
        return text_map

    key = key_of(file, document.name, job.ocr)
    text_map = texts.load_map(key)
    if text_map is not None:
        check()
        return ExtractionResult(stamp, key, failed=text_map.failed)
    try:
        text_map = texts.write(key, read)
    except TooMuchMemory as reason:
        return postponed(job, str(reason))
    except Unreadable as reason:
        check()
        return ExtractionResult(stamp, problem=str(reason))
    except (OSError, Unwritable) as error:
        # Later, there may be space: never treat this result as current.
        transient = msgspec.structs.replace(stamp, ctime_ns=NEVER)
        why = error.strerror if isinstance(error, OSError) else error
        return ExtractionResult(transient, problem=f"its text cannot be saved: {why}")
    return ExtractionResult(stamp, key, failed=text_map.failed, bytes=texts.size(key))


if __name__ == "__main__":
    main()
