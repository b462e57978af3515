"""Compare semantic search with other systems on a retrieval benchmark: quality and time.

    python benchmarks/retrieval.py --annotations dev.jsonl --corpora FOLDER [SYSTEM…]

`questions.py` describes annotations. Systems are winnow (with embeddings), lexical (without),
semble, bm25, probe and ripgrep; by default all. Each runs one process per repository, which builds
its index and then answers one question after another; see `retrieval_runner.py` and
`retrieval_peers.py`. Systems that aren't installed are reported as missing.

NDCG@10 is the mean over repositories. `index` is the median time to build an index, in seconds. The
times of questions are those of the caller, including the first of each repository. `published` is
the result of semble's benchmark for the same repositories. Winnow's shipped ranker was trained on
these questions, so its result here shows how well it learned them, not how good it is.
`train_ranker.py` judges each question with a ranker that was trained without its repository.
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
from questions import Repository, add_arguments, asked, ndcg

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
 *  trained on these questions, see train_ranker.py for how good it is on others
 ** semble's own vectors are not in a package; here it has those of the package wordllama
*** files by how many words of the question they have; published for the whole question: ripgrep"""


class Answered(NamedTuple):
    """For one repository: seconds for the index; for each question its category, NDCG and
    milliseconds."""

    seconds: float
    rows: Sequence[tuple[str, float, float]]


def run(command: Sequence[str], repository: Repository) -> Answered:
    """What a system answers about a repository. Raises RuntimeError if it ends early."""
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
        said = ""
        for said in process.stderr:
            if said.startswith("{"):
                break
        else:
            raise RuntimeError(said.strip())
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
    return Answered(json.loads(said)["index_seconds"], rows)


def row(system: System, repositories: Sequence[Repository], python: str) -> str:
    """A row of the table."""
    script, *arguments = system.arguments
    command = [python, str(HERE / script), *arguments]
    answers = [run(command, one) for one in repositories]
    by_category: dict[str, list[float]] = defaultdict(list)
    times = []
    for answer in answers:
        for category, value, milliseconds in answer.rows:
            by_category[category].append(value)
            times.append(milliseconds)
    mean = statistics.mean(
        statistics.mean(value for _, value, _ in one.rows) for one in answers if one.rows
    )
    categories = "".join(f"{statistics.mean(by_category[name]):14.3f}" for name in CATEGORIES)
    tenths = statistics.quantiles(times, n=20)
    index = statistics.median(one.seconds for one in answers)
    published = mean_of(repositories, system.published)
    return (
        f"{system.title:{WIDTH}}{mean:7.3f}{categories}{index:8.2f} s"
        f"{statistics.median(times):8.1f} ms{tenths[-1]:8.1f} ms{published:>11}"
    )


CATEGORIES = ("architecture", "semantic", "symbol")


def mean_of(repositories: Sequence[Repository], name: str) -> str:
    """The mean of what is published for a system."""
    some: list[Mapping[str, float]] = [one.published for one in repositories]
    return f"{statistics.mean(one[name] for one in some):.3f}" if name else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    add_arguments(parser)
    options = parser.parse_args()
    if unknown := set(options.systems) - set(SYSTEMS):
        parser.error(f"no such system: {', '.join(unknown)}")
    repositories = asked(options)
    count = sum(len(one.questions) for one in repositories)
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
            print(f"{system.title:{WIDTH}}is missing: see retrieval_peers.py")
            continue
        try:
            print(row(system, repositories, python), flush=True)
        except RuntimeError as error:
            print(f"{system.title:{WIDTH}}has failed: {error}", flush=True)
    print(NOTES)


if __name__ == "__main__":
    main()
