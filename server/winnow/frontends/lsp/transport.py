"""Serve on standard streams or on a local TCP port.

This replaces pygls' loops. One thread reads and one writes, so that the event loop never waits for
the client; see `incoming` and `outgoing`. A connection ends its requests first, and each request
ends its children. pygls cancels every task at once, including asyncio's internal ones: a child that
is just starting then never counts as ended, and the server hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import os
import sys
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from winnow.frontends.lsp.admission import admit
from winnow.frontends.lsp.framing import Frames
from winnow.frontends.lsp.incoming import ENDED, Incoming
from winnow.frontends.lsp.outgoing import Outgoing
from winnow.frontends.lsp.server import WinnowServer
from winnow.frontends.server_process import HardEnd, is_hung_up, run

# A waiting request takes about 30 KB.
STARTED_REQUESTS = 256
# Time limit for writing the last answers when a connection ends.
FLUSH_SECONDS = 0.5


class _Connection(Struct, frozen=True):
    """Both directions of a connection, and the message that was read to admit the client."""

    frames: Frames
    write: Callable[[bytes], object]
    file: int
    first: Any = None


def serve_io(server: WinnowServer) -> int:
    """Serve the client on stdin and stdout until it exits. Return the exit code."""
    for stream in (sys.stdin, sys.stdout):
        # The parent may pass a non-blocking pipe, but the threads must block.
        with contextlib.suppress(OSError, AttributeError):
            os.set_blocking(stream.fileno(), True)
    # Not sys.stdin and sys.stdout: Python waits for their locks when it exits.
    stdin = io.FileIO(sys.stdin.fileno(), closefd=False)
    stdout = io.FileIO(sys.stdout.fileno(), "wb", closefd=False)
    connection = _Connection(
        Frames(io.BufferedReader(stdin)), functools.partial(_write_all, stdout), stdin.fileno()
    )

    async def serve() -> int:
        return await _converse(server, connection)

    return run(serve())


def serve_tcp(server: WinnowServer, host: str, port: int, token: str, *, generated: bool) -> int:
    """Serve the first client that sends the token until it exits. Return the exit code.

    Write the address to stderr, with the actual port if ``port`` is 0, and a generated token.
    """

    async def serve() -> int:
        admitted = await admit(host, port, token, generated=generated)
        with admitted.socket as peer:
            connection = _Connection(
                admitted.frames, peer.sendall, peer.fileno(), first=admitted.first
            )
            return await _converse(server, connection)

    return run(serve())


def _write_all(file: io.FileIO, message: bytes) -> None:
    view = memoryview(message)
    while view:
        view = view[file.write(view) or 0 :]


async def _converse(server: WinnowServer, connection: _Connection) -> int:
    end = HardEnd()
    protocol = server.protocol
    news = asyncio.Event()
    outgoing = Outgoing(connection.write, news)
    incoming = Incoming(news, outgoing, lambda: len(protocol.running) < STARTED_REQUESTS)
    protocol.connect(outgoing, news)
    if connection.first is not None:
        protocol.handle(connection.first)
    incoming.read(connection.frames, functools.partial(is_hung_up, connection.file))
    try:
        while (message := await incoming.next()) is not ENDED:
            protocol.handle(message)
            # Let requests run between messages, which may arrive many at once.
            await asyncio.sleep(0)
        return 0
    except SystemExit as ended:  # the client sent `exit`
        return int(ended.code or 0)
    finally:
        end.arm(0, server.kill_children)
        await server.finish()
        await outgoing.flush(FLUSH_SECONDS)
