"""Clients that do not read what a server writes: it neither grows nor stays, and nothing is lost
for one that reads later (#21)."""

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
# Two seconds are promised; a server that waits for its client does not end at all.
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
    """Wait until a number does not change any more; return it."""
    end = time.monotonic() + 60
    seen, since = -1, time.monotonic()
    while seen < at_least or time.monotonic() - since < STILL_SECONDS:
        assert time.monotonic() < end, f"{seen} and still changing"
        if (now := measure()) != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.02)
    return seen


def unread_bytes(pipe: IO[bytes] | None) -> int:
    """Return how much waits in a pipe from or to a server."""
    assert pipe is not None
    found = fcntl.ioctl(pipe.fileno(), termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(found, "little")


def rss_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def write_until_full(file: int, message: bytes, limit: int = MANY) -> int:
    """Write a message again and again, until nothing more is taken; return how often it was."""
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
    """Writes requests from a thread, since the server may stop reading them."""

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
        except (OSError, ValueError):  # the server was ended
            pass


@pytest.fixture
def wire(project: Path) -> Iterator[Wire]:
    """A server that is initialized and whose output nobody reads."""
    wire = Wire(reads=False)
    assert wire.process.stdin is not None
    wire.process.stdin.write(initialized(project))
    wire.process.stdin.flush()
    yield wire
    if wire in Wire.running:
        wire.kill()


def leave_unread(wire: Wire, count: int = UNREAD) -> None:
    """Have a server write more than the pipe takes, and wait until it does no more."""
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
def test_a_server_whose_answers_nobody_reads_ends(wire: Wire, row: Row, how: str) -> None:
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


def test_a_server_ends_when_it_can_write_no_more(project: Path) -> None:
    """Although its standard input is open, and nothing more comes from there."""
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


def test_a_server_that_does_not_read_either_ends_with_its_input(wire: Wire, row: Row) -> None:
    """The end of standard input stands behind requests that the server does not read."""
    row.hazard = "standard input is closed behind unread requests"
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


def test_a_server_ends_when_the_client_that_does_not_read_is_gone(project: Path) -> None:
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
def test_many_unread_answers_take_little_memory(wire: Wire, row: Row, method: str) -> None:
    row.hazard = f"{MANY} requests ({method}) whose answers nobody reads"
    leave_unread(wire, 20)
    before = rss_mb(wire.process.pid)
    params = {"path": "src/loader.py"} if method == "$/readFile" else {}
    flood = Flood(wire, lambda number: request(number, method, params), MANY)
    sent = wait_until_still(lambda: flood.sent, UNREAD)
    growth = rss_mb(wire.process.pid) - before
    row.tries = sent
    row.result = f"{sent} taken, {growth:.0f} MB more"
    wire.kill()
    assert sent < MANY
    assert growth < GROWTH_MB


@pytest.mark.serial
def test_requests_that_are_cancelled_unread_take_little_memory(wire: Wire) -> None:
    """Each pair leaves an answer, and no request that waits."""
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


def test_answers_that_are_read_late_are_all_there(wire: Wire) -> None:
    """More than the server holds: it reads the last requests when the first answers are read."""
    count = 3_000
    flood = Flood(wire, lambda number: request(number, "$/nothing"), count)
    wait_until_still(lambda: flood.sent, UNREAD)
    wire.begin_reading()
    answers = [wire.receive() for _ in range(count + 1)]
    assert sorted(answer["id"] for answer in answers) == list(range(count + 1))
    assert {answer["error"]["code"] for answer in answers[1:]} == {-32601}
    assert wire.stop() == 0


def test_requests_written_at_once_are_answered_to_a_client_that_reads_afterwards(
    wire: Wire,
) -> None:
    """No thread writes here: the server has to take all of them before the first answer is read."""
    for number in range(1, UNREAD + 1):
        wire.request(number, "$/tools", {})
    wire.begin_reading()
    answers = [wire.receive() for _ in range(UNREAD + 1)]
    assert sorted(answer["id"] for answer in answers) == list(range(UNREAD + 1))
    assert all("result" in answer for answer in answers)
    assert wire.stop() == 0


@pytest.mark.parametrize("name", ["id", "token"])
def test_a_request_that_waits_for_the_client_can_be_cancelled(wire: Wire, name: str) -> None:
    leave_unread(wire, 600)  # more than is queued for a client
    wire.request("waiting", "$/tools", {"workDoneToken": "waiting"})
    cancel = "$/cancelRequest" if name == "id" else "window/workDoneProgress/cancel"
    wire.notify(cancel, {name: "waiting"})
    # A client that reads before the server has both would be answered.
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


def test_a_log_that_nobody_reads_stops_nothing(wire: Wire) -> None:
    assert wire.process.stdin is not None
    # Each is logged, and a pipe takes 64 KiB.
    wire.process.stdin.write(b"x: y\r\n\r\n" * 5_000)
    wire.request("next", "$/tools", {})
    wire.process.stdin.flush()
    wait_until_still(lambda: unread_bytes(wire.process.stdout), at_least=4_096)
    wire.begin_reading()
    assert [wire.receive()["id"] for _ in range(2)] == [0, "next"]
    assert wire.stop() == 0
