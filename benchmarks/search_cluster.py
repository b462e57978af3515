"""Push source trees into a search cluster of three nodes on this machine, and search them.

    python benchmarks/search_cluster.py FOLDER [FOLDER...] [--questions 60]
    python benchmarks/search_cluster.py FOLDER [FOLDER...] --growth 25 100 500

`push` is the rate of the first push, of the text of the files; `again` is the time of a push
without changes. `size` is what a copy takes on disk; there are two. `query` is the complete time of
`grep` with `repositories`, in a workspace without files: a word, a part of a line, or a regular
expression from the trees. The cluster gets 20 seconds instead of 300 ms, and `late` counts the
answers that took longer than 300 ms.

`--growth` pushes files of each folder, up to `--bytes` of text, and copies of them in which a third
of the identifiers differ. At each number of repositories, it asks the same questions of the cluster
and of a local index of the same files: with `grep` and with `semantic_search`, without vectors. All
pushes use the same workers: starting them takes longer than pushing a small repository.

Needs OpenSearch, see install_cluster in scripts/environment.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import statistics
import string
import sys
import tempfile
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from unittest import mock

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))

from cluster.nodes import DATA_NODES, MANAGER, Cluster, installed, pushed  # noqa: E402
from winnow.config import Config, IndexSettings, LearningSettings  # noqa: E402
from winnow.index.builder.workers import IndexWorkers  # noqa: E402
from winnow.processes.children import Processes  # noqa: E402
from winnow.search.shared import push as push_module  # noqa: E402
from winnow.tools.grep import GrepParams, grep  # noqa: E402
from winnow.tools.semantic_search import SemanticSearchParams, semantic_search  # noqa: E402
from winnow.types import no_progress  # noqa: E402
from winnow.workspace import EngineWorkspace  # noqa: E402

LIMIT = 0.3
# Files that a copy may have: texts of a usual size.
SMALLEST, LARGEST = 200, 40_000
IDENTIFIER = re.compile(r"[A-Za-z_]\w{5,}")


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


# --- growth --------------------------------------------------------------------------------


def sample_of(folder: Path, most: int) -> dict[str, str]:
    """Return files of a folder with at most this many bytes of text, by their paths."""
    files = [
        (path.relative_to(folder).as_posix(), path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.parts)
    ]
    random.Random(29).shuffle(files)
    found: dict[str, str] = {}
    for name, size in files:
        if SMALLEST <= size <= min(LARGEST, most):
            with contextlib.suppress(UnicodeDecodeError):
                found[name] = (folder / name).read_bytes().decode("utf-8")
                most -= size
    return found


def altered(text: str, number: int) -> str:
    """Return a text in which every third identifier has a part of its own."""
    letters = string.ascii_lowercase
    suffix = f"Q{letters[number // 26 % 26]}{letters[number % 26]}"

    def other(found: re.Match[str]) -> str:
        word = found[0]
        return word if zlib.crc32(word.encode()) % 3 else word + suffix

    return IDENTIFIER.sub(other, text)


def write_repository(top: Path, number: int, samples: Sequence[dict[str, str]]) -> Path:
    """Write a repository: one of the samples, or a copy of one."""
    copy, place = divmod(number, len(samples))
    folder = top / f"r{number:03}"
    for name, text in samples[place].items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(altered(text, number) if copy else text, "utf-8")
    return folder


async def timed(ask: Callable[[str], Awaitable[object]], questions: Sequence[str]) -> str:
    """Return the median and the 95th percentile of the times of searches, as text."""
    await ask(questions[0])
    times = []
    for question in questions:
        start = time.monotonic()
        await ask(question)
        times.append(time.monotonic() - start)
    times.sort()
    p50, p95 = statistics.median(times), times[int(0.95 * len(times))]
    return f"p50 {1000 * p50:.0f} ms, p95 {1000 * p95:.0f} ms"


@contextlib.contextmanager
def running_cluster() -> Iterator[tuple[Cluster, Path]]:
    """Start a cluster; return it with a folder that is deleted when it is stopped."""
    software = installed()
    if software is None:
        raise SystemExit("OpenSearch or Java is not installed")
    with tempfile.TemporaryDirectory() as name:
        cluster = Cluster(software, Path(name, "cluster"))
        start = time.monotonic()
        try:
            cluster.start(*DATA_NODES, MANAGER)
            cluster.wait()
            print(f"three nodes ready after {time.monotonic() - start:.1f} s", flush=True)
            yield cluster, Path(name)
        finally:
            cluster.stop()


@contextlib.asynccontextmanager
async def opened(folder: Path, home: Path, config: Config) -> AsyncIterator[EngineWorkspace]:
    """Open a workspace whose index has no vectors."""
    config = msgspec.structs.replace(
        config,
        index=IndexSettings(embeddings="off"),
        learning=LearningSettings(enabled=False),
    )
    workspace = EngineWorkspace([folder], config, {**os.environ, "HOME": str(home)})
    try:
        yield workspace
    finally:
        await workspace.aclose()


async def measure(cluster: Cluster, top: Path, home: Path, questions: Sequence[str]) -> None:
    """Print the times of searches in the cluster and in a local index of the same files."""
    empty = home / "empty"
    empty.mkdir(exist_ok=True)
    shared = Config(cluster=cluster.settings())
    for where, folder, config in (("cluster", empty, shared), ("local", top, Config())):
        names = ["*"] if where == "cluster" else []
        start = time.monotonic()
        async with opened(folder, home, config) as workspace:

            async def find(text: str, workspace: EngineWorkspace = workspace) -> None:
                params = GrepParams(pattern=text, repositories=names)  # noqa: B023
                await grep.run(workspace, params, no_progress)

            async def rank(text: str, workspace: EngineWorkspace = workspace) -> None:
                words = " ".join(re.findall(r"\w{3,}", text)) or text
                params = SemanticSearchParams(query=words, repositories=names)  # noqa: B023
                await semantic_search.run(workspace, params, no_progress)

            await rank("index")
            built = time.monotonic() - start
            found, ranked = await timed(find, questions), await timed(rank, questions)
        more = f", index {built:.0f} s" if where == "local" else ""
        print(f"  {where}: grep {found}; semantic_search {ranked}{more}", flush=True)


class KeptWorkers(IndexWorkers):
    """Workers that do not end with a push."""

    async def aclose(self) -> None:
        """Do nothing."""

    async def end(self) -> None:
        """End the workers."""
        await super().aclose()


async def grow(cluster: Cluster, top: Path, options: argparse.Namespace) -> None:
    """Push ever more repositories, and measure at each number of them."""
    workers = KeptWorkers(Processes(), os.environ)
    with mock.patch.object(push_module, "IndexWorkers", return_value=workers):
        await _grow(cluster, top, options)
    await workers.end()


async def _grow(cluster: Cluster, top: Path, options: argparse.Namespace) -> None:
    samples = [sample_of(folder, options.bytes) for folder in options.folders]
    home = top.parent / "home"
    home.mkdir()
    (top / ".git").mkdir(parents=True)
    questions: list[str] = []
    written, count, pushing = 0, 0, 0.0
    for number in range(max(options.growth)):
        folder = write_repository(top, number, samples)
        # Otherwise it is a folder of the repository around it, as in the local index.
        (folder / ".git").mkdir()
        start = time.monotonic()
        done = await pushed(cluster, folder, f"team/{folder.name}")
        pushing += time.monotonic() - start
        (folder / ".git").rmdir()
        written += done.branch.bytes
        if number + 1 == len(samples):
            questions = patterns([top], options.questions)
        if (count := number + 1) in options.growth:
            cluster.request("POST", "/_refresh")
            stats = cluster.request("GET", "/_stats/store")["_all"]["primaries"]["store"]
            size, memory = stats["size_in_bytes"], cluster.memory()
            print(
                f"{count} repositories, {written / 1e6:.1f} MB of text: pushed at"
                f" {written / 1e6 / pushing:.2f} MB/s, {size / 1e6:.1f} MB per copy, nodes "
                + ", ".join(f"{used / 1e6:.0f}" for used in memory.values())
                + " MB",
                flush=True,
            )
            await measure(cluster, top, home, questions)
            local = sum(file.stat().st_size for file in (top / ".winnow").rglob("*"))
            print(f"  local index: {local / 1e6:.1f} MB", flush=True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--growth", nargs="+", type=int, metavar="REPOSITORIES")
    parser.add_argument("--bytes", type=int, default=100_000, help="text of a repository to push")
    options = parser.parse_args()
    with running_cluster() as (cluster, folder):
        if options.growth:
            asyncio.run(grow(cluster, folder / "repositories", options))
            return
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


if __name__ == "__main__":
    main()
