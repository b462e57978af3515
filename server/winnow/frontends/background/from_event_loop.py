"""Have the background process run a command while an event loop does other work.

Separate from :mod:`winnow.frontends.background.client`, which every command loads.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from typing import NamedTuple

from winnow.frontends.background import client, messages
from winnow.processes.waiting import run_to_end, wait_within
from winnow.storage import sockets

# How long a process may take to accept a command. A process that is starting is still faster than
# opening the index a second time.
ACCEPT_SECONDS = 5.0


class Done(NamedTuple):
    """The exit code of a command and its output."""

    code: int
    output: str
    errors: str


async def run(arguments: Sequence[str], notify: Callable[[str], object]) -> Done | None:
    """Have the process run a command. Return None if this process must do the work itself.

    ``notify`` gets lines that say why the command waits. A caller that is canceled cancels the
    command.
    """
    here, paths = client.candidates(arguments)
    for path in paths:
        try:
            connection = await run_to_end(
                asyncio.to_thread(sockets.connect, path, ACCEPT_SECONDS), socket.socket.close
            )
        except OSError:
            continue
        connection.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connection)
        try:
            return await _run(reader, writer, here, arguments, notify)
        except (Declined, OSError, ValueError, EOFError, asyncio.TimeoutError):
            continue
        finally:
            writer.close()
    return None


class Declined(Exception):
    """The process doesn't run this command."""


async def _run(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    here: str,
    arguments: Sequence[str],
    notify: Callable[[str], object],
) -> Done:
    writer.write(messages.framed(messages.CALL, messages.identity()))
    kind, names = await wait_within(_receive(reader), ACCEPT_SECONDS)
    if kind != messages.NAMES:
        raise Declined
    call = client.run_parts(here, names, arguments, is_terminal=False, shows_progress=False)
    writer.write(messages.framed(messages.RUN, call))
    while True:
        kind, parts = await _receive(reader)
        if kind == messages.PROGRESS:
            notify("".join(parts))
        elif kind == messages.DONE:
            code, output, errors = parts
            return Done(int(code), output, errors)
        else:
            raise Declined


async def _receive(reader: asyncio.StreamReader) -> tuple[bytes, list[str]]:
    """Return the next message. Raise EOFError, OSError or ValueError."""
    length = int.from_bytes(await reader.readexactly(messages.LENGTH_BYTES), "little")
    payload = await reader.readexactly(length)
    return payload[:1], messages.unpack(payload[1:])
