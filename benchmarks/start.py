"""Compare startup times with a bare pygls server (`initialize`) and bare Python (command line).

    python benchmarks/start.py [--runs N]

Both commands run alternately, after one warm-up each. The table has medians, and the median ratio
of the pairs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BARE = """
from pygls.lsp.server import LanguageServer
LanguageServer("bare", "1").start_io()
"""
WINNOW = [sys.executable, "-m", "winnow"]


def initialize(command: list[str], folder: Path) -> float:
    """Return the seconds from the start of a server to its answer to `initialize`."""
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        params: dict[str, Any] = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        body = json.dumps(message).encode()
        process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        process.stdin.flush()
        process.stdout.readline()
        seconds = time.perf_counter() - started
        process.kill()
    return seconds


def run(command: list[str], folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


Timed = Callable[[list[str], Path], float]
ROWS: list[tuple[str, Timed, list[str], list[str]]] = [
    ("initialize / bare pygls", initialize, [*WINNOW, "serve"], [sys.executable, "-c", BARE]),
    ("winnow --help / python -c pass", run, [*WINNOW, "--help"], [sys.executable, "-c", "pass"]),
    (
        "keyword-search / python -c pass",
        run,
        [*WINNOW, "keyword-search", "where is the needle", "needle"],
        [sys.executable, "-c", "pass"],
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    runs = parser.parse_args().runs
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, median of {runs} runs")
    print(f"{'':34}{'winnow':>9}{'peer':>9}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "a.py").write_text("needle\n")
        for title, timed, ours, theirs in ROWS:
            timed(ours, folder), timed(theirs, folder)
            pairs = [(timed(ours, folder), timed(theirs, folder)) for _ in range(runs)]
            mine, peer = (statistics.median(column) for column in zip(*pairs, strict=True))
            ratio = statistics.median(a / b for a, b in pairs)
            print(f"{title:34}{mine * 1000:6.0f} ms{peer * 1000:6.0f} ms{ratio:7.2f}x")


if __name__ == "__main__":
    main()
