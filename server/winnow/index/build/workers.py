"""The workers that take facts from files, see :mod:`winnow.index.build.worker`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Optional

from winnow.index.store.file_record import FileRecord, IndexJob, failed_record
from winnow.processes import workers
from winnow.processes.children import Processes

# As many jobs in one go as keep a worker from waiting for the server: some 30 ms.
BATCH = 8
# What a worker comes to have for each byte of a text that it parses, at most, with the tree, all
# that is made of it and the answer. Measured: 73 for tables of numbers, 62 for marked-up text, 56
# for other C, 51 for headers with nothing but macros, 14 for JSON.
TIMES_TEXT = 75
# Whoever saves a file now and then does not wait for a worker to start.
KEEP_SECONDS = 300.0
MEMORY_BYTES = 600 * 1024**2


class IndexWorkers(workers.WorkerPool[IndexJob, Optional[FileRecord]]):  # noqa: UP045
    """Workers whose answer is None for a file that is not there."""

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        seconds: float = 5.0,
        limit: int | None = None,
        regulator: workers.Regulator | None = None,
    ) -> None:
        kind = workers.WorkerKind[IndexJob, Optional[FileRecord]](  # noqa: UP045
            module="winnow.index.build.worker",
            answer=Optional[FileRecord],  # noqa: UP045
            failed=failed_record,
            memory_bytes=MEMORY_BYTES,
            batch=BATCH,
            keep_seconds=KEEP_SECONDS,
            weigh=weight,
        )
        super().__init__(processes, environment, kind, seconds, limit, regulator)


def weight(job: IndexJob) -> int:
    """About how much memory the facts of a file take while they are made, in bytes."""
    if job.text is not None:
        return len(job.text) * TIMES_TEXT
    try:
        return os.stat(os.path.join(job.root, job.path)).st_size * TIMES_TEXT
    except (OSError, ValueError):
        return 0
