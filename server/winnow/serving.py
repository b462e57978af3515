"""What every server process does, whatever it speaks: how its loop is run, and how it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from winnow.text.memory import is_there

if TYPE_CHECKING:
    from winnow.workspace import Workspace

logger = logging.getLogger(__name__)

# How often it is looked whether the client is still there: standard input need not end with it,
# some other process may have it open.
CLIENT_SECONDS = 1.0


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
    for number in signals:
        with contextlib.suppress(RuntimeError, ValueError):
            loop.add_signal_handler(number, _end, workspace, number)


async def end_with_client(workspace: Workspace, pid: int) -> None:
    """End the server when the process that started it is gone, as LSP wants it to. One that is not
    there from the beginning is one whose number means nothing here, as in a container."""
    if not is_there(pid):
        logger.warning("There is no process %d, which the client says it is", pid)
        return
    while is_there(pid):  # noqa: ASYNC110 (no system tells it of a process that is no child)
        await asyncio.sleep(CLIENT_SECONDS)
    _end(workspace, signal.SIGTERM)


def _end(workspace: Workspace, number: int) -> None:
    workspace.processes.close()
    # A thread waits for standard input, which an orderly exit would wait for in turn. The moment is
    # for a child that is being started.
    asyncio.get_running_loop().call_later(0.1, os._exit, 128 + number)
