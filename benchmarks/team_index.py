"""Measure how an index is shared: its export, and its pull by someone else.

    python benchmarks/team_index.py [TREE...]

A TREE is a folder, or a name from corpora.py; without one, it is django. One user builds the index
from nothing and exports it; another one pulls it in a copy of the tree, which has a complete index
then. `CPU s` includes children; `MB` is the size of the index or archive on disk; `together`,
`server` and `child` are the peaks of anonymous memory in MB: of all processes, of the program
itself, and of its largest child (Linux only). The last line compares the states of both indexes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import corpora
from index_build import TITLES, measured, print_row
from memory import SETTINGS

WINNOW = [sys.executable, "-m", "winnow"]


def share(source: Path, work: Path, limit: int) -> None:
    """Build, export and pull the index of a tree; print a row for each."""
    (work / "config.toml").write_text(SETTINGS.format(limit))
    archive = work / "index.winnow"
    print(f"{source.name:24}", *(f"{one:>9}" for one in TITLES), flush=True)
    states = []
    for user in ("first", "second"):
        tree = work / user / source.name
        shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".winnow"))
        environment = {
            "WINNOW_CONFIG": str(work / "config.toml"),
            "WINNOW_BACKGROUND": "0",
            **{f"XDG_{kind}_HOME": str(work / user / kind) for kind in ("STATE", "CACHE", "DATA")},
        }

        def run(
            title: str,
            *arguments: str,
            made: Path | None = None,
            tree: Path = tree,
            environment: dict[str, str] = environment,
        ) -> None:
            print_row(title, *measured([*WINNOW, "index", *arguments], tree, made, **environment))

        if user == "first":
            run("build", "build", made=tree / ".winnow")
            run("export", "export", str(archive), "--unsigned", made=archive)
        else:
            run("pull", "pull", str(archive), "--unsigned", made=tree / ".winnow")
        states.append(_state(tree, environment))
    print("both indexes:", states[0] if states[0] == states[1] else " / ".join(states))


def _state(tree: Path, environment: dict[str, str]) -> str:
    """Return what is indexed, as `winnow index status` shows it."""
    command = [*WINNOW, "index", "status"]
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return "; ".join(
        line.strip() for line in done.stdout.splitlines() if "indexed" in line or "stored" in line
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="*", default=["django"], metavar="TREE")
    parser.add_argument("--limit", type=int, default=200, help="index.max_memory_usage_mb")
    options = parser.parse_args()
    known = {"django": corpora.django, "redis": corpora.redis, "kernel": corpora.kernel}
    for name in options.trees:
        source = known[name]() if name in known else Path(name).resolve()
        with tempfile.TemporaryDirectory() as work:
            share(source, Path(work).resolve(), options.limit)


if __name__ == "__main__":
    main()
