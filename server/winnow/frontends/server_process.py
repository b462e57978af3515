"""What every server process does, whatever it speaks: how its loop is run, and how it is ended."""

from __future__ import annotations

import asyncio
import contextlib
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
    from winnow.workspace import Workspace

logger = logging.getLogger(__name__)

# How often it is looked whether the client is still there: standard input need not end with it,
# some other process may have it open.
CLIENT_SECONDS = 1.0
INPUT_SECONDS = 0.25
# How long an orderly end may take. Two seconds after the client is gone the server is, too.
ORDERLY_SECONDS = 1.5
LOG_LINES = 1_000
LOG_SECONDS = 0.2


class HardEnd:
    """Ends the process when an orderly end takes too long, by a thread that waits for nothing.

    Whatever the event loop waits for, or is busy with, cannot keep the server alive.
    """

    def __init__(self) -> None:
        # Its `put` may be called while it is running already, as a signal handler can do.
        self._orders: queue.SimpleQueue[tuple[int, Callable[[], None]]] = queue.SimpleQueue()
        threading.Thread(target=self._wait, name="hard end", daemon=True).start()

    def arm(self, code: int, kill_children: Callable[[], None]) -> None:
        """End the process with an exit code if it is still there in some time."""
        self._orders.put((code, kill_children))

    def _wait(self) -> None:
        code, kill_children = self._orders.get()
        time.sleep(ORDERLY_SECONDS)
        try:
            kill_children()
        finally:
            os._exit(code)


def run(serving: Coroutine[Any, Any, int]) -> int:
    """Run a server to its end; the exit code."""
    if sys.platform == "linux" and sys.version_info < (3, 12):
        # asyncio starts a thread for each child otherwise, a millisecond of each search.
        with contextlib.suppress(OSError):  # before Linux 5.3
            os.close(os.pidfd_open(os.getpid()))
            asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(serving)


def end_on_signals(workspace: Workspace, signals: Sequence[int] = (signal.SIGTERM,)) -> None:
    """Have signals end the server at once, and its children with it; called in its loop."""
    if sys.platform == "win32":
        return

    loop = asyncio.get_running_loop()
    hard_end = HardEnd()

    def arm(number: int, _: object) -> None:
        hard_end.arm(128 + number, workspace.processes.close)

    for number in signals:
        with contextlib.suppress(RuntimeError, ValueError):  # this is not the main thread
            loop.add_signal_handler(number, _end, workspace, number)
            # Besides, and not from the loop, which may be busy.
            signal.signal(number, arm)


class StderrLog(logging.Handler):
    """Logs to stderr by a thread, for a parent that may not read it: what finds no place in a short
    queue is dropped, so that logging never waits."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[str] = queue.Queue(LOG_LINES)
        # Not sys.stderr, for whose lock Python would wait when it ends.
        self._file = io.FileIO(sys.stderr.fileno(), "wb", closefd=False)
        threading.Thread(target=self._write, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line."""
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(self.format(record) + "\n")

    def flush(self) -> None:
        """Wait until all is written, or stderr is not read; called at exit."""
        end = time.monotonic() + LOG_SECONDS
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with contextlib.suppress(OSError):
                self._file.write(line.encode("utf-8", "replace"))
            self._lines.task_done()


async def end_with_client(workspace: Workspace, pid: int) -> None:
    """End the server when the process that started it is gone, as LSP wants it to. One that is not
    there from the beginning is one whose number means nothing here, as in a container."""
    if not is_there(pid):
        logger.warning("There is no process %d, which the client says it is", pid)
        return
    while is_there(pid):  # noqa: ASYNC110 (no system tells it of a process that is no child)
        await asyncio.sleep(CLIENT_SECONDS)
    _end(workspace, signal.SIGTERM)


async def end_with_input(workspace: Workspace, file: int) -> None:
    """End the server soon after the other end of its standard input is closed, although it may
    still be writing to a client that does not read."""
    while not is_hung_up(file):  # noqa: ASYNC110 (no system tells it)
        await asyncio.sleep(INPUT_SECONDS)
    HardEnd().arm(0, workspace.processes.close)


def is_hung_up(file: int) -> bool:
    """Return whether the other end of a pipe or a socket is closed, although bytes may be left to
    read. Always False where the system cannot tell, as on Windows."""
    if not hasattr(select, "poll"):
        return False
    polled = select.poll()
    polled.register(file, getattr(select, "POLLRDHUP", 0))
    return bool(polled.poll(0))


def _end(workspace: Workspace, number: int) -> None:
    workspace.processes.close()
    # A thread waits for standard input, which an orderly exit would wait for in turn. The moment is
    # for a child that is being started.
    asyncio.get_running_loop().call_later(0.1, os._exit, 128 + number)
