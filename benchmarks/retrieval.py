"""Compare semantic search with other systems on a retrieval benchmark: quality and time.

    python benchmarks/retrieval.py --annotations dev.jsonl --corpora FOLDER [SYSTEM…]

`questions.py` describes annotations. The systems are winnow (with embeddings), lexical (without),
semble, bm25, probe and ripgrep; by default all. Each runs one process per repository, which builds
its index and then answers one question after another; see `retrieval_runner.py` and
`retrieval_peers.py`. Systems that aren't installed are reported as missing.

NDCG@10 is the mean over repositories. `index` is the median time to build an index, in seconds. The
times of questions are measured by the caller and include the first question of each repository.
`published` is the result of semble's benchmark for the same repositories. Winnow's shipped ranker
was trained on these questions, so its result here is no measure of its quality. `train_ranker.py`
evaluates each question with a ranker that was trained without its repository.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from peers import peers_python
from questions import Repository, add_arguments, load_repositories, ndcg

HERE = Path(__file__).parent
WIDTH = 26


class System(NamedTuple):
    title: str
    arguments: Sequence[str]
    published: str = ""
    is_ours: bool = False


SYSTEMS = {
    "winnow": System("winnow, embeddings *", ["retrieval_runner.py"], is_ours=True),
    "lexical": System(
        "winnow, lexical *", ["retrieval_runner.py", "--no-embeddings"], is_ours=True
    ),
    "semble": System("semble, other vectors **", ["retrieval_peers.py", "semble"], "semble"),
    "bm25": System("BM25 (bm25s)", ["retrieval_peers.py", "bm25"], "bm25"),
    "probe": System("probe", ["retrieval_peers.py", "probe"], "probe"),
    "ripgrep": System("ripgrep, by words ***", ["retrieval_peers.py", "ripgrep"]),
}
NOTES = """\
 *  trained on these questions; train_ranker.py measures it on other questions
 ** with the vectors of the package wordllama, because no package contains semble's own
*** files by the number of query words in them; semble's benchmark searches for the entire query"""


class RepositoryResult(NamedTuple):
    """The result for one repository: seconds to build the index, and for each question its
    category, NDCG and milliseconds."""

    seconds: float
    rows: Sequence[tuple[str, float, float]]


def run(command: Sequence[str], repository: Repository) -> RepositoryResult:
    """Run a system on a repository. Raise RuntimeError if its process ends early."""
    with subprocess.Popen(
        [*command, str(repository.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        message = ""
        for message in process.stderr:
            if message.startswith("{"):
                break
        else:
            raise RuntimeError(message.strip())
        rows = []
        for question in repository.questions:
            started = time.perf_counter()
            process.stdin.write(json.dumps({"query": question.text}) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            milliseconds = (time.perf_counter() - started) * 1000
            if not line:
                raise RuntimeError(process.stderr.read().strip().rpartition("\n")[2])
            rows.append((question.category, ndcg(json.loads(line), question.targets), milliseconds))
        process.stdin.close()
    return RepositoryResult(json.loads(message)["index_seconds"], rows)


def row(system: System, repositories: Sequence[Repository], python: str) -> str:
    """Run a system on all repositories and return its row of the table."""
    script, *arguments = system.arguments
    command = [python, str(HERE / script), *arguments]
    answers = [run(command, repository) for repository in repositories]
    by_category: dict[str, list[float]] = defaultdict(list)
    times = []
    for answer in answers:
        for category, value, milliseconds in answer.rows:
            by_category[category].append(value)
            times.append(milliseconds)
    mean = statistics.mean(
        statistics.mean(value for _, value, _ in answer.rows) for answer in answers if answer.rows
    )
    categories = "".join(f"{statistics.mean(by_category[name]):14.3f}" for name in CATEGORIES)
    twentieths = statistics.quantiles(times, n=20)
    index = statistics.median(answer.seconds for answer in answers)
    published = mean_of(repositories, system.published)
    return (
        f"{system.title:{WIDTH}}{mean:7.3f}{categories}{index:8.2f} s"
        f"{statistics.median(times):8.1f} ms{twentieths[-1]:8.1f} ms{published:>11}"
    )


CATEGORIES = ("architecture", "semantic", "symbol")


def mean_of(repositories: Sequence[Repository], name: str) -> str:
    """Format the mean of a system's published results."""
    published: list[Mapping[str, float]] = [repository.published for repository in repositories]
    return f"{statistics.mean(results[name] for results in published):.3f}" if name else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    add_arguments(parser)
    options = parser.parse_args()
    if unknown := set(options.systems) - set(SYSTEMS):
        parser.error(f"unknown system: {', '.join(unknown)}")
    repositories = load_repositories(options)
    count = sum(len(repository.questions) for repository in repositories)
    print(
        f"{len(repositories)} repositories, {count} questions,"
        f" Python {sys.version.split()[0]}, {os.cpu_count()} cores"
    )
    heads = "".join(f"{name:>14}" for name in CATEGORIES)
    print(
        f"{'NDCG@10':{WIDTH}}{'all':>7}{heads}{'index':>10}{'p50':>11}{'p95':>11}{'published':>11}"
    )
    for name in options.systems or SYSTEMS:
        system = SYSTEMS[name]
        python = sys.executable if system.is_ours else peers_python()
        if python is None:
            print(f"{system.title:{WIDTH}}missing: see retrieval_peers.py")
            continue
        try:
            print(row(system, repositories, python), flush=True)
        except RuntimeError as error:
            print(f"{system.title:{WIDTH}}failed: {error}", flush=True)
    print(NOTES)


if __name__ == "__main__":
    main()
