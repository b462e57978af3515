"""Measure what commits cost: reading them, storing them, and using them in a query.

    python benchmarks/commit_history.py [REPOSITORY]

REPOSITORY is a working tree or a bare clone; by default, the repository of this file. Reads the
last 4,000 commits as the index does, then the last 20 as if they were new. The queries are the
messages of commits, in a corpus of the files at HEAD. CPU time includes git.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from winnow.index.commits.git_log import LOG, MOST_COMMITS, OPTIONS, LoggedCommit, parse_log
from winnow.index.commits.history import CommitHistory, CommitTable
from winnow.index.commits.messages import commit_of
from winnow.index.postings.corpus import Corpus
from winnow.ranking.semantic.candidates import rarity_of
from winnow.ranking.semantic.commit_evidence import CommitEvidence
from winnow.ranking.semantic.question import question_of
from winnow.text.git_program import LOG_SAFE

QUERIES = 200
NEW = 20
CANDIDATES = 120

T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> T:
    """Run a function, print its CPU and elapsed time, and return its result."""
    begin, started = os.times(), time.perf_counter()
    result = work()
    end, elapsed = os.times(), time.perf_counter() - started
    seconds = sum(end[:4]) - sum(begin[:4])
    print(f"{name:44}{1000 * seconds:10.0f} ms CPU{1000 * elapsed:10.0f} ms")
    return result


def read(folder: str, most: int) -> list[LoggedCommit]:
    command = ["git", "-C", folder, *LOG, *LOG_SAFE, *OPTIONS, f"-n{most}", "HEAD", "--"]
    return list(parse_log(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


def encoded(logged: Sequence[LoggedCommit]) -> bytes:
    commits = [commit_of(commit, masked=True, rules=()) for commit in logged]
    return CommitTable.of(commits).encode()


def updated(data: bytes, folder: str) -> bytes:
    """Return the history with its newest commits read again."""
    known = CommitTable.decode(data).commits()[NEW:]
    new = [commit_of(commit, masked=True, rules=()) for commit in read(folder, NEW)]
    return CommitTable.of([*new, *known]).encode()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", nargs="?", default=str(Path(__file__).parent))
    folder = parser.parse_args().repository
    logged = timed("read the commits with git", lambda: read(folder, MOST_COMMITS))
    data = timed("extract terms, mask secrets, encode", lambda: encoded(logged))
    assert timed(f"read {NEW} new commits and store all", lambda: updated(data, folder)) == data
    history = timed("decode for queries", lambda: CommitHistory(CommitTable.decode(data)))
    listed = subprocess.run(
        ["git", "-C", folder, "ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"],
        stdout=subprocess.PIPE,
        check=True,
    )
    paths = [os.fsdecode(path) for path in listed.stdout.split(b"\0")[:-1]]
    corpus = Corpus(
        [], paths, [folder], np.zeros(len(paths), np.int32), lambda name: (), {}, [history]
    )
    ranks = np.arange(len(paths), dtype=np.int32)
    candidates = np.arange(0, len(paths), max(len(paths) // CANDIDATES, 1))
    hand = np.linspace(1, 0, len(candidates), dtype=np.float32)
    rarity = functools.partial(rarity_of, corpus)
    timed("find the files", lambda: CommitEvidence(corpus, question_of("first", rarity)))
    times = []
    for commit in logged[:QUERIES]:
        question = question_of(commit.message, rarity)
        start = time.thread_time()
        evidence = CommitEvidence(corpus, question)
        evidence.found(15, ranks)
        evidence.features(candidates, hand)
        times.append(1000 * (time.thread_time() - start))
    print(f"{len(logged):,} commits, {len(paths):,} files, {len(data):,} bytes stored")
    print(f"a query: median {statistics.median(times):.2f} ms CPU, slowest {max(times):.2f} ms")


if __name__ == "__main__":
    main()
