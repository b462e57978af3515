"""What keeps the background from running away with the machine: whether it may go on, how wide, and
with how much memory.

The workers ask before each batch (:class:`winnow.processes.workers.Regulator`). They have a low priority
beside that, which is not enough: it says nothing of memory, and is worth nothing beside programs
that have given way as well.

Only a pause stops the background for good. Under load, without memory, or while requests come
without an end, a batch still begins now and then: else there would never be an index on a machine
that is always busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Literal, TypeVar

from winnow.config import IndexSettings
from winnow.index.build.workers import TIMES_TEXT
from winnow.processes.memory import anonymous_bytes
from winnow.processes.workers import FEW_CORES, workers_for

T = TypeVar("T")
State = Literal["running", "paused", "throttled"]

MB = 1_000_000
POLL_SECONDS = 0.05
# A batch takes some 30 ms. Under load, one may begin in so many seconds.
LOADED_SECONDS = 0.25
# For memory and for requests the background waits so long in a row, and then for requests not at
# all for a while.
PATIENCE_SECONDS = 2.0
OPEN_SECONDS = 0.5
# The kernel counts the use of processors in steps of 10 ms. A look that is older than the longest
# says nothing of now.
LOAD_SECONDS = 0.5
LONGEST_LOAD_SECONDS = 5.0
MEMORY_SECONDS = 0.1
BATTERY_SECONDS = 30.0
# What the server itself has while it makes an index, or comes to have, and a worker that has just
# begun its work.
SERVER_BYTES = 100 * MB
WORKER_BYTES = 40 * MB
# Workers are given this part of the limit: what the last batch of one takes is seen after it.
GIVEN_SHARE = 0.9
# What the server and workers that have begun may have of the limit before there is one worker less:
# what they have is looked at now and then, and at the end of an index the server takes more.
WORKERS_SHARE = 0.95
# What the server has for each file of a tree while it is indexed (470 where the kernel's 78,000
# are), and a worker that has yet to parse.
FILE_BYTES = 500
FRESH_BYTES = 30 * MB
# The largest file that is parsed may have this part of the limit at most, since its answer has four
# times its bytes, of which the server holds three copies for a moment; and this part at least.
PARSED_SHARE, LEAST_SHARE = 0.0045, 0.0015


def most_parsed(limits: IndexSettings, files: int) -> int:
    """The bytes of the largest file whose symbols can be taken within the limit of memory, in a
    tree of so many files."""
    limit = limits.max_memory_usage_mb * MB
    room = limit - SERVER_BYTES - FILE_BYTES * files - FRESH_BYTES
    return round(max(min(room / TIMES_TEXT, PARSED_SHARE * limit), LEAST_SHARE * limit))


class Machine:
    """What is measured; apart, so that a test can be another machine."""

    def __init__(self) -> None:
        self.cores = os.cpu_count() or FEW_CORES

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def processor_seconds(self) -> tuple[float, float]:
        """Seconds of all processors since some moment: how many there were, and in how many some
        program was run."""
        import psutil

        times = psutil.cpu_times()._asdict()
        # What a guest had is in `user` and `nice` already.
        total = sum(times.values()) - times.get("guest", 0.0) - times.get("guest_nice", 0.0)
        return total, total - times["idle"] - times.get("iowait", 0.0)

    def own_seconds(self, workers: Sequence[int]) -> float:
        """Seconds of processors that the server, its workers, and what they have started had."""
        import psutil

        own = 0.0
        for pid in (os.getpid(), *workers):
            with contextlib.suppress(psutil.Error):
                own += sum(psutil.Process(pid).cpu_times()[:4])
        return own

    def memory_of(self, pid: int) -> int:
        """The anonymous memory of a process in bytes."""
        return anonymous_bytes(pid)

    def is_on_battery(self) -> bool:
        """Whether the machine runs on a battery."""
        import psutil

        try:
            battery = psutil.sensors_battery()
        except (AttributeError, OSError, RuntimeError):  # the system does not tell
            return False
        return battery is not None and battery.power_plugged is False


class Throttle:
    """Lets the background go on, or not; a :class:`winnow.processes.workers.Regulator`.

    ``limits`` gives the settings that hold now, ``pids`` the processes of all workers.
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
        self._hurries = 0
        self._open_until = 0.0
        self._held: dict[object, str] = {}  # who waits for a turn, and why

    def pause(self) -> None:
        """Let nothing begin until :meth:`resume`. What has begun is finished."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    @contextlib.contextmanager
    def requests(self) -> Iterator[None]:
        """While the block lasts a request is answered, and the background waits."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1

    @contextlib.contextmanager
    def hurry(self) -> Iterator[None]:
        """While the block lasts somebody waits for the work: other programs' use of the processors
        does not hold it back, beside its low priority."""
        self._hurries += 1
        try:
            yield
        finally:
            self._hurries -= 1

    @property
    def state(self) -> State:
        """Whether work of the background is held back now."""
        if self._paused:
            return "paused"
        return "throttled" if self._held else "running"

    @property
    def reason(self) -> str:
        """Why it is held back, in words; empty if it is not."""
        return "somebody has paused it" if self._paused else next(iter(self._held.values()), "")

    def memory(self) -> int:
        """The anonymous memory of the server and its workers, in bytes, a moment ago at most."""
        return self._memory()

    # --- as a regulator --------------------------------------------------------------------

    async def turn(self) -> None:
        """Wait until one more batch of the background may begin."""
        caller = object()
        since = self._machine.now()
        try:
            # Most of what it waits for is measured: nobody tells.
            while self._paused or self._is_held(caller, since):  # noqa: ASYNC110
                await asyncio.sleep(POLL_SECONDS)
        finally:
            self._held.pop(caller, None)

    def workers(self) -> int:
        """How many workers may have batches of the background now."""
        if self._is_short() or self._battery():
            return 1
        room = (int(self._limit * WORKERS_SHARE) - self._server()) // WORKER_BYTES
        return max(1, min(workers_for(self._machine.cores), room))

    def worker_bytes(self, *, alone: bool = False) -> int:
        """How much memory a worker may have now, or the only one."""
        if self._is_short():
            return WORKER_BYTES
        given = int(self._limit * GIVEN_SHARE) - self._server()
        return max(given if alone else given // self.workers(), WORKER_BYTES)

    def left_bytes(self) -> int:
        """How much memory is left for the server and its workers."""
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
        if not self._is_short():
            return ""
        return f"memory: {self.memory() // MB} of {self._limit // MB} MB"

    def _is_short(self) -> bool:
        return self.memory() > self._limit

    @property
    def _limit(self) -> int:
        return self._limits().max_memory_usage_mb * MB

    def _server_memory(self) -> int:
        return max(self._machine.memory_of(os.getpid()), SERVER_BYTES)

    def _sum_memory(self) -> int:
        return sum(map(self._machine.memory_of, (os.getpid(), *self._pids())))


class _Load:
    """How busy the processors are with what is not ours, between two looks."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._looked = -LONGEST_LOAD_SECONDS
        self._total = self._busy = self._own = 0.0
        self._share = 0.0

    def of_others(self, workers: Sequence[int]) -> float:
        """The part of all processors that other programs use; 0 as long as it is not known."""
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
    """What a function gives, for some seconds."""

    def __init__(self, machine: Machine, seconds: float, take: Callable[[], T]) -> None:
        self._machine = machine
        self._seconds = seconds
        self._take = take
        self._known: tuple[float, T] | None = None

    def __call__(self) -> T:
        now = self._machine.now()
        if self._known is None or now - self._known[0] >= self._seconds:
            self._known = (now, self._take())
        return self._known[1]
