"""Canceled searches, and servers whose clients exit, stop completely and leave no children."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW_TERM, alive, requires_linux, requires_posix
from frontends.lsp.conftest import children, searches
from frontends.lsp.test_index_hazards import started
from frontends.lsp.wire import Wire
from hazard_table import Row, percentile
from waiting_for import SECONDS, wait_until

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

CANCELS = 50
AT_WORK_SHARE = 0.65
# We promise 0.1 s for an answer and 2 s for the exit; a search would take about 10 s.
ANSWER_SECONDS = 2.5
END_SECONDS = 10.0
CANCELLED = -32800
# ripgrep needs many seconds for each.
SLOW: list[tuple[str, dict[str, Any]]] = [
    ("$/grep", {"pattern": SLOW_TERM}),
    ("$/grep", {"pattern": SLOW_TERM, "mode": "counts"}),
    ("$/keywordSearch", {"query": "q", "search_terms": [SLOW_TERM, "fox"], "ranker": "local"}),
    ("$/codeSearch", {"query": SLOW_TERM, "search_type": "text"}),
    ("$/bash", {"command": f"rg '{SLOW_TERM}' ."}),
]


def wait_until_gone(pids: set[int]) -> None:
    """Wait for the processes to end, for less time than they would need to finish."""
    wait_until(lambda: not any(map(alive, pids)), "some processes still run", END_SECONDS)


def wait_until_searching(pid: int) -> None:
    wait_until(lambda: searches(pid), "no search has started")


def test_cancelled(slow_project: Path, row: Row, seed: int, often: int) -> None:
    row.hazard = "requests canceled at random moments"
    chance = random.Random(seed)
    answer_times: list[float] = []
    busy = 0
    options = {"bash": {"enabled": True}, "index": {"enabled": False}}
    with started(slow_project, **options) as session:
        pid = session.wire.process.pid
        for number in range(often * CANCELS):
            method, params = chance.choice(SLOW)
            session.wire.request(f"slow {number}", method, params)
            if chance.random() < AT_WORK_SHARE:
                wait_until_searching(pid)  # a busy machine may need long to start it
                time.sleep(chance.uniform(0, 0.4))
            else:
                time.sleep(chance.choice([0, chance.uniform(0, 0.05)]))
            running = searches(pid)
            busy += bool(running)
            began = time.monotonic()
            session.wire.notify("$/cancelRequest", {"id": f"slow {number}"})
            answer = session.wire.receive()
            answer_times.append(time.monotonic() - began)
            assert (answer["id"], answer["error"]["code"]) == (f"slow {number}", CANCELLED)
            wait_until_gone(running)
            row.tries += 1
        wait_until_gone(searches(pid))
    p95 = percentile(answer_times, 0.95)
    row.result = (
        f"answered in {p95 * 1000:.0f} ms (p95), {max(answer_times) * 1000:.0f} at most; ripgrep"
        f" was running in {busy}; 0 children 1 s later"
    )
    assert busy > row.tries / 2
    assert p95 < ANSWER_SECONDS


def ended_by_stdin(wire: Wire, client: subprocess.Popen[bytes]) -> None:
    assert wire.process.stdin is not None
    wire.process.stdin.close()


def ended_by_parent(wire: Wire, client: subprocess.Popen[bytes]) -> None:
    client.kill()  # while another process still has the server's standard input open
    client.wait()


def ended_by_sigterm(wire: Wire, client: subprocess.Popen[bytes]) -> None:
    wire.process.send_signal(signal.SIGTERM)


def ended_by_exit(wire: Wire, client: subprocess.Popen[bytes]) -> None:
    wire.notify("exit", None)


ENDS: dict[str, Callable[[Wire, subprocess.Popen[bytes]], None]] = {
    "standard input is closed": ended_by_stdin,
    "the client's process is gone": ended_by_parent,
    "SIGTERM": ended_by_sigterm,
    "`exit` without `shutdown`": ended_by_exit,
}


def descendants(pid: int) -> set[int]:
    below = children(pid)
    return below.union(*map(descendants, below)) if below else below


@pytest.fixture
def client() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that the server takes for its client."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@requires_posix
@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("work", ["searching", "indexing"])
def test_the_server_ends(
    slow_project: Path, client: subprocess.Popen[bytes], row: Row, how: str, work: str
) -> None:
    """The server exits together with all its children, during any work."""
    row.hazard = f"{how}, while {work}"
    if work == "indexing":
        for number in range(500):
            text = f"def function_{number}():\n    return {number}\n" * 100
            (slow_project / f"m{number}.py").write_text(text)
    wire = Wire(forked=False)
    params = {
        "processId": client.pid,
        "rootUri": slow_project.as_uri(),
        "capabilities": {},
        "initializationOptions": {"index": {"enabled": work == "indexing"}},
    }
    wire.request(0, "initialize", params)
    wire.receive()
    wire.notify("initialized", {})
    if work == "searching":
        for number in range(1, 6):
            wire.request(number, *SLOW[number % 3])
    begun = wait_until(lambda: descendants(wire.process.pid), "no process has started")
    time.sleep(0.3)
    begun |= descendants(wire.process.pid)
    began = time.monotonic()
    ENDS[how](wire, client)
    wire.process.wait(SECONDS)
    seconds = time.monotonic() - began
    wait_until_gone(begun)
    wire.join()
    row.tries = 1
    row.result = f"ended after {seconds:.2f} s, 0 of {len(begun)} children left"
    assert seconds < END_SECONDS
    assert "Traceback" not in wire.stderr


def test_a_client_with_an_unknown_process_id_is_served(project: Path) -> None:
    """In a container, the client's process id has no meaning."""
    wire = Wire()
    gone = subprocess.Popen(["true"])
    gone.wait()
    params = {"processId": gone.pid, "rootUri": project.as_uri(), "capabilities": {}}
    wire.request(0, "initialize", params)
    assert "result" in wire.receive()
    time.sleep(1.5)
    wire.request(1, "initialize", params)
    assert wire.receive()["error"]["message"] == "the server is already initialized"
    assert os.path.exists(f"/proc/{wire.process.pid}")
    assert wire.stop() == 0
