"""Read semble's annotations: questions about repositories, with the files that answer them.

The annotations are lines of JSON: `repo`, `query`, `category`, and `targets` (`path`, optionally
`start_line` and `end_line`). In the same folder, `repos.json` lists the repositories: `name`,
`language`, `root` (the subfolder to search) and `published_ndcg10`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

# The number of results that the benchmark evaluates.
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
    """Add the options for the annotations and the repositories."""
    parser.add_argument("--annotations", type=Path, required=True, help="lines of JSON")
    parser.add_argument("--corpora", type=Path, required=True, help="folder of the repositories")
    parser.add_argument(
        "--repositories", type=Path, help="default: repos.json beside the annotations"
    )


def load_repositories(options: argparse.Namespace) -> list[Repository]:
    """Return the available repositories with their questions. Raise SystemExit without any."""
    described = options.repositories or options.annotations.with_name("repos.json")
    entries = {entry["name"]: entry for entry in json.loads(described.read_text("utf-8"))}
    questions: dict[str, list[Question]] = defaultdict(list)
    for line in options.annotations.read_text("utf-8").splitlines():
        note = json.loads(line)
        questions[note["repo"]].append(Question(note["query"], note["category"], note["targets"]))
    found = []
    for name in sorted(questions):
        entry = entries[name]
        folder = options.corpora / name / (entry.get("root") or ".")
        if folder.is_dir():
            published = entry.get("published_ndcg10", {})
            found.append(
                Repository(name, entry["language"], folder.resolve(), questions[name], published)
            )
    if not found:
        raise SystemExit(f"{options.corpora} contains none of the annotated repositories")
    return found


def same_file(path: str, target: str) -> bool:
    """Compare paths like the benchmark: either path may be a suffix of the other."""
    return path == target or path.endswith(f"/{target}") or target.endswith(f"/{path}")


def is_hit(result: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """Return True if a result is in a target's file and, if both have lines, overlaps with it."""
    if not same_file(result["path"], target["path"]):
        return False
    start, end = target.get("start_line"), target.get("end_line")
    first = result.get("line")
    if start is None or end is None or first is None:
        return True
    return bool(first <= end and (result.get("end_line") or first) >= start)


def ndcg(results: Sequence[Mapping[str, Any]], targets: Sequence[Mapping[str, Any]]) -> float:
    """Return NDCG@10 as in semble's benchmark: each target counts at its first matching result,
    and a result that matches several targets counts once."""
    results = results[:RESULTS]
    ranks = {
        next((rank for rank, result in enumerate(results) if is_hit(result, target)), None)
        for target in targets
    }
    gain = sum(1 / math.log2(rank + 2) for rank in ranks if rank is not None)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(RESULTS, len(targets))))
