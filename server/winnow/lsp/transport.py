"""Serving on standard streams or on a TCP port of this machine.

pygls' own loops end by cancelling every task at once, asyncio's inner ones too; a child process
that is just being started then never counts as ended, and the server hangs. Here the requests are
ended first, and each ends its children.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

from winnow.lsp.server import WinnowServer

logger = logging.getLogger(__name__)


def serve_io(server: WinnowServer) -> int:
    """Serve the client on stdin and stdout until it is gone; the exit code."""
    with ThreadPoolExecutor(1) as pool:
        reader = StdinAsyncReader(sys.stdin.buffer, pool)
        return asyncio.run(_converse(server, reader, StdoutWriter(sys.stdout.buffer)))


def serve_tcp(server: WinnowServer, host: str, port: int) -> int:
    """Serve the first client that connects, until it is gone; the exit code.

    The address is told on stderr, which says the port where 0 was given.
    """
    return asyncio.run(_listen(server, host, port))


async def _listen(server: WinnowServer, host: str, port: int) -> int:
    code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    connected = False

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connected
        if not connected:
            connected = True
            code.set_result(await _converse(server, reader, writer))
        writer.close()

    listener = await asyncio.start_server(serve, host, port)
    async with listener:
        address = listener.sockets[0].getsockname()
        sys.stderr.write(f"winnow: listening on {address[0]}:{address[1]}\n")
        return await code


async def _converse(server: WinnowServer, reader: Any, writer: Any) -> int:
    server.protocol.set_writer(writer)
    try:
        await run_async(
            stop_event=Event(),
            reader=reader,
            protocol=server.protocol,
            error_handler=server.report_server_error,
        )
    except SystemExit as ended:  # the client said `exit`
        return int(ended.code or 0)
    except (ConnectionError, asyncio.IncompleteReadError, KeyboardInterrupt) as error:
        logger.info("The client is gone: %s", error)
    finally:
        with contextlib.suppress(ConnectionError):
            await server.finish()
    return 0
