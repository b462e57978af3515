"""Run child programs. No other module of Winnow starts processes.

A child gets no standard input, because ripgrep would read the protocol stream of a stdio server, or
a pipe. It gets a process group, limited output and a deadline, unless it is a worker. Leaving the
``async with`` block kills the child and its group, so cancellation needs no code of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol

from winnow.errors import SearchFailed
from winnow.processes.groups import has_sessions, kill_group
from winnow.processes.worker_side import LENGTH_BYTES
from winnow.storage.writing import temporary_file

if TYPE_CHECKING:
    from winnow.processes.sandbox import ReadablePath

if sys.platform == "linux":
    import resource

# Enough for any message worth showing. The rest is read and dropped, or the pipe would block.
STDERR_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
# Memory of a child: ripgrep holds complete lines in memory, and a pattern with nested repetitions
# can make grep and find use all memory. Linux only.
MEMORY_BYTES = 2 * 1024**3
# Time to try a program in the sandbox. A search that is canceled meanwhile waits for it.
PROBE_SECONDS = 2.0
HEAD_BYTES = 64  # what remains of a dropped record


class LogParser(Protocol):
    """Parses the lines of a child's stderr that aren't error messages."""

    def parse(self, line: bytes) -> bool:
        """Parse a line without its line end. Return True if it belongs to the log."""


class Watchdog(Protocol):
    """Decides, once a child has run for ``seconds``, if it must stop."""

    seconds: float

    async def problem(self) -> Exception | None:
        """Return the error to raise in the child's reader, or None to let the child run."""


class Processes:
    """Starts child processes and tracks the running ones; the workspace owns it.

    ``limit`` bounds the number of running children across all requests; further ones wait.
    ``readable``, called in a thread, yields the paths that sandboxed children may read besides
    their working folder. Without it, children run without a sandbox.
    """

    def __init__(
        self,
        limit: int = 16,
        readable: Callable[[], Iterable[ReadablePath]] | None = None,
    ) -> None:
        self._slots = asyncio.Semaphore(limit)
        self._readable = readable
        self._tried: dict[str, bool] = {}
        self._trying = threading.Lock()
        self._alive: set[Child] = set()
        self._starting = 0
        self._closed = False

    @property
    def is_starting(self) -> bool:
        """True while a child is starting: :meth:`close` can't kill it yet."""
        return self._starting > 0

    def start(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        deadline: float,
        environment: Mapping[str, str] | None = None,
        log_parser: LogParser | None = None,
        spooled: bool = False,
        sandboxed: bool = False,
        watchdog: Watchdog | None = None,
    ) -> Child:
        """Return a child for ``async with``; ``deadline`` is on the loop's clock, in seconds.

        Lines of stderr that ``log_parser`` knows don't reach :attr:`Child.stderr`. A ``spooled``
        child writes to temporary files, which are read when it has exited: a program that writes
        thousands of small pieces then neither wakes the event loop nor waits for it. The kernel
        confines a ``sandboxed`` child, see :mod:`winnow.processes.sandbox`. A ``watchdog`` can stop
        the child: reading then raises its error.
        """
        return Child(
            *(self, arguments, cwd, deadline, environment, log_parser),
            spooled=spooled,
            sandboxed=sandboxed,
            watchdog=watchdog,
        )

    def start_worker(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        memory_bytes: int = MEMORY_BYTES,
    ) -> Child:
        """Return a child that answers messages until its block ends, see :meth:`Child.send`.

        It does not count against the limit, which is for the children of requests.
        """
        child = Child(self, arguments, cwd, None, environment, counted=False)
        child.stdin = asyncio.subprocess.PIPE
        child.memory_bytes = memory_bytes
        return child

    @contextlib.asynccontextmanager
    async def pipeline(
        self,
        commands: Sequence[Sequence[str]],
        *,
        cwd: Path,
        deadline: float,
        environment: Mapping[str, str] | None = None,
        unsandboxed: Sequence[str] = (),
        alone: Sequence[str] = (),
        watchdogs: Mapping[str, Watchdog] = {},
    ) -> AsyncIterator[list[Child]]:
        """Start children that each read the output of the one before; all end with the block.

        ``unsandboxed`` names the programs that run without a sandbox, ``alone`` those that may run
        no other program in theirs; ``watchdogs`` are by program.
        The children count as one against the limit: if each waited for its own slot, two pipelines
        could wait for each other.
        """
        children = [
            Child(
                *(self, arguments, cwd, deadline, environment),
                counted=place == 0,
                sandboxed=arguments[0] not in unsandboxed,
                alone=arguments[0] in alone,
                watchdog=watchdogs.get(arguments[0]),
            )
            for place, arguments in enumerate(commands)
        ]
        ends: set[int] = set()
        try:
            for writer, reader in itertools.pairwise(children):
                reader.stdin, writer.stdout = os.pipe()
                ends |= {reader.stdin, writer.stdout}
            async with contextlib.AsyncExitStack() as stack:
                for child in children:
                    await stack.enter_async_context(child)
                # Held here too, a pipe would never be at its end.
                while ends:
                    os.close(ends.pop())
                yield children
        finally:
            while ends:
                os.close(ends.pop())

    def can_sandbox(self, program: str) -> bool:
        """Return True if an earlier start of the program succeeded inside the sandbox."""
        return self._tried.get(program, False)

    def close(self) -> None:
        """Kill all children now, and any still starting as soon as they are up."""
        self._closed = True
        for child in list(self._alive):
            child.kill()


def start_detached(
    arguments: Sequence[str], cwd: str, environment: Mapping[str, str]
) -> Callable[[], bool]:
    """Start a program that outlives this process, with none of its streams and open files. Return a
    function that returns True once the program has ended. Raises OSError."""
    process = subprocess.Popen(
        arguments,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # Nobody waits for it, and Popen would warn of that.
    process.returncode = 0
    return partial(_has_ended, process.pid)


def _has_ended(pid: int) -> bool:
    """Return True if a child has ended. Call it no more after that."""
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


class Child:
    """A running program and its output.

    ``timed_out`` is True if the deadline killed it. ``rest`` is the output after the last record.
    """

    def __init__(
        self,
        owner: Processes,
        arguments: Sequence[str],
        cwd: Path,
        deadline: float | None,
        environment: Mapping[str, str] | None,
        log_parser: LogParser | None = None,
        *,
        counted: bool = True,
        spooled: bool = False,
        sandboxed: bool = False,
        alone: bool = False,
        watchdog: Watchdog | None = None,
    ) -> None:
        if not os.path.isabs(arguments[0]):
            # The system would look for it on PATH, which may lead into the workspace.
            raise ValueError(f"{arguments[0]} is not an absolute path")
        self._owner = owner
        self._arguments = arguments
        self._cwd = cwd
        self._deadline = deadline
        self._environment = environment
        self._log_parser = log_parser
        self._output = _spool() if spooled else None
        # A log of a thousand lines, read from a pipe line by line, costs a tenth of a search.
        self._log = _spool() if spooled and log_parser else None
        self._stderr = bytearray()
        self._counted = counted
        self._sandboxed = sandboxed
        self._alone = alone
        self._watchdog = watchdog
        self._watch: asyncio.Task[None] | None = None
        self._problem: Exception | None = None
        self._killed = False
        self.stdin: int = asyncio.subprocess.DEVNULL
        self.stdout: int = asyncio.subprocess.PIPE
        self.memory_bytes = MEMORY_BYTES
        self._alarm: asyncio.TimerHandle | None = None
        self.timed_out = False
        self.dropped: list[bytes] = []
        self.rest = b""

    async def __aenter__(self) -> Child:
        if self._counted:
            await self._owner._slots.acquire()
        self._owner._starting += 1
        try:
            self._process = await self._started()
        except OSError as error:
            self._release()
            program = os.path.basename(self._arguments[0])
            raise SearchFailed(program, 127, f"it cannot be started: {error.strerror}") from error
        except BaseException:
            self._release()
            raise
        finally:
            self._owner._starting -= 1
        self._owner._alive.add(self)
        self._drain = asyncio.create_task(self._read_stderr())
        if self._deadline is not None:
            self._alarm = asyncio.get_running_loop().call_at(self._deadline, self._expire)
        if self._watchdog:
            self._watch = asyncio.create_task(self._watch_for(self._watchdog))
        if self._owner._closed:
            self.kill()
        return self

    async def _started(self) -> Process:
        """Start the program. If that is cancelled, kill all that it started. Raises OSError."""
        options = {
            "stdin": self.stdin,
            "stdout": self._output or self.stdout,
            "stderr": self._log or subprocess.PIPE,
            "cwd": self._cwd,
            "env": self._environment,
            "start_new_session": has_sessions(),
        }
        starting = asyncio.ensure_future(self._start(options))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio would kill only the program, not the processes that it has started.
            with contextlib.suppress(OSError):
                self._process = await starting
                self.kill()
                await self._process.communicate()
                self._close()
            raise

    async def _start(self, options: Mapping[str, Any]) -> Process:
        """Start the program, in the sandbox if possible, with limited memory. Raises OSError."""
        bounded = partial(_limit_memory, size=self.memory_bytes)
        if self._sandboxed and self._owner._readable:
            sandboxed = await _start_sandboxed(
                self._arguments,
                self._owner._readable,
                self._owner._tried,
                self._owner._trying,
                bounded,
                options,
                alone=self._alone,
            )
            if sandboxed:
                return sandboxed
        started = await asyncio.create_subprocess_exec(
            *self._arguments, limit=CHUNK_BYTES, **options
        )
        bounded(started.pid)
        return started

    def _close(self) -> None:
        if isinstance(self._process, SandboxedProcess):
            self._process.close()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._alarm:
            self._alarm.cancel()
        if self._watch:
            self._watch.cancel()
        self._problem = None  # the remaining output is dropped
        if self._process.stdin:
            self._process.stdin.close()
        self.kill()
        try:
            if self._output is None:
                # asyncio waits for the end of the pipes, so their remaining output is dropped.
                async for _ in self.chunks():
                    pass
            await self._process.wait()
        finally:
            self._drain.cancel()
            self._close()
            self._owner._alive.discard(self)
            self._release()

    def _release(self) -> None:
        for spool in (self._output, self._log):
            if spool:
                spool.close()
        if self._counted:
            self._owner._slots.release()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The error messages of the program, at most :data:`STDERR_BYTES`."""
        return self._stderr.decode("utf-8", "replace")

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the output as it arrives, in chunks of at most :data:`CHUNK_BYTES`.

        If another child reads the output, there are none.
        """
        if self._output:
            await self._process.wait()
            if self._problem:
                raise self._problem
            self._output.seek(0)
            while chunk := self._output.read(CHUNK_BYTES):
                yield chunk
        elif self._process.stdout is not None:
            while chunk := await self._process.stdout.read(CHUNK_BYTES):
                yield chunk
        if self._problem:
            raise self._problem

    async def records(self, end: bytes, max_bytes: int) -> AsyncIterator[bytes]:
        """Yield the output, cut at each ``end`` and without it.

        A record of more than ``max_bytes`` is dropped while it is read; its first bytes are
        appended to ``dropped``. The output after the last ``end``, perhaps incomplete, is ``rest``.
        """
        record = bytearray()
        dropping = False
        async for chunk in self.chunks():
            *complete, rest = chunk.split(end)
            if record and complete:
                complete[0] = bytes(record + complete[0])
                record.clear()
            for piece in complete:
                if not dropping and len(piece) <= max_bytes:
                    yield piece
                elif not dropping:
                    self.dropped.append(piece[:HEAD_BYTES])
                dropping = False
            if not dropping:
                record += rest
                if len(record) > max_bytes:
                    self.dropped.append(bytes(record[:HEAD_BYTES]))
                    record.clear()
                    dropping = True
        self.rest = bytes(record)

    def send(self, message: bytes) -> None:
        """Write a message with a length prefix to a worker.

        This never waits: a buffer holds what the pipe cannot, because the worker may itself be
        waiting for a reader. A worker that has exited gets none: :meth:`receive` reports it.
        """
        assert self._process.stdin is not None
        # asyncio logs a warning for messages to a pipe that the other side has closed.
        if not self._process.stdin.is_closing():
            self._process.stdin.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)

    async def receive(self) -> bytes:
        """Return the next message of a worker. Raises EOFError when it has exited."""
        assert self._process.stdout is not None
        length = await self._process.stdout.readexactly(LENGTH_BYTES)
        return await self._process.stdout.readexactly(int.from_bytes(length, "little"))

    async def wait(self) -> int:
        """Return the exit code, after the program has exited and all of its stderr is read."""
        code = await self._process.wait()
        await self._drain
        if self._watchdog and code < 0 and not self._killed:  # it may have run out of memory
            self._problem = await self._watchdog.problem()
        if self._problem:
            raise self._problem
        return code

    async def _watch_for(self, watchdog: Watchdog) -> None:
        """Kill the child after the watchdog's time, if the watchdog finds a problem."""
        await asyncio.sleep(watchdog.seconds)
        self._problem = await watchdog.problem()
        if self._problem:
            self.kill()

    def kill(self) -> None:
        """Kill the program and all that it started. Harmless after it has exited."""
        self._killed = True
        if self._process.returncode is not None:
            return
        kill_group(self._process.pid)

    def _expire(self) -> None:
        self.timed_out = True
        self.kill()

    async def _read_stderr(self) -> None:
        if self._log:
            await self._process.wait()
            self._log.seek(0)
            for line in self._log:
                self._parse_line(line.removesuffix(b"\n"))
            return
        assert self._process.stderr is not None
        rest = b""
        while chunk := await self._process.stderr.read(CHUNK_BYTES):
            if self._log_parser is None:
                self._add_error(chunk)
                continue
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._parse_line(line)
            rest = rest[-CHUNK_BYTES:]
        self._add_error(rest)

    def _parse_line(self, line: bytes) -> None:
        if self._log_parser is None or not self._log_parser.parse(line):
            self._add_error(line + b"\n")

    def _add_error(self, text: bytes) -> None:
        self._stderr += text[: STDERR_BYTES - len(self._stderr)]


class SandboxedProcess:
    """A process started by another thread, with the interface of asyncio's processes."""

    stdin = None

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._transports: list[asyncio.ReadTransport] = []
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    async def connect(self) -> SandboxedProcess:
        """Start reading its output and waiting for its exit."""
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self._descriptor = os.pidfd_open(self.pid)
        loop.add_reader(self._descriptor, self._end)
        self.stdout = await self._reader(self._process.stdout)
        self.stderr = await self._reader(self._process.stderr)
        return self

    async def _reader(self, pipe: IO[bytes] | None) -> asyncio.StreamReader | None:
        if pipe is None:
            return None
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=CHUNK_BYTES)
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._transports.append(transport)
        return reader

    def _end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)
        os.close(self._descriptor)
        self._process.wait()
        if not self._ended.done():
            self._ended.set_result(None)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    def kill(self) -> None:
        self._process.kill()

    async def wait(self) -> int:
        await asyncio.shield(self._ended)
        return self._process.returncode

    async def communicate(self) -> None:
        """Wait for its exit and drop its output."""
        await self.wait()

    def close(self) -> None:
        """Stop reading."""
        for transport in self._transports:
            transport.close()


Process = asyncio.subprocess.Process | SandboxedProcess


async def _start_sandboxed(
    arguments: Sequence[str],
    readable: Callable[[], Iterable[ReadablePath]],
    tried: dict[str, bool],
    trying: threading.Lock,
    begun: Callable[[int], None],
    options: Mapping[str, Any],
    *,
    alone: bool,
) -> SandboxedProcess | None:
    """Start a program in a restricted thread, in which it may run no other if it is ``alone``.
    Return None if it cannot run in the sandbox.

    ``tried`` caches which programs can. Of starts at the same time, ``trying`` lets one try. The
    thread calls ``begun`` with the process id at once, because the event loop may be late. Raises
    OSError.
    """
    # Nothing else needs these imports.
    from winnow.processes import sandbox
    from winnow.processes.sandbox import ReadablePath

    program = arguments[0]
    if not sandbox.is_available() or not tried.get(program, True):
        return None

    def start() -> subprocess.Popen[bytes] | None:
        own = (ReadablePath(program), ReadablePath(os.path.realpath(program)))
        folder = ReadablePath(os.fspath(options["cwd"]), is_folder=True)
        sandbox.restrict_thread([*readable(), *own, folder], program if alone else "")
        with trying:
            if program not in tried:
                tried[program] = sandbox.is_of_system(program) or _runs(program, options)
        if not tried[program]:
            return None
        process = subprocess.Popen(arguments, bufsize=0, **options)
        begun(process.pid)
        return process

    threads = ThreadPoolExecutor(1)
    try:
        process = await asyncio.get_running_loop().run_in_executor(threads, start)
    finally:
        threads.shutdown(wait=False)
    if process is None:
        return None
    try:
        return await SandboxedProcess(process).connect()
    except OSError:  # out of file descriptors
        _end_group(process)
        raise


def _runs(program: str, options: Mapping[str, Any]) -> bool:
    """Return True if a program runs in this thread; kill all that it starts."""
    with contextlib.suppress(OSError):
        tried = subprocess.Popen(
            [program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=options["cwd"],
            env=options["env"],
            start_new_session=True,
        )
        try:
            return tried.wait(PROBE_SECONDS) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            _end_group(tried)
    return False


def _end_group(process: subprocess.Popen[bytes]) -> None:
    kill_group(process.pid)
    process.wait()


def _spool() -> IO[bytes]:
    """Return a file for a child's output, in memory if possible, so that no disk can be full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("spool"), "w+b")
    return temporary_file()


def _limit_memory(pid: int, size: int) -> None:
    """Limit the memory of a new process."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it has already exited
            resource.prlimit(pid, resource.RLIMIT_DATA, (size, size))
