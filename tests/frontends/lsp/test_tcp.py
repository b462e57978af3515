"""Serving on a TCP port: only LSP, and only to a client that has the token (#21)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import requires_posix
from frontends.lsp import fork_server
from frontends.lsp.conftest import COMMAND, environment
from waiting_for import SECONDS

pytestmark = pytest.mark.wire

TOKEN = "a token of the test"
# Two seconds are promised; a server that waits for its client does not end at all.
END_SECONDS = 20.0


class Server:
    """A server on a port of this machine."""

    def __init__(self, *arguments: str, **variables: str) -> None:
        command = [*COMMAND, "--tcp", "0", *arguments]
        self.process = fork_server.start(command, environment(**variables))
        self.stderr = line = ""
        while not line.startswith("winnow: listening"):
            line = self._line()
            assert line, "it has ended"
            self.stderr += line
        self.port = int(line.split()[-1].rpartition(":")[2])
        self._peers: list[Peer] = []

    def _line(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline().decode()

    def token(self) -> str:
        line = self._line()
        assert line.startswith("winnow: token ")
        return line.split()[-1]

    def connect(self) -> Peer:
        self._peers.append(Peer(self.port))
        return self._peers[-1]

    def end(self) -> int:
        code = self.process.wait(SECONDS)
        assert self.process.stderr is not None
        self.stderr += self.process.stderr.read().decode()
        return code

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for peer in self._peers:
            peer.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


class Peer:
    """A connection, message by message."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.stream = self.socket.makefile("rb")

    def send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def request(self, msg_id: Any, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params})

    def initialize(self, folder: Path, token: Any, **options: Any) -> None:
        options["index"] = {"enabled": False}
        if token is not None:
            options["token"] = token
        params = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "capabilities": {},
            "initializationOptions": options,
        }
        self.request(0, "initialize", params)

    def receive(self) -> Any:
        """Return the next answer; None at the end of the connection."""
        while header := self.stream.readline():
            length = int(header.split(b":")[1])
            while self.stream.readline().strip():
                pass
            message = json.loads(self.stream.read(length))
            if "method" not in message:
                return message
        return None

    def is_closed(self) -> bool:
        with contextlib.suppress(ConnectionResetError):
            return self.stream.read() == b""
        return True

    def close(self) -> None:
        self.stream.close()
        self.socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server("--token", TOKEN)
    yield server
    server.stop()


def test_a_client_with_the_token_is_served_and_ends_the_server(
    server: Server, project: Path
) -> None:
    peer = server.connect()
    peer.initialize(project, TOKEN)
    assert peer.receive()["result"]["serverInfo"]["name"] == "winnow"
    peer.request(1, "$/grep", {"pattern": "def register_plugin", "mode": "files"})
    assert [file["path"] for file in peer.receive()["result"]["files"]] == ["src/registry.py"]
    # No other client is.
    with pytest.raises(OSError):  # noqa: PT012
        other = server.connect()
        other.initialize(project, TOKEN)
        assert other.receive() is None
        raise ConnectionResetError
    peer.request(2, "shutdown", None)
    assert peer.receive()["id"] == 2
    peer.send({"jsonrpc": "2.0", "method": "exit"})
    assert peer.receive() is None
    peer.close()
    assert server.end() == 0


@pytest.mark.parametrize(
    "token", [None, "", "another token", TOKEN[:-1], TOKEN + "x", 7, [TOKEN], "\ud800é"]
)
def test_a_client_without_the_token_is_refused(server: Server, project: Path, token: Any) -> None:
    peer = server.connect()
    peer.initialize(project, token)
    answer = peer.receive()
    assert (answer["id"], answer["error"]["code"]) == (0, -32600)
    assert "token" in answer["error"]["message"]
    assert TOKEN not in json.dumps(answer)
    assert peer.is_closed()
    peer.close()
    # The server goes on listening.
    peer = server.connect()
    peer.initialize(project, TOKEN)
    assert "result" in peer.receive()
    peer.close()


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 0, "method": "$/tools", "params": {}},
        {"jsonrpc": "2.0", "id": 0, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
        {"jsonrpc": "2.0", "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 0, "method": "initialize"},
        {"jsonrpc": "2.0", "id": 0, "method": "$/tools", "params": {"token": TOKEN}},
        [],
        "initialize",
    ],
)
def test_the_first_message_must_be_initialize(server: Server, message: Any) -> None:
    peer = server.connect()
    peer.send(message)
    peer.request(1, "$/tools", {})
    assert peer.receive()["error"]["code"] == -32600
    assert peer.is_closed()
    peer.close()
    assert server.process.poll() is None


@pytest.mark.parametrize(
    "sent",
    [
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s",
        b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s",
        b"Content-Length: %d\r\nOrigin: http://evil.example\r\n\r\n%s",
        b"Content-Length: %d\n\n%s",
    ],
)
def test_a_connection_without_lsp_is_closed_without_an_answer(
    server: Server, project: Path, sent: bytes
) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {
                "processId": None,
                "rootUri": project.as_uri(),
                "capabilities": {},
                "initializationOptions": {"token": TOKEN},
            },
        }
    ).encode()
    peer = server.connect()
    peer.socket.sendall(sent % (len(body), body))
    assert peer.is_closed()
    peer.close()
    assert server.process.poll() is None


def test_non_lsp_data_ends_the_session_of_an_admitted_client(server: Server, project: Path) -> None:
    peer = server.connect()
    peer.initialize(project, TOKEN)
    assert "result" in peer.receive()
    peer.socket.sendall(b"GET / HTTP/1.1\r\n\r\n")
    assert peer.is_closed()
    peer.close()
    server.end()


def test_a_token_is_generated_and_written_to_stderr(project: Path) -> None:
    server = Server()
    try:
        token = server.token()
        assert len(token) >= 40
        peer = server.connect()
        peer.initialize(project, token)
        assert "result" in peer.receive()
        peer.close()
    finally:
        server.stop()


def test_a_token_from_the_environment_is_never_logged_or_stored(project: Path) -> None:
    """Neither into the log, nor into the environment of children, nor among the settings."""
    server = Server("--verbose", WINNOW_TOKEN=TOKEN)
    try:
        peer = server.connect()
        peer.initialize(project, TOKEN, bash={"enabled": True})
        assert "result" in peer.receive()
        peer.request(1, "$/bash", {"command": "cat /proc/self/environ"})
        assert TOKEN not in json.dumps(peer.receive())
        peer.request(2, "shutdown", None)
        peer.receive()
        peer.send({"jsonrpc": "2.0", "method": "exit"})
        peer.is_closed()
        peer.close()
        server.end()
        assert "is ignored" not in server.stderr
        assert "initialize" in server.stderr
        assert TOKEN not in server.stderr
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tcp", "0", "--token", "short"), "at least 16 characters"),
        (("--tcp", "0", "--token", ""), "at least 16 characters"),
        (("--token", TOKEN), "needs `--tcp`"),
    ],
)
def test_a_useless_token_is_refused(arguments: tuple[str, ...], message: str) -> None:
    process = fork_server.start([*COMMAND, *arguments], environment())
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.wait(SECONDS) == 2
        assert message in process.stderr.read().decode()


def test_silent_connections_do_not_block_a_client(server: Server, project: Path) -> None:
    silent = [server.connect() for _ in range(30)]
    for number, peer in enumerate(silent):
        if number % 2:
            with contextlib.suppress(OSError):  # it may be closed already
                peer.socket.sendall(b"Content-Length: 1")
    client = server.connect()
    client.initialize(project, TOKEN)
    assert "result" in client.receive()
    for peer in (*silent, client):
        peer.close()
    server.end()


@requires_posix
@pytest.mark.parametrize("how", ["closed", "SIGTERM"])
def test_a_server_with_unread_answers_exits(server: Server, project: Path, how: str) -> None:
    peer = server.connect()
    peer.initialize(project, TOKEN)
    peer.receive()
    peer.socket.settimeout(1.5)
    with contextlib.suppress(TimeoutError):  # the server reads no more
        for number in range(1, 30_000):
            # The system's own buffers hold megabytes.
            peer.request(f"{number:04000}", "$/tools", {})
        raise AssertionError("30,000 requests were taken")
    began = time.monotonic()
    if how == "SIGTERM":
        os.kill(server.process.pid, signal.SIGTERM)
    else:
        peer.close()
    server.process.wait(SECONDS)
    assert time.monotonic() - began < END_SECONDS


def test_a_server_ends_with_a_half_closed_connection(server: Server, project: Path) -> None:
    """Half-closed. The requests are few enough to be read: the end stands behind them."""
    peer = server.connect()
    peer.initialize(project, TOKEN)
    peer.receive()
    for number in range(900):
        peer.request(number, "$/tools", {})
    time.sleep(1)
    began = time.monotonic()
    peer.socket.shutdown(socket.SHUT_WR)
    server.process.wait(SECONDS)
    assert time.monotonic() - began < END_SECONDS


def test_the_address_is_written_to_stderr(server: Server) -> None:
    assert re.fullmatch(r"winnow: listening on 127\.0\.0\.1:\d+\n", server.stderr)
