"""Measure the peak memory of the server and its workers together while they build an index.

    python benchmarks/memory.py [--tree FOLDER …] [--limit MB] [--queries N]

Without --tree, uses Django 5.1.4 (see corpora.py). Each tree is copied into a temporary folder
without its `.winnow`, and a server builds a new index. Every 50 ms, the anonymous memory of the
server and its children is read from /proc (`RssAnon`, Linux only). The columns are the peaks of all
processes together, of the server, and of the largest child, in MB (1,000,000 bytes); the number of
children at once and in total; the seconds from `initialized` to the end of the progress; and the
CPU seconds, which depend less on other programs.

With --queries, a second line measures the same server right afterwards, while it answers the
queries of text_index.py: for all matching files, and for the first matches. At the same time, it
loads the names of all definitions, which symbol searches need in memory.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import corpora
from language_client import Client, anonymous_memory, children

WINNOW = [sys.executable, "-m", "winnow", "serve"]
SAMPLE_SECONDS = 0.05
# Indexing the kernel's source can take very long on a busy machine.
BUILD_SECONDS = 3 * 3600.0
# Lifts all limits except the memory limit.
SETTINGS = """
[index]
max_files = 1_000_000
max_index_size_mb = 100_000
cpu_throttle_threshold = 1
max_memory_usage_mb = {}
"""


class Peaks:
    """The peak memory, in MB, of a server, of its largest child, and of all processes together,
    measured until the end of the ``with`` block."""

    def __init__(self, server: int) -> None:
        self.server = 0.0
        self.child = 0.0
        self.together = 0.0
        self.at_once = 0
        self.children: set[int] = set()
        self._pid = server
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Peaks:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            try:
                server = anonymous_memory(self._pid)
                alive = children(self._pid)
            except (OSError, IndexError):  # a thread of the server, or the server, has ended
                continue
            each = {pid: memory for pid in alive if (memory := self._memory_of(pid))}
            self.server = max(self.server, server)
            self.child = max([self.child, *each.values()])
            self.together = max(self.together, server + sum(each.values()))
            self.at_once = max(self.at_once, len(each))
            self.children |= each.keys()

    def _memory_of(self, child: int) -> float:
        """Return the memory of a child; 0 if it has ended or has not called exec yet, because
        until then it shares the server's memory."""
        try:
            memory = anonymous_memory(child)
            return memory if _command(child) != _command(self._pid) else 0.0
        except (OSError, IndexError):
            return 0.0


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def run_queries(client: Client, tree: Path, count: int) -> float:
    """Run each query for all files and for the first matches; return the total seconds."""
    # Not at the top: text_index imports this module.
    from text_index import drawn, files_of, listing

    started = time.perf_counter()
    for params in drawn(files_of(tree), count, random.Random(1)):
        client.request("$/grep", listing(params))
        client.request("$/grep", params)
    return time.perf_counter() - started


def figures(peaks: Peaks) -> str:
    """Format the columns for memory and children."""
    memory = (peaks.together, peaks.server, peaks.child)
    return (
        "".join(f"{peak:10.0f}" for peak in memory) + f"{peaks.at_once:10}{len(peaks.children):10}"
    )


def measure(tree: Path, folder: Path, limit: int, queries: int) -> list[str]:
    """Measure one tree and return the lines of the table."""
    copy = folder / "tree"
    shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".winnow"))
    settings = folder / "config.toml"
    settings.write_text(SETTINGS.format(limit))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    client = Client(WINNOW, copy, {**os.environ, "WINNOW_CONFIG": str(settings)})
    query_lines = []
    try:
        with Peaks(client.process.pid) as built:
            seconds = client.wait_for_progress(BUILD_SECONDS)
        if queries:
            with Peaks(client.process.pid) as peaks:
                query_seconds = run_queries(client, copy, queries)
            query_lines = [f"{f'  {queries} queries':24}{figures(peaks)}{query_seconds:10.1f}"]
    finally:
        client.stop()
        shutil.rmtree(copy)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [f"{tree.name[:24]:24}{figures(built)}{seconds:10.1f}{cpu:10.1f}", *query_lines]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, action="append", help="a folder to index; repeatable")
    parser.add_argument("--limit", type=int, default=200, help="index.max_memory_usage_mb")
    parser.add_argument(
        "--queries", type=int, default=0, help="number of queries to run after indexing"
    )
    options = parser.parse_args(arguments)
    trees = [tree.resolve() for tree in options.tree or [corpora.django()]]
    titles = ("together", "server", "child", "at once", "in total", "s", "CPU s")
    machine = f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    print(f"Python {sys.version.split()[0]}, {machine}, limit {options.limit} MB")
    print(f"{'':24}" + "".join(f"{title:>10}" for title in titles))
    for tree in trees:
        with tempfile.TemporaryDirectory() as folder:
            lines = measure(tree, Path(folder).resolve(), options.limit, options.queries)
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
