"""Measure the passages that semantic search shows of the right files.

    python benchmarks/passages.py --mirrors FOLDER --repositories repos.json --trees FOLDER \
        [--only NAME…] [--than CHECKOUT] [SYSTEM…]

Questions are subjects of commits, see `commit_hunks.py`; the answers are the lines of the older
tree that the commit changed, each change with the function that contains it. MIRRORS has a bare
clone per repository, as `<owner>+<name>/repo`; missing trees are written to `--trees`. The systems
are winnow (with embeddings), lexical (without), bm25 and semble; by default winnow, bm25 and
semble. With `--than`, winnow of another checkout runs, too.

For each right file among the first ten results: `overlap` is the share of passages that overlap an
answer, `line` the share in which the one line that an editor shows is inside of an answer, and
`lines` the median number of lines of the passages. `both` is the overlap in those files that all
systems found. `head` is the share of passages in the first five results that begin at lines 1 to 3.
`±` is the standard error over repositories.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bare_clones import clone_of
from commit_hunks import CommitQuestion, Span, questions_of
from peers import peers_python

HERE = Path(__file__).parent
RESULTS, FIRST = 10, 5
HEAD_LINES = 3
WIDTH = 22

SYSTEMS: Mapping[str, Sequence[str]] = {
    "winnow": ["retrieval_runner.py"],
    "lexical": ["retrieval_runner.py", "--no-embeddings"],
    "bm25": ["retrieval_peers.py", "bm25"],
    "semble": ["retrieval_peers.py", "semble"],
}
PEERS = ("bm25", "semble")


class Found(NamedTuple):
    """A passage in a right file."""

    repository: str
    question: str
    path: str
    overlaps: bool
    is_line_inside: bool
    lines: int


class Measured(NamedTuple):
    """The passages of a system in right files, and of its first results, how many begin at the
    head of a file, of how many."""

    found: Sequence[Found]
    heads: int
    firsts: int


def answers(
    command: Sequence[str], server: Path, tree: Path, questions: Sequence[CommitQuestion]
) -> Iterator[list[dict[str, Any]]]:
    """Yield the results of a system for each question. Raise RuntimeError if it ends early."""
    environment = {**os.environ, "PYTHONPATH": str(server)}
    asked = "".join(json.dumps({"query": question.text}) + "\n" for question in questions)
    run = subprocess.run(
        [*command, str(tree)], input=asked, capture_output=True, text=True, env=environment
    )
    lines = run.stdout.splitlines()
    if len(lines) != len(questions):
        raise RuntimeError(run.stderr.strip().rpartition("\n")[2])
    yield from map(json.loads, lines)


def measure(
    command: Sequence[str],
    server: Path,
    trees: Path,
    asked: Mapping[str, Sequence[CommitQuestion]],
) -> Measured:
    """Run a system on all repositories."""
    found: list[Found] = []
    heads = firsts = 0
    for repository, questions in asked.items():
        results_of = answers(command, server, trees / repository, questions)
        for question, results in zip(questions, results_of, strict=True):
            first_lines = [result["line"] for result in results[:FIRST]]
            heads += sum(line <= HEAD_LINES for line in first_lines)
            firsts += len(first_lines)
            seen = set()
            for result in results[:RESULTS]:
                path = result["path"]
                # Peers return several passages of a file: the best one counts.
                if path in question.spans and path not in seen:
                    seen.add(path)
                    found.append(judged(repository, question, result))
    return Measured(found, heads, firsts)


def judged(repository: str, question: CommitQuestion, result: Mapping[str, Any]) -> Found:
    """Compare a passage with the changed lines of its file."""
    first, last = result["line"], result["end_line"]
    line = result.get("best_line", first)
    spans: Sequence[Span] = question.spans[result["path"]]
    return Found(
        repository,
        question.text,
        result["path"],
        any(first <= end and last >= start for start, end in spans),
        any(start <= line <= end for start, end in spans),
        last - first + 1,
    )


def row(title: str, measured: Measured, common: set[tuple[str, str, str]]) -> str:
    """Return a row of the table."""
    found = measured.found
    overlaps, error = mean_of([(each.repository, each.overlaps) for each in found])
    inside, _ = mean_of([(each.repository, each.is_line_inside) for each in found])
    both, _ = mean_of([(each.repository, each.overlaps) for each in found if each[:3] in common])
    length = statistics.median(each.lines for each in found)
    return (
        f"{title:{WIDTH}}{len(found):6}{overlaps:10.1%} ±{error:5.1%}{both:9.1%}{inside:9.1%}"
        f"{measured.heads / max(measured.firsts, 1):9.1%}{length:8.0f}"
    )


def mean_of(judgments: Sequence[tuple[str, bool]]) -> tuple[float, float]:
    """Return the share of good passages, and the standard error over repositories."""
    by_repository: dict[str, list[bool]] = {}
    for repository, good in judgments:
        by_repository.setdefault(repository, []).append(good)
    total = len(judgments)
    share = sum(good for _, good in judgments) / total
    off = [sum(values) - share * len(values) for values in by_repository.values()]
    return share, sum(value * value for value in off) ** 0.5 / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--mirrors", type=Path, required=True, help="folder of the bare clones")
    parser.add_argument("--repositories", type=Path, required=True, help="their descriptions, JSON")
    parser.add_argument("--trees", type=Path, required=True, help="folder of the older trees")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these repositories")
    parser.add_argument("--than", type=Path, metavar="CHECKOUT", help="another checkout of winnow")
    options = parser.parse_args()
    if unknown := set(options.systems) - set(SYSTEMS):
        parser.error(f"unknown system: {', '.join(unknown)}")
    asked = {}
    for entry in json.loads(options.repositories.read_text("utf-8")):
        clone = clone_of(options.mirrors, entry["github"])
        name = entry["name"]
        if clone.is_dir() and (not options.only or name in options.only):
            questions = questions_of(clone, options.trees / name)
            if questions:
                asked[name] = questions
    names = options.systems or ["winnow", "bm25", "semble"]
    runs = [(name, HERE, name) for name in names]
    if options.than:
        ours = [name for name in names if name not in PEERS]
        runs[1:1] = [
            (f"{name}, other checkout", options.than / "benchmarks", name) for name in ours
        ]
    measured: dict[str, Measured] = {}
    for title, folder, name in runs:
        python = peers_python() if name in PEERS else sys.executable
        if python is None:
            print(f"{title:{WIDTH}}missing: see retrieval_peers.py")
            continue
        script, *arguments = SYSTEMS[name]
        command = [python, str(folder / script), *arguments]
        measured[title] = measure(command, folder.parent / "server", options.trees, asked)
    count = sum(map(len, asked.values()))
    print(f"{len(asked)} repositories, {count} subjects of commits")
    print(
        f"{'':{WIDTH}}{'files':>6}{'overlap':>10}{'':>7}{'both':>9}{'line':>9}{'head':>9}{'lines':>8}"
    )
    common = set.intersection(*({each[:3] for each in run.found} for run in measured.values()))
    for title, run in measured.items():
        print(row(title, run, common))


if __name__ == "__main__":
    main()
