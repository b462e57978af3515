"""Admitting a client on a TCP port: the first that sends `initialize` with the right token.

Every program on this machine and web pages can connect. Until a client sends the token, the server
handles none of its messages, reads little, and waits only some seconds. It closes failed
connections and keeps listening.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import io
import json
import logging
import socket
import sys
import threading
import time
from typing import Any

from lsprotocol import types
from msgspec import Struct

from winnow.frontends.lsp.decoding import INVALID_REQUEST, Refusal, decoded, id_of
from winnow.frontends.lsp.framing import MESSAGE_BYTES, Frames, NotLsp

logger = logging.getLogger(__name__)

# Thirty times the size that editors send.
INITIALIZE_BYTES = 1024**2
ADMISSION_SECONDS = 10.0
CONNECTIONS = 8
# A refused peer may still be sending. If the connection closed immediately, its system would drop
# the answer.
_LINGER_SECONDS = 1.0
_RETRY_SECONDS = 0.1
TOKEN_OPTION = "token"  # noqa: S105 (a name)


class Admitted(Struct, frozen=True):
    """The connection of a client that sent the token, and its `initialize` message."""

    socket: socket.socket
    frames: Frames
    first: Any


async def admit(host: str, port: int, token: str, *, generated: bool) -> Admitted:
    """Listen until a client is admitted."""
    loop = asyncio.get_running_loop()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=CONNECTIONS) as listener:
        listener.setblocking(False)
        address = listener.getsockname()
        sys.stderr.write(f"winnow: listening on {address[0]}:{address[1]}\n")
        if generated:
            sys.stderr.write(f"winnow: token {token}\n")
        sys.stderr.flush()
        door = _Door(token)
        accepting = loop.create_task(_accept(listener, door))
        try:
            return await door.admitted
        finally:
            accepting.cancel()


async def _accept(listener: socket.socket, door: _Door) -> None:
    loop = asyncio.get_running_loop()
    while True:
        try:
            peer, _ = await loop.sock_accept(listener)
        except OSError as error:  # out of descriptors, or the peer has disconnected
            logger.warning("Accepting a connection failed: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
        else:
            door.ask(peer)


class _Door:
    """Reads the first message of each connection in a thread and admits the first valid client."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._loop = asyncio.get_running_loop()
        self._asked: list[socket.socket] = []
        self.admitted: asyncio.Future[Admitted] = self._loop.create_future()

    def ask(self, peer: socket.socket) -> None:
        """Read the first message of a connection in a thread.

        If there are too many connections, close the oldest: clients send `initialize` immediately.
        """
        peer.setblocking(True)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked.append(peer)
        if len(self._asked) > CONNECTIONS:
            with contextlib.suppress(OSError):
                self._asked.pop(0).shutdown(socket.SHUT_RDWR)
        threading.Thread(target=self._ask, args=(peer,), name="admission", daemon=True).start()

    def _ask(self, peer: socket.socket) -> None:
        timed = _Timed(peer, time.monotonic() + ADMISSION_SECONDS)
        frames = Frames(io.BufferedReader(timed), strict=True, limit=INITIALIZE_BYTES)
        admitted = None
        try:
            body = frames.next()
            first = decoded(body) if body is not None else None
            if has_token(first, self._token):
                timed.end = None
                peer.settimeout(None)
                frames.limit = MESSAGE_BYTES
                admitted = Admitted(peer, frames, first)
            elif body is not None:
                _refuse(peer, first)
        except (OSError, ValueError, NotLsp) as error:
            logger.info("Closed a connection: %s", error)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._has_answered, peer, admitted)

    def _has_answered(self, peer: socket.socket, admitted: Admitted | None) -> None:
        if peer in self._asked:
            self._asked.remove(peer)
        if admitted is None or self.admitted.done():
            peer.close()
        else:
            self.admitted.set_result(admitted)


class _Timed(io.RawIOBase):
    """Reads a socket until a deadline, however slowly bytes arrive. None means no deadline."""

    def __init__(self, peer: socket.socket, end: float | None) -> None:
        self._peer = peer
        self.end = end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.end is not None:
            left = self.end - time.monotonic()
            if left <= 0:
                raise TimeoutError("no `initialize` in time")
            self._peer.settimeout(left)
        return self._peer.recv_into(buffer)


def has_token(message: Any, token: str) -> bool:
    """Return True if a message is an `initialize` request with the token."""
    if not isinstance(message, dict) or message.get("method") != types.INITIALIZE:
        return False
    params = message.get("params")
    options = params.get("initializationOptions") if isinstance(params, dict) else None
    shown = options.get(TOKEN_OPTION) if isinstance(options, dict) else None
    # Compared in constant time.
    return (
        "id" in message
        and isinstance(shown, str)
        and hmac.compare_digest(shown.encode("utf-8", "surrogatepass"), token.encode())
    )


def _refuse(peer: socket.socket, message: Any) -> None:
    """Refuse a client without the token, and close the connection after the answer."""
    msg_id = message.id if isinstance(message, Refusal) else id_of(message)
    problem = (
        "The first message must be `initialize`, with the token of `winnow serve --tcp` in"
        " `initializationOptions.token`."
    )
    error = {"code": INVALID_REQUEST, "message": problem}
    body = json.dumps({"jsonrpc": "2.0", "id": msg_id, "error": error}).encode()
    peer.settimeout(_LINGER_SECONDS)
    peer.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    peer.shutdown(socket.SHUT_WR)
    end = time.monotonic() + _LINGER_SECONDS
    while time.monotonic() < end and peer.recv(64 * 1024):
        pass
