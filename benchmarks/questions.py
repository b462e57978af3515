"""Read semble's annotations: questions about repositories, with the files that answer them.

The annotations are lines of JSON: `repo`, `query`, `category`, and `targets` (`path`, perhaps
`start_line` and `end_line`). Beside them, `repos.json` lists the repositories: `name`, `language`,
`root` (the folder below that of the repository that is searched) and `published_ndcg10`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# As the benchmark looks at answers.
RESULTS = 10


class Question(NamedTuple):
    text: str
    category: str
    targets: Sequence[Mapping[str, Any]]


class Repository(NamedTuple):
    name: str
    language: str
    folder: Path
    questions: Sequence[Question]
    published: Mapping[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The places of annotations and repositories."""
    parser.add_argument("--annotations", type=Path, required=True, help="lines of JSON")
    parser.add_argument("--corpora", type=Path, required=True, help="a folder for each repository")
    parser.add_argument("--repositories", type=Path, help="repos.json beside the annotations")


def asked(options: argparse.Namespace) -> list[Repository]:
    """The repositories that are there, with their questions. Raises SystemExit if none is."""
    described = options.repositories or options.annotations.with_name("repos.json")
    known = {one["name"]: one for one in json.loads(described.read_text("utf-8"))}
    questions: dict[str, list[Question]] = defaultdict(list)
    for line in options.annotations.read_text("utf-8").splitlines():
        one = json.loads(line)
        questions[one["repo"]].append(Question(one["query"], one["category"], one["targets"]))
    found = []
    for name in sorted(questions):
        one = known[name]
        folder = options.corpora / name / (one.get("root") or ".")
        if folder.is_dir():
            published = one.get("published_ndcg10", {})
            found.append(
                Repository(name, one["language"], folder.resolve(), questions[name], published)
            )
    if not found:
        raise SystemExit("none of the repositories is in the folder of --corpora")
    return found


def same_file(path: str, target: str) -> bool:
    """As the benchmark compares paths: one is the end of the other."""
    return path == target or path.endswith(f"/{target}") or target.endswith(f"/{path}")


def is_hit(result: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Whether a result is of a target's file and, if both name lines, shares some with it."""
    if not same_file(result["path"], target["path"]):
        return False
    start, end = target.get("start_line"), target.get("end_line")
    first = result.get("line")
    if start is None or end is None or first is None:
        return True
    return bool(first <= end and (result.get("end_line") or first) >= start)


def ndcg(results: Sequence[Mapping[str, Any]], targets: Sequence[Mapping[str, Any]]) -> float:
    """NDCG@10 as semble's benchmark has it: each target counts at the first result that hits it,
    and a result that several hit counts once."""
    results = results[:RESULTS]
    ranks = {
        next((rank for rank, one in enumerate(results) if is_hit(one, target)), None)
        for target in targets
    }
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(RESULTS, len(targets))))
