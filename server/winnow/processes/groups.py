"""A program and all that it starts, as one group.

On POSIX systems a program starts in a session of its own, and a signal reaches its whole process
group. Windows has no such groups: what a program has started is found by the parents of processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys


def has_sessions() -> bool:
    """Return True if a program starts in a session of its own."""
    return sys.platform != "win32"


def kill_group(pid: int) -> None:
    """Kill a program, which has not been waited for, and all that it has started. Harmless after it
    has exited."""
    if not has_sessions():
        _kill_tree(pid)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _kill_tree(pid: int) -> None:
    import psutil

    try:
        program = psutil.Process(pid)
        started = program.children(recursive=True)
    except psutil.Error:
        return
    for process in (program, *started):
        with contextlib.suppress(psutil.Error):
            process.kill()
