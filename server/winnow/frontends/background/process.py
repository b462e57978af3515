"""The background process: an open workspace that runs commands for other processes.

It answers on a socket that only the user can open. It ends after a time without commands, when its
folder is gone, when its code or settings have changed, and on SIGTERM. Answers are those of a
command that does its work itself: where they would differ, the command is declined.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from winnow.config import Config
from winnow.errors import SearchError
from winnow.frontends import config_files, server_process
from winnow.frontends.background import control, messages
from winnow.frontends.background.log import BoundedLog
from winnow.frontends.background.stamp import code_stamp
from winnow.frontends.cli.arguments import Parser, parsed
from winnow.frontends.cli.call import INDEX_SECONDS, Caller, Outcome, call, notices_for
from winnow.frontends.cli.guarded import INTERRUPTED
from winnow.frontends.cli.main import command_parser
from winnow.processes.memory import return_freed_memory
from winnow.processes.waiting import wait_within
from winnow.search.index.background import IndexKeeper
from winnow.storage import sockets
from winnow.storage.untrusted import open_folder
from winnow.tools.terminal import Style
from winnow.workspace import EngineWorkspace

logger = logging.getLogger(__name__)

# A process that has run no command and built no index for this time ends.
IDLE_SECONDS = 600.0
# How often a process checks if it has to end.
CHECK_SECONDS = 5.0
# A client sends its message at once.
MESSAGE_SECONDS = 5.0
# More than a system allows for the arguments of a program.
CALL_BYTES = 16 * 1024 * 1024
SALT_BYTES = 8


class State(enum.Enum):
    """The state of a process.

    from     to       event
    serving  ending   a client runs other code, settings have changed, no command has come for a
                      long time, the folder or the socket is gone
    ending   ended    running commands have ended
    any      ended    `winnow index stop`, SIGTERM
    """

    SERVING = "serving"
    ENDING = "ending"  # commands are declined
    ENDED = "ended"


class Declined(Exception):
    """The client has to do the work itself."""


class Invocation(NamedTuple):
    """A command and its caller, as a client sends them."""

    fingerprint: str
    folder: str
    identity: str  # of the folder
    is_terminal: bool
    shows_progress: bool
    terminal: Mapping[str, str]
    arguments: Sequence[str]

    @classmethod
    def of(cls, parts: Sequence[str]) -> Invocation:
        """Read the parts of a message. Raise ValueError if there are too few."""
        fingerprint, folder, identity, out, err, *rest = parts
        count = len(messages.OF_TERMINAL)
        pairs = (text.partition("=") for text in rest[:count] if text)
        terminal = {name: value for name, _, value in pairs}
        return cls(fingerprint, folder, identity, bool(out), bool(err), terminal, rest[count:])


def run(root: str, path: str, code: str) -> list[int]:
    """Run commands for clients of the socket at a path, until the process has to end. Return the
    descriptors of clients that wait for that. Raise OSError."""
    logging.basicConfig(
        handlers=[BoundedLog(Path(path).parent)],
        level=logging.WARNING,
        format="%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s",
    )
    return_freed_memory()
    listening = sockets.listen(path)
    try:
        waiting: list[int] = []

        async def serve() -> int:
            process = BackgroundProcess(Path(root), os.environ, code)
            await process.serve(listening, path)
            waiting.extend(process.waiting)
            return 0

        server_process.run(serve())
    finally:
        listening.close()
    return waiting


class BackgroundProcess:
    """The workspace, and the commands that run in it. Created inside a running event loop.

    ``code`` is the stamp of the code that runs.
    """

    def __init__(self, root: Path, environment: Mapping[str, str], code: str) -> None:
        self.root = root
        self._environment = dict(environment)
        self._config, _ = config_files.load(self._environment, root)
        self._workspace = EngineWorkspace(
            [root], self._config, self._environment, index_seconds=INDEX_SECONDS
        )
        self._keeper = IndexKeeper(self._workspace)
        self._code = code
        # Open, so that no folder that replaces a deleted one gets its inode number.
        self._opened = open_folder(root)
        self._folder = _identity(self._opened)
        self._socket = ""
        self._parser = command_parser(_SilentParser)
        self._state = State.SERVING
        self._has_ended = asyncio.Event()
        self._running = 0
        self._commands = 0
        self._started = time.time()
        self._last_used = time.monotonic()
        self._connections: set[asyncio.Task[None]] = set()
        self.waiting: list[int] = []

    async def serve(self, listening: socket.socket, path: str) -> None:
        """Run commands for clients of the socket at a path until the process has to end."""
        server_process.end_on_signals(self._workspace, (signal.SIGTERM,), self.end)
        self._socket = _identity(path)
        server = await asyncio.start_unix_server(self._accept, sock=listening)
        checking = asyncio.create_task(self._check(path))
        self._keeper.begin_if_indexed()
        try:
            await self._has_ended.wait()
        finally:
            self._withdraw(path)
            server.close()
            work: list[asyncio.Task[Any]] = [checking, *self._connections]
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._keeper.aclose()
            await self._workspace.aclose()
            os.close(self._opened)

    # --- its end ---------------------------------------------------------------------------

    def end(self) -> None:
        """End now. The clients of running commands do the work themselves."""
        self._state = State.ENDED
        self._has_ended.set()

    def _end_soon(self) -> None:
        """Decline commands from now on, and end when the running ones have ended."""
        if self._state is State.SERVING:
            self._state = State.ENDING
        if not self._running:
            self.end()

    async def _check(self, path: str) -> None:
        """Check from time to time if the process has to end."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if self._is_idle() or not (_is_at(self._socket, path) and self._is_there()):
                self._end_soon()

    def _is_there(self) -> bool:
        """Return True unless the folder was deleted, moved or replaced."""
        return _is_at(self._folder, str(self.root))

    def _withdraw(self, path: str) -> None:
        """Delete the socket, unless another process has replaced it."""
        if _is_at(self._socket, path):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _is_idle(self) -> bool:
        if self._running or self._keeper.is_busy:
            self._last_used = time.monotonic()
        return time.monotonic() - self._last_used > IDLE_SECONDS

    # --- clients ---------------------------------------------------------------------------

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # asyncio would log the cancellation of a task of its own.
        task = asyncio.create_task(self._converse(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if sockets.is_same_user(writer.get_extra_info("socket")):
                await self._answer(reader, writer)
        except (OSError, ValueError, EOFError, asyncio.TimeoutError):
            pass  # the client has gone, or is none
        except Exception:
            logger.exception("A connection has failed")
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        kind, parts = await _receive(reader)
        if kind == messages.STATUS:
            described = control.description(self.root, self._started, self._commands)
            writer.write(messages.framed(messages.DESCRIPTION, described))
        elif kind == messages.STOP:
            self.waiting.append(os.dup(writer.get_extra_info("socket").fileno()))
            self.end()
        elif kind == messages.CALL:
            self._running += 1
            try:
                await self._run(parts, reader, writer)
            except Declined:
                writer.write(messages.framed(messages.DECLINED))
            finally:
                self._running -= 1
                self._last_used = time.monotonic()
                if self._state is State.ENDING:
                    self._end_soon()
        await writer.drain()

    async def _run(
        self,
        client: Sequence[str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Run the command of a client. Raise Declined."""
        if client != messages.identity() or self._code != code_stamp():
            self._end_soon()
            raise Declined
        if self._state is not State.SERVING:
            raise Declined
        salt = secrets.token_hex(SALT_BYTES)
        names = sorted(model.key_env for model in self._config.llm.models.values() if model.key_env)
        writer.write(messages.framed(messages.NAMES, [salt, *names]))
        kind, parts = await _receive(reader)
        if kind != messages.RUN:
            raise Declined
        invocation = Invocation.of(parts)
        if invocation.fingerprint != messages.fingerprint(self._environment, names, salt):
            raise Declined
        skipped = asyncio.Event()
        work = self._outcome(invocation, writer, skipped)
        outcome = await _unless_gone(work, reader, skipped)
        self._commands += 1
        self._keeper.begin_if_indexed()
        done = [str(outcome.code), outcome.output, outcome.errors]
        writer.write(messages.framed(messages.DONE, done))

    async def _outcome(
        self, invocation: Invocation, writer: asyncio.StreamWriter, skipped: asyncio.Event
    ) -> Outcome:
        """Return what a command prints, and its exit code. Raise Declined.

        ``skipped`` is set when the client skips a wait.
        """
        if not self._is_there():
            self._end_soon()
            raise Declined
        folder = Path(invocation.folder)
        if not _is_at(invocation.identity, invocation.folder):
            raise Declined  # another file system is there for the client
        config, problems = config_files.load(self._environment, self.root)
        if config != self._config:
            self._end_soon()
            raise Declined
        with contextlib.suppress(SearchError):
            if control.root_of(folder, config, self._environment) != self.root:
                raise Declined
        options = parsed(self._parser, invocation.arguments, folder)
        if "tool" not in options or getattr(options, "yes", False):
            raise Declined  # consent is for one call, not for the models of this process

        def write(text: str) -> None:
            writer.write(messages.framed(messages.PROGRESS, [text]))

        @contextlib.contextmanager
        def interrupts() -> Iterator[asyncio.Event]:
            writer.write(messages.framed(messages.WAITING, ["index"]))
            yield skipped
            writer.write(messages.framed(messages.WAITING))

        style = Style.of(invocation.is_terminal, invocation.terminal)
        caller = Caller(folder, style, write, invocation.shows_progress, interrupts)
        notices = notices_for(self._workspace, problems)
        try:
            if switch := options.tool.switch:
                config = config.turned_on(switch)
            outcome = await call(options.tool, options, caller, self._configured(config))
        except Exception as error:
            # The client shows it as any command does.
            logger.warning("A command has failed", exc_info=error)
            raise Declined from error
        return outcome._replace(errors=notices + outcome.errors)

    @contextlib.asynccontextmanager
    async def _configured(self, config: Config) -> AsyncIterator[EngineWorkspace]:
        """Open the workspace for a call with this configuration."""
        if config == self._config:
            yield self._workspace
            return
        other = self._workspace.sharing(self.root, config)
        try:
            yield other
        finally:
            await other.close_shared()


def _identity(path: str | int) -> str:
    """Return which folder or socket is at a path, or open. Raise OSError."""
    status = os.stat(path)
    return f"{status.st_dev} {status.st_ino}"


def _is_at(identity: str, path: str) -> bool:
    with contextlib.suppress(OSError):
        return _identity(path) == identity
    return False


class _SilentParser(Parser):
    """A parser that prints nothing: a client prints its help and its errors itself."""

    def error(self, message: str) -> NoReturn:
        raise Declined

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Declined

    def print_help(self, file: object = None) -> None:
        raise Declined


async def _unless_gone(
    work: Coroutine[Any, Any, Outcome], reader: asyncio.StreamReader, skipped: asyncio.Event
) -> Outcome:
    """Return the outcome of a command. If its client closes the connection, cancel the command.

    Set ``skipped`` when the client sends anything: only SKIP can come.
    """

    async def listen() -> None:
        while await reader.read(messages.LENGTH_BYTES):
            skipped.set()

    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(listen())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()  # no effect on one that is done
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)
    return Outcome(INTERRUPTED, "") if task.cancelled() else task.result()


async def _receive(reader: asyncio.StreamReader) -> tuple[bytes, list[str]]:
    """Return the next message. Raise EOFError, ValueError or asyncio.TimeoutError."""

    async def read() -> bytes:
        length = int.from_bytes(await reader.readexactly(messages.LENGTH_BYTES), "little")
        if length > CALL_BYTES:
            raise ValueError("a message is too long")
        return await reader.readexactly(length)

    payload = await wait_within(read(), MESSAGE_SECONDS)
    return payload[:1], messages.unpack(payload[1:])
