"""Pools of worker processes that parse untrusted files, and the handling of failed workers.

Urgent jobs, which requests wait for, go first. A regulator throttles background jobs while the
machine is busy. If a worker hangs on a file or repeatedly crashes over it, the answer for this file
is a problem, and a new worker continues with the other files.

Three rules limit the memory of all workers: a worker that has grown is replaced, jobs that may need
much memory run one at a time, and a caller with unread answers gets no further background jobs.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

import winnow
from winnow.errors import SearchFailed
from winnow.processes.children import Child, Processes
from winnow.processes.memory import anonymous_bytes, processor_seconds, wants_processor
from winnow.processes.waiting import wait_within

J = TypeVar("J")
A = TypeVar("A")

# An idle worker has about 20 MB. Starting one takes 150 ms, and more until its imports are loaded.
IDLE_SECONDS = 20.0
# Replacing workers that have grown thus costs at most a tenth of the time.
REPLACE_SECONDS = 2.0
START_SECONDS = 30.0
START_ATTEMPTS = 3
# After this number of dead workers the job is at fault, not another process that kills workers.
CRASHES = 3
# Jobs sent to a worker at once, so that it never waits for the server. Urgent jobs wait for these.
AHEAD = 2
# A worker of low priority gets a tenth of a processor while other programs want all of it.
WAITING = 10
# The processor time of a worker is measured only if a job takes longer: to read it takes the server
# as long as to send a job, and most jobs take a few milliseconds.
SHORT_SECONDS = 0.1
# A worker that waits this fraction of a file's time hangs. Two checks must agree: after one, the
# worker may have answered and have nothing to do.
HANGS = 0.2
MOST_WORKERS = 4
# With more cores than this, one stays free for others. With fewer, that would make indexing take
# twice as long, and workers have low priority anyway.
FEW_CORES = 2
# Jobs that need more than this fraction of a worker's memory, or more than is left, run alone.
# Jobs of less than LIGHT_BYTES never do.
LIGHT_SHARE = 0.55
LIGHT_BYTES = 4 * 1024**2
# Unread answers, in bytes, after which a caller gets no further background jobs. An answer may be
# four times as large as its file, and three times that in memory.
UNREAD_BYTES = 2 * 1024**2
# `-m` searches this folder for the package first, not a folder of the workspace.
HERE = Path(winnow.__file__).parent.parent
ENVIRONMENT = {
    # With a value, Python may skip the current folder.
    "PYTHONSAFEPATH": "",
    # A worker computes in one thread. Each further arena of glibc, and each thread of OpenBLAS,
    # would use more memory.
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Without values, glibc raises both thresholds as a program allocates, and keeps the memory
    # of a large tree for the next one.
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


class Regulator(Protocol):
    """Decides when and how much the background may work; see `index/builder/throttle.py`."""

    async def turn(self) -> None:
        """Wait until another background batch may start."""

    def workers(self) -> int:
        """Return the number of workers that may have background batches now."""

    def worker_bytes(self, *, alone: bool = False) -> int:
        """Return the memory that a worker may have now, or the only worker with ``alone``.

        A worker with more is replaced after its batch. A job that may need a large part of it runs
        while no other background job does.
        """

    def left_bytes(self) -> int:
        """Return the memory that is left for all workers together."""


@dataclass
class WorkerKind(Generic[J, A]):
    """A kind of worker.

    Workers run ``module`` and send values of the type ``answer``, with at most ``memory_bytes`` of
    memory. ``failed`` makes the answer for a failed job from the problem. ``batch`` returns how
    many jobs like a given one are started at a time. The last idle worker stays ``keep_seconds``
    longer than the others. ``weigh`` estimates the memory that a job needs, and may read the disk.
    ``warm_up`` returns a short job that prepares a new worker for jobs like a given one, such as
    one that compiles the same queries.
    """

    module: str
    answer: object
    failed: Callable[[J, str], A]
    memory_bytes: int
    batch: Callable[[J], int]
    keep_seconds: float = 0.0
    weigh: Callable[[J], int] | None = None
    warm_up: Callable[[J], J] | None = None

    def __post_init__(self) -> None:
        self.encode: Callable[[J], bytes] = msgspec.msgpack.Encoder().encode
        self.decode: Callable[[bytes], A] = msgspec.msgpack.Decoder(self.answer).decode


class _Caller(Generic[J, A]):
    """A caller that waits for answers; ``unread`` counts the bytes of its unread answers."""

    def __init__(self, urgent: bool) -> None:
        self.urgent = urgent
        self.gone = False
        self.answers: asyncio.Queue[tuple[J, A, int] | SearchFailed] = asyncio.Queue()
        self.unread = 0


class _Batch(Generic[J, A]):
    """Jobs of one caller. With an ``alone_weight``, their estimated memory in bytes, they run
    without other background jobs."""

    def __init__(self, jobs: Sequence[J], caller: _Caller[J, A], alone_weight: int = 0) -> None:
        self.jobs = deque(jobs)
        self.caller = caller
        self.alone_weight = alone_weight
        self.weighed = self.alone
        self.crashes = 0  # workers that died over the first job

    @property
    def urgent(self) -> bool:
        return self.caller.urgent

    @property
    def alone(self) -> bool:
        return self.alone_weight > 0

    def answer(self, answer: A, size: int = 0) -> None:
        self.crashes = 0
        self.caller.unread += size
        self.caller.answers.put_nowait((self.jobs.popleft(), answer, size))


class _Patience:
    """Kills a worker that takes too long.

    After :data:`SHORT_SECONDS`, a worker may use the given seconds of processor time, within
    :data:`WAITING` times as many seconds. A worker that waits for something other than a
    processor has the seconds, and :data:`HANGS` of them more.
    """

    def __init__(self, child: Child, seconds: float) -> None:
        self.is_over = False
        self._child = child
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds * WAITING
        self._begun = 0.0
        self._used_when_waiting: float | None = None  # at the previous check, if it waited then
        self._alarm = self._loop.call_later(SHORT_SECONDS, self._begin)

    def close(self) -> None:
        self._alarm.cancel()

    def _begin(self) -> None:
        self._begun = processor_seconds(self._child.pid)
        self._alarm = self._loop.call_later(self._seconds, self._check)

    def _check(self) -> None:
        used = processor_seconds(self._child.pid) - self._begun
        left = self._seconds - used
        waits = not wants_processor(self._child.pid)
        hangs = waits and used == self._used_when_waiting
        if hangs or left <= 0.01 * self._seconds or self._loop.time() >= self._end:
            self.is_over = True
            self._child.kill()
            return
        self._used_when_waiting = used if waits else None
        pause = self._seconds * HANGS if waits else max(left, 0.01)
        self._alarm = self._loop.call_later(pause, self._check)


def workers_for(cores: int) -> int:
    """Return the number of workers of a kind that the background may have on a machine."""
    return min(cores - (cores > FEW_CORES), MOST_WORKERS)


class WorkerPool(Generic[J, A]):
    """The workers of a workspace: started when there are jobs, ended after an idle time.

    ``seconds`` is the maximum time for a file. The background has at most ``limit`` workers, and as
    many as the ``regulator`` allows; each of its batches waits for the regulator. Requests may have
    one more worker, because the others may be busy for seconds.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        kind: WorkerKind[J, A],
        seconds: float,
        limit: int | None = None,
        regulator: Regulator | None = None,
    ) -> None:
        self._processes = processes
        self._kind = kind
        self._environment = {**environment, **ENVIRONMENT}
        self._seconds = seconds
        self._most = limit or workers_for(os.cpu_count() or FEW_CORES)
        self._regulator = regulator
        self._urgent: deque[_Batch[J, A]] = deque()
        self._background: deque[_Batch[J, A]] = deque()
        self._heavy: deque[_Batch[J, A]] = deque()  # background batches that run alone
        self._in_background = 0  # workers with a background batch
        self._alone = False  # that batch is a heavy one
        self._free = 0  # idle and starting workers
        self._warm_up_job: J | None = None  # for new workers without work
        self._changed = asyncio.Condition()
        self._running: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()  # those of _running whose process ends
        self._children: dict[Child, float] = {}  # and their start times
        self._closed = False
        # With a regulator: True if another background batch may start, and the task that waits.
        self._granted = regulator is None
        self._asking: asyncio.Task[None] | None = None

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [child.pid for child in self._children]

    async def extract(
        self, jobs: Sequence[J], urgent: bool = False
    ) -> AsyncGenerator[tuple[J, A], None]:
        """Yield the jobs with their answers as they arrive, in no order.

        Background jobs that need much memory come last. Closing the iterator drops jobs that have
        not started. Raises SearchFailed if no worker can start.
        """
        caller = _Caller[J, A](urgent)
        size = self._kind.batch(jobs[0]) if jobs else 1
        batches = [_Batch(jobs[at : at + size], caller) for at in range(0, len(jobs), size)]
        (self._urgent if urgent else self._background).extend(batches)
        try:
            self._begin(len(batches), urgent)
            async with self._changed:
                self._changed.notify_all()
            for _ in jobs:
                answer = await caller.answers.get()
                if isinstance(answer, SearchFailed):
                    raise answer
                job, answered, read = answer
                yield job, answered
                del answer, answered
                await self._has_read(caller, read)
        finally:
            caller.gone = True
            if self._regulator is not None and not self._waiting():
                self._granted = False

    def start(self) -> None:
        """Start a worker unless there is one, because jobs will follow."""
        if not self._running:
            self._start_workers(1, self._limit)

    async def aclose(self) -> None:
        """Stop all workers."""
        self._closed = True
        tasks = [*self._running, *([self._asking] if self._asking else [])]
        for task in tasks:
            if task not in self._ending:  # else its process would be left behind
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- how many, and when ----------------------------------------------------------------

    @property
    def _limit(self) -> int:
        """The number of workers that the background may have now."""
        return min(self._most, self._regulator.workers()) if self._regulator else self._most

    def _begin(self, batches: int, urgent: bool) -> None:
        """Start workers for new batches."""
        if urgent or self._regulator is None:
            self._start_workers(batches, self._limit + urgent)
        elif self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(self._regulator))

    def _start_workers(self, wanted: int, limit: int) -> None:
        for _ in range(min(wanted - self._free, limit - len(self._running))):
            self._free += 1
            task = asyncio.create_task(self._work())
            self._running.add(task)
            task.add_done_callback(self._has_ended)

    def _has_ended(self, task: asyncio.Task[None]) -> None:
        """Replace a worker that has exited if jobs arrived that counted on it."""
        self._running.discard(task)
        if not self._closed and not task.cancelled() and task.exception() is None:
            urgent = bool(self._urgent)
            self._start_workers(self._has_work(), self._limit + urgent)

    async def _ask(self, regulator: Regulator) -> None:
        """Wait for the regulator before each background batch, while there are any.

        The worker for the batch does not wait, but stays available for urgent jobs.
        """
        try:
            while waiting := self._waiting():
                await regulator.turn()
                self._start_workers(waiting, self._limit)
                async with self._changed:
                    self._granted = True
                    self._changed.notify_all()
                    await self._changed.wait_for(lambda: not (self._granted and self._waiting()))
        finally:
            self._granted = False

    def _waiting(self) -> int:
        """Return the number of background batches that have not started."""
        for batches in (self._background, self._heavy):
            while batches and batches[0].caller.gone:
                batches.popleft()
        return len(self._background) + len(self._heavy)

    async def _has_read(self, caller: _Caller[J, A], size: int) -> None:
        """Record that a caller has read an answer, which may make room for more."""
        was_full = caller.unread > UNREAD_BYTES
        caller.unread -= size
        if (was_full and caller.unread <= UNREAD_BYTES) or (self._heavy and not caller.unread):
            # The last worker may have exited because there was no work.
            self._start_workers(self._has_work(), self._limit)
            async with self._changed:
                self._changed.notify_all()

    # --- one worker ------------------------------------------------------------------------

    async def _work(self) -> None:
        """Run one worker after another, while there is work."""
        left: _Batch[J, A] | None = None
        attempts = 1
        while not self._closed:
            try:
                async with self._started() as child:
                    is_fresh, has_grown = True, False
                    if left is None and not await self._warm_up(child):
                        continue
                    # Get the batch only now: while this worker started, another may have done it.
                    batch = left or await self._next()
                    left = None
                    while batch is not None and (is_fresh or self._has_room(child, batch)):
                        is_fresh = False
                        if not await self._serve(child, batch):
                            break
                        await self._finished(batch)
                        if has_grown := self._has_grown(child, batch):
                            break
                        batch = await self._next()
            except SearchFailed as error:
                if error.data["exit_code"] < 0 and attempts < START_ATTEMPTS:  # it was killed
                    attempts += 1
                    continue
                self._give_up(error, left)
                return
            attempts = 1
            if batch is None:
                return
            if not has_grown:
                left = batch  # the worker has died over it, or has no room for it
            elif not self._has_work() and len(self._running) > 1:
                self._free -= 1
                return  # the last worker is replaced: a file saved next would wait for a new one

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[Child]:
        """Start a worker and wait until it is ready. Raises SearchFailed."""
        task = asyncio.current_task()
        assert task is not None
        child = self._processes.start_worker(
            [sys.executable, "-m", self._kind.module, str(self._seconds)],
            cwd=HERE,
            environment=self._environment,
            memory_bytes=self._kind.memory_bytes,
        )
        try:
            async with child:
                self._children[child] = asyncio.get_running_loop().time()
                try:
                    await self._wait_until_ready(child)
                    yield child
                finally:
                    del self._children[child]
                    self._ending.add(task)
        finally:
            self._ending.discard(task)

    async def _wait_until_ready(self, child: Child) -> None:
        alarm = asyncio.get_running_loop().call_later(START_SECONDS, child.kill)
        try:
            await child.receive()
        except EOFError:
            code = await child.wait()
            raise SearchFailed(f"the worker {self._kind.module}", code, child.stderr) from None
        finally:
            alarm.cancel()

    async def _warm_up(self, child: Child) -> bool:
        """Prepare a new worker without work for jobs like the last one. Return False if it died."""
        if self._warm_up_job is None or self._has_work():
            return True
        child.send(self._kind.encode(self._warm_up_job))
        try:
            with contextlib.closing(_Patience(child, self._seconds)):
                await child.receive()
        except EOFError:
            self._warm_up_job = None
            return False
        return True

    async def _serve(self, child: Child, batch: _Batch[J, A]) -> bool:
        """Let a worker do the jobs of a batch, until a request needs the worker. Return False if it
        died; jobs may then be left."""
        if not batch.urgent:
            await self._weigh(batch)
        sent = 0
        while batch.jobs:
            while sent < min(AHEAD, len(batch.jobs)) and not self._must_wait(batch):
                child.send(self._kind.encode(batch.jobs[sent]))
                sent += 1
            if not sent:
                self._background.appendleft(batch)
                self._begin(0, urgent=False)
                return True
            patience = _Patience(child, self._seconds)
            try:
                answer = await child.receive()
            except EOFError:
                self._blame(batch, hung=patience.is_over)
                return False
            finally:
                patience.close()
            sent -= 1
            batch.answer(self._kind.decode(answer), len(answer))
        return True

    def _must_wait(self, batch: _Batch[J, A]) -> bool:
        """Return True if the rest of a batch must wait, because a request waits for a worker."""
        return not batch.urgent and not batch.alone and self._has_urgent_work()

    async def _weigh(self, batch: _Batch[J, A]) -> None:
        """Postpone the jobs of a batch that must run alone, and those beyond the memory limit."""
        if batch.weighed or self._regulator is None or (weigh := self._kind.weigh) is None:
            return
        batch.weighed = True
        weights = await asyncio.to_thread(lambda: [weigh(job) for job in batch.jobs])
        share = int(self._regulator.worker_bytes() * LIGHT_SHARE)
        # All workers may start such a job at the same moment.
        left = self._regulator.left_bytes() // self._limit
        most = max(min(share, left), LIGHT_BYTES)
        if sum(weights) <= most:
            return
        jobs, light = list(zip(batch.jobs, weights, strict=True)), 0
        batch.jobs.clear()
        later = []
        for job, weight in jobs:
            if weight > most:
                self._heavy.append(_Batch([job], batch.caller, alone_weight=weight))
            elif light + weight > most:
                later.append(job)
            else:
                batch.jobs.append(job)
                light += weight
        if later:
            self._background.appendleft(_Batch(later, batch.caller))
        self._begin(0, urgent=False)

    def _blame(self, batch: _Batch[J, A], hung: bool) -> None:
        """Handle the death of a worker over the first job of a batch.

        The file isn't always at fault: after a crash, the job is tried again.
        """
        self._warm_up_job = None
        batch.crashes += 1
        if not hung and batch.crashes < CRASHES:
            return
        problem = f"it took longer than {self._seconds:g} s" if hung else "its parser has crashed"
        batch.answer(self._kind.failed(batch.jobs[0], problem))

    def _has_room(self, child: Child, batch: _Batch[J, A]) -> bool:
        """Return True if a worker can do a batch in addition to the memory that it already uses."""
        if self._regulator is None or not batch.alone:
            return True
        most = self._regulator.worker_bytes(alone=True)
        return anonymous_bytes(child.pid) + batch.alone_weight <= most

    def _has_grown(self, child: Child, after: _Batch[J, A]) -> bool:
        """Return True if a worker uses too much memory and must be replaced."""
        if self._regulator is None:
            return False
        age = asyncio.get_running_loop().time() - self._children[child]
        if age < REPLACE_SECONDS and not after.alone:
            return False
        return anonymous_bytes(child.pid) > self._regulator.worker_bytes(alone=after.alone)

    async def _finished(self, batch: _Batch[J, A]) -> None:
        """Record that a worker has finished a batch and is free."""
        self._free += 1
        if batch.urgent:
            return
        async with self._changed:
            self._in_background -= 1
            self._alone = self._alone and not batch.alone
            self._changed.notify_all()

    async def _next(self) -> _Batch[J, A] | None:
        """Return the next batch; None if none came for long, or if the memory is needed."""
        async with self._changed:
            try:
                if not await self._has_changed(IDLE_SECONDS) and self._free == 1:
                    await self._has_changed(self._kind.keep_seconds)
            finally:
                self._free -= 1
            return self._pop() if self._has_work() else None

    async def _has_changed(self, seconds: float) -> bool:
        """Wait for work, or for a reason to stop. Return False if neither came in the time."""
        waiting = self._changed.wait_for(lambda: self._has_work() or self._is_surplus())
        try:
            return await wait_within(waiting, seconds)
        except asyncio.TimeoutError:
            return False

    def _pop(self) -> _Batch[J, A]:
        """Remove and return the first batch that may start."""
        batch = (self._urgent or self._background or self._heavy).popleft()
        if self._kind.warm_up is not None:
            self._warm_up_job = self._kind.warm_up(batch.jobs[0])
        if batch.urgent:
            return batch
        self._in_background += 1
        self._alone = batch.alone
        if self._regulator is not None:
            self._granted = False
        # The regulator may be asked for the next one, and a heavy batch needs the others' memory.
        self._changed.notify_all()
        return batch

    def _has_urgent_work(self) -> bool:
        while self._urgent and self._urgent[0].caller.gone:
            self._urgent.popleft()
        return bool(self._urgent)

    def _has_work(self) -> bool:
        if self._has_urgent_work():
            return True
        if not self._granted or self._alone or not self._waiting():
            return False
        first = (self._background or self._heavy)[0]
        most = 1 if first.alone else self._limit
        # A heavy batch does not start until the previous answer has been read.
        unread = 0 if first.alone else UNREAD_BYTES
        return self._in_background < most and first.caller.unread <= unread

    def _is_surplus(self) -> bool:
        """True if an idle worker should exit because its memory is needed."""
        return self._alone or self._limit < min(self._most, len(self._running))

    def _give_up(self, error: SearchFailed, left: _Batch[J, A] | None) -> None:
        """Report to all callers that no worker starts; ``left`` is the batch that had one."""
        if left is None:
            self._free -= 1
        else:
            self._in_background -= not left.urgent
            self._alone = self._alone and not left.alone
            left.caller.answers.put_nowait(error)
        for batches in (self._urgent, self._background, self._heavy):
            for batch in batches:
                batch.caller.answers.put_nowait(error)
            batches.clear()
