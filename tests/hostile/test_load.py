"""Many requests at once, during a slow request, and for a long time; and the memory of an idle
server."""

from __future__ import annotations

import itertools
import queue
import random
import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import FILES, SLOW_TERM, git_init, requires_linux, write_files
from frontends.lsp.conftest import children, searches
from frontends.lsp.test_index_hazards import started
from frontends.lsp.test_symbols_hazards import Session
from frontends.lsp.wire import Wire
from hazard_table import Row, percentile
from hostile.conftest import OPEN_FILES
from waiting_for import SECONDS, wait_until
from winnow.processes.workers import IDLE_SECONDS

pytestmark = [pytest.mark.wire, pytest.mark.hazard, requires_linux]

PER_SECOND = 20
# Modules, caches and threads are created at first and stay.
WARM_UP_SHARE = 0.25
SLOPE_MB = 1.0
# In a shorter time, memory fluctuates by more than the slope.
SLOPE_SECONDS = 300.0
GROWTH_MB = 15.0
# Rounds before descriptors are counted: they fill caches and open the connections of each thread.
WARM_UP_TURNS = 8
# Each of asyncio's threads opens the index database on its first use.
LAZY_FILES = 8
IDLE_MB, INDEX_MB = 80, 200
SERVER = Path(__file__).parents[2] / "server"


def mixed(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return a request of every kind that searches or reads; all are fast."""
    document = {"textDocument": {"uri": (folder / "src/loader.py").as_uri()}}
    at = {**document, "position": {"line": 4, "character": 9}}
    return [
        ("$/grep", {"pattern": "load_plugin"}),
        ("$/grep", {"pattern": "l.*n", "mode": "counts"}),
        ("$/glob", {"pattern": "**/*.py"}),
        ("$/tree", {}),
        ("$/readFile", {"path": "src/loader.py"}),
        ("$/keywordSearch", {"query": "plugins", "search_terms": ["load", "registry"]}),
        ("$/findSymbol", {"name": "load"}),
        ("$/findReferences", {"name": "load_plugin"}),
        ("$/semanticSearch", {"query": "how are plugins loaded"}),
        ("$/codeSearch", {"query": "load_plugin"}),
        ("$/searchDocs", {"query": "plugin"}),
        ("$/suggestTerms", {"query": "how are plugins loaded"}),
        ("$/tools", {}),
        ("$/indexStatus", {}),
        ("workspace/symbol", {"query": "load"}),
        ("textDocument/documentSymbol", document),
        ("textDocument/definition", at),
        ("textDocument/references", {**at, "context": {"includeDeclaration": True}}),
    ]


def status(pid: int, name: str) -> float:
    """Return a value of a process's status, in MB (1,000,000 bytes)."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_requests_during_a_slow_search(slow_project: Path, row: Row) -> None:
    row.hazard = "100 requests at once during a search of many seconds"
    write_files(slow_project, FILES)
    calls = [(m, {**p, "path": "src"} if m in SCOPED else p) for m, p in mixed(slow_project)]
    with started(slow_project, limits={"search_seconds": 60}) as session:
        session.wait_for_index()
        for method, params in calls:
            session.ask(method, params)
        session.wire.request("slow", "$/grep", {"pattern": SLOW_TERM, "mode": "counts"})
        pid = session.wire.process.pid
        wait_until(lambda: searches(pid), "no search has started")
        began = time.monotonic()
        for number, (method, params) in zip(range(100), itertools.cycle(calls), strict=False):
            session.wire.request(number, method, params)
        for _ in range(100):
            answer = session.wire.receive()
            assert "result" in answer, answer
            assert answer["id"] != "slow"
            row.tries += 1
        seconds = time.monotonic() - began
        session.wire.notify("$/cancelRequest", {"id": "slow"})
        assert session.wire.receive()["error"]["code"] == -32800
    row.result = f"all answered in {seconds:.1f} s, before the slow one"


def test_descriptors(tmp_path: Path, row: Row, request: pytest.FixtureRequest) -> None:
    """Each sandboxed child left a descriptor in a git repository (#21)."""
    count = int(request.config.getoption("--requests"))
    folder = write_files(git_init(tmp_path / "project"), FILES)
    with started(folder) as session:
        session.wait_for_index()
        pid, calls = session.wire.process.pid, mixed(folder)
        for method, params in calls * WARM_UP_TURNS:
            session.ask(method, params)
        before = settled_files(pid)
        for method, params in itertools.islice(itertools.cycle(calls), count):
            session.ask(method, params)
            row.tries += 1
        # A busy machine has more threads, which end when they are idle.
        after = wait_until(lambda: (now := settled_files(pid)) <= before and now)
    row.hazard = f"{count:,} requests in a git repository, {OPEN_FILES} descriptors at most"
    row.result = f"{before} descriptors before, {after} after"
    assert after <= before


def settled_files(pid: int) -> int:
    """Return the minimum number of an idle server's descriptors during two seconds."""
    counts = []
    for _ in range(10):
        time.sleep(0.2)
        counts.append(open_files(pid))
    return min(counts)


def test_burst(tmp_path: Path, row: Row) -> None:
    row.hazard = f"100 requests at once, with {OPEN_FILES} descriptors"
    folder = write_files(git_init(tmp_path / "project"), FILES)
    with started(folder) as session:
        session.wait_for_index()
        calls = mixed(folder)
        expected = [how_many(session.ask(method, params)) for method, params in calls]
        pid, most = session.wire.process.pid, 0
        began = time.monotonic()
        sent = list(itertools.islice(itertools.cycle(calls), 100))
        for number, (method, params) in enumerate(sent):
            session.wire.request(f"burst {number}", method, params)
        for _ in sent:
            answer = session.wire.receive()
            assert "result" in answer, answer
            number = int(answer["id"].removeprefix("burst "))
            assert how_many(answer["result"]) == expected[number % len(calls)], sent[number]
            most = max(most, open_files(pid))
            row.tries += 1
        seconds = time.monotonic() - began
    row.result = f"all answered in {seconds:.1f} s, with {most} descriptors at most"
    assert most < OPEN_FILES


def how_many(result: Any) -> object:
    """Return the number of results in an answer."""
    return result.get("total_found") if isinstance(result, dict) else len(result)


# Without a path, these would also read the large file.
SCOPED = ("$/grep", "$/keywordSearch", "$/codeSearch")


class Samples:
    """Periodic samples of a server's resources."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seconds: list[float] = []
        self.memory: list[float] = []
        self.files: list[int] = []
        self.children: list[int] = []

    def add(self, second: float) -> None:
        self.seconds.append(second)
        self.memory.append(status(self.pid, "RssAnon"))
        self.files.append(open_files(self.pid))
        self.children.append(len(children(self.pid)))

    def slope(self) -> float:
        """Return the memory growth, in MB per minute."""
        return statistics.linear_regression(self.seconds, self.memory).slope * 60


@pytest.mark.serial
def test_soak(tmp_path: Path, row: Row, seed: int, request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getoption("--soak"))
    row.hazard = f"{PER_SECOND} mixed requests a second for {seconds:.0f} s"
    folder = write_files(git_init(tmp_path / "project"), FILES)
    (folder / ".gitignore").unlink()
    chance = random.Random(seed)
    waits: list[float] = []
    with started(folder, forked=False) as session:
        session.wait_for_index()
        for method, params in mixed(folder):
            session.ask(method, params)
        samples = Samples(session.wire.process.pid)
        soak(session, folder, chance, seconds, waits, samples)
        row.tries = len(waits)
    growth = samples.memory[-1] - samples.memory[0]
    slope = samples.slope()
    p95 = percentile(waits, 0.95)
    row.result = (
        f"{slope:+.2f} MB a minute ({growth:+.1f} MB in all, {samples.memory[-1]:.0f} MB at the"
        f" end); descriptors {samples.files[0]} to {samples.files[-1]}, children"
        f" {samples.children[0]} to {samples.children[-1]}; answered in {p95 * 1000:.0f} ms (p95)"
    )
    if seconds >= SLOPE_SECONDS:
        assert slope < SLOPE_MB
    assert growth < GROWTH_MB
    assert samples.files[-1] <= samples.files[0] + LAZY_FILES
    assert samples.children[-1] <= samples.children[0]


def soak(
    session: Session,
    folder: Path,
    chance: random.Random,
    seconds: float,
    waits: list[float],
    samples: Samples,
) -> None:
    """Send requests at fixed times, even if earlier requests are still pending. Cancel some of
    them, and sometimes change a file."""
    wire = session.wire
    began = time.monotonic()
    pending: dict[int, float] = {}
    count = int(seconds * PER_SECOND)
    second = 0
    for number in range(count):
        due = began + number / PER_SECOND
        take_answers(wire, pending, waits, due)
        method, params = chance.choice(mixed(folder))
        pending[number] = time.monotonic()
        wire.request(number, method, params)
        if chance.random() < 0.05:
            wire.notify("$/cancelRequest", {"id": number})
        if chance.random() < 0.02:
            (folder / f"src/new{chance.randrange(20)}.py").write_text(f"def new{number}(): pass\n")
        if int(number / PER_SECOND) > second:
            second = number // PER_SECOND
            if second > seconds * WARM_UP_SHARE:
                samples.add(second)
    while pending:
        take_answers(wire, pending, waits, time.monotonic() + 1)
        assert time.monotonic() < began + seconds + SECONDS, pending
    # A busy machine may have started one more worker, which ends after it has been idle for long.
    end = time.monotonic() + 2 * IDLE_SECONDS
    time.sleep(1)
    while len(children(samples.pid)) > samples.children[0] and time.monotonic() < end:
        time.sleep(1)
    samples.add(seconds + 1)


def take_answers(wire: Wire, pending: dict[int, float], waits: list[float], end: float) -> None:
    """Receive answers until a point in time."""
    while (left := end - time.monotonic()) > 0 and (pending or left > 0):
        try:
            answer = wire.receive(left)
        except queue.Empty:
            return
        error = answer.get("error", {})
        assert error.get("code", -32800) == -32800, answer
        waits.append(time.monotonic() - pending.pop(answer["id"]))
        wire.notifications.clear()


@pytest.mark.serial
def test_memory_when_idle(tmp_path: Path, row: Row) -> None:
    row.hazard = "memory of an idle server without an index"
    folder = write_files(git_init(tmp_path / "project"), FILES)
    with started(folder, forked=False, index={"enabled": False}) as session:
        pid = session.wire.process.pid
        session.ask("$/grep", {"pattern": "load"})
        time.sleep(2)
        wait_until(lambda: not children(pid), "the server still has children")
        resident, own = status(pid, "VmRSS"), status(pid, "RssAnon")
    row.tries = 1
    row.result = f"{resident:.0f} MB resident, of which {own:.0f} MB are anonymous"
    assert resident < IDLE_MB


@pytest.mark.serial
def test_memory_with_an_index(tmp_path: Path, row: Row) -> None:
    """The memory of the server, including its workers while they run."""
    folder = git_init(tmp_path / "tree")
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", ".winnow")
    shutil.copytree(SERVER, folder / "server", ignore=ignored)
    shutil.copytree(SERVER.parent / "tests", folder / "tests", ignore=ignored)
    with started(folder, forked=False) as session:
        pid = session.wire.process.pid
        most = 0.0
        while session.state() != "ready":
            most = max(most, together(pid))
            time.sleep(0.05)
        for query in ("where is a child killed", "how is a message read", "EngineWorkspace"):
            session.ask("$/semanticSearch", {"query": query})
            session.ask("$/findReferences", {"name": "EngineWorkspace"})
        resident = status(pid, "VmRSS")
        files = session.ask("$/indexStatus", {})["index"]["folders"][0]["files_indexed"]
    row.hazard = f"memory with an index of {files} files"
    row.tries = 1
    row.result = (
        f"{resident:.0f} MB resident after queries; {most:.0f} MB anonymous at most, with all"
        " workers, during the build"
    )
    assert resident < INDEX_MB
    assert most < INDEX_MB


def together(pid: int) -> float:
    total = 0.0
    for process in (pid, *children(pid)):
        try:
            total += status(process, "RssAnon")
        except (OSError, IndexError):  # the process has ended
            continue
    return total
