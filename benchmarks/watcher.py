"""Measure the file watcher: startup, memory, delay of a change, and CPU time while idle.

    python benchmarks/watcher.py [FOLDER] [--idle SECONDS]

The peer is watchfiles with steps of 1 ms, which is as fast, and 50 ms, its default. FOLDER is the
kernel's source by default; nothing is written to it. The delay is the time from writing a file, in
a small folder, until the watcher reports it. Each row is measured in a new process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import corpora
from watchfiles._rust_notify import RustNotify

from winnow.index.watch.watcher import Watcher

CHANGES = 200


def resident() -> float:
    """Return the resident memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def idle_share(seconds: float) -> float:
    """Return the CPU usage of this process while it is idle, as a share of one core."""
    started = time.process_time()
    time.sleep(seconds)
    return (time.process_time() - started) / seconds


def show(title: str, start: float, memory: float, delays: list[float], idle: float) -> None:
    delays.sort()
    median, late = statistics.median(delays) * 1000, delays[len(delays) * 95 // 100] * 1000
    print(
        f"{title:18}{start * 1000:8.0f} ms{memory:8.1f} MB{median:9.2f} ms{late:9.2f} ms"
        f"{idle:10.3%}"
    )


async def ours(folder: Path, small: Path, idle: float) -> None:
    changed: set[str] = set()

    def watcher(root: Path) -> Watcher:
        return Watcher(root, changed.update, lambda: sys.exit("lost"), own=root / ".winnow")

    gc.collect()
    before, started = resident(), time.perf_counter()
    large_watcher = watcher(folder)
    assert await large_watcher.start(), large_watcher.reason
    startup, memory = time.perf_counter() - started, resident() - before
    small_watcher = watcher(small)
    assert await small_watcher.start(), small_watcher.reason
    delays = []
    for index in range(CHANGES):
        await asyncio.sleep(0.005)
        file = small / str(index)
        started = time.perf_counter()
        file.touch()
        assert await small_watcher.settle(1)
        assert str(file) in changed
        delays.append(time.perf_counter() - started)
    await asyncio.sleep(0.2)
    cpu_started = time.process_time()
    await asyncio.sleep(idle)
    show("winnow", startup, memory, delays, (time.process_time() - cpu_started) / idle)
    await asyncio.gather(large_watcher.aclose(), small_watcher.aclose())


def theirs(folder: Path, small: Path, idle: float, step_ms: int) -> None:
    def follow(events: RustNotify, changed: Callable[[set[tuple[int, str]]], None]) -> None:
        while isinstance(found := events.watch(step_ms, step_ms, 0, None), set):
            changed(found)

    def watch(root: Path, changed: Callable[[set[tuple[int, str]]], None]) -> None:
        events = RustNotify([str(root)], False, False, 0, True, True)
        threading.Thread(target=follow, args=(events, changed), daemon=True).start()

    gc.collect()
    before, started = resident(), time.perf_counter()
    watch(folder, lambda found: None)
    startup, memory = time.perf_counter() - started, resident() - before
    reported = threading.Event()
    watch(small, lambda found: reported.set())
    delays = []
    for index in range(CHANGES // 4):
        time.sleep(0.005)
        reported.clear()
        started = time.perf_counter()
        (small / str(index)).touch()
        assert reported.wait(1)
        delays.append(time.perf_counter() - started)
    show(f"watchfiles {step_ms} ms", startup, memory, delays, idle_share(idle))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--idle", type=float, default=10.0)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.folder or corpora.kernel()
    if arguments.row is None:
        print(f"{'':18}{'start':>11}{'memory':>11}{'delay':>12}{'p95':>12}{'idle CPU':>10}")
        for row in ("winnow", "1", "50"):
            command = [sys.executable, __file__, folder, "--idle", str(arguments.idle)]
            subprocess.run([*command, "--row", row], check=True)
        return
    with tempfile.TemporaryDirectory() as name:
        if arguments.row == "winnow":
            asyncio.run(ours(folder, Path(name), arguments.idle))
        else:
            theirs(folder, Path(name), arguments.idle, int(arguments.row))


if __name__ == "__main__":
    main()
