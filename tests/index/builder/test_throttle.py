"""The throttle: when background work may run, and with how many workers."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from conftest import write_files
from index.conftest import extracted, jobs, outcome
from winnow.config import IndexSettings
from winnow.index.builder import throttle as module
from winnow.index.builder.throttle import MB, Machine, Throttle, most_parsed
from winnow.index.builder.workers import IndexWorkers
from winnow.processes import workers as workers_of_all_kinds
from winnow.processes.children import Processes
from winnow.processes.memory import anonymous_bytes
from winnow.text.roots import is_indexable

WORKERS = (1, 2)


class OtherMachine(Machine):
    """A machine with a manual clock: `others` is the load of other programs, `own` the load of the
    server and the workers, `each` the memory of each process."""

    def __init__(self, cores: int = 4) -> None:
        super().__init__()
        self.cores = cores
        self.seconds = 1000.0
        self.others = 0.0
        self.own = 0.0
        self.each = 10 * MB
        self.battery = False
        self._others_had = 50.0
        self._own_had = 20.0

    def pass_time(self, seconds: float) -> None:
        self.seconds += seconds
        self._others_had += seconds * self.cores * self.others
        self._own_had += seconds * self.cores * self.own

    def now(self) -> float:
        return self.seconds

    def processor_seconds(self) -> tuple[float, float]:
        return self.seconds * self.cores, self._others_had + self._own_had

    def own_seconds(self, workers: Sequence[int]) -> float:
        assert workers == WORKERS
        return self._own_had

    def memory_of(self, pid: int) -> int:
        return self.each

    def is_on_battery(self) -> bool:
        return self.battery


@pytest.fixture
def machine() -> OtherMachine:
    return OtherMachine()


@pytest.fixture
def throttle(machine: OtherMachine) -> Throttle:
    return Throttle(IndexSettings, lambda: WORKERS, machine)


@pytest.fixture(autouse=True)
def ignore_test_memory() -> None:
    """Override the fixture: these tests measure the memory of this process."""


@pytest.fixture(autouse=True)
def _quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.0)


async def held_for(
    throttle: Throttle, machine: OtherMachine, most: float = 10.0, *, quiet: bool = False
) -> float:
    """Return the machine's seconds until the background has its turn, or its ``quiet`` turn; check
    the throttle's state meanwhile."""
    started = machine.seconds
    turn = asyncio.create_task(throttle.quiet_turn() if quiet else throttle.turn())
    while not turn.done() and machine.seconds - started < most:
        await asyncio.sleep(0)
        if not turn.done():
            await asyncio.sleep(0)
            machine.pass_time(1 / 16)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    return machine.seconds - started


async def loaded(throttle: Throttle, machine: OtherMachine) -> None:
    """Let the throttle measure the load twice."""
    await throttle.turn()
    machine.pass_time(1.0)


async def told_while_held(throttle: Throttle) -> tuple[str, str]:
    turn = asyncio.create_task(throttle.turn())
    await asyncio.sleep(0)
    observed = (throttle.state, throttle.reason)
    turn.cancel()
    await asyncio.gather(turn, return_exceptions=True)
    return observed


async def test_background_work_runs_on_a_quiet_machine(
    throttle: Throttle, machine: OtherMachine
) -> None:
    machine.others, machine.own = 0.5, 0.5
    await loaded(throttle, machine)
    assert await held_for(throttle, machine) == 0
    assert (throttle.state, throttle.reason) == ("running", "")


async def test_under_load_a_batch_starts_now_and_then(
    throttle: Throttle, machine: OtherMachine
) -> None:
    machine.others = 0.93
    await loaded(throttle, machine)
    assert await told_while_held(throttle) == (
        "throttled",
        "other programs use 93 % of the processors",
    )
    assert [await held_for(throttle, machine) for _ in range(3)] == [module.LOADED_SECONDS] * 3
    # The load lasts while a batch runs.
    assert throttle.state == "running"
    assert throttle.shortage == "other programs use 93 % of the processors"
    machine.others = 0.0
    machine.pass_time(1.0)
    assert throttle.shortage == ""
    assert throttle.state == "running"
    machine.others = 0.1
    machine.pass_time(1.0)
    assert await held_for(throttle, machine) == 0


async def test_the_setting_is_the_load_threshold(machine: OtherMachine) -> None:
    settings = [IndexSettings(cpu_throttle_threshold=0.3)]
    throttle = Throttle(lambda: settings[0], lambda: WORKERS, machine)
    machine.others = 0.5
    await loaded(throttle, machine)
    assert await held_for(throttle, machine) == module.LOADED_SECONDS
    settings[0] = IndexSettings(cpu_throttle_threshold=0.6)
    assert await held_for(throttle, machine) == 0


async def test_an_old_load_measurement_is_ignored(
    throttle: Throttle, machine: OtherMachine
) -> None:
    machine.others = 1.0
    await throttle.turn()
    machine.pass_time(3600)
    assert await held_for(throttle, machine) == 0


async def test_a_pause_lasts_until_it_is_resumed(throttle: Throttle, machine: OtherMachine) -> None:
    throttle.pause()
    assert (throttle.state, throttle.reason) == ("paused", "paused by the user")
    assert await held_for(throttle, machine, most=100) == 100
    throttle.resume()
    assert await held_for(throttle, machine) == 0
    assert throttle.state == "running"


async def test_the_background_waits_while_a_request_is_answered(
    throttle: Throttle, machine: OtherMachine
) -> None:
    with throttle.requests():
        assert await told_while_held(throttle) == ("throttled", "a request is being answered")
        with throttle.requests():
            pass
        assert await told_while_held(throttle) == ("throttled", "a request is being answered")
    assert await held_for(throttle, machine) == 0


async def test_constant_requests_do_not_starve_the_background(
    throttle: Throttle, machine: OtherMachine
) -> None:
    with throttle.requests():
        assert await held_for(throttle, machine) == module.PATIENCE_SECONDS
        assert await held_for(throttle, machine) == 0
        machine.pass_time(module.OPEN_SECONDS)
        assert await held_for(throttle, machine) == module.PATIENCE_SECONDS


async def test_what_nothing_waits_for_begins_a_moment_after_the_last_request(
    throttle: Throttle, machine: OtherMachine
) -> None:
    assert await held_for(throttle, machine, quiet=True) == 0
    for _ in range(2):
        with throttle.requests():
            pass
        machine.pass_time(module.QUIET_SECONDS / 2)
    assert await held_for(throttle, machine) == 0
    assert await held_for(throttle, machine, quiet=True) == module.QUIET_SECONDS / 2


async def test_without_memory_there_is_one_worker_and_it_waits(
    throttle: Throttle, machine: OtherMachine
) -> None:
    assert (throttle.memory(), throttle.workers()) == (30 * MB, 2)
    assert throttle.worker_bytes() == 45 * MB
    machine.each = 72 * MB
    machine.pass_time(1.0)
    assert throttle.memory() == 216 * MB
    assert await told_while_held(throttle) == ("throttled", "memory: 216 of 200 MB")
    assert (throttle.workers(), throttle.worker_bytes()) == (1, module.WORKER_BYTES)
    assert await held_for(throttle, machine) == module.PATIENCE_SECONDS
    machine.each = 40 * MB
    machine.pass_time(1.0)
    assert await held_for(throttle, machine) == 0
    assert throttle.workers() == 2


async def test_one_worker_goes_on_if_the_server_alone_exceeds_the_limit(
    throttle: Throttle, machine: OtherMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = 45 * MB
    monkeypatch.setattr(machine, "memory_of", lambda pid: 210 * MB if pid == os.getpid() else each)
    assert await held_for(throttle, machine) == 0
    assert (throttle.workers(), throttle.shortage) == (1, "")
    each = 55 * MB
    machine.pass_time(1.0)
    assert await held_for(throttle, machine) == module.PATIENCE_SECONDS
    assert throttle.shortage == "memory: 320 of 200 MB"


def test_workers_do_not_get_the_memory_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    machine, server = OtherMachine(cores=2), 100 * MB
    monkeypatch.setattr(machine, "memory_of", lambda pid: server if pid == os.getpid() else 0)
    settings = IndexSettings(max_memory_usage_mb=300)
    throttle = Throttle(lambda: settings, lambda: WORKERS, machine)
    assert (throttle.workers(), throttle.worker_bytes()) == (2, 92_500_000)
    server = 150 * MB
    machine.pass_time(1.0)
    assert (throttle.workers(), throttle.worker_bytes()) == (2, 67_500_000)
    server = 221 * MB
    machine.pass_time(1.0)
    assert (throttle.workers(), throttle.worker_bytes()) == (1, 64 * MB)


@pytest.mark.parametrize(
    ("cores", "megabytes", "battery", "expected"),
    [
        (1, 200, False, 1),
        (2, 200, False, 2),
        (8, 200, False, 2),
        (8, 1000, False, 4),
        (8, 64, False, 1),
        (8, 1000, True, 1),
    ],
)
def test_processors_memory_and_battery_limit_the_workers(
    cores: int, megabytes: int, battery: bool, expected: int
) -> None:
    machine = OtherMachine(cores)
    machine.battery = battery
    settings = IndexSettings(max_memory_usage_mb=megabytes)
    assert Throttle(lambda: settings, lambda: WORKERS, machine).workers() == expected


def test_the_parse_limit_follows_from_the_memory_limit() -> None:
    assert most_parsed(IndexSettings(), 0) == 900_000
    assert most_parsed(IndexSettings(), 16_000) == 826_667
    assert most_parsed(IndexSettings(), 78_000) == 413_333
    assert most_parsed(IndexSettings(), 1_000_000) == 300_000
    assert most_parsed(IndexSettings(max_memory_usage_mb=1_000), 78_000) == 4_500_000
    assert most_parsed(IndexSettings(max_memory_usage_mb=64), 0) == 96_000


def test_home_folders_drives_and_shared_folders_are_indexed_only_on_request(tmp_path: Path) -> None:
    home = tmp_path / "homes" / "me"
    (home / ".git").mkdir(parents=True)
    (home / "project").mkdir()
    (tmp_path / "link").symlink_to(home)
    environment = {"HOME": str(home)}
    refused = [home, home.parent, tmp_path, tmp_path / "link", Path("/"), Path("/usr"),
               Path("/tmp"), Path.home()]  # fmt: skip
    assert [is_indexable(folder, environment) for folder in refused] == [False] * len(refused)
    assert is_indexable(home / "project", environment)
    assert is_indexable(tmp_path / "link" / "project", environment)


# --- real machines -------------------------------------------------------------------------


@pytest.mark.serial
@pytest.mark.hazard
async def test_the_load_of_other_programs_is_measured_without_ours(
    burners: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOAD_SECONDS", 0.2)
    own: list[int] = []
    throttle = Throttle(lambda: IndexSettings(cpu_throttle_threshold=0.6), lambda: own)
    started = burners()
    load = throttle._load
    assert load.of_others(()) == 0
    shares = []
    for workers in ((), started):
        own[:] = workers
        load.of_others(workers)
        await asyncio.sleep(module.LOAD_SECONDS + 0.1)
        load.of_others(workers)  # between two measurements of the same processes
        await asyncio.sleep(module.LOAD_SECONDS + 0.1)
        shares.append(load.of_others(workers))
    with_others, with_own = shares
    assert with_others > 0.6
    assert with_own < with_others


@pytest.fixture
def burners() -> Iterator[Callable[[], list[int]]]:
    made: list[subprocess.Popen[bytes]] = []

    def start() -> list[int]:
        code = "while True: pass"
        made.extend(
            subprocess.Popen([sys.executable, "-c", code]) for _ in range(os.cpu_count() or 1)
        )
        return [one.pid for one in made]

    yield start
    for one in made:
        one.kill()
        one.wait()


@pytest.mark.process
async def test_memory_includes_the_server_and_its_workers() -> None:
    hold = "import sys; kept = bytearray(80_000_000); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(  # noqa: ASYNC220
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        alone = Throttle(IndexSettings, tuple).memory()
        both = Throttle(IndexSettings, lambda: [child.pid]).memory()
        child.communicate()
    assert alone > 0
    assert 80_000_000 <= both - alone < 110_000_000
    assert Throttle(IndexSettings, lambda: [child.pid]).memory() - alone < 10_000_000


# --- workers under a throttle --------------------------------------------------------------


class Rules:
    """A regulator that the test controls."""

    def __init__(
        self, workers: int = 2, worker_bytes: int = 10**9, left_bytes: int = 10**9
    ) -> None:
        self.most = workers
        self.bytes = worker_bytes
        self.left = left_bytes
        self.open = asyncio.Event()
        self.open.set()
        self.turns = 0

    async def turn(self) -> None:
        await self.open.wait()
        self.turns += 1

    def workers(self) -> int:
        return self.most

    def worker_bytes(self, *, alone: bool = False) -> int:
        return self.bytes

    def left_bytes(self) -> int:
        return self.left


MakeRuled = Callable[..., IndexWorkers]


@pytest_asyncio.fixture
async def ruled(shared_workers: None) -> AsyncIterator[MakeRuled]:
    made: list[IndexWorkers] = []

    def make(rules: Rules, *, shared: bool = False) -> IndexWorkers:
        """Create workers for the test, or shared workers."""
        if shared:
            made.append(IndexWorkers(Processes(), {}, limit=2, regulator=rules))
        else:
            made.append(IndexWorkers(Processes(), os.environ, 20.0, 2, rules))
        return made[-1]

    yield make
    for workers in made:
        await workers.aclose()


def write_small(folder: Path, count: int) -> list[str]:
    names = [f"f{number}.py" for number in range(count)]
    write_files(folder, dict.fromkeys(names, "def f(): pass\n"))
    return names


async def test_each_batch_of_the_background_has_a_turn(ruled: MakeRuled, tmp_path: Path) -> None:
    names = write_small(tmp_path, 40)
    rules = Rules()
    found = await extracted(ruled(rules, shared=True), jobs(tmp_path, *names))
    assert {name: outcome(record) for name, record in found.items()} == dict.fromkeys(names, "f")
    assert rules.turns == 5


async def test_more_texts_than_files_with_definitions_have_one_turn(
    ruled: MakeRuled, tmp_path: Path
) -> None:
    names = write_small(tmp_path, 40)
    texts = [msgspec.structs.replace(job, part="text") for job in jobs(tmp_path, *names)]
    rules = Rules()
    assert len(await extracted(ruled(rules, shared=True), texts)) == 40
    assert rules.turns == 2


@pytest.mark.process
async def test_a_request_does_not_wait_for_a_turn_and_a_pause_starts_nothing(
    ruled: MakeRuled, tmp_path: Path
) -> None:
    names = write_small(tmp_path, 40)
    rules = Rules()
    rules.open.clear()
    workers = ruled(rules, shared=True)
    background = asyncio.create_task(extracted(workers, jobs(tmp_path, *names)))
    assert set(await extracted(workers, jobs(tmp_path, "f1.py"), urgent=True)) == {"f1.py"}
    assert rules.turns == 0
    assert not background.done()
    rules.open.set()
    assert len(await background) == 40


async def test_abandoned_work_does_not_use_a_slot(ruled: MakeRuled, tmp_path: Path) -> None:
    names = write_small(tmp_path, 80)
    rules = Rules(workers=1)
    workers = ruled(rules, shared=True)
    first = workers.extract(jobs(tmp_path, *names))
    await first.__anext__()
    rules.open.clear()
    await first.aclose()
    second = asyncio.create_task(extracted(workers, jobs(tmp_path, *names[:8])))
    await extracted(workers, jobs(tmp_path, "f1.py"), urgent=True)
    assert not second.done()
    rules.open.set()
    assert len(await second) == 8


@pytest.mark.slow
async def test_a_worker_that_has_grown_is_replaced_without_loss(
    ruled: MakeRuled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "REPLACE_SECONDS", 0.0)
    names = write_small(tmp_path, 24)
    # A file with a thousand functions makes a worker larger than a file with one.
    write_files(tmp_path, {"large.py": "def f(a, b, c): return a(b(c))\n" * 20_000})
    rules = Rules(workers=1)
    workers = ruled(rules)
    seen = set()

    async def pids_while(wanted: list[str]) -> None:
        async for _ in workers.extract(jobs(tmp_path, *wanted)):
            seen.update(workers.pids)

    await pids_while(names[:8])
    [first] = seen
    rules.bytes = anonymous_bytes(first) + 8_000_000
    await pids_while(names[8:16])
    assert seen == {first}
    await pids_while(["large.py"])
    while first in workers.pids:
        await asyncio.sleep(0.01)
    await pids_while(names[16:])
    assert len(seen) == 2
    assert all(anonymous_bytes(pid) < rules.bytes for pid in workers.pids)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "is_kept"),
    [
        (Rules(worker_bytes=1_000_000), False),  # each needs a new worker
        (Rules(left_bytes=0), True),
    ],
)
async def test_large_files_come_last_and_alone(
    ruled: MakeRuled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: Rules, is_kept: bool
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "LIGHT_BYTES", 100_000)
    small = write_small(tmp_path, 64)
    large = ["a.py", "b.py"]
    write_files(tmp_path, dict.fromkeys(large, "def large(): pass\n" * 4_000))
    workers = ruled(rules)
    order, pids = [], []
    async for job, _ in workers.extract(jobs(tmp_path, *large, *small)):
        order.append(os.fsdecode(job.path))
        if order[-1] in large:
            assert workers._in_background <= 1
            pids.append(workers.pids)
    assert set(order[-2:]) == set(large)
    assert sorted(order) == sorted([*large, *small])
    assert bool({*pids[0]}.intersection(pids[-1])) == is_kept


@pytest.mark.slow
async def test_nothing_more_is_started_for_a_caller_that_does_not_read(
    ruled: MakeRuled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "UNREAD_BYTES", 1)
    names = write_small(tmp_path, 400)
    rules = Rules(workers=1)
    workers = ruled(rules, shared=True)
    answers = workers.extract(jobs(tmp_path, *names))
    await answers.__anext__()
    await extracted(workers, jobs(tmp_path, "f1.py"), urgent=True)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        await asyncio.sleep(0.05)
    assert len(workers._background) >= 47
    assert len([path async for path, _ in answers]) == 399


@pytest.mark.slow
async def test_a_worker_that_ended_while_no_caller_read_is_restarted(
    ruled: MakeRuled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers_of_all_kinds, "UNREAD_BYTES", 1)
    monkeypatch.setattr(workers_of_all_kinds, "LIGHT_BYTES", 0)
    names = ["a.py", "b.py", "c.py"]
    write_files(tmp_path, dict.fromkeys(names, "def large(): pass\n" * 4_000))
    workers = ruled(Rules(workers=1, worker_bytes=1_000_000))
    found = []
    async for job, _ in workers.extract(jobs(tmp_path, *names)):
        found.append(os.fsdecode(job.path))
        while workers.pids and not workers._has_work():
            await asyncio.sleep(0.01)
    assert sorted(found) == names


async def test_urgent_work_ignores_the_load_of_other_programs(
    throttle: Throttle, machine: OtherMachine
) -> None:
    machine.others = 0.93
    await loaded(throttle, machine)
    with throttle.hurry():
        assert await held_for(throttle, machine) == 0
    assert await held_for(throttle, machine) == module.LOADED_SECONDS
