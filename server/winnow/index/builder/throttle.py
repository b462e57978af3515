"""Limit what the background work takes: whether it may run, with how many workers, and with how
much memory.

Workers ask before each batch (:class:`winnow.processes.workers.Regulator`). Their low priority is
not enough: it does not limit memory, and means nothing next to other programs of low priority.

Only a pause stops the background work completely. Under load, with large workers, or under constant
requests, a batch still starts now and then; otherwise a busy machine would never get an index. If
the server itself has more than the limit, one worker goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Literal, TypeVar

from winnow.config import IndexSettings
from winnow.index.builder.workers import TIMES_TEXT
from winnow.processes.memory import anonymous_bytes
from winnow.processes.workers import FEW_CORES, workers_for

T = TypeVar("T")
State = Literal["running", "paused", "throttled"]

MB = 1_000_000
POLL_SECONDS = 0.05
# A batch takes about 30 ms. Under load, one may start per interval.
LOADED_SECONDS = 0.25
# Longest wait for memory or for requests. After it, requests are ignored for a while.
PATIENCE_SECONDS = 2.0
OPEN_SECONDS = 0.5
# Work that nothing waits for starts this long after the last request: an agent sends one request
# after another, and the work would slow each of them.
QUIET_SECONDS = 0.5
# The kernel counts processor time in steps of 10 ms. A measurement older than the longest interval
# says nothing about the present.
LOAD_SECONDS = 0.5
LONGEST_LOAD_SECONDS = 5.0
MEMORY_SECONDS = 0.1
BATTERY_SECONDS = 30.0
# Memory that the server has, or will have, while it builds an index, and that a new worker has.
SERVER_BYTES = 100 * MB
WORKER_BYTES = 40 * MB
# The share of the limit for workers: the memory of a worker's last batch is seen only after it.
GIVEN_SHARE = 0.95
# The share of the limit that the server and busy workers may have before one worker is stopped:
# memory is measured only now and then, and the server takes more at the end of a build.
WORKERS_SHARE = 0.95
# Memory of the server per file of the tree (470 bytes for the kernel's 78,000 files), and of a
# worker that has not parsed yet.
FILE_BYTES = 500
FRESH_BYTES = 30 * MB
# The share of the limit for the largest file that is parsed, at most and at least: its result has
# four times its bytes, and the server briefly holds three copies.
PARSED_SHARE, LEAST_SHARE = 0.0045, 0.0015


def most_parsed(limits: IndexSettings, files: int) -> int:
    """Return the size of the largest file whose symbols fit the memory limit, in bytes, for a tree
    with this number of files."""
    limit = limits.max_memory_usage_mb * MB
    room = limit - SERVER_BYTES - FILE_BYTES * files - FRESH_BYTES
    return round(max(min(room / TIMES_TEXT, PARSED_SHARE * limit), LEAST_SHARE * limit))


class Machine:
    """Measurements of the machine; a test replaces them."""

    def __init__(self) -> None:
        self.cores = os.cpu_count() or FEW_CORES

    def now(self) -> float:
        """Return seconds since a fixed moment."""
        return time.monotonic()

    def processor_seconds(self) -> tuple[float, float]:
        """Return the processor time of all processors since a fixed moment, in seconds, and the
        busy part of it."""
        import psutil

        times = psutil.cpu_times()._asdict()
        # `user` and `nice` include the time of guests.
        total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
        return total, total - times["idle"] - times.get("iowait", 0.0)

    def own_seconds(self, workers: Sequence[int]) -> float:
        """Return the processor time of the server, its workers and their children, in seconds."""
        import psutil

        own = 0.0
        for pid in (os.getpid(), *workers):
            with contextlib.suppress(psutil.Error):
                own += sum(psutil.Process(pid).cpu_times()[:4])
        return own

    def memory_of(self, pid: int) -> int:
        """Return the anonymous memory of a process in bytes."""
        return anonymous_bytes(pid)

    def is_on_battery(self) -> bool:
        """Return True if the machine runs on battery."""
        import psutil

        try:
            battery = psutil.sensors_battery()
        except (AttributeError, OSError, RuntimeError):  # unknown on this system
            return False
        return battery is not None and battery.power_plugged is False


class Throttle:
    """Decides whether background work may go on; a :class:`winnow.processes.workers.Regulator`.

    ``limits`` returns the current settings, ``pids`` the processes of all workers.
    """

    def __init__(
        self,
        limits: Callable[[], IndexSettings],
        pids: Callable[[], Sequence[int]],
        machine: Machine | None = None,
    ) -> None:
        self._limits = limits
        self._pids = pids
        self._machine = machine or Machine()
        self._load = _Load(self._machine)
        self._memory = _Cached(self._machine, MEMORY_SECONDS, self._sum_memory)
        self._server = _Cached(self._machine, MEMORY_SECONDS, self._server_memory)
        self._battery = _Cached(self._machine, BATTERY_SECONDS, self._machine.is_on_battery)
        self._paused = False
        self._requests = 0
        self._last_request = -QUIET_SECONDS
        self._hurries = 0
        self._open_until = 0.0
        self._held: dict[object, str] = {}  # callers that wait for a turn, and why

    def pause(self) -> None:
        """Start nothing until :meth:`resume`. Running batches finish."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    @contextlib.contextmanager
    def requests(self) -> Iterator[None]:
        """Hold the background work back while a request is answered within the block."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._last_request = self._machine.now()

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """Ignore the load of other programs within the block, because a request waits for the
        work."""
        self._hurries += 1
        try:
            yield
        finally:
            self._hurries -= 1

    @property
    def state(self) -> State:
        """The current state of the background work."""
        if self._paused:
            return "paused"
        return "throttled" if self._held else "running"

    @property
    def reason(self) -> str:
        """The reason why it is held back; empty if it is not."""
        return "paused by the user" if self._paused else next(iter(self._held.values()), "")

    @property
    def shortage(self) -> str:
        """What the machine lacks for background work now; empty if nothing."""
        return self._too_large() or self._too_busy()

    def memory(self) -> int:
        """Return the anonymous memory of the server and its workers, in bytes, measured at most a
        moment ago."""
        return self._memory()

    # --- as a regulator --------------------------------------------------------------------

    async def turn(self) -> None:
        """Wait until one more background batch may start."""
        caller = object()
        since = self._machine.now()
        try:
            # Most conditions have to be measured: no event reports them.
            while self._paused or self._is_held(caller, since):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._held.pop(caller, None)

    async def quiet_turn(self) -> None:
        """Wait until no request has come for :data:`QUIET_SECONDS`, and one more background batch
        may start."""
        # A request extends the time.
        while self._machine.now() - self._last_request < QUIET_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)
        await self.turn()

    def workers(self) -> int:
        """Return how many workers may run background batches now."""
        if self._is_short() or self._battery():
            return 1
        room = (int(self._limit * WORKERS_SHARE) - self._server()) // WORKER_BYTES
        return max(1, min(workers_for(self._machine.cores), room))

    def worker_bytes(self, *, alone: bool = False) -> int:
        """Return how much memory a worker may have now, or the only worker."""
        if self._is_short():
            return WORKER_BYTES
        given = int(self._limit * GIVEN_SHARE) - self._server()
        return max(given if alone else given // self.workers(), WORKER_BYTES)

    def left_bytes(self) -> int:
        """Return how much memory is left for the server and its workers."""
        return max(self._limit - self.memory(), 0)

    # --- what holds it back ----------------------------------------------------------------

    def _is_held(self, caller: object, since: float) -> bool:
        now = self._machine.now()
        if reason := self._too_large():
            self._held[caller] = reason
            return now - since < PATIENCE_SECONDS
        if reason := self._too_busy():
            self._held[caller] = reason
            return now - since < LOADED_SECONDS
        if not self._requests or now < self._open_until:
            return False
        self._held[caller] = "a request is being answered"
        if now - since >= PATIENCE_SECONDS:
            self._open_until = now + OPEN_SECONDS
            return False
        return True

    def _too_busy(self) -> str:
        if self._hurries:
            return ""
        share = self._load.of_others(self._pids())
        if share <= self._limits().cpu_throttle_threshold:
            return ""
        return f"other programs use {share:.0%} of the processors".replace("%", " %")

    def _too_large(self) -> str:
        # Workers get smaller while the background waits. The server does not: it keeps memory that
        # a large answer took.
        least = max(self._limit - SERVER_BYTES, WORKER_BYTES)
        if not self._is_short() or self._workers_memory() <= least:
            return ""
        return f"memory: {self.memory() // MB} of {self._limit // MB} MB"

    def _is_short(self) -> bool:
        return self.memory() > self._limit

    @property
    def _limit(self) -> int:
        return self._limits().max_memory_usage_mb * MB

    def _server_memory(self) -> int:
        return max(self._machine.memory_of(os.getpid()), SERVER_BYTES)

    def _workers_memory(self) -> int:
        return sum(map(self._machine.memory_of, self._pids()))

    def _sum_memory(self) -> int:
        return self._machine.memory_of(os.getpid()) + self._workers_memory()


class _Load:
    """The load of the processors by other programs, between two measurements."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._looked = -LONGEST_LOAD_SECONDS
        self._total = self._busy = self._own = 0.0
        self._share = 0.0

    def of_others(self, workers: Sequence[int]) -> float:
        """Return the share of all processors that other programs use; 0 while unknown."""
        passed = self._machine.now() - self._looked
        if passed < LOAD_SECONDS:
            return self._share
        total, busy = self._machine.processor_seconds()
        own = self._machine.own_seconds(workers)
        others = (busy - self._busy) - max(own - self._own, 0.0)
        known = passed < LONGEST_LOAD_SECONDS and total > self._total
        self._share = min(max(others / (total - self._total), 0.0), 1.0) if known else 0.0
        self._looked = self._machine.now()
        self._total, self._busy, self._own = total, busy, own
        return self._share


class _Cached(Generic[T]):
    """The result of a function, cached for some seconds."""

    def __init__(self, machine: Machine, seconds: float, measure: Callable[[], T]) -> None:
        self._machine = machine
        self._seconds = seconds
        self._measure = measure
        self._known: tuple[float, T] | None = None

    def __call__(self) -> T:
        now = self._machine.now()
        if self._known is None or now - self._known[0] >= self._seconds:
            self._known = (now, self._measure())
        return self._known[1]
