"""A worker: a child process that reads documents; started by :mod:`winnow.documents.reader`.

The only process that opens a document of a stranger with a library for its format. Its memory and
the time for one document are bounded, and it ends with the server.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO

import msgspec

from winnow.documents.extraction import extract
from winnow.documents.format import Unreadable, format_of
from winnow.documents.job import NEVER, Job, Taken, failed, stamp_of, stamp_when_read
from winnow.documents.output import Unwritable
from winnow.documents.texts import Texts, key_of
from winnow.errors import NotFound, SearchError
from winnow.text.paths import open_regular
from winnow.text.serving import serve

# A file that is written while it is read is read again, so often.
ATTEMPTS = 3


def main() -> None:
    """Answer jobs until the input ends."""
    encode = msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(Job)
    serve(lambda message: encode(_answer(decoder.decode(message))), float(sys.argv[1]))


def _answer(job: Job) -> Taken:
    try:
        return take(job)
    except (RecursionError, MemoryError) as error:
        return failed(job, f"it needs too much memory: {type(error).__name__}")


def take(job: Job) -> Taken:
    """Read a document, and put its text into the cache."""
    path = os.fsdecode(job.path)
    try:
        descriptor = open_regular(path, os.fsdecode(job.root))
    except NotFound:
        return Taken(None)
    except SearchError as error:  # it may not be read, is no regular file, or has moved outside
        return failed(job, error.message)
    with open(descriptor, "rb") as file:
        for _ in range(ATTEMPTS):
            before = os.fstat(file.fileno())
            taken = _take(job, path, file, before)
            if stamp_of(os.fstat(file.fileno())) == stamp_of(before):
                return taken
            file.seek(0)
    return failed(job, "it changes while it is read")


def _take(job: Job, path: str, file: IO[bytes], state: os.stat_result) -> Taken:
    stamp = stamp_when_read(state)
    document = format_of(path)
    if document is None:
        return Taken(stamp, problem="it is no document whose format is known")
    if state.st_size > job.max_bytes:
        size = f"{state.st_size / 1024**2:,.0f} MiB"
        return Taken(stamp, problem=f"it is too large: {size} (see documents.file_bytes)")
    texts = Texts(Path(os.fsdecode(job.folder)))
    key = key_of(file, document.name, job.ocr)
    known = texts.load_map(key)
    if known is not None:
        return Taken(stamp, key, failed=known.failed)
    name = os.path.basename(path)
    try:
        known = texts.write(key, lambda write: extract(name, file, write, ocr=job.ocr))
    except Unreadable as reason:
        return Taken(stamp, problem=str(reason))
    except (OSError, Unwritable) as error:
        # Another time there may be room.
        passing = msgspec.structs.replace(stamp, ctime_ns=NEVER)
        why = error.strerror if isinstance(error, OSError) else error
        return Taken(passing, problem=f"its text cannot be kept: {why}")
    return Taken(stamp, key, failed=known.failed, bytes=texts.size(key))


if __name__ == "__main__":
    main()
