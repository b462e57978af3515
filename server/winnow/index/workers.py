"""The workers that take facts from files, see :mod:`winnow.index.worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

from winnow.index.files import FileFacts, Job, failed
from winnow.text import workers
from winnow.text.process import Processes

# As many jobs in one go as keep a worker from waiting for the server: some 30 ms.
BATCH = 8
# A syntax tree and what is made of it have about thirty times the bytes of the text.
MEMORY_BYTES = 600 * 1024**2


class Workers(workers.Workers[Job, Optional[FileFacts]]):  # noqa: UP045
    """Workers whose answer is None for a file that is not there."""

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        seconds: float = 5.0,
        limit: int | None = None,
    ) -> None:
        kind = workers.Kind[Job, Optional[FileFacts]](  # noqa: UP045
            module="winnow.index.worker",
            answer=Optional[FileFacts],  # noqa: UP045
            failed=failed,
            memory_bytes=MEMORY_BYTES,
            batch=BATCH,
        )
        super().__init__(processes, environment, kind, seconds, limit)
