"""A worker's side: jobs from standard input, answers to standard output, until the input ends."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

from winnow.processes.messages import LENGTH_BYTES

# A third of what a program of ordinary priority gets where all processors are busy. At 10, a query
# that needs files read at once waited twenty times as long on a machine with a load of 5, and a
# process that has given way cannot take that back. What is not urgent is held back before it
# begins, see `index/build/throttle.py`. The priority for the disk follows by itself.
NICE = 5
# The server ends a worker that takes too long. If it cannot, being dead itself, the worker does:
# later than the server would in any case.
PATIENCE = 20.0
READY = b""


def serve(answer: Callable[[bytes], bytes], seconds: float) -> None:
    """Answer messages until the input ends; none takes longer than ``seconds``, or the server ends
    this process."""
    _give_way()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    log = open(os.devnull, "w")  # noqa: SIM115
    _send(answers, READY)
    while (message := _receive(sys.stdin.buffer)) is not None:
        # A thread without Python's lock, which a parser that hangs would hold.
        faulthandler.dump_traceback_later(seconds * PATIENCE, exit=True, file=log)
        _send(answers, answer(message))
        faulthandler.cancel_dump_traceback_later()


def _give_way() -> None:
    """Have this process run after those of ordinary priority."""
    if sys.platform == "win32":
        import psutil

        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        return
    os.nice(NICE)
    # Where Linux groups processes by session, as on desktops, a priority counts within the group
    # only, and a worker is a session of its own: the group needs one, too.
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICE))


def _send(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(LENGTH_BYTES, "little"))
    stream.write(message)
    stream.flush()


def _receive(stream: BinaryIO) -> bytes | None:
    length = stream.read(LENGTH_BYTES)
    if len(length) < LENGTH_BYTES:
        return None
    message = stream.read(int.from_bytes(length, "little"))
    return message or None
