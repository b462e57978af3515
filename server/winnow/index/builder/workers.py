"""The pool of workers that index files, see :mod:`winnow.index.builder.worker`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Optional

import msgspec

from winnow.index.store.file_record import FileRecord, IndexJob, failed_record
from winnow.processes import workers
from winnow.processes.children import Processes

# Jobs that are started at a time: about 30 ms of work. A text takes a third of the time of its
# definitions, and starting a batch takes the server longer than reading an answer.
BATCH = 8
BATCH_OF_TEXTS = 24
# Peak memory of a worker per byte of text that it parses, with the tree, the extracted data and the
# answer. Measured: 73 for tables of numbers, 62 for marked-up text, 56 for other C, 51 for headers
# with nothing but macros, 14 for JSON.
TIMES_TEXT = 75
# Someone who saves a file now and then should not wait for a worker to start.
KEEP_SECONDS = 300.0
MEMORY_BYTES = 600 * 1024**2


class IndexWorkers(workers.WorkerPool[IndexJob, Optional[FileRecord]]):  # noqa: UP045
    """A pool of workers; a worker answers None for a file that does not exist."""

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        seconds: float = 5.0,
        limit: int | None = None,
        regulator: workers.Regulator | None = None,
    ) -> None:
        kind = workers.WorkerKind[IndexJob, Optional[FileRecord]](  # noqa: UP045
            module="winnow.index.builder.worker",
            answer=Optional[FileRecord],  # noqa: UP045
            failed=failed_record,
            memory_bytes=MEMORY_BYTES,
            batch=batch_size,
            keep_seconds=KEEP_SECONDS,
            weigh=weight,
            warm_up=empty_file,
        )
        super().__init__(processes, environment, kind, seconds, limit, regulator)


def batch_size(job: IndexJob) -> int:
    """Return how many jobs like this one to start at a time."""
    return BATCH_OF_TEXTS if job.part == "text" else BATCH


def weight(job: IndexJob) -> int:
    """Estimate the memory for indexing a file, in bytes."""
    if job.text is not None:
        return len(job.text) * TIMES_TEXT
    try:
        return os.stat(os.path.join(job.root, job.path)).st_size * TIMES_TEXT
    except (OSError, ValueError):
        return 0


def empty_file(job: IndexJob) -> IndexJob:
    """Return a job for an empty file in the same language. The first file in a language takes a
    worker 50 to 400 ms, nearly all of it to load the grammar and to compile its queries."""
    # Other parts, and texts without some names, are not parsed.
    return msgspec.structs.replace(job, text=b"\n", part="all", names=())
