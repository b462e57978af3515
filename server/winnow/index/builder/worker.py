"""A worker: a child process that reads jobs from standard input and writes index records.

tree-sitter runs only in this process. :mod:`winnow.index.builder.workers` starts it; it ends with
its standard input, that is, with the server.
"""

from __future__ import annotations

import gc
import sys

import msgspec

from winnow.index.builder.extraction import extract_file
from winnow.index.store.file_record import FileRecord, IndexJob, failed_record
from winnow.processes.worker_side import serve

# An extraction makes a hundred thousand objects that others contain, and hardly any cycle. To look
# for cycles every 700 objects, as Python does by itself, would take a twentieth of the time.
COLLECTED_OBJECTS = 100_000


def main() -> None:
    """Answer jobs until the input ends."""
    gc.freeze()
    gc.set_threshold(COLLECTED_OBJECTS)
    encode = msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(IndexJob)
    serve(lambda message: encode(_answer(decoder.decode(message))), float(sys.argv[1]))


def _answer(job: IndexJob) -> FileRecord | None:
    try:
        return extract_file(job)
    except (RecursionError, MemoryError) as error:
        return failed_record(job, f"its symbols cannot be extracted: {type(error).__name__}")


if __name__ == "__main__":
    main()
