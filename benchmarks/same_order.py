"""Check that answers depend on the files alone, not on how their index was built.

    python benchmarks/same_order.py REPOSITORY… [--commits N] [--builds N] [--queries N]

A REPOSITORY is a git repository, bare or not, with at least N + 1 commits on its current branch.
One copy of it is indexed N commits ago, and follows the commits one by one, with a search after
each. The newest commit is indexed in other copies from scratch. Then all copies answer the same
queries: the subjects of the newest commits before those, as questions, and the words in capital
letters or with several parts in them, as names. Two answers are equal if their 20 results have the
same places, scores and reasons, in the same order. Prints the number of queries whose answers
differ, and exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from winnow.config import Config, IndexSettings
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

# A result without what may differ: its root, and how long ago something was indexed.
Answer = list[tuple[object, ...]]


def git(folder: Path, *arguments: str) -> str:
    """Return the output of git in a folder."""
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def queries_of(repository: Path, commits: int, count: int) -> list[str]:
    """Return queries from the subjects of the commits before the newest."""
    subjects = git(repository, "log", f"--skip={commits}", f"-{20 * count}", "--format=%s")
    found: dict[str, None] = {}
    for subject in subjects.splitlines():
        text = re.sub(r"\(#\d+\)|#\d+", "", subject).strip()
        if len(text.split()) > 2 and not text.startswith("Merge"):
            found[text] = None
        for name in re.findall(r"\b(?:[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)\b", text):
            found[name] = None
        if len(found) >= count:
            break
    return list(found)[:count]


class Copy:
    """A checkout with an index."""

    def __init__(self, repository: Path, folder: Path, commit: str) -> None:
        self.folder = folder
        git(repository, "clone", "--quiet", "--no-checkout", str(repository), str(folder))
        git(folder, "checkout", "--quiet", commit)
        # A user of its own: an index would adopt what the same user has indexed elsewhere.
        homes = {name: f"{folder}-{name}" for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
        # Histories are read in the background, which may end after the first query.
        settings = IndexSettings(cpu_throttle_threshold=1.0, commit_history=False)
        self.workspace = EngineWorkspace(
            [folder], Config(index=settings), environment={**os.environ, **homes}
        )

    async def build(self) -> None:
        self.workspace.index.enable_watching()
        await self.workspace.index.build()

    async def answer(self, query: str) -> Answer:
        """Return the results for a query, from an index that knows all changes."""
        while True:
            params = {"query": query, "limit": 20}
            result = await TOOLS["code_search"].call(self.workspace, params, no_progress)
            assert isinstance(result, CodeSearchResult)
            index = result.completeness.index
            if index is None or index.state == "ready":
                rows = msgspec.to_builtins(result.results)
                return [tuple(sorted((k, json.dumps(v)) for k, v in row.items())) for row in rows]
            await asyncio.sleep(0.05)

    async def follow(self, commits: Sequence[str], query: str) -> None:
        """Check out commits one after another; after each, ask a query."""
        for commit in commits:
            git(self.folder, "checkout", "--quiet", commit)
            await self.answer(query)


async def compare(repository: Path, commits: int, builds: int, count: int, folder: Path) -> int:
    """Print how many answers differ, and return their number."""
    queries = queries_of(repository, commits, count)
    newest = git(repository, "log", "--first-parent", f"-{commits + 1}", "--format=%H").split()
    oldest_first = newest[::-1]
    started = time.perf_counter()
    answers: list[list[Answer]] = []
    for number in range(builds + 1):
        follows = not number
        start = oldest_first[0] if follows else oldest_first[-1]
        copy = Copy(repository, folder / f"{repository.parent.name}-{number}", start)
        try:
            await copy.build()
            if follows:
                await copy.follow(oldest_first[1:], queries[0])
            answers.append([await copy.answer(query) for query in queries])
        finally:
            await copy.workspace.aclose()
    different = [
        query
        for place, query in enumerate(queries)
        if any(of_copy[place] != answers[0][place] for of_copy in answers[1:])
    ]
    found = sum(len(answer) for answer in answers[0])
    seconds = time.perf_counter() - started
    print(
        f"{repository}: {len(queries)} queries, {found} results; one index that followed"
        f" {len(oldest_first) - 1} commits and {builds} new ones: {len(different)} answers differ"
        f" ({seconds:.0f} s)",
        flush=True,
    )
    for query in different[:5]:
        print(f"  {query}")
    return len(different)


async def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--builds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        for repository in given.repository:
            different += await compare(
                repository, given.commits, given.builds, given.queries, Path(folder)
            )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
