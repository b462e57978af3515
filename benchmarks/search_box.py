"""Compare the first result of the search box of VS Code with the first result of each single mode.

    python benchmarks/search_box.py [FOLDER]

The 40 queries in search_box.json are names, paths, pieces of code, error messages and questions
about Django 5.1.4, eight of each, with the places that answer them, found by reading the code. A
result is right if its file is right and the line that it opens at, or a line of its passage,
contains the given text. Without a folder, Django is used; its index is built first.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from first_question import WINNOW, environment, make_index
from language_client import Client

QUERIES = Path(__file__).with_suffix(".json")
KINDS = ("names", "paths", "code", "errors", "questions")
MODES = ("file", "symbol", "text", "semantic")


class Task(NamedTuple):
    """A query, and its right places: files, each with a part of a line; empty for any line."""

    query: str
    places: Sequence[tuple[str, str]]


def tasks() -> list[Task]:
    """Return the 40 queries, eight of each kind."""
    entries = json.loads(QUERIES.read_text("utf-8"))
    return [
        Task(entry["query"], [(file, part) for file, part in entry["places"]]) for entry in entries
    ]


Results = Sequence[Mapping[str, Any]]
Search = Callable[[Client, str], Results]


def by_code_search(search_type: str) -> Search:
    """Return a search that gives the results of ``code_search``."""

    def search(client: Client, query: str) -> Results:
        params = {"query": query, "search_type": search_type, "ranker": "local", "limit": 50}
        results: Results = client.request("$/codeSearch", params)["results"]
        return results

    return search


def by_keywords(client: Client, query: str) -> Results:
    """Search for the terms that the server suggests, like the button of the box."""
    terms = client.request("$/suggestTerms", {"query": query})["terms"]
    params = {"query": query, "search_terms": terms or [query], "broad_terms": "shrink"}
    params["ranker"] = "local"
    files: Results = client.request("$/keywordSearch", params)["files"]
    return files


def is_first(client: Client, search: Search, task: Task) -> bool:
    """Return True if the first result is right."""
    results = search(client, task.query)
    return bool(results) and is_right(task, results[0], client.folder)


def is_right(task: Task, result: Mapping[str, Any], folder: Path) -> bool:
    """Return True if a result is one of the right places."""
    parts = [part for file, part in task.places if file == result["path"]]
    if not parts:
        return False
    if "" in parts:
        return True
    passage = result.get("passage") or {}
    first = result.get("line") or passage.get("start_line") or 1
    last = max(result.get("end_line") or passage.get("end_line") or first, first)
    lines = (folder / result["path"]).read_text("utf-8").splitlines()[first - 1 : last]
    return any(part in line for part in parts for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="a copy of Django")
    options = parser.parse_args()
    if options.folder is None:
        import corpora

        options.folder = corpora.django()
    searches = {
        "box": by_code_search("auto"),
        **{mode: by_code_search(mode) for mode in MODES},
        "keywords": by_keywords,
    }
    with tempfile.TemporaryDirectory() as name:
        settings = Path(name)
        make_index(options.folder, settings)
        client = Client([*WINNOW, "serve"], options.folder, environment(settings))
        try:
            client.wait_for_progress()
            right = {
                mode: [is_first(client, search, task) for task in tasks()]
                for mode, search in searches.items()
            }
        finally:
            client.stop()
    return report(right)


def report(right: Mapping[str, Sequence[bool]]) -> int:
    """Print the right first results by kind. Return 1 if the box has fewer than a single mode."""
    print(f"{'right first results':22}" + "".join(f"{kind:>11}" for kind in (*KINDS, "all")))
    for mode, marks in right.items():
        size = len(marks) // len(KINDS)
        counts = [sum(marks[start : start + size]) for start in range(0, len(marks), size)]
        print(f"{mode:22}" + "".join(f"{count:11}" for count in (*counts, sum(marks))))
    for task, is_right_first in zip(tasks(), right["box"], strict=True):
        if not is_right_first:
            print(f"  not first in the box: {task.query}")
    best = max(sum(marks) for mode, marks in right.items() if mode != "box")
    return int(sum(right["box"]) < best)


if __name__ == "__main__":
    sys.exit(main())
