"""Many requests: beside a slow one, and for a long time; and what the server takes when it has
none."""

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
# What is new at first is kept: modules, caches, a thread for each of some.
WARM_UP_SHARE = 0.25
SLOPE_MB = 1.0
# In a shorter time memory goes up and down by more than the slope is.
SLOPE_SECONDS = 300.0
GROWTH_MB = 15.0
# Before descriptors are counted: caches, and the connections of each thread.
WARM_UP_TURNS = 8
# Each of asyncio's threads opens the database of the index when it is first asked.
LAZY_FILES = 8
IDLE_MB, INDEX_MB = 80, 200
SERVER = Path(__file__).parents[2] / "server"


def mixed(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """A request of every kind that searches or reads, each with an answer at once."""
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
    """A line of a process' status, in MB of a million bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0]) * 1024 / 1e6


def open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def test_beside_a_slow_one(slow_project: Path, row: Row) -> None:
    row.hazard = "100 requests at once, beside a search of many seconds"
    write_files(slow_project, FILES)
    asked = [(m, {**p, "path": "src"} if m in SCOPED else p) for m, p in mixed(slow_project)]
    with started(slow_project, limits={"search_seconds": 60}) as session:
        session.wait_for_index()
        for method, params in asked:
            session.ask(method, params)
        session.wire.request("slow", "$/grep", {"pattern": SLOW_TERM, "mode": "counts"})
        pid = session.wire.process.pid
        wait_until(lambda: searches(pid), "nothing was started")
        began = time.monotonic()
        for number, (method, params) in zip(range(100), itertools.cycle(asked), strict=False):
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
        pid, asked = session.wire.process.pid, mixed(folder)
        for method, params in asked * WARM_UP_TURNS:
            session.ask(method, params)
        before = settled_files(pid)
        for method, params in itertools.islice(itertools.cycle(asked), count):
            session.ask(method, params)
            row.tries += 1
        # A busy machine has more threads, which go when they have had nothing to do.
        after = wait_until(lambda: (now := settled_files(pid)) <= before and now)
    row.hazard = f"{count:,} requests in a git repository, {OPEN_FILES} descriptors at most"
    row.result = f"{before} descriptors before, {after} after"
    assert after <= before


def settled_files(pid: int) -> int:
    """The descriptors of a server that has nothing to do: the fewest of some seconds."""
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
        asked = mixed(folder)
        expected = [how_many(session.ask(method, params)) for method, params in asked]
        pid, most = session.wire.process.pid, 0
        began = time.monotonic()
        sent = list(itertools.islice(itertools.cycle(asked), 100))
        for number, (method, params) in enumerate(sent):
            session.wire.request(f"burst {number}", method, params)
        for _ in sent:
            answer = session.wire.receive()
            assert "result" in answer, answer
            number = int(answer["id"].removeprefix("burst "))
            assert how_many(answer["result"]) == expected[number % len(asked)], sent[number]
            most = max(most, open_files(pid))
            row.tries += 1
        seconds = time.monotonic() - began
    row.result = f"all answered in {seconds:.1f} s, with {most} descriptors at most"
    assert most < OPEN_FILES


def how_many(result: Any) -> object:
    """How many results an answer has."""
    return result.get("total_found") if isinstance(result, dict) else len(result)


# What would read the large file, too.
SCOPED = ("$/grep", "$/keywordSearch", "$/codeSearch")


class Samples:
    """What a server takes, time and again."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.seconds: list[float] = []
        self.memory: list[float] = []
        self.files: list[int] = []
        self.children: list[int] = []

    def take(self, second: float) -> None:
        self.seconds.append(second)
        self.memory.append(status(self.pid, "RssAnon"))
        self.files.append(open_files(self.pid))
        self.children.append(len(children(self.pid)))

    def slope(self) -> float:
        """MB per minute."""
        return statistics.linear_regression(self.seconds, self.memory).slope * 60


@pytest.mark.serial
def test_soak(tmp_path: Path, row: Row, seed: int, request: pytest.FixtureRequest) -> None:
    seconds = float(request.config.getoption("--soak"))
    row.hazard = f"{PER_SECOND} mixed requests a second for {seconds:.0f} s"
    folder = write_files(git_init(tmp_path / "project"), FILES)
    (folder / ".gitignore").unlink()
    one = random.Random(seed)
    waits: list[float] = []
    with started(folder, forked=False) as session:
        session.wait_for_index()
        for method, params in mixed(folder):
            session.ask(method, params)
        samples = Samples(session.wire.process.pid)
        soak(session, folder, one, seconds, waits, samples)
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
    one: random.Random,
    seconds: float,
    waits: list[float],
    samples: Samples,
) -> None:
    """Send requests at their times, whether or not those before are answered; some are cancelled,
    and a file changes now and then."""
    wire = session.wire
    began = time.monotonic()
    asked: dict[int, float] = {}
    count = int(seconds * PER_SECOND)
    second = 0
    for number in range(count):
        due = began + number / PER_SECOND
        take_answers(wire, asked, waits, due)
        method, params = one.choice(mixed(folder))
        asked[number] = time.monotonic()
        wire.request(number, method, params)
        if one.random() < 0.05:
            wire.notify("$/cancelRequest", {"id": number})
        if one.random() < 0.02:
            (folder / f"src/new{one.randrange(20)}.py").write_text(f"def new{number}(): pass\n")
        if int(number / PER_SECOND) > second:
            second = number // PER_SECOND
            if second > seconds * WARM_UP_SHARE:
                samples.take(second)
    while asked:
        take_answers(wire, asked, waits, time.monotonic() + 1)
        assert time.monotonic() < began + seconds + SECONDS, asked
    # A busy machine has had one more worker, which ends when it has had no work for long.
    end = time.monotonic() + 2 * IDLE_SECONDS
    time.sleep(1)
    while len(children(samples.pid)) > samples.children[0] and time.monotonic() < end:
        time.sleep(1)
    samples.take(seconds + 1)


def take_answers(wire: Wire, asked: dict[int, float], waits: list[float], end: float) -> None:
    """Take the answers that come until a moment."""
    while (left := end - time.monotonic()) > 0 and (asked or left > 0):
        try:
            answer = wire.receive(left)
        except queue.Empty:
            return
        error = answer.get("error", {})
        assert error.get("code", -32800) == -32800, answer
        waits.append(time.monotonic() - asked.pop(answer["id"]))
        wire.notifications.clear()


@pytest.mark.serial
def test_memory_when_idle(tmp_path: Path, row: Row) -> None:
    row.hazard = "memory of an idle server without an index"
    folder = write_files(git_init(tmp_path / "project"), FILES)
    with started(folder, forked=False, index={"enabled": False}) as session:
        pid = session.wire.process.pid
        session.ask("$/grep", {"pattern": "load"})
        time.sleep(2)
        wait_until(lambda: not children(pid), "it has children")
        resident, own = status(pid, "VmRSS"), status(pid, "RssAnon")
    row.tries = 1
    row.result = f"{resident:.0f} MB resident, of which {own:.0f} MB are no file's"
    assert resident < IDLE_MB


@pytest.mark.serial
def test_memory_with_an_index(tmp_path: Path, row: Row) -> None:
    """Of the server, with that of its workers while they are there."""
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
        f"{resident:.0f} MB resident after queries; {most:.0f} MB at most of its own with all"
        " workers while it is made"
    )
    assert resident < INDEX_MB
    assert most < INDEX_MB


def together(pid: int) -> float:
    total = 0.0
    for one in (pid, *children(pid)):
        try:
            total += status(one, "RssAnon")
        except (OSError, IndexError):  # it has ended
            continue
    return total
