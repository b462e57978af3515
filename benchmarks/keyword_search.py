"""Compare stage 1 of keyword search with the original design, on the Linux kernel's source.

    python benchmarks/keyword_search.py [--tree FOLDER] [--runs N]

With --annotations, it compares the rows with those of code_search instead: see keyword_rows.py.

Without --tree, the source comes from the Debian package linux-source-6.1 (78,000 files) and is
stored in $WINNOW_CORPORA or ~/.cache/winnow/corpora. The original design runs one ripgrep per term
in sequence, then one for the remaining terms, again after each dropped term. Both run alternately
in one process, after one warm-up each that also fills the page cache. The table has medians, the
ratio of each pair, and `same`: yes if both used the same terms and found the same matching lines,
in any order. `first partial` is the time from ripgrep's first output to the first partial result.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from corpora import kernel
from keyword_rows import compare_rows

from winnow.config import Limits
from winnow.processes.programs import InstalledPrograms
from winnow.search.keyword import search
from winnow.search.keyword.search import KeywordRequest, find
from winnow.search.keyword.terms import TermSearch
from winnow.text.scope import Filters
from winnow.tools import TOOLS
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

RG = InstalledPrograms(os.environ, ()).ripgrep()
CASES = {
    "5 specific, 3 broad": [
        "page_pool_put_page", "page_pool_recycle", "rcu_barrier_tasks", "io_uring_cmd_done",
        "percpu_ref_kill_and_confirm", "return", "static int", "struct device",
    ],
    "3 broad first": [
        "struct page", "spin_lock", "kfree", "kmem_cache_shrink_all", "slab_caches_to_rcu",
        "sysfs_slab_unlink", "slab_mem_going_offline", "kmem_cache_double_cpu",
    ],
    "8 specific": [
        "tcp_cubic_cong", "bictcp_recalc", "bictcp_update", "hystart_", "cubictcp_acked",
        "tcp_fastopen_cookie_gen", "tcp_fastopen_create_child", "tcp_fastopen_active_disable",
    ],
    "regexes, last one dropped": [
        r"mas_(store|erase)\w*_gfp", "page_pool_recycle", "mtree_load", "mas_find_rev",
        "ma_wr_memcpy|mas_wr_bnode", "hystart_", "page_pool_put_page", "ext4_mb_use_",
    ],
}  # fmt: skip


def design_flow(tree: Path, terms: list[str], limits: Limits) -> tuple[list[str], set[str], int]:
    """Run the original design; return the used terms, the matching lines and the ripgrep runs."""
    runs = 0

    def ripgrep(searched: list[str]) -> bytes:
        nonlocal runs
        runs += 1
        patterns = [part for term in searched for part in ("-e", term)]
        command = [RG, "-C", "10", "-i", "--line-number", "--with-filename", *patterns]
        run = subprocess.run(command, cwd=tree, capture_output=True, stdin=subprocess.DEVNULL)
        return run.stdout

    usable = [term for term in terms if len(ripgrep([term])) <= limits.term_bytes]
    output = b""
    while usable:
        output = ripgrep(usable)
        if len(output) < limits.total_bytes:
            break
        usable.pop()
    matches = {
        f"{found[1].decode()}:{found[2].decode()}"
        for found in re.finditer(rb"^([^:\n]+):(\d+):", output, re.M)
    }
    return usable, matches, runs


async def ours(tree: Path, terms: list[str]) -> tuple[list[str], set[str]]:
    """Run Winnow; return the used terms that match, and the matching lines."""
    workspace = EngineWorkspace([tree])
    scope = workspace.scope(Filters())
    request = KeywordRequest(workspace, scope, "benchmark", terms, no_progress)
    found = await find(request)
    matches = {
        f"{candidate.path}:{number}"
        for candidate in found.candidates
        for numbers in candidate.hits.values()
        for number in numbers
    }
    await workspace.aclose()
    return [term.term for term in found.kept if term.files], matches


async def first_partial(tree: Path, terms: list[str]) -> float:
    """Return the seconds from the first evidence to the first partial result."""
    times: dict[str, float] = {}

    class Watched(TermSearch):
        def _take(self, *arguments: Any) -> None:
            times.setdefault("evidence", time.perf_counter())
            super()._take(*arguments)

    class Timer(Progress):
        streaming = True

        def __call__(self, message: str, *, percentage: Any = None, partial: Any = None) -> None:
            if partial is not None:
                times.setdefault("partial", time.perf_counter())

    with patch.object(search, "TermSearch", Watched):
        workspace = EngineWorkspace([tree], environment={})
        raw = {"query": "benchmark", "search_terms": terms}
        await TOOLS["keyword_search"].call(workspace, raw, Timer())
        await workspace.aclose()
    return times["partial"] - times["evidence"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--annotations", type=Path, help="compare rows: see keyword_rows.py")
    parser.add_argument("--corpora", type=Path, help="folder of the annotated repositories")
    parser.add_argument("--repositories", type=Path, help="default: repos.json beside those")
    parser.add_argument("--per-repository", type=int, default=4, help="number of questions")
    parser.add_argument("--work", type=Path, help="folder for copies and their indexes, to keep")
    parser.add_argument("--no-index", action="store_true", help="compare rows without an index")
    options = parser.parse_args()
    if options.annotations:
        compare_rows(options)
        return 0
    tree = options.tree or kernel()
    limits = Limits()
    version = subprocess.run([RG, "--version"], capture_output=True, text=True).stdout.split()[1]
    print(f"{tree.name}, ripgrep {version}, {os.cpu_count()} cores, median of {options.runs} runs")
    columns = ("design s", 9), ("runs", 6), ("ours s", 8), ("ratio", 7), ("first partial", 17)
    print(f"{'terms':26}" + "".join(f"{name:>{width}}" for name, width in columns) + "  same")
    differing = 0
    for name, terms in CASES.items():
        design_flow(tree, terms, limits)
        asyncio.run(ours(tree, terms))
        times: list[tuple[float, float]] = []
        partials: list[float] = []
        same, runs = True, 0
        for _ in range(options.runs):
            started = time.perf_counter()
            kept, expected, runs = design_flow(tree, terms, limits)
            middle = time.perf_counter()
            our_kept, found = asyncio.run(ours(tree, terms))
            times.append((middle - started, time.perf_counter() - middle))
            partials.append(asyncio.run(first_partial(tree, terms)))
            same &= [term for term in kept if term in our_kept] == our_kept and found == expected
        design, mine = (statistics.median(column) for column in zip(*times, strict=True))
        ratio = statistics.median(a / b for a, b in times)
        differing += not same
        partial = f"{max(partials) * 1000:.0f} ms at most"
        row = f"{name:26}{design:9.2f}{runs:6}{mine:8.2f}{ratio:6.1f}x{partial:>17}"
        print(f"{row}  {'yes' if same else 'NO'}", flush=True)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
