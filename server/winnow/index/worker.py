"""A worker: a child process that takes jobs from its standard input and answers with facts.

The only process in which tree-sitter runs. Started by :mod:`winnow.index.workers`; ends with its
standard input, that is with the server, however that has ended.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import BinaryIO

import msgspec

from winnow.index.extraction import extract_file
from winnow.index.files import FileFacts, Job, failed
from winnow.text.messages import LENGTH_BYTES

# What is asked for at once goes first, see `Workers`; beside an editor, all of it waits.
NICE = 5
# The server ends a worker that takes too long. If it cannot, being dead itself, the worker does.
PATIENCE = 3.0
READY = b""


def main() -> None:
    """Answer jobs until the input ends."""
    seconds = float(sys.argv[1])
    if sys.platform != "win32":
        os.nice(NICE)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    log = open(os.devnull, "w")  # noqa: SIM115
    encode = msgspec.msgpack.Encoder().encode
    decoder = msgspec.msgpack.Decoder(Job)
    _send(answers, READY)
    while (message := _receive(sys.stdin.buffer)) is not None:
        # A thread without Python's lock, which a grammar that hangs would hold.
        faulthandler.dump_traceback_later(seconds * PATIENCE, exit=True, file=log)
        _send(answers, encode(_answer(decoder.decode(message))))
        faulthandler.cancel_dump_traceback_later()


def _answer(job: Job) -> FileFacts | None:
    try:
        return extract_file(job)
    except (RecursionError, MemoryError) as error:
        return failed(job, f"its facts cannot be taken: {type(error).__name__}")


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


if __name__ == "__main__":
    main()
