"""The loop of a worker: read jobs from standard input, write answers to standard output."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

LENGTH_BYTES = 4  # each message has its length before it
# A third of the processor time of normal priority while all processors are busy. At 10, a query
# that had to read files waited twenty times as long on a machine with a load of 5, and a process
# cannot raise its priority again. Background jobs are throttled before they start, see
# `index/builder/throttle.py`. The disk priority follows the processor priority.
NICE = 5
# The server kills a worker that takes too long. If the server is dead, the worker exits by itself,
# after this multiple of the time, which is longer than the server ever waits.
PATIENCE = 20.0
READY = b""
BELOW_NORMAL_PRIORITY_CLASS = 0x4000  # of Windows


def serve(answer: Callable[[bytes], bytes], seconds: float) -> None:
    """Answer messages until the input ends.

    The server kills this process if an answer takes longer than ``seconds``.
    """
    _lower_priority()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keep what libraries print out of the answers
    log = open(os.devnull, "w")  # noqa: SIM115
    _send(answers, READY)
    while (message := _receive(sys.stdin.buffer)) is not None:
        # This timer needs no GIL, which a hanging parser may hold.
        faulthandler.dump_traceback_later(seconds * PATIENCE, exit=True, file=log)
        _send(answers, answer(message))
        faulthandler.cancel_dump_traceback_later()


def _lower_priority() -> None:
    """Run this process after those of normal priority."""
    if sys.platform == "win32":
        import ctypes

        system = ctypes.windll.kernel32
        system.SetPriorityClass(system.GetCurrentProcess(), BELOW_NORMAL_PRIORITY_CLASS)
        return
    os.nice(NICE)
    # Linux desktops schedule sessions as groups, and a priority counts only within its group. A
    # worker has a session of its own, so its group needs a lower priority too.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICE))


def _send(stream: BinaryIO, message: bytes) -> None:
    # Two writes would wake the server twice.
    stream.write(len(message).to_bytes(LENGTH_BYTES, "little") + message)
    stream.flush()


def _receive(stream: BinaryIO) -> bytes | None:
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    message = stream.read(int.from_bytes(length, "little"))
    return message or None
