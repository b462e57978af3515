"""Clients that do not read the server's output: its memory doesn't grow, it can exit, and clients
that read later lose nothing (#21)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from conftest import requires_linux
from frontends.lsp.wire import Wire
from hazard_table import Row
from waiting_for import SECONDS, wait_until

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

UNREAD = 300
MANY = 30_000
GROWTH_MB = 50
# We promise two seconds; a server that waits for its client would never exit.
END_SECONDS = 20.0
CANCELLED = -32800
STILL_SECONDS = 0.5


def framed(message: Any) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def request(msg_id: Any, method: str, params: Any = None) -> bytes:
    return framed({"jsonrpc": "2.0", "id": msg_id, "method": method, "params": params or {}})


def initialized(folder: Path, process: int | None = None) -> bytes:
    params = {
        "processId": process,
        "rootUri": folder.as_uri(),
        "capabilities": {},
        "initializationOptions": {"index": {"enabled": False}},
    }
    return request(0, "initialize", params) + framed(
        {"jsonrpc": "2.0", "method": "initialized", "params": {}}
    )


def wait_until_still(measure: Callable[[], int], at_least: int = 1) -> int:
    """Wait until a number stops changing, and return it."""
    end = time.monotonic() + 60
    seen, since = -1, time.monotonic()
    while seen < at_least or time.monotonic() - since < STILL_SECONDS:
        assert time.monotonic() < end, f"{seen} and still changing"
        if (now := measure()) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.02)
    return seen


def unread_bytes(pipe: IO[bytes] | None) -> int:
    """Return the number of unread bytes in a pipe from or to a server."""
    assert pipe is not None
    found = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(found, "little")


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def write_until_full(file: int, message: bytes, limit: int = MANY) -> int:
    """Write a message repeatedly until the pipe is full; return the number of writes."""
    os.set_blocking(file, False)
    count, since = 0, time.monotonic()
    rest = b""
    while count < limit and time.monotonic() - since < 1.5:
        rest = rest or message
        try:
            rest = rest[os.write(file, rest) :]
            count += not rest
            since = time.monotonic()
        except BlockingIOError:
            time.sleep(0.02)
    return count


class Flood:
    """A thread that writes requests, because the server may stop reading them."""

    def __init__(self, wire: Wire, messages: Callable[[int], bytes], count: int) -> None:
        self.sent = 0
        self._wire = wire
        self._messages = messages
        self._count = count
        self.thread = threading.Thread(target=self._write, daemon=True)
        self.thread.start()

    def _write(self) -> None:
        assert self._wire.process.stdin is not None
        try:
            for number in range(1, self._count + 1):
                self._wire.process.stdin.write(self._messages(number))
                self._wire.process.stdin.flush()
                self.sent = number
        except (OSError, ValueError):  # the server was stopped
            pass


@pytest.fixture
def wire(project: Path) -> Iterator[Wire]:
    """Start and initialize a server without reading its output."""
    wire = Wire(reads=False)
    assert wire.process.stdin is not None
    wire.process.stdin.write(initialized(project))
    wire.process.stdin.flush()
    yield wire
    if wire in Wire.running:
        wire.kill()


def leave_unread(wire: Wire, count: int = UNREAD) -> None:
    """Make a server write more than the pipe holds, and wait until it blocks."""
    Flood(wire, lambda number: request(number, "$/tools"), count).thread.join(20)
    wait_until_still(lambda: unread_bytes(wire.process.stdout), at_least=32_768)


def ended_by_eof(wire: Wire) -> None:
    assert wire.process.stdin is not None
    wire.process.stdin.close()


def ended_by_sigterm(wire: Wire) -> None:
    wire.process.send_signal(signal.SIGTERM)


def ended_by_exit(wire: Wire) -> None:
    wire.notify("exit", None)


def ended_by_closed_output(wire: Wire) -> None:
    assert wire.process.stdout is not None
    wire.process.stdout.close()


ENDS = {
    "standard input is closed": ended_by_eof,
    "SIGTERM": ended_by_sigterm,
    "`exit`": ended_by_exit,
    "standard output is closed": ended_by_closed_output,
}


@pytest.mark.parametrize("how", ENDS)
def test_a_server_with_unread_answers_exits(wire: Wire, row: Row, how: str) -> None:
    row.hazard = f"{how}, with {UNREAD} unread answers"
    leave_unread(wire)
    began = time.monotonic()
    ENDS[how](wire)
    wire.process.wait(SECONDS)
    seconds = time.monotonic() - began
    wire.join()
    row.tries = 1
    row.result = f"ended after {seconds:.2f} s"
    assert seconds < END_SECONDS


def test_a_server_exits_when_its_output_is_closed(project: Path) -> None:
    """The server exits although its standard input is open and idle."""
    wire = Wire(reads=False)
    assert wire.process.stdin is not None
    wire.process.stdin.write(initialized(project))
    wire.process.stdin.flush()
    wait_until_still(lambda: unread_bytes(wire.process.stdout))
    ended_by_closed_output(wire)
    wire.request(1, "$/tools", {})
    began = time.monotonic()
    wire.process.wait(SECONDS)
    assert time.monotonic() - began < END_SECONDS
    wire.join()


def test_a_server_with_unread_input_exits_at_the_end_of_its_input(wire: Wire, row: Row) -> None:
    """The end of standard input comes after requests that the server does not read."""
    row.hazard = "standard input is closed after unread requests"
    leave_unread(wire, 20)
    assert wire.process.stdin is not None
    sent = write_until_full(wire.process.stdin.fileno(), request(1, "$/tools"))
    assert sent < MANY
    began = time.monotonic()
    wire.process.stdin.close()
    wire.process.wait(SECONDS)
    seconds = time.monotonic() - began
    wire.join()
    row.tries = sent
    row.result = f"ended after {seconds:.2f} s"
    assert seconds < END_SECONDS


def test_a_server_exits_when_a_client_that_does_not_read_exits(project: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as client:
        wire = Wire(reads=False)
        assert wire.process.stdin is not None
        wire.process.stdin.write(initialized(project, client.pid))
        leave_unread(wire)
        client.kill()
    began = time.monotonic()
    wire.process.wait(SECONDS)
    assert time.monotonic() - began < END_SECONDS
    wire.join()


@pytest.mark.serial
@pytest.mark.parametrize("method", ["$/tools", "$/readFile", "$/nothing"])
def test_many_unread_answers_use_little_memory(wire: Wire, row: Row, method: str) -> None:
    row.hazard = f"{MANY} requests ({method}) with unread answers"
    leave_unread(wire, 20)
    before = rss_mb(wire.process.pid)
    params = {"path": "src/loader.py"} if method == "$/readFile" else {}
    flood = Flood(wire, lambda number: request(number, method, params), MANY)
    sent = wait_until_still(lambda: flood.sent, UNREAD)
    growth = rss_mb(wire.process.pid) - before
    row.tries = sent
    row.result = f"{sent} accepted, {growth:.0f} MB more"
    wire.kill()
    assert sent < MANY
    assert growth < GROWTH_MB


@pytest.mark.serial
def test_canceled_requests_with_unread_answers_use_little_memory(wire: Wire) -> None:
    """Each pair of messages leaves an answer, and no pending request."""
    leave_unread(wire, 20)
    before = rss_mb(wire.process.pid)

    def pair(number: int) -> bytes:
        cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": number}}
        return request(number, "$/tools") + framed(cancel)

    flood = Flood(wire, pair, MANY)
    sent = wait_until_still(lambda: flood.sent, UNREAD)
    growth = rss_mb(wire.process.pid) - before
    wire.kill()
    assert sent < MANY
    assert growth < GROWTH_MB


def test_answers_that_are_read_late_are_complete(wire: Wire) -> None:
    """More answers than the server queues: it reads the last requests once the client reads."""
    count = 3_000
    flood = Flood(wire, lambda number: request(number, "$/nothing"), count)
    wait_until_still(lambda: flood.sent, UNREAD)
    wire.begin_reading()
    answers = [wire.receive() for _ in range(count + 1)]
    assert sorted(answer["id"] for answer in answers) == list(range(count + 1))
    assert {answer["error"]["code"] for answer in answers[1:]} == {-32601}
    assert wire.stop() == 0


def test_requests_written_before_reading_are_all_answered(
    wire: Wire,
) -> None:
    """No thread writes here: the server has to read all requests before the client reads."""
    for number in range(1, UNREAD + 1):
        wire.request(number, "$/tools", {})
    wire.begin_reading()
    answers = [wire.receive() for _ in range(UNREAD + 1)]
    assert sorted(answer["id"] for answer in answers) == list(range(UNREAD + 1))
    assert all("result" in answer for answer in answers)
    assert wire.stop() == 0


@pytest.mark.parametrize("name", ["id", "token"])
def test_a_request_that_waits_for_the_client_can_be_canceled(wire: Wire, name: str) -> None:
    leave_unread(wire, 600)  # more than is queued for a client
    wire.request("waiting", "$/tools", {"workDoneToken": "waiting"})
    cancel = "$/cancelRequest" if name == "id" else "window/workDoneProgress/cancel"
    wire.notify(cancel, {name: "waiting"})
    # If the client read earlier, the request could be answered before it is canceled.
    wait_until(lambda: not unread_bytes(wire.process.stdin), "the server does not read")
    time.sleep(STILL_SECONDS)
    wire.begin_reading()
    answers = {}
    for _ in range(602):
        answer = wire.receive()
        answers[answer["id"]] = answer
    assert answers.pop("waiting")["error"]["code"] == CANCELLED
    assert all("result" in answer for answer in answers.values())
    assert wire.stop() == 0


def test_an_unread_log_does_not_block_the_server(wire: Wire) -> None:
    assert wire.process.stdin is not None
    # Each line is logged, and a pipe holds 64 KiB.
    wire.process.stdin.write(b"x: y\r\n\r\n" * 5_000)
    wire.request("next", "$/tools", {})
    wire.process.stdin.flush()
    wait_until_still(lambda: unread_bytes(wire.process.stdout), at_least=4_096)
    wire.begin_reading()
    assert [wire.receive()["id"] for _ in range(2)] == [0, "next"]
    assert wire.stop() == 0
