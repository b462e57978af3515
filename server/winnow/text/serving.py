"""A worker's side: jobs from standard input, answers to standard output, until the input ends."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from typing import BinaryIO

from winnow.text.messages import LENGTH_BYTES

# What is asked for at once goes first, see `Workers`; beside an editor, all of it waits.
NICE = 5
# The server ends a worker that takes too long. If it cannot, being dead itself, the worker does.
PATIENCE = 3.0
READY = b""


def serve(answer: Callable[[bytes], bytes], seconds: float) -> None:
    """Answer messages until the input ends; none takes longer than ``seconds``, or the server ends
    this process."""
    if sys.platform != "win32":
        os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    log = open(os.devnull, "w")  # noqa: SIM115
    _send(answers, READY)
    while (message := _receive(sys.stdin.buffer)) is not None:
        # A thread without Python's lock, which a parser that hangs would hold.
        faulthandler.dump_traceback_later(seconds * PATIENCE, exit=True, file=log)
        _send(answers, answer(message))
        faulthandler.cancel_dump_traceback_later()


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
