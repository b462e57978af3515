"""Serving on standard streams or on a TCP port of this machine.

Two things are done otherwise than by pygls' own loops. Messages are read whole: from standard
input in a thread, with one turn of the loop for each, so that a cancellation is heard while
searches keep the loop busy. And a connection ends by ending its requests first, each of which ends
its children: cancelling every task at once, asyncio's inner ones too, leaves a child that is just
being started uncounted, and hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import re
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

from pygls.io_ import StdoutWriter

from winnow.lsp.server import WinnowServer
from winnow.serving import run

logger = logging.getLogger(__name__)

# Not only at the beginning of a line: what stands before it is then of a message whose own header
# was damaged, and the next one is read again.
_LENGTH = re.compile(rb"content-length:\s*(\d{1,12})\s*$", re.I | re.M)
HEADER_END = b"\r\n\r\n"
# What is longer is no message: a reader would wait for it for ever (clangd draws the same line).
MESSAGE_BYTES = 1024**3
# A longer header is none, and only its end is looked at.
HEADER_BYTES = 64 * 1024


def serve_io(server: WinnowServer) -> int:
    """Serve the client on stdin and stdout until it is gone; the exit code."""

    async def serve() -> int:
        return await _converse(server, _messages_of_stdin(), StdoutWriter(sys.stdout.buffer))

    return run(serve())


def serve_tcp(server: WinnowServer, host: str, port: int) -> int:
    """Serve the first client that connects, until it is gone; the exit code.

    The address is told on stderr, which says the port where 0 was given.
    """
    return run(_listen(server, host, port))


async def _listen(server: WinnowServer, host: str, port: int) -> int:
    code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    connected = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connected
        if not connected:
            connected = True
            code.set_result(await _converse(server, _messages_of(reader), writer))
        writer.close()

    listener = await asyncio.start_server(serve, host, port)
    async with listener:
        address = listener.sockets[0].getsockname()
        sys.stderr.write(f"winnow: listening on {address[0]}:{address[1]}\n")
        return await code


async def _converse(server: WinnowServer, messages: AsyncIterator[bytes], writer: Any) -> int:
    server.protocol.set_writer(writer)
    try:
        async for body in messages:
            server.protocol.handle_body(body)
    except SystemExit as ended:  # the client said `exit`
        return int(ended.code or 0)
    except (ConnectionError, KeyboardInterrupt) as error:
        logger.info("The client is gone: %s", error)
    finally:
        with contextlib.suppress(ConnectionError):
            await server.finish()
    return 0


async def _messages_of_stdin() -> AsyncIterator[bytes]:
    """The bodies of the messages on standard input, until it ends."""
    loop = asyncio.get_running_loop()
    bodies: asyncio.Queue[bytes | None] = asyncio.Queue()

    def read() -> None:
        # A reader of its own: Python would wait for the lock of sys.stdin's when it ends.
        stream = io.BufferedReader(io.FileIO(sys.stdin.fileno(), closefd=False))
        with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: the loop has ended
            while (body := _read_message(stream)) is not None:
                loop.call_soon_threadsafe(bodies.put_nowait, body)
            loop.call_soon_threadsafe(bodies.put_nowait, None)

    threading.Thread(target=read, name="stdin", daemon=True).start()
    while (body := await bodies.get()) is not None:
        yield body


def _read_message(stream: io.BufferedIOBase) -> bytes | None:
    """The body of the next message; None at the end of the stream."""
    header = b""
    while line := stream.readline(HEADER_BYTES):
        header = (header + line)[-HEADER_BYTES:]
        if line.strip():
            continue
        length = _length(header)
        if length is not None:
            body = stream.read(length)
            return body if len(body) == length else None
        header = b""
    return None


def _length(header: bytes) -> int | None:
    """How long the body behind a header is; None for what is no header."""
    found = _LENGTH.search(header)
    if found and int(found[1]) <= MESSAGE_BYTES:
        return int(found[1])
    if header.strip():
        logger.warning("Passed over %d bytes that are no header of a message", len(header))
    return None


async def _messages_of(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    with contextlib.suppress(asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        while True:
            length = _length(await reader.readuntil(HEADER_END))
            if length is not None:
                yield await reader.readexactly(length)
