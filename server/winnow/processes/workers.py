"""Workers: processes that read files of strangers, and what becomes of those that fail.

Jobs of queries go before those of the background, which a regulator holds back where the machine
has other things to do. A file on which a worker hangs, or dies again and again, is answered with a
problem, the worker is replaced, and the other files do not notice.

What bounds the memory of all together: a worker that has grown is replaced, jobs that may take much
are done one at a time, and nothing more is begun for somebody who does not take the answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

import winnow
from winnow.errors import SearchFailed
from winnow.processes.children import Child, Processes
from winnow.processes.memory import anonymous_bytes, processor_seconds, wants_processor
from winnow.processes.waiting import within

J = TypeVar("J")
A = TypeVar("A")

# An idle worker has some 20 MB; to start another takes 150 ms, and more until it has loaded all.
IDLE_SECONDS = 20.0
# So that to replace those that have grown costs at most a tenth.
REPLACE_SECONDS = 2.0
START_SECONDS = 30.0
START_ATTEMPTS = 3
# A job over which so many workers end is at fault, not whoever kills them.
CRASHES = 3
# A worker of low priority has a tenth of a processor where others want it all.
WAITING = 10
# A worker that waits so long hangs, as a part of what one file may take. One look does not tell:
# it may have answered since, and have nothing to do.
HANGS = 0.2
MOST_WORKERS = 4
# With more cores than this, one is left to others. With fewer, that would make an index take twice
# as long, and workers give way to everything else anyway.
FEW_CORES = 2
# Jobs that take more than this part of a worker's memory, or than is left, are done alone; those
# that take less than so much are not, whatever is left.
LIGHT_SHARE = 0.55
LIGHT_BYTES = 4 * 1024**2
# What a caller of the background may have unread before no more is begun for it. An answer may have
# four times the bytes of its file, and in memory three times as many again.
UNREAD_BYTES = 2 * 1024**2
# `-m` looks for the package here first, not in a folder of the workspace.
HERE = Path(winnow.__file__).parent.parent
ENVIRONMENT = {
    # Else Python may be told not to look in the current folder.
    "PYTHONSAFEPATH": "",
    # A worker has one thread that works. Each further arena of glibc, and each thread of OpenBLAS,
    # would keep memory of its own.
    "MALLOC_ARENA_MAX": "1",
    "OPENBLAS_NUM_THREADS": "1",
    # Given, they hold; else glibc raises them with what it is asked for, and keeps a large tree's
    # memory for the next one.
    "MALLOC_MMAP_THRESHOLD_": "131072",
    "MALLOC_TRIM_THRESHOLD_": "1048576",
}


class Regulator(Protocol):
    """Says when and how much the background may work; see `index/build/throttle.py`."""

    async def turn(self) -> None:
        """Wait until one more batch of the background may begin."""

    def workers(self) -> int:
        """How many workers may have batches of the background now."""

    def worker_bytes(self, *, alone: bool = False) -> int:
        """How much memory one worker may have now, or the only one: one with more is replaced after
        its batch, and a job that may take a large part of it is done while no other one of the
        background is."""

    def left_bytes(self) -> int:
        """How much memory is left for all together."""


class WorkerKind(Generic[J, A]):
    """What workers are: the ``module`` that each runs; the type of an ``answer``; what a job is
    answered with on which one ``failed``, and why; the memory that one may have; and how many jobs
    one takes in a ``batch``, so that it need not wait for the server: what is urgent waits for
    these. The last worker without work is kept for ``keep_seconds`` more than the others.
    ``weigh`` says about how much memory a job takes; it may read the disk."""

    def __init__(
        self,
        *,
        module: str,
        answer: object,
        failed: Callable[[J, str], A],
        memory_bytes: int,
        batch: int,
        keep_seconds: float = 0.0,
        weigh: Callable[[J], int] | None = None,
    ) -> None:
        self.module = module
        self.failed = failed
        self.memory_bytes = memory_bytes
        self.batch = batch
        self.keep_seconds = keep_seconds
        self.weigh = weigh
        self.encode: Callable[[J], bytes] = msgspec.msgpack.Encoder().encode
        self.decode: Callable[[bytes], A] = msgspec.msgpack.Decoder(answer).decode


class _Caller(Generic[J, A]):
    """Somebody who waits for answers; ``unread`` are the bytes of those that are there, or being
    taken."""

    def __init__(self, urgent: bool) -> None:
        self.urgent = urgent
        self.gone = False
        self.answers: asyncio.Queue[tuple[J, A, int] | SearchFailed] = asyncio.Queue()
        self.unread = 0


class _Batch(Generic[J, A]):
    """Some jobs of one caller. With an ``alone_weight``, about the bytes that they take, no others
    of the background are done beside them."""

    def __init__(self, jobs: Sequence[J], caller: _Caller[J, A], alone_weight: int = 0) -> None:
        self.jobs = deque(jobs)
        self.caller = caller
        self.alone_weight = alone_weight
        self.weighed = self.alone
        self.crashes = 0  # how many workers the first job has ended

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
    """Ends a worker that takes too long: so many seconds of a processor's time, for which it may
    have to wait, at most :data:`WAITING` times as long. One that waits for anything else has the
    seconds, and :data:`HANGS` of them more."""

    def __init__(self, child: Child, seconds: float) -> None:
        self.is_over = False
        self._child = child
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._end = self._loop.time() + seconds * WAITING
        self._begun = processor_seconds(child.pid)
        self._waited_at: float | None = None  # what it had used when it was seen to wait
        self._alarm = self._loop.call_later(seconds, self._look)

    def close(self) -> None:
        self._alarm.cancel()

    def _look(self) -> None:
        used = processor_seconds(self._child.pid) - self._begun
        left = self._seconds - used
        waits = not wants_processor(self._child.pid)
        hangs = waits and used == self._waited_at
        if hangs or left <= 0.01 * self._seconds or self._loop.time() >= self._end:
            self.is_over = True
            self._child.kill()
            return
        self._waited_at = used if waits else None
        pause = self._seconds * HANGS if waits else max(left, 0.01)
        self._alarm = self._loop.call_later(pause, self._look)


def workers_for(cores: int) -> int:
    """How many workers of a kind the background may have on a machine."""
    return min(cores - (cores > FEW_CORES), MOST_WORKERS)


class WorkerPool(Generic[J, A]):
    """The workers of a workspace: started when there is work, ended when there is none for long.

    ``seconds`` is how long one file may take. The workers of the background are at most ``limit``,
    and as many as the ``regulator`` allows, which is asked before each of its batches; queries may
    have one more, since the others may be busy with what takes seconds.
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
        self._heavy: deque[_Batch[J, A]] = deque()  # of the background, each to be done alone
        self._in_background = 0  # workers with a batch of the background
        self._alone = False  # that batch is a heavy one
        self._free = 0  # workers without work, and those that are starting
        self._changed = asyncio.Condition()
        self._running: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()  # of these, those whose process ends
        self._children: dict[Child, float] = {}  # and when they began
        self._closed = False
        # With a regulator: whether one more batch of the background may begin, and what asks.
        self._granted = regulator is None
        self._asking: asyncio.Task[None] | None = None

    @property
    def pids(self) -> list[int]:
        """The processes of the workers."""
        return [child.pid for child in self._children]

    async def extract(
        self, jobs: Sequence[J], urgent: bool = False
    ) -> AsyncGenerator[tuple[J, A], None]:
        """The jobs with their answers as they come, in no order: of the background, those that take
        much memory come last.

        Jobs that nobody has begun when the iterator is closed are dropped. Raises SearchFailed if
        there can be no workers.
        """
        caller = _Caller[J, A](urgent)
        size = self._kind.batch
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
        """Have a worker ready soon, if there is none yet: there will be jobs."""
        if not self._running:
            self._start_workers(1, self._limit)

    async def aclose(self) -> None:
        """End all workers."""
        self._closed = True
        tasks = [*self._running, *([self._asking] if self._asking else [])]
        for task in tasks:
            if task not in self._ending:  # else its process would be left behind
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- how many, and when ----------------------------------------------------------------

    @property
    def _limit(self) -> int:
        """How many workers the background may have now."""
        return min(self._most, self._regulator.workers()) if self._regulator else self._most

    def _begin(self, batches: int, urgent: bool) -> None:
        """Have workers for batches that have come."""
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
        """A worker is no more; what has come while it ended counted on it."""
        self._running.discard(task)
        if not self._closed and not task.cancelled() and task.exception() is None:
            urgent = bool(self._urgent)
            self._start_workers(self._has_work(), self._limit + urgent)

    async def _ask(self, regulator: Regulator) -> None:
        """Ask for each batch of the background whether it may begin, as long as there are some.

        Not the worker that would do it: that one is there for what is urgent meanwhile.
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
        """How many batches of the background are not begun."""
        for batches in (self._background, self._heavy):
            while batches and batches[0].caller.gone:
                batches.popleft()
        return len(self._background) + len(self._heavy)

    async def _has_read(self, caller: _Caller[J, A], size: int) -> None:
        """Note that a caller is done with an answer: there may be room for more."""
        was_full = caller.unread > UNREAD_BYTES
        caller.unread -= size
        if (was_full and caller.unread <= UNREAD_BYTES) or (self._heavy and not caller.unread):
            # The last worker may have ended for want of work.
            self._start_workers(self._has_work(), self._limit)
            async with self._changed:
                self._changed.notify_all()

    # --- one worker ------------------------------------------------------------------------

    async def _work(self) -> None:
        """One worker after another, as long as there is work."""
        left: _Batch[J, A] | None = None
        attempts = 1
        while not self._closed:
            try:
                async with self._started() as child:
                    is_fresh, has_grown = True, False
                    # Not before: while one starts, another may have time for the work.
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
                if error.data["exit_code"] < 0 and attempts < START_ATTEMPTS:  # it was only killed
                    attempts += 1
                    continue
                self._give_up(error, left)
                return
            attempts = 1
            if batch is None:
                return
            if not has_grown:
                left = batch  # the worker has ended over it, or is not the one for it
            elif not self._has_work() and len(self._running) > 1:
                self._free -= 1
                return  # the last one is replaced: who saves a file next would wait for it

    @contextlib.asynccontextmanager
    async def _started(self) -> AsyncIterator[Child]:
        """A worker that is ready. Raises SearchFailed."""
        task = asyncio.current_task()
        assert task is not None
        child = self._processes.converse(
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

    async def _serve(self, child: Child, batch: _Batch[J, A]) -> bool:
        """Have a worker do the jobs of a batch; False if it has ended, and some may be left."""
        if not batch.urgent:
            await self._weigh(batch)
        for job in batch.jobs:
            child.send(self._kind.encode(job))
        while batch.jobs:
            patience = _Patience(child, self._seconds)
            try:
                answer = await child.receive()
            except EOFError:
                self._blame(batch, hung=patience.is_over)
                return False
            finally:
                patience.close()
            batch.answer(self._kind.decode(answer), len(answer))
        return True

    async def _weigh(self, batch: _Batch[J, A]) -> None:
        """Put off the jobs of a batch that are to be done alone, and those that are too many."""
        if batch.weighed or self._regulator is None or (weigh := self._kind.weigh) is None:
            return
        batch.weighed = True
        weights = await asyncio.to_thread(lambda: [weigh(job) for job in batch.jobs])
        share = int(self._regulator.worker_bytes() * LIGHT_SHARE)
        # Each of them may begin with such a job at the same moment.
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
        """A worker has ended over the first job of a batch. Not every death is a file's fault: one
        that was only killed is tried again."""
        batch.crashes += 1
        if not hung and batch.crashes < CRASHES:
            return
        problem = f"it took longer than {self._seconds:g} s" if hung else "its parser has crashed"
        batch.answer(self._kind.failed(batch.jobs[0], problem))

    def _has_room(self, child: Child, batch: _Batch[J, A]) -> bool:
        """Whether a worker can take a batch beside the memory that others have left in it."""
        if self._regulator is None or not batch.alone:
            return True
        most = self._regulator.worker_bytes(alone=True)
        return anonymous_bytes(child.pid) + batch.alone_weight <= most

    def _has_grown(self, child: Child, after: _Batch[J, A]) -> bool:
        """Whether a worker is to be replaced."""
        if self._regulator is None:
            return False
        age = asyncio.get_running_loop().time() - self._children[child]
        if age < REPLACE_SECONDS and not after.alone:
            return False
        return anonymous_bytes(child.pid) > self._regulator.worker_bytes(alone=after.alone)

    async def _finished(self, batch: _Batch[J, A]) -> None:
        """Note that a worker has done a batch, and is free."""
        self._free += 1
        if batch.urgent:
            return
        async with self._changed:
            self._in_background -= 1
            self._alone = self._alone and not batch.alone
            self._changed.notify_all()

    async def _next(self) -> _Batch[J, A] | None:
        """The batch to do next; None if there is none for long, or the memory is wanted."""
        async with self._changed:
            try:
                if not await self._comes(IDLE_SECONDS) and self._free == 1:
                    await self._comes(self._kind.keep_seconds)
            finally:
                self._free -= 1
            return self._taken() if self._has_work() else None

    async def _comes(self, seconds: float) -> bool:
        """Whether something changes for a worker without work, in so many seconds."""
        waiting = self._changed.wait_for(lambda: self._has_work() or self._is_surplus())
        try:
            return await within(waiting, seconds)
        except asyncio.TimeoutError:
            return False

    def _taken(self) -> _Batch[J, A]:
        """The first batch that may begin, which then has."""
        if self._urgent:
            return self._urgent.popleft()
        batch = (self._background or self._heavy).popleft()
        self._in_background += 1
        self._alone = batch.alone
        if self._regulator is not None:
            self._granted = False
        # The next one may be asked for, and others have to make room for a heavy one.
        self._changed.notify_all()
        return batch

    def _has_work(self) -> bool:
        while self._urgent and self._urgent[0].caller.gone:
            self._urgent.popleft()
        if self._urgent:
            return True
        if not self._granted or self._alone or not self._waiting():
            return False
        first = (self._background or self._heavy)[0]
        most = 1 if first.alone else self._limit
        # What is heavy does not begin beside the answer of the one before.
        unread = 0 if first.alone else UNREAD_BYTES
        return self._in_background < most and first.caller.unread <= unread

    def _is_surplus(self) -> bool:
        """Whether a worker without work had better end: its memory is wanted."""
        return self._alone or self._limit < min(self._most, len(self._running))

    def _give_up(self, error: SearchFailed, left: _Batch[J, A] | None) -> None:
        """Tell everybody who waits that there are no workers; what is ``left`` had one."""
        if left is None:
            self._free -= 1
        else:
            self._in_background -= not left.urgent
            self._alone = self._alone and not left.alone
            left.caller.answers.put_nowait(error)
        for batches in (self._urgent, self._background, self._heavy):
            for one in batches:
                one.caller.answers.put_nowait(error)
            batches.clear()
