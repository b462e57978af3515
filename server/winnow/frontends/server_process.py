"""Run and end a server process, for any protocol."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import io
import logging
import os
import queue
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from winnow.processes.memory import is_there

if TYPE_CHECKING:
    from winnow.workspace import EngineWorkspace

logger = logging.getLogger(__name__)

# How often to check that the client is running. Standard input may stay open after it exits,
# because another process may have it open.
CLIENT_SECONDS = 1.0
INPUT_SECONDS = 0.25
# Time limit for an orderly exit. The server exits within two seconds of its client.
ORDERLY_SECONDS = 1.5
# Delay before an exit after a signal; children that are just starting are killed meanwhile.
EXIT_SECONDS = 0.05
LOG_LINES = 1_000
LOG_SECONDS = 0.2


def ignore_closing_generators() -> None:
    """Don't print that the garbage collector, in another thread, found an asynchronous generator
    that the event loop was just closing. Broken-off streams of the SDKs leave such ones."""
    show = sys.unraisablehook

    def hook(unraisable: sys.UnraisableHookArgs) -> None:
        is_closing = str(unraisable.exc_value) == "async generator already executing"
        if is_closing and inspect.isasyncgen(unraisable.object):
            logger.debug("The garbage collector found %r while it was closed", unraisable.object)
        else:
            show(unraisable)

    sys.unraisablehook = hook


class HardEnd:
    """Ends the process from a thread if an orderly exit takes too long.

    A busy or blocked event loop can't keep the server alive.
    """

    def __init__(self) -> None:
        # Unlike Queue.put, its `put` is reentrant, as a signal handler needs.
        self._orders: queue.SimpleQueue[tuple[int, Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._wait, name="hard end", daemon=True).start()

    def arm(self, code: int, kill_children: Callable[[], None]) -> None:
        """End the process with this exit code unless it exits in time."""
        self._orders.put((code, kill_children))

    def _wait(self) -> None:
        code, kill_children = self._orders.get()
        time.sleep(ORDERLY_SECONDS)
        try:
            kill_children()
        finally:
            os._exit(code)


def run(serving: Coroutine[Any, Any, int]) -> int:
    """Run a server until it ends. Return the exit code."""
    if sys.platform == "linux" and sys.version_info < (3, 12):
        # Otherwise asyncio starts a thread for each child, which costs a millisecond per search.
        with contextlib.suppress(OSError):  # before Linux 5.3
            os.close(os.pidfd_open(os.getpid()))
            asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(serving)


def end_on_signals(
    workspace: EngineWorkspace,
    signals: Sequence[int] = (signal.SIGTERM,),
    end: Callable[[], object] | None = None,
) -> None:
    """End the server and its children on signals: at once, or by ``end`` if that takes little time.
    Called in the event loop."""
    if sys.platform == "win32":
        return

    loop = asyncio.get_running_loop()
    hard_end = HardEnd()

    def arm(number: int, _: object) -> None:
        hard_end.arm(128 + number, workspace.processes.close)

    for number in signals:
        with contextlib.suppress(RuntimeError, ValueError):  # not the main thread
            loop.add_signal_handler(number, end or functools.partial(_end, workspace, number))
            # Also outside the loop, which may be busy.
            signal.signal(number, arm)


class StderrLog(logging.Handler):
    """Logs to stderr from a thread. If the parent doesn't read it, lines that don't fit into a
    short queue are dropped, so that logging never blocks."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue(LOG_LINES)
        # Not sys.stderr, because Python waits for its lock when it exits.
        self._file = io.FileIO(sys.stderr.fileno(), "wb", closefd=False)
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record) + "\n")

    def flush(self) -> None:
        """Wait a moment until all lines are written; called at exit."""
        end = time.monotonic() + LOG_SECONDS
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with contextlib.suppress(OSError):
                self._file.write(line.encode("utf-8", "replace"))
            self._lines.task_done()


async def end_with_client(workspace: EngineWorkspace, pid: int) -> None:
    """End the server when its client's process exits, as LSP requires. Ignore a process that
    doesn't exist at the start: its id comes from another system, such as a container's host."""
    if not is_there(pid):
        logger.warning("The client's process %d does not exist", pid)
        return
    while is_there(pid):  # noqa: ASYNC110 (systems report only the end of children)
        await asyncio.sleep(CLIENT_SECONDS)
    _end(workspace, signal.SIGTERM)


async def end_with_input(workspace: EngineWorkspace, file: int) -> None:
    """End the server soon after its standard input is closed, even if it is blocked writing to a
    client that doesn't read."""
    while not is_hung_up(file):  # noqa: ASYNC110 (systems don't report it)
        await asyncio.sleep(INPUT_SECONDS)
    HardEnd().arm(0, workspace.processes.close)


def is_hung_up(file: int) -> bool:
    """Return True if the other end of a pipe or a socket is closed, even if there are bytes left to
    read. Always False on systems that can't tell, such as Windows."""
    if not hasattr(select, "poll"):
        return False
    polled = select.poll()
    polled.register(file, getattr(select, "POLLRDHUP", 0))
    return bool(polled.poll(0))


def _end(workspace: EngineWorkspace, number: int) -> None:
    workspace.processes.close()
    asyncio.get_running_loop().call_later(EXIT_SECONDS, _die, workspace, number)


def _die(workspace: EngineWorkspace, number: int) -> None:
    """End the process by a signal once no child is starting, which would outlive it. An orderly
    exit would wait for the thread that reads standard input."""
    if workspace.processes.is_starting:
        asyncio.get_running_loop().call_later(EXIT_SECONDS, _die, workspace, number)
        return
    # Editors report an exit code as a failure, but not the signal that they have sent.
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    os._exit(128 + number)
