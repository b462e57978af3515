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
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import corpora
from index_build import TITLES, measured, print_row
from memory import SETTINGS

INDEX = [sys.executable, "-m", "winnow", "index"]


class Member(NamedTuple):
    """A user with a copy of the tree."""

    tree: Path
    environment: Mapping[str, str]

    def measure(self, title: str, *arguments: str, made: Path) -> None:
        """Print a row for a command that makes a file or folder."""
        print_row(title, *measured([*INDEX, *arguments], self.tree, made, **self.environment))

    def status(self) -> str:
        """Return what is indexed, as `winnow index status` shows it."""
        environment = {**os.environ, **self.environment}
        shown = subprocess.check_output([*INDEX, "status"], cwd=self.tree, env=environment)
        lines = shown.decode().splitlines()
        return "; ".join(line.strip() for line in lines if "indexed" in line or "stored" in line)


def member(name: str, source: Path, work: Path) -> Member:
    """Return a user with folders of their own and a copy of a tree."""
    tree = work / name / source.name
    shutil.copytree(source, tree, symlinks=True, ignore=shutil.ignore_patterns(".winnow"))
    folders = {f"XDG_{kind}_HOME": str(work / name / kind) for kind in ("STATE", "CACHE", "DATA")}
    config = str(work / "config.toml")
    return Member(tree, {"WINNOW_CONFIG": config, "WINNOW_BACKGROUND": "0", **folders})


def share(source: Path, work: Path, limit: int) -> None:
    """Build, export and pull the index of a tree; print a row for each."""
    (work / "config.toml").write_text(SETTINGS.format(limit))
    archive = work / "index.winnow"
    print(f"{source.name:24}", *(f"{one:>9}" for one in TITLES), flush=True)
    first = member("first", source, work)
    first.measure("build", "build", made=first.tree / ".winnow")
    first.measure("export", "export", str(archive), "--unsigned", made=archive)
    second = member("second", source, work)
    second.measure("pull", "pull", str(archive), "--unsigned", made=second.tree / ".winnow")
    one, other = first.status(), second.status()
    print("both indexes:", one if one == other else f"{one} / {other}")


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
