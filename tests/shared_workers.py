"""A pytest plugin that shares worker processes for indexes and documents between tests.

Starting a worker takes longer than most tests. Tests of the workers' own life cycle start new
workers: see `make_workers` in tests/index.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import pytest

from winnow.index.store.file_record import CLOCK_NS
from winnow.processes.children import Child, Processes
from winnow.processes.memory import anonymous_bytes
from winnow.processes.worker_side import LENGTH_BYTES
from winnow.processes.workers import ENVIRONMENT, HERE

# Arguments of `python -m`: a module, and `limits.parse_seconds` or the documents' QUICK_SECONDS.
Command = tuple[str, ...]
COUNTS: dict[Command, int] = {
    ("winnow.index.builder.worker", "5.0"): 2,
    ("winnow.documents.extract.worker", "3.0"): 1,
}
# A worker with more memory is not reused.
MOST_BYTES = 100 * 1024**2
# Time for unfinished jobs at the end of a test.
DRAIN_SECONDS = 10.0


class Pool:
    """A pool of idle workers."""

    def __init__(self) -> None:
        self._ready: dict[Command, list[subprocess.Popen[bytes]]] = {key: [] for key in COUNTS}

    def fill(self) -> None:
        """Start the missing workers."""
        new = []
        for command, ready in self._ready.items():
            ready[:] = [worker for worker in ready if worker.poll() is None]
            new += [(command, self._start(command)) for _ in range(COUNTS[command] - len(ready))]
        for command, worker in new:
            assert worker.stdout is not None
            assert worker.stdout.read(LENGTH_BYTES) == bytes(LENGTH_BYTES)
            self._ready[command].append(worker)

    def _start(self, command: Command) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", *command],
            bufsize=0,
            cwd=HERE,
            env={**ENVIRONMENT, "PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=sys.platform != "win32",
        )

    def take(self, command: Command) -> subprocess.Popen[bytes] | None:
        """Return an idle worker of this kind, or None."""
        ready = self._ready.get(command, [])
        while ready:
            if (worker := ready.pop()).poll() is None:
                return worker
        return None

    def give_back(self, command: Command, worker: subprocess.Popen[bytes]) -> None:
        """Return an idle worker to the pool; end it if it uses too much memory."""
        if worker.poll() is None and anonymous_bytes(worker.pid) < MOST_BYTES:
            self._ready[command].append(worker)
        else:
            end(worker)

    def close(self) -> None:
        """Close the input of all workers; they exit at its end."""
        for ready in self._ready.values():
            while ready:
                with ready.pop():
                    pass


def end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    with worker:
        pass


class Lent(Child):
    """A worker of the pool that appears as a child process. It is not killed, but returned to the
    pool after it has finished its jobs."""

    def __init__(
        self, owner: Processes, pool: Pool, command: Command, process: subprocess.Popen[bytes]
    ) -> None:
        super().__init__(owner, [sys.executable], HERE, None, None, counted=False)
        self._pool = pool
        self._command = command
        self._lent = process
        self._waiting = 0
        self._is_new = True
        self._reader = asyncio.StreamReader()
        self._reading: asyncio.Future[bytes] | None = None
        self._transports: list[asyncio.BaseTransport] = []

    async def __aenter__(self) -> Lent:
        # `_connect` waits, because starting a new worker takes longer: files that are read too soon
        # after they were written are read again.
        try:
            await self._connect()
        except BaseException:
            for transport in self._transports:
                transport.close()
            end(self._lent)
            raise
        self._owner._alive.add(self)
        if self._owner._closed:
            self.kill()
        return self

    async def _connect(self) -> None:
        await asyncio.sleep(CLOCK_NS / 1e9)
        loop = asyncio.get_running_loop()
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reader), copied(self._lent.stdout, "rb")
        )
        self._transports.append(reading)
        self._writer, _ = await loop.connect_write_pipe(
            asyncio.Protocol, copied(self._lent.stdin, "wb")
        )
        self._transports.append(self._writer)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task = asyncio.ensure_future(self._drain_answers())
        await asyncio.wait({task}, timeout=DRAIN_SECONDS)
        is_idle = task.done() and task.exception() is None
        task.cancel()
        if self._reading is not None:  # or its error would never be retrieved
            self._reading.cancel()
        for transport in self._transports:
            transport.close()
        await asyncio.sleep(0)
        self._owner._alive.discard(self)
        if is_idle:
            self._pool.give_back(self._command, self._lent)
        else:
            end(self._lent)

    async def _drain_answers(self) -> None:
        while self._waiting:
            await self._answer()

    @property
    def pid(self) -> int:
        return self._lent.pid

    def send(self, message: bytes) -> None:
        self._waiting += 1
        self._writer.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)

    async def receive(self) -> bytes:
        if self._is_new:  # the pool has already read the ready message
            self._is_new = False
            return b""
        if self._killed:
            raise EOFError
        return await self._answer()

    async def _answer(self) -> bytes:
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        # Shielded: a canceled caller must not discard a part of an answer.
        answer = await asyncio.shield(self._reading)
        self._reading = None
        self._waiting -= 1
        return answer

    async def _read(self) -> bytes:
        length = await self._reader.readexactly(LENGTH_BYTES)
        return await self._reader.readexactly(int.from_bytes(length, "little"))

    def kill(self) -> None:
        self._killed = True


def copied(pipe: IO[bytes] | None, mode: str) -> Any:
    """Duplicate a pipe's descriptor, so that it can be closed."""
    assert pipe is not None
    return os.fdopen(os.dup(pipe.fileno()), mode, buffering=0)


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def shared_workers(pool: Pool) -> Iterator[None]:
    """Let workspaces use the workers of the pool."""
    pool.fill()
    start_worker = Processes.start_worker

    def lent(
        processes: Processes,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Child:
        command = (*arguments[2:],)
        if "PYTHONPATH" not in (environment or {}) and (worker := pool.take(command)):
            return Lent(processes, pool, command, worker)
        return start_worker(processes, arguments, cwd=cwd, environment=environment, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Processes, "start_worker", lent)
        yield
