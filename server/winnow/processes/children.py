"""Running child programs: the only place in Winnow that starts a process.

A child gets no standard input (ripgrep would otherwise read the protocol stream of a stdio
server) or a pipe of its own, a process group, a deadline unless it is there to answer questions,
and capped output; it is killed, group and all,
as soon as the ``async with`` block that holds it is left, for whatever reason. Cancellation needs
nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Protocol

from winnow.errors import SearchFailed
from winnow.processes.messages import LENGTH_BYTES
from winnow.storage.writing import temporary_file

if TYPE_CHECKING:
    from winnow.processes.sandbox import ReadablePath

if sys.platform == "linux":
    import resource

# Enough for any message worth showing; the rest is read and thrown away, or the pipe would block.
STDERR_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
# What a child may have in memory for itself: ripgrep holds a line as a whole, and a pattern with
# nested repetitions can make grep and find take all there is. Linux only.
MEMORY_BYTES = 2 * 1024**3
# A search that is cancelled meanwhile waits for it.
PROBE_SECONDS = 2.0
HEAD_BYTES = 64  # what is kept of a record that is dropped


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
        self._alive: set[Child] = set()
        self._closed = False

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

    def converse(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        memory_bytes: int = MEMORY_BYTES,
    ) -> Child:
        """A child that lives as long as its block and answers, see :meth:`Child.send`.

        It takes no place among the children, which are there for the time of a request.
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
        watchdogs: Mapping[str, Watchdog] = {},
    ) -> AsyncIterator[list[Child]]:
        """Start children that each read the output of the one before; all end with the block.

        ``unsandboxed`` names the programs that run without a sandbox; ``watchdogs`` are by program.
        The children count as one against the limit: if each waited for its own slot, two pipelines
        could wait for each other.
        """
        children = [
            Child(
                *(self, arguments, cwd, deadline, environment),
                counted=place == 0,
                sandboxed=arguments[0] not in unsandboxed,
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
        """End every child now, and each that is being started as soon as it has been."""
        self._closed = True
        for child in list(self._alive):
            child.kill()


class Child:
    """One running program and its output.

    ``timed_out`` says that the deadline ended it; ``exit_code`` is known after the output was read
    to its end and :meth:`wait` was called.
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
        try:
            self._process = await self._started()
        except OSError as error:
            self._release()
            program = os.path.basename(self._arguments[0])
            raise SearchFailed(program, 127, f"it cannot be started: {error.strerror}") from error
        except BaseException:
            self._release()
            raise
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
        """The program, running. Raises OSError."""
        options = {
            "stdin": self.stdin,
            "stdout": self._output or self.stdout,
            "stderr": self._log or subprocess.PIPE,
            "cwd": self._cwd,
            "env": self._environment,
            # Makes the group; Windows has none of this kind, and a child of ours starts no children
            # there.
            "start_new_session": sys.platform != "win32",
        }
        starting = asyncio.ensure_future(self._start(options))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            # asyncio would end the program alone, and not what it has started meanwhile.
            with contextlib.suppress(OSError):
                self._process = await starting
                self.kill()
                await self._process.communicate()
                self._close()
            raise

    async def _start(self, options: Mapping[str, Any]) -> Process:
        """The program, sandboxed if it is to be and can be, its memory bounded. Raises OSError."""
        bounded = partial(_limit_memory, size=self.memory_bytes)
        if self._sandboxed and self._owner._readable and _has_sandbox():
            allowed, tried = self._owner._readable, self._owner._tried
            sandboxed = await _started_sandboxed(self._arguments, allowed, tried, bounded, options)
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
        self._problem = None  # what is still to be read is dropped
        if self._process.stdin:
            self._process.stdin.close()
        self.kill()
        try:
            if self._output is None:
                # asyncio takes a child for ended only when its pipes are: what a killed one has
                # left in them is read and dropped.
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
        """What the program complained of, at most :data:`STDERR_BYTES`."""
        return self._stderr.decode("utf-8", "replace")

    async def chunks(self) -> AsyncIterator[bytes]:
        """The output as it comes, in pieces of at most :data:`CHUNK_BYTES`; nothing where another
        child reads it."""
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
        """The output cut at every ``end``, without it.

        A record of more than ``max_bytes`` is dropped while it is read; ``dropped`` keeps its first
        bytes. What stands behind the last ``end`` is in ``rest``, and may be incomplete.
        """
        kept = bytearray()
        dropping = False
        async for chunk in self.chunks():
            *whole, rest = chunk.split(end)
            for piece in whole:
                if not dropping:
                    kept += piece
                    if len(kept) <= max_bytes:
                        yield bytes(kept)
                    else:
                        self.dropped.append(bytes(kept[:HEAD_BYTES]))
                kept.clear()
                dropping = False
            if not dropping:
                kept += rest
                if len(kept) > max_bytes:
                    self.dropped.append(bytes(kept[:HEAD_BYTES]))
                    kept.clear()
                    dropping = True
        self.rest = bytes(kept)

    def send(self, message: bytes) -> None:
        """Write a message, its length first, to a child that answers.

        What the pipe does not take is kept, and does not wait: the child may in turn be waiting
        for somebody who reads.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)

    async def receive(self) -> bytes:
        """The next message of a child that answers. Raises EOFError when the child has ended."""
        assert self._process.stdout is not None
        length = await self._process.stdout.readexactly(LENGTH_BYTES)
        return await self._process.stdout.readexactly(int.from_bytes(length, "little"))

    async def wait(self) -> int:
        """The exit code, once the program has ended and all of its stderr is read."""
        code = await self._process.wait()
        await self._drain
        if self._watchdog and code < 0 and not self._killed:  # it may have run out of memory
            self._problem = await self._watchdog.problem()
        if self._problem:
            raise self._problem
        return code

    async def _watch_for(self, watchdog: Watchdog) -> None:
        """Kill the child once it has run for long, if the watchdog finds a reason."""
        await asyncio.sleep(watchdog.seconds)
        self._problem = await watchdog.problem()
        if self._problem:
            self.kill()

    def kill(self) -> None:
        """End the program and whatever it started; harmless when it has ended already."""
        self._killed = True
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _expire(self) -> None:
        self.timed_out = True
        self.kill()

    async def _read_stderr(self) -> None:
        if self._log:
            await self._process.wait()
            self._log.seek(0)
            for line in self._log:
                self._take_line(line.removesuffix(b"\n"))
            return
        assert self._process.stderr is not None
        rest = b""
        while chunk := await self._process.stderr.read(CHUNK_BYTES):
            if self._log_parser is None:
                self._complain(chunk)
                continue
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take_line(line)
            rest = rest[-CHUNK_BYTES:]
        self._complain(rest)

    def _take_line(self, line: bytes) -> None:
        if self._log_parser is None or not self._log_parser.parse(line):
            self._complain(line + b"\n")

    def _complain(self, said: bytes) -> None:
        self._stderr += said[: STDERR_BYTES - len(self._stderr)]


class SandboxedProcess:
    """A process that another thread has started, as asyncio has those of its own."""

    stdin = None

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._transports: list[asyncio.ReadTransport] = []
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None

    async def connect(self) -> SandboxedProcess:
        """Begin to read what it writes, and to wait for its end."""
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
        """Wait for its end; what it writes is dropped."""
        await self.wait()

    def close(self) -> None:
        """Stop reading."""
        for transport in self._transports:
            transport.close()


Process = asyncio.subprocess.Process | SandboxedProcess


def _has_sandbox() -> bool:
    # What it imports is of no use elsewhere.
    from winnow.processes import sandbox

    return sandbox.is_available()


async def _started_sandboxed(
    arguments: Sequence[str],
    readable: Callable[[], Iterable[ReadablePath]],
    tried: dict[str, bool],
    begun: Callable[[int], None],
    options: Mapping[str, Any],
) -> SandboxedProcess | None:
    """The program, started by a thread that is restricted; None if it cannot run so.

    ``tried`` keeps which programs can. ``begun`` is called by the thread with its number: the
    event loop may be late. Raises OSError.
    """
    from winnow.processes import sandbox
    from winnow.processes.sandbox import ReadablePath

    program = arguments[0]
    if not tried.get(program, True):
        return None

    def start() -> subprocess.Popen[bytes] | None:
        own = (ReadablePath(program), ReadablePath(os.path.realpath(program)))
        folder = ReadablePath(os.fspath(options["cwd"]), is_folder=True)
        sandbox.restrict_thread([*readable(), *own, folder])
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
    except OSError:  # there are no descriptors left
        _end_group(process)
        raise


def _runs(program: str, options: Mapping[str, Any]) -> bool:
    """Whether a program runs on this thread; what it may have started is ended with it."""
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
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _spool() -> IO[bytes]:
    """A file for what a child writes: in memory where the system can, so that no disk is full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("spool"), "w+b")
    return temporary_file()


def _limit_memory(pid: int, size: int) -> None:
    """Bound the memory of a process that has just begun."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # it has ended already
            resource.prlimit(pid, resource.RLIMIT_DATA, (size, size))
