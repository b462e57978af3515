"""Measure the startup of `winnow mcp`, from the start of the process to its answers.

    python benchmarks/mcp_start.py [FOLDER] [--runs N]

Prints medians after one warm-up: the time until the answer to `initialize`, until the answer to the
first tool call (sent right after it), and from the end of the input to the end of the process. The
call is a `grep` in FOLDER, or in a temporary folder with one file.
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
from pathlib import Path
from typing import Any

COMMAND = [sys.executable, "-m", "winnow", "mcp", "--tools", "all"]
LIMIT_MS = 1000


def seconds(folder: Path) -> tuple[float, float, float]:
    """Start one server; return the times to `initialize`, to the tool's answer, and to its end."""
    started = time.perf_counter()
    with subprocess.Popen(
        COMMAND, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        client = {"name": "benchmark", "version": "1"}
        version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        for message in (
            {"id": 1, "method": "initialize", "params": version},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": {"name": "grep", "arguments": GREP}},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        process.stdin.flush()
        _answer(process.stdout.readline(), 1)
        first = time.perf_counter() - started
        found = _answer(process.stdout.readline(), 2)
        called = time.perf_counter() - started
        assert not found["isError"], found
        ended = time.perf_counter()
        process.stdin.close()
        assert process.wait() == 0
        return first, called, time.perf_counter() - ended


GREP = {"pattern": "needle", "max_results": 5}


def _answer(line: bytes, number: int) -> Any:
    message = json.loads(line)
    assert message["id"] == number, message
    return message["result"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        Path(name, "a.py").write_text("needle\n")
        folder = options.folder or Path(name)
        seconds(folder)
        runs = [seconds(folder) for _ in range(options.runs)]
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores, median of {len(runs)} runs")
    print(f"{'winnow mcp':26}{'median':>9}{'slowest':>10}")
    for title, column in zip(
        ("initialize", "first answer of a tool", "end"), zip(*runs, strict=True), strict=True
    ):
        middle, most = 1000 * statistics.median(column), 1000 * max(column)
        limit = f"   limit {LIMIT_MS} ms" if title.startswith("first") else ""
        print(f"{title:26}{middle:6.0f} ms{most:7.0f} ms{limit}")


if __name__ == "__main__":
    main()
