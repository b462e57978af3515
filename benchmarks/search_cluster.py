"""Push source trees into a search cluster of three nodes on this machine, and search them.

    python benchmarks/search_cluster.py FOLDER [FOLDER...] [--questions 60]

`push` is the rate of the first push, of the text of the files; `again` is the time of a push
without changes. `size` is what a copy takes on disk; there are two. `query` is the complete time of
`grep` with `repositories`, in a workspace without files: a word, a part of a line, or a regular
expression from the trees. The cluster gets 20 seconds instead of 300 ms, and `late` counts the
answers that took longer than 300 ms. Needs OpenSearch, see install_cluster in scripts/environment.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from cluster.nodes import DATA_NODES, MANAGER, Cluster, installed, pushed  # noqa: E402
from winnow.config import Config  # noqa: E402
from winnow.tools.grep import GrepParams, grep  # noqa: E402
from winnow.types import no_progress  # noqa: E402
from winnow.workspace import EngineWorkspace  # noqa: E402

LIMIT = 0.3


def patterns(folders: Sequence[Path], count: int) -> list[str]:
    """Return regular expressions from lines of the folders' files."""
    chance = random.Random(29)
    files = sorted(file for folder in folders for file in folder.rglob("*.[pcjt][ys]*"))
    found: list[str] = []
    while len(found) < count:
        lines = chance.choice(files).read_text("utf-8", "replace").split("\n")
        line = chance.choice(lines).strip()
        words = re.findall(r"\w{4,}", line)
        if words:
            word = chance.choice(words)
            kinds = (word, re.escape(line[:40]), rf"\b{word}\w*\(")
            found.append(kinds[len(found) % len(kinds)])
    return found


async def push_all(cluster: Cluster, folders: Sequence[Path]) -> None:
    """Push each folder, and print a line for it."""
    for folder in folders:
        start = time.monotonic()
        done = await pushed(cluster, folder, f"team/{folder.name}")
        first = time.monotonic() - start
        start = time.monotonic()
        await pushed(cluster, folder, f"team/{folder.name}", "c2")
        again = time.monotonic() - start
        size = done.branch.bytes / 1e6
        print(
            f"{folder.name}: {done.branch.files:,} files, {size:.1f} MB, push {size / first:.2f}"
            f" MB/s ({done.written.bytes / 1e6:.1f} MB sent), again {again:.1f} s"
        )


async def ask(cluster: Cluster, questions: Sequence[str]) -> list[float]:
    """Return the seconds of each search."""
    times = []
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        config = Config(cluster=cluster.settings())
        environment = {**os.environ, "HOME": home}
        workspace = EngineWorkspace([Path(folder)], config, environment)
        for pattern in [questions[0], *questions]:
            params = GrepParams(pattern=pattern, repositories=["*"])
            start = time.monotonic()
            await grep.run(workspace, params, no_progress)
            times.append(time.monotonic() - start)
        await workspace.aclose()
    return sorted(times[1:])


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    software = installed()
    if software is None:
        print("OpenSearch or Java is not installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(software, Path(folder))
        start = time.monotonic()
        cluster.start(*DATA_NODES, MANAGER)
        try:
            cluster.wait()
            print(f"three nodes ready after {time.monotonic() - start:.1f} s")
            asyncio.run(push_all(cluster, options.folders))
            stats = cluster.request("GET", "/_stats/store")["_all"]["primaries"]["store"]
            print(f"size of a copy: {stats['size_in_bytes'] / 1e6:.1f} MB")
            times = asyncio.run(ask(cluster, patterns(options.folders, options.questions)))
            late = sum(seconds > LIMIT for seconds in times)
            print(
                f"query: p50 {1000 * statistics.median(times):.0f} ms, p95"
                f" {1000 * times[int(0.95 * len(times))]:.0f} ms, late {late} of {len(times)}"
            )
            memory = cluster.memory()
            print(", ".join(f"node {name}: {size / 1e6:.0f} MB" for name, size in memory.items()))
        finally:
            cluster.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
