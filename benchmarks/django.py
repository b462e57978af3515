"""Measure a keyword search on Django 5.1.4: the rank of the correct file, and the time.

    python benchmarks/django.py [--tree FOLDER] [--runs N]

Without --tree, the source is downloaded from PyPI into $WINNOW_CORPORA or ~/.cache/winnow/corpora.
The search uses no API key. Prints the rank of the file that answers the query, and the time of the
complete command.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import corpora

QUERY = "how are database migrations ordered and applied"
TERMS = ["migration", "executor", "apply_migration", r"loader\.graph"]
ANSWER = "django/db/migrations/executor.py"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    tree = options.tree or corpora.django()
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    environment["WINNOW_BACKGROUND"] = "0"
    print(f"{tree.name}, {os.cpu_count()} cores, median of {options.runs} runs")
    print(f"{'':24}{'rank':>6}{'seconds':>9}  terms")
    worst = 0
    for title, extra in (("", []), ("--broad-terms shrink", ["--broad-terms", "shrink"])):
        command = [sys.executable, "-m", "winnow", "keyword-search", QUERY, *TERMS, *extra]
        times = []
        for _ in range(options.runs + 1):
            started = time.perf_counter()
            done = subprocess.run(
                [*command, "--json"], cwd=tree, env=environment, capture_output=True
            )
            times.append(time.perf_counter() - started)
        result = json.loads(done.stdout)
        paths = [file["path"] for file in result["files"]]
        rank = paths.index(ANSWER) + 1 if ANSWER in paths else 999
        worst = max(worst, rank)
        terms = ", ".join(f"{term['term']}: {term['status']}" for term in result["terms"])
        print(
            f"{title or 'default options':24}{rank:6}{statistics.median(times[1:]):9.2f}  {terms}"
        )
    return 0 if worst <= 3 else 1


if __name__ == "__main__":
    sys.exit(main())
