"""Workers: processes that read files of strangers, and what becomes of those that fail.

Jobs of queries go before those of the background. A file on which a worker hangs, or twice dies,
is answered with a problem, the worker is replaced, and the other files do not notice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

import winnow
from winnow.errors import SearchFailed
from winnow.text.process import Child, Processes

J = TypeVar("J")
A = TypeVar("A")

# An idle worker has some 40 MB; to start another takes 150 ms.
IDLE_SECONDS = 20.0
START_SECONDS = 30.0
START_ATTEMPTS = 3
MOST_WORKERS = 4
# With more cores than this, one is left to others. With fewer, that would make an index take twice
# as long, and workers give way to everything else anyway.
FEW_CORES = 2
# `-m` looks for the package here first, not in a folder of the workspace.
HERE = Path(winnow.__file__).parent.parent


class Kind(Generic[J, A]):
    """What workers are: the ``module`` that each runs; the type of an ``answer``; what a job is
    answered with on which one ``failed``, or ``hung``, which is else the same; the memory that one
    may have; and how many jobs one takes in a ``batch``, so that it need not wait for the server:
    what is urgent waits for these."""

    def __init__(
        self,
        *,
        module: str,
        answer: object,
        failed: Callable[[J, str], A],
        hung: Callable[[J, str], A] | None = None,
        memory_bytes: int,
        batch: int,
    ) -> None:
        self.module = module
        self.failed = failed
        self.hung = hung or failed
        self.memory_bytes = memory_bytes
        self.batch = batch
        self.encode: Callable[[J], bytes] = msgspec.msgpack.Encoder().encode
        self.decode: Callable[[bytes], A] = msgspec.msgpack.Decoder(answer).decode


class _Batch(Generic[J, A]):
    """Some jobs of one caller, and where its answers go."""

    def __init__(
        self, jobs: Sequence[J], urgent: bool, answers: asyncio.Queue[tuple[J, A] | SearchFailed]
    ) -> None:
        self.jobs = deque(jobs)
        self.urgent = urgent
        self.answers = answers
        self.dropped = False
        self.crashed = False  # the first job has ended a worker once

    def answer(self, answer: A) -> None:
        self.crashed = False
        self.answers.put_nowait((self.jobs.popleft(), answer))


def workers_for(cores: int) -> int:
    """How many workers of a kind the background may have on a machine."""
    return min(cores - (cores > FEW_CORES), MOST_WORKERS)


class Workers(Generic[J, A]):
    """The workers of a workspace: started when there is work, ended when there is none for long.

    ``seconds`` is how long one file may take. The workers of the background are at most ``limit``;
    queries may have one more, since the others may be busy with what takes seconds.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        kind: Kind[J, A],
        seconds: float,
        limit: int | None = None,
    ) -> None:
        self._processes = processes
        self._kind = kind
        # Else Python may be told not to look in the current folder.
        self._environment = {**environment, "PYTHONSAFEPATH": ""}
        self._seconds = seconds
        self._limit = limit or workers_for(os.cpu_count() or FEW_CORES)
        self._urgent: deque[_Batch[J, A]] = deque()
        self._background: deque[_Batch[J, A]] = deque()
        self._in_background = 0  # workers with a batch of the background
        self._free = 0  # workers without work, and those that are starting
        self._changed = asyncio.Condition()
        self._running: set[asyncio.Task[None]] = set()

    async def extract(
        self, jobs: Sequence[J], urgent: bool = False
    ) -> AsyncGenerator[tuple[J, A], None]:
        """The jobs with their answers as they come, in no order.

        Jobs that nobody has begun when the iterator is closed are dropped. Raises SearchFailed if
        there can be no workers.
        """
        answers: asyncio.Queue[tuple[J, A] | SearchFailed] = asyncio.Queue()
        size = self._kind.batch
        batches = [
            _Batch(jobs[at : at + size], urgent, answers) for at in range(0, len(jobs), size)
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
        left: _Batch[J, A] | None = None
        attempts = 1
        while True:
            try:
                async with self._started() as child:
                    # Not before: while one starts, another may have time for the work.
                    batch = left or await self._next()
                    left = None
                    while batch is not None and await self._serve(child, batch):
                        batch = await self._next(batch)
            except SearchFailed as error:
                if error.data["exit_code"] < 0 and attempts < START_ATTEMPTS:  # it was only killed
                    attempts += 1
                    continue
                self._give_up(error, left)
                return
            attempts = 1
            if batch is None:
                return
            left = batch

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[Child]:
        """A worker that is ready. Raises SearchFailed."""
        async with self._processes.converse(
            [sys.executable, "-m", self._kind.module, str(self._seconds)],
            cwd=HERE,
            environment=self._environment,
            memory_bytes=self._kind.memory_bytes,
        ) as child:
            alarm = asyncio.get_running_loop().call_later(START_SECONDS, child.kill)
            try:
                await child.receive()
            except EOFError:
                code = await child.wait()
                raise SearchFailed(f"the worker {self._kind.module}", code, child.stderr) from None
            finally:
                alarm.cancel()
            yield child

    async def _serve(self, child: Child, batch: _Batch[J, A]) -> bool:
        """Have a worker do the jobs of a batch; False if it has ended, and some may be left."""
        loop = asyncio.get_running_loop()
        for job in batch.jobs:
            child.send(self._kind.encode(job))
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
            batch.answer(self._kind.decode(answer))
        return True

    def _blame(self, batch: _Batch[J, A], hung: bool) -> None:
        """A worker has ended over the first job of a batch. Not every death is a file's fault: one
        that was only killed is tried again."""
        if not hung and not batch.crashed:
            batch.crashed = True
            return
        if hung:
            answer = self._kind.hung(batch.jobs[0], f"it took longer than {self._seconds:g} s")
        else:
            answer = self._kind.failed(batch.jobs[0], "its parser has crashed")
        batch.answer(answer)

    async def _next(self, done: _Batch[J, A] | None = None) -> _Batch[J, A] | None:
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

    def _give_up(self, error: SearchFailed, left: _Batch[J, A] | None) -> None:
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
