"""The background process: an open workspace that runs commands for other processes.

It answers on a socket that only the user can open. It ends after a time without commands, when its
folder is gone, when its code or settings have changed, and on SIGTERM. Answers are those of a
command that does its work itself: where they would differ, the command is declined.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import enum
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from winnow.config import Config
from winnow.errors import SearchError
from winnow.frontends import config_files, server_process
from winnow.frontends.background import control, messages
from winnow.frontends.background.log import BoundedLog
from winnow.frontends.background.stamp import code_stamp
from winnow.frontends.cli.call import Caller, Outcome, call, notices_for
from winnow.frontends.cli.guarded import INTERRUPTED
from winnow.frontends.cli.main import command_parser
from winnow.processes.memory import return_freed_memory
from winnow.processes.waiting import wait_within
from winnow.search.index.background import keep_index, load_index, load_names, open_index
from winnow.storage import sockets
from winnow.storage.state_folder import is_indexed
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
    """What a client sends to have a command run."""

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
        self._workspace = EngineWorkspace([root], self._config, self._environment)
        self._code = code
        self._folder = _identity(str(root))
        self._socket = ""
        self._parser = command_parser(_SilentParser)
        self._state = State.SERVING
        self._has_ended = asyncio.Event()
        self._running = 0
        self._commands = 0
        self._started = time.time()
        self._last_used = time.monotonic()
        self._keeping: asyncio.Task[bool] | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.waiting: list[int] = []

    async def serve(self, listening: socket.socket, path: str) -> None:
        """Run commands for clients of the socket at a path until the process has to end."""
        server_process.end_on_signals(self._workspace, (signal.SIGTERM,), self.end)
        self._socket = _identity(path)
        server = await asyncio.start_unix_server(self._accept, sock=listening)
        checking = asyncio.create_task(self._check(path))
        self._keep()
        try:
            await self._has_ended.wait()
        finally:
            self._withdraw(path)
            server.close()
            keeping = [] if self._keeping is None else [self._keeping]
            work: list[asyncio.Task[Any]] = [checking, *keeping, *self._connections]
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._workspace.aclose()

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
            is_there = _is_at(self._socket, path) and _is_at(self._folder, str(self.root))
            if self._is_idle() or not is_there:
                self._end_soon()

    def _withdraw(self, path: str) -> None:
        """Delete the socket, unless another process has replaced it."""
        if _is_at(self._socket, path):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def _is_idle(self) -> bool:
        is_building = self._keeping is not None and not self._keeping.done()
        if self._running or is_building:
            self._last_used = time.monotonic()
        return time.monotonic() - self._last_used > IDLE_SECONDS

    # --- the index -------------------------------------------------------------------------

    def _keep(self) -> None:
        """Open the index, if there is one, and keep it complete and current from now on.

        Commands build an index under the same conditions as without this process.
        """
        if self._keeping is None or (self._keeping.done() and not _has_kept(self._keeping)):
            self._keeping = asyncio.create_task(self._keep_index())
            self._keeping.add_done_callback(_log_failure)

    async def _keep_index(self) -> bool:
        """Return False if there is no index."""
        user = self._workspace.user
        if not await asyncio.to_thread(is_indexed, self.root, user):
            return False
        await load_index()
        await open_index(self._workspace)
        await keep_index(self._workspace, lambda done, total: None)
        await load_names(self._workspace)
        return True

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
        outcome = await _unless_gone(self._outcome(invocation, writer), reader)
        self._commands += 1
        self._keep()
        done = [str(outcome.code), outcome.output, outcome.errors]
        writer.write(messages.framed(messages.DONE, done))

    async def _outcome(self, invocation: Invocation, writer: asyncio.StreamWriter) -> Outcome:
        """Return what a command prints, and its exit code. Raise Declined."""
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
        options = self._parser.parse_args(list(invocation.arguments))
        if "tool" not in options or getattr(options, "yes", False):
            raise Declined  # consent is for one call, not for the models of this process

        def show(text: str) -> None:
            writer.write(messages.framed(messages.PROGRESS, [text]))

        caller = Caller(
            folder,
            Style.of(invocation.is_terminal, invocation.terminal),
            show if invocation.shows_progress else None,
        )
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


def _identity(path: str) -> str:
    """Return which folder or socket is at a path. Raise OSError."""
    status = os.stat(path)
    return f"{status.st_dev} {status.st_ino}"


def _is_at(identity: str, path: str) -> bool:
    with contextlib.suppress(OSError):
        return _identity(path) == identity
    return False


def _has_kept(task: asyncio.Task[bool]) -> bool:
    return not task.cancelled() and task.exception() is None and task.result()


def _log_failure(task: asyncio.Task[bool]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("Keeping the index has failed", exc_info=error)


class _SilentParser(argparse.ArgumentParser):
    """A parser that prints nothing: a client prints its help and its errors itself."""

    def error(self, message: str) -> NoReturn:
        raise Declined

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Declined

    def print_help(self, file: object = None) -> None:
        raise Declined


async def _unless_gone(work: Coroutine[Any, Any, Outcome], reader: asyncio.StreamReader) -> Outcome:
    """Return the outcome of a command. If its client closes the connection, cancel the command."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(reader.read(1))
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
