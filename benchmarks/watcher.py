"""The watcher: what it takes to begin, to learn that all has been told, and to wait; beside
watchfiles with a step of 1 ms, which is as quick, and of 50 ms, which is its default.

    python benchmarks/watcher.py [FOLDER] [--idle SECONDS]

The folder is the kernel's source if none is given; nothing is written into it. The delay is that
between a write to a file, in a small folder, and its being told. Each row is a process of its own.
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
    """MB of this process's own memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def idle_share(seconds: float) -> float:
    """The part of a processor that this process takes while nothing happens."""
    began = time.process_time()
    time.sleep(seconds)
    return (time.process_time() - began) / seconds


def show(title: str, begin: float, memory: float, delays: list[float], idle: float) -> None:
    delays.sort()
    middle, late = statistics.median(delays) * 1000, delays[len(delays) * 95 // 100] * 1000
    print(
        f"{title:18}{begin * 1000:8.0f} ms{memory:8.1f} MB{middle:9.2f} ms{late:9.2f} ms"
        f"{idle:10.3%}"
    )


async def ours(folder: Path, small: Path, idle: float) -> None:
    told: set[str] = set()

    def watcher(root: Path) -> Watcher:
        return Watcher(root, told.update, lambda: sys.exit("lost"), own=root / ".winnow")

    gc.collect()
    before, began = resident(), time.perf_counter()
    large = watcher(folder)
    assert await large.start(), large.reason
    begin, memory = time.perf_counter() - began, resident() - before
    quick = watcher(small)
    assert await quick.start(), quick.reason
    delays = []
    for index in range(CHANGES):
        await asyncio.sleep(0.005)
        file = small / str(index)
        began = time.perf_counter()
        file.touch()
        assert await quick.settle(1)
        assert str(file) in told
        delays.append(time.perf_counter() - began)
    await asyncio.sleep(0.2)
    began_at = time.process_time()
    await asyncio.sleep(idle)
    show("winnow", begin, memory, delays, (time.process_time() - began_at) / idle)
    await asyncio.gather(large.aclose(), quick.aclose())


def theirs(folder: Path, small: Path, idle: float, step_ms: int) -> None:
    def follow(events: RustNotify, changed: Callable[[set[tuple[int, str]]], None]) -> None:
        while isinstance(found := events.watch(step_ms, step_ms, 0, None), set):
            changed(found)

    def watch(root: Path, changed: Callable[[set[tuple[int, str]]], None]) -> None:
        events = RustNotify([str(root)], False, False, 0, True, True)
        threading.Thread(target=follow, args=(events, changed), daemon=True).start()

    gc.collect()
    before, began = resident(), time.perf_counter()
    watch(folder, lambda found: None)
    begin, memory = time.perf_counter() - began, resident() - before
    heard = threading.Event()
    watch(small, lambda found: heard.set())
    delays = []
    for index in range(CHANGES // 4):
        time.sleep(0.005)
        heard.clear()
        began = time.perf_counter()
        (small / str(index)).touch()
        assert heard.wait(1)
        delays.append(time.perf_counter() - began)
    show(f"watchfiles {step_ms} ms", begin, memory, delays, idle_share(idle))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--idle", type=float, default=10.0)
    parser.add_argument("--row", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.folder or corpora.kernel()
    if arguments.row is None:
        print(f"{'':18}{'begin':>11}{'memory':>11}{'delay':>12}{'p95':>12}{'idle CPU':>10}")
        for row in ("winnow", "1", "50"):
            again = [sys.executable, __file__, folder, "--idle", str(arguments.idle), "--row", row]
            subprocess.run(again, check=True)
        return
    with tempfile.TemporaryDirectory() as name:
        if arguments.row == "winnow":
            asyncio.run(ours(folder, Path(name), arguments.idle))
        else:
            theirs(folder, Path(name), arguments.idle, int(arguments.row))


if __name__ == "__main__":
    main()
