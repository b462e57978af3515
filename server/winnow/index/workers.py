"""Workers: processes that take facts from files, and what becomes of those that fail.

Jobs of queries go before those of the background. A file on which a worker hangs, or twice dies,
is answered with a problem, the worker is replaced, and the other files do not notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Optional, TypeAlias

import msgspec

import winnow
from winnow.errors import SearchFailed
from winnow.index.files import FileFacts, Job, failed
from winnow.text.process import Child, Processes

Answer: TypeAlias = "tuple[Job, FileFacts | None]"

# A worker takes so many jobs in one go: as many as keep it from waiting for the server. Jobs of a
# query wait for these, some 30 ms.
BATCH = 8
# An idle worker has some 40 MB; to start another takes 150 ms.
IDLE_SECONDS = 20.0
START_SECONDS = 30.0
# A syntax tree and what is made of it have about thirty times the bytes of the text.
MEMORY_BYTES = 600 * 1024**2
MOST_WORKERS = 4
# With more cores than this, one is left to others. With fewer, that would make an index take twice
# as long, and workers give way to everything else anyway.
FEW_CORES = 2
# `-m` looks for the package here first, not in a folder of the workspace.
HERE = Path(winnow.__file__).parent.parent

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Optional[FileFacts]).decode  # noqa: UP045


class _Batch:
    """Some jobs of one caller, and where its answers go."""

    def __init__(
        self, jobs: Sequence[Job], urgent: bool, answers: asyncio.Queue[Answer | SearchFailed]
    ) -> None:
        self.jobs = deque(jobs)
        self.urgent = urgent
        self.answers = answers
        self.dropped = False
        self.crashed = False  # the first job has ended a worker once

    def answer(self, facts: FileFacts | None) -> None:
        self.crashed = False
        self.answers.put_nowait((self.jobs.popleft(), facts))


def workers_for(cores: int) -> int:
    """How many workers build an index on a machine."""
    return min(cores - (cores > FEW_CORES), MOST_WORKERS)


class Workers:
    """The workers of a workspace: started when there is work, ended when there is none for long.

    ``seconds`` is how long one file may take. The workers of the background are at most ``limit``;
    queries may have one more, since the others may be busy with what takes seconds.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        seconds: float = 5.0,
        limit: int | None = None,
    ) -> None:
        self._processes = processes
        # Else Python may be told not to look in the current folder.
        self._environment = {**environment, "PYTHONSAFEPATH": ""}
        self._seconds = seconds
        self._limit = limit or workers_for(os.cpu_count() or FEW_CORES)
        self._urgent: deque[_Batch] = deque()
        self._background: deque[_Batch] = deque()
        self._in_background = 0  # workers with a batch of the background
        self._free = 0  # workers without work, and those that are starting
        self._changed = asyncio.Condition()
        self._running: set[asyncio.Task[None]] = set()

    async def extract(
        self, jobs: Sequence[Job], urgent: bool = False
    ) -> AsyncGenerator[Answer, None]:
        """The facts of files as they come, in no order; None for a file that is not there.

        Jobs that nobody has begun when the iterator is closed are dropped. Raises SearchFailed if
        there can be no workers.
        """
        answers: asyncio.Queue[Answer | SearchFailed] = asyncio.Queue()
        batches = [
            _Batch(jobs[at : at + BATCH], urgent, answers) for at in range(0, len(jobs), BATCH)
        ]
        (self._urgent if urgent else self._background).extend(batches)
        try:
            self._start_workers(len(batches), self._limit + urgent)
            async with self._changed:
                self._changed.notify_all()
            for _ in jobs:
                answer = await answers.get()
                if isinstance(answer, SearchFailed):
                    raise answer
                yield answer
        finally:
            for batch in batches:
                batch.dropped = True

    def start(self) -> None:
        """Have a worker ready soon, if there is none yet: there will be jobs."""
        if not self._running:
            self._start_workers(1, self._limit)

    async def aclose(self) -> None:
        """End all workers."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _start_workers(self, wanted: int, limit: int) -> None:
        for _ in range(min(wanted - self._free, limit - len(self._running))):
            self._free += 1
            task = asyncio.create_task(self._work())
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _work(self) -> None:
        """One worker after another, as long as there is work."""
        left: _Batch | None = None
        while True:
            try:
                async with self._started() as child:
                    # Not before: while one starts, another may have time for the work.
                    batch = left or await self._next()
                    left = None
                    while batch is not None and await self._serve(child, batch):
                        batch = await self._next(batch)
            except SearchFailed as error:
                self._give_up(error, left)
                return
            if batch is None:
                return
            left = batch

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[Child]:
        """A worker that is ready. Raises SearchFailed."""
        async with self._processes.converse(
            [sys.executable, "-m", "winnow.index.worker", str(self._seconds)],
            cwd=HERE,
            environment=self._environment,
            memory_bytes=MEMORY_BYTES,
        ) as child:
            alarm = asyncio.get_running_loop().call_later(START_SECONDS, child.kill)
            try:
                await child.receive()
            except EOFError:
                code = await child.wait()
                raise SearchFailed("the worker for symbols", code, child.stderr) from None
            finally:
                alarm.cancel()
            yield child

    async def _serve(self, child: Child, batch: _Batch) -> bool:
        """Have a worker do the jobs of a batch; False if it has ended, and some may be left."""
        loop = asyncio.get_running_loop()
        for job in batch.jobs:
            child.send(_encode(job))
        while batch.jobs:
            started = loop.time()
            alarm = loop.call_later(self._seconds, child.kill)
            try:
                answer = await child.receive()
            except EOFError:
                self._blame(batch, hung=loop.time() - started >= self._seconds)
                return False
            finally:
                alarm.cancel()
            batch.answer(_decode(answer))
        return True

    def _blame(self, batch: _Batch, hung: bool) -> None:
        """A worker has ended over the first job of a batch. Not every death is a file's fault: one
        that was only killed is tried again."""
        if not hung and not batch.crashed:
            batch.crashed = True
            return
        problem = f"it took longer than {self._seconds:g} s" if hung else "its parser has crashed"
        batch.answer(failed(batch.jobs[0], problem))

    async def _next(self, done: _Batch | None = None) -> _Batch | None:
        """The batch to do next; None if there is none for long."""
        async with self._changed:
            if done and not done.urgent:
                self._in_background -= 1
                self._changed.notify_all()
            self._free += done is not None
            try:
                waiting = self._changed.wait_for(self._has_work)
                await asyncio.wait_for(waiting, IDLE_SECONDS)
            except asyncio.TimeoutError:
                return None
            finally:
                self._free -= 1
            batch = (self._urgent or self._background).popleft()
            self._in_background += not batch.urgent
            return batch

    def _has_work(self) -> bool:
        for waiting in (self._urgent, self._background):
            while waiting and waiting[0].dropped:
                waiting.popleft()
        return bool(self._urgent or (self._background and self._in_background < self._limit))

    def _give_up(self, error: SearchFailed, left: _Batch | None) -> None:
        """Tell everybody who waits that there are no workers; what is ``left`` had one."""
        if left is None:
            self._free -= 1
        else:
            self._in_background -= not left.urgent
            left.answers.put_nowait(error)
        for one in (*self._urgent, *self._background):
            one.answers.put_nowait(error)
        self._urgent.clear()
        self._background.clear()
