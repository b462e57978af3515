"""Compare the rows of keyword_search with those of code_search, on annotated questions.

    python benchmarks/keyword_search.py --annotations dev.jsonl --corpora FOLDER \
        [--per-repository 4] [--work FOLDER] [--no-index]

keyword_search gets the terms that VS Code proposes, without a language model. For each repository,
the files that ripgrep lists are copied into --work (or a temporary folder) and indexed there. The
sample of questions is the same in each run. A first row is right if its file is a target; its line
is right if it lies in the target's lines, or, without those, in the passage that code_search
chooses in this file. `shown` counts the questions with a right file in the compact payload for a
language model, and the most tokens of one; nothing is sent. `late` counts the answers of
keyword_search that the index did not give in time, on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from questions import RESULTS, Question, Repository, is_hit, load_repositories, ndcg, same_file
from retrieval_runner import copy_corpus

from winnow.config import Config, IndexSettings, LearningSettings
from winnow.search.keyword.suggested_terms import suggested_terms
from winnow.tools import TOOLS
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

# Results of code_search to look for the passage of a file in.
PASSAGES = 200
SEED = 25


class Judged(NamedTuple):
    """The results of one question: of keyword_search, then of code_search."""

    ndcg: tuple[float, float]
    right: tuple[bool, bool]
    line: bool | None
    shown: bool
    tokens: int
    late: bool
    seconds: tuple[float, float]


def sample(repository: Repository, count: int) -> Sequence[Question]:
    """Return the same random questions in each run."""
    chosen = random.Random(f"{SEED} {repository.name}")
    return chosen.sample(repository.questions, min(count, len(repository.questions)))


def is_right_line(
    line: int | None, targets: Sequence[Any], passages: Sequence[Any], path: str
) -> bool:
    """Return True if the line of a first row lies in the right lines of its file."""
    if line is None:
        return False
    spans = [
        (target["start_line"], target["end_line"])
        for target in targets
        if same_file(path, target["path"]) and target.get("start_line")
    ]
    spans = spans or [(hit.line, hit.end_line) for hit in passages if hit.path == path and hit.line]
    return any(first <= line <= last for first, last in spans)


async def judge(workspace: EngineWorkspace, question: Question) -> Judged:
    """Ask both tools one question."""
    terms = await suggested_terms(workspace, question.text)
    params: dict[str, object] = {
        "query": question.text,
        "search_terms": terms or [question.text],
        "broad_terms": "shrink",
        "payload": "compact",
        "dry_run": True,
    }
    started = time.perf_counter()
    keyword = await TOOLS["keyword_search"].call(workspace, params, no_progress)
    middle = time.perf_counter()
    params = {"query": question.text, "search_type": "semantic", "limit": PASSAGES}
    code = await TOOLS["code_search"].call(workspace, params, no_progress)
    seconds = middle - started, time.perf_counter() - middle
    rows = [{"path": file.path} for file in keyword.files[:RESULTS]]
    hits = [
        {"path": hit.path, "line": hit.line, "end_line": hit.end_line}
        for hit in code.results[:RESULTS]
    ]
    files = [{"path": hit["path"]} for hit in hits]
    right = tuple(
        any(is_hit(one, target) for one in found[:1] for target in question.targets)
        for found in (rows, files)
    )
    line = None
    if right[0]:
        first = keyword.files[0]
        line = is_right_line(first.line, question.targets, code.results, first.path)
    # Both are judged by files: without its lines, a target is found anywhere in its file.
    targets = [{"path": target["path"]} for target in question.targets]
    sent = keyword.payload.prompt if keyword.payload else ""
    shown = re.findall(r"^\[f\d+\] (.+)$", sent, re.M)
    return Judged(
        (ndcg(rows, targets), ndcg(files, targets)),
        (right[0], right[1]),
        line,
        any(same_file(path, target["path"]) for path in shown for target in targets),
        keyword.payload.estimated_tokens if keyword.payload else 0,
        "the index did not answer in time" in keyword.warnings,
        seconds,
    )


async def judge_all(folder: Path, questions: Sequence[Question], *, index: bool) -> list[Judged]:
    """Index a folder, unless ``index`` is False, and ask both tools all questions."""
    config = Config(
        index=IndexSettings(enabled=index, cpu_throttle_threshold=1.0),
        # Otherwise the answers to earlier queries would influence later queries.
        learning=LearningSettings(enabled=False),
    )
    workspace = EngineWorkspace([folder], config)
    try:
        if index:
            await workspace.index.build()
        return [await judge(workspace, question) for question in questions]
    finally:
        await workspace.aclose()


def compare_rows(options: argparse.Namespace) -> None:
    """Print a row for each repository, then the totals."""
    columns = "first right", "line right", "shown", "ms"
    header = "".join(f"{name:>14}" for name in columns)
    print(f"{'repository':20}{'NDCG@10':>16}{header}  late")
    every: list[list[Judged]] = []
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        for repository in load_repositories(options):
            questions = sample(repository, options.per_repository)
            folder = work / repository.name
            if not folder.exists():
                folder.mkdir(parents=True)
                copy_corpus(repository.folder, folder)
            judged = asyncio.run(judge_all(folder, questions, index=not options.no_index))
            every.append(judged)
            print_row(repository.name, judged, [judged])
    print_row("all", [one for some in every for one in some], every)


def print_row(
    name: str, judged: Sequence[Judged], by_repository: Sequence[Sequence[Judged]]
) -> None:
    """Print keyword_search / code_search: the mean of the repositories' NDCG@10, and sums."""
    means = [
        statistics.mean(statistics.mean(one.ndcg[tool] for one in some) for some in by_repository)
        for tool in (0, 1)
    ]
    right = [sum(one.right[tool] for one in judged) for tool in (0, 1)]
    lines = [one.line for one in judged if one.line is not None]
    times = [statistics.median(one.seconds[tool] for one in judged) * 1000 for tool in (0, 1)]
    print(
        f"{name:20}{f'{means[0]:.3f} / {means[1]:.3f}':>16}"
        f"{f'{right[0]} / {right[1]} of {len(judged)}':>14}{f'{sum(lines)} of {len(lines)}':>14}"
        f"{f'{sum(one.shown for one in judged)}, {max(one.tokens for one in judged)}':>14}"
        f"{f'{times[0]:.0f} / {times[1]:.0f}':>14}{sum(one.late for one in judged):6}",
        flush=True,
    )
