"""Compare `grep` over LSP with ripgrep, on the Linux kernel's source.

    python benchmarks/grep.py [--tree FOLDER] [--runs N]

Without --tree, the source comes from the Debian package linux-source-6.1 (78,000 files) and is
stored in $WINNOW_CORPORA or ~/.cache/winnow/corpora. Each row compares a request to a running
server with the equivalent run of ripgrep. Both run alternately, after one warm-up each. Prints
medians, and the median ratio of the pairs. The last row streams 100,000 matches and prints the
server's memory growth.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from corpora import kernel

from winnow.processes.programs import InstalledPrograms

RG = InstalledPrograms(os.environ, ()).ripgrep()
# Title, parameters of $/grep, arguments of ripgrep, and the maximum ratio.
ROWS: list[tuple[str, dict[str, Any], list[str], float]] = [
    ("first 50 of a common word", {"pattern": "return"}, ["--line-number", "return"], 0.05),
    ("first 50 of another word", {"pattern": "struct"}, ["--line-number", "struct"], 0.05),
    (
        "first 50, late in the tree",
        {"pattern": "static int"},
        ["--line-number", "static int"],
        float("inf"),
    ),
    (
        "count a common word",
        {"pattern": "return", "mode": "counts", "max_results": 50},
        ["--count-matches", "return"],
        1.15,
    ),
    (
        "count a rare word",
        {"pattern": "hystart_update", "mode": "counts", "max_results": 50},
        ["--count-matches", "hystart_update"],
        1.15,
    ),
    (
        "all matches of a rare word",
        {"pattern": "hystart_update"},
        ["--line-number", "--context=2", "hystart_update"],
        float("inf"),
    ),
    (
        "no match, two searches",
        {"pattern": "no_such_word_at_all"},
        ["--line-number", "no_such_word_at_all"],
        float("inf"),
    ),
]
STREAMED = 100_000
GROWTH_MIB = 30


class Server:
    """A running language server; requests go directly to its pipes."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "winnow", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._next = 0
        params: dict[str, Any] = {
            "processId": None,
            "rootUri": folder.as_uri(),
            "capabilities": {},
            "initializationOptions": {"index": {"enabled": False}},
        }
        self.request("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    def request(self, method: str, params: dict[str, Any]) -> tuple[Any, int]:
        """Return the result, and the number of matches that arrived as partial results."""
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        streamed = 0
        while True:
            message = self._receive()
            if message.get("id") == self._next:
                return message["result"], streamed
            if message.get("method") == "$/progress":
                streamed += len(message["params"]["value"]["matches"])

    def memory(self) -> float:
        """Return the resident memory, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def _receive(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))


def timed_request(server: Server, params: dict[str, Any]) -> float:
    started = time.perf_counter()
    server.request("$/grep", params)
    return time.perf_counter() - started


def timed_ripgrep(folder: Path, arguments: list[str]) -> float:
    started = time.perf_counter()
    command = [RG, "--no-config", "--no-require-git", *arguments, "."]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        while process.stdout.read(1 << 16):
            pass
    return time.perf_counter() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    tree = options.tree or kernel()
    version = subprocess.run([RG, "--version"], capture_output=True, text=True).stdout.split()[1]
    print(f"{tree.name}, ripgrep {version}, {os.cpu_count()} cores, median of {options.runs} runs")
    print(f"{'':30}{'$/grep':>10}{'rg':>10}{'ratio':>8}{'at most':>9}  total")
    server = Server(tree)
    failed = False
    for title, params, arguments, limit in ROWS:
        timed_ripgrep(tree, arguments), timed_request(server, params)
        pairs = [
            (timed_request(server, params), timed_ripgrep(tree, arguments))
            for _ in range(options.runs)
        ]
        ours, theirs = (statistics.median(column) * 1000 for column in zip(*pairs, strict=True))
        ratio = statistics.median(a / b for a, b in pairs)
        failed |= ratio > limit
        result, _ = server.request("$/grep", params)
        total = f"{'>= ' * result.get('total_is_lower_bound', False)}{result['total_matches']}"
        bound = "" if limit == float("inf") else f"{limit:.2f}x"
        print(f"{title:30}{ours:7.1f} ms{theirs:7.1f} ms{ratio:7.3f}x{bound:>8}  {total}")
    before = server.memory()
    params = {"pattern": "return", "max_results": STREAMED, "partialResultToken": "stream"}
    started = time.perf_counter()
    _, streamed = server.request("$/grep", params)
    seconds = time.perf_counter() - started
    peak = int(
        Path(f"/proc/{server.process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    )
    growth = peak / 1024 - before
    failed |= growth > GROWTH_MIB or streamed != STREAMED
    print(
        f"{streamed:,} matches streamed in {seconds:.1f} s: resident memory {before:.0f} MiB,"
        f" at most {growth:.1f} MiB more (limit {GROWTH_MIB})"
    )
    server.process.kill()
    return failed


if __name__ == "__main__":
    sys.exit(main())
