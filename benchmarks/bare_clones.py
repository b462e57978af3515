"""Read bare clones: the commits whose messages can be queries, and the trees of commits.

A usable commit changes one to four source files. Its subject says what changes in the behavior, and
does not name one of these files: that needs no search. Nothing of a clone is run.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

# Commits of a clone to read, and the files that a usable commit changes.
_HISTORY = 3_000
_MOST_SOURCES, _MOST_CHANGED = 4, 12
_LEAST_WORDS = 4

_SOURCE = re.compile(
    r"\.(?:py|js|ts|tsx|jsx|go|java|kt|scala|rb|php|rs|c|h|cc|cpp|hpp|cs|swift|ex|exs|lua|zig|hs"
    r"|sh|bash)$"
)
_ASIDE = re.compile(
    r"(?i)(?:^|/)(?:tests?|specs?|testing|__tests__|docs?|examples?|bench(?:marks?)?|vendor"
    r"|node_modules|dist)/|_test\.|test_|\.test\.|\.spec\.|Test\.|Spec\."
)
_DULL = re.compile(
    r"(?i)^(?:merge|revert|release|bump|version|v?\d|chore|fmt|format|lint|style|docs?|update dep"
    r"|upgrade|ci\b|build\b|prepare|wip)|typo|changelog|clippy|rubocop|whitespace|copyright"
    r"|reformat|prettier|gofmt|license"
)
_NOT_WORDS = re.compile(r"\(?#\d+\)?|\[[^\]]*\]|^\w+(?:\([^)]*\))?!?:\s*|gh-\d+:?")


class Commit(NamedTuple):
    """A commit; ``changes`` are pairs of a status and a path."""

    number: str
    subject: str
    body: str
    changes: Sequence[Sequence[str]]


class UsableCommit(NamedTuple):
    """A commit with a subject in words and the source files that it changes."""

    number: str
    subject: str
    body: str
    sources: Sequence[str]


def clone_of(clones: Path, github: str) -> Path:
    """Return the clone of a repository, `owner/name`."""
    return clones / github.replace("/", "+") / "repo"


def git(clone: Path, *arguments: str) -> bytes:
    """Return what git prints. A clone may lack its largest files; nothing is fetched."""
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", "--git-dir", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


def commits_of(clone: Path) -> Iterator[Commit]:
    """Yield the commits of a clone, newest first, without merges."""
    options = ("--no-merges", "--first-parent", "--name-status", "--no-renames")
    log = git(clone, "log", *options, "-n", str(_HISTORY), "--format=%x01%H%x02%s%x02%b%x03")
    for block in log.decode("utf-8", "replace").split("\1")[1:]:
        message, _, names = block.partition("\3")
        number, subject, body = message.split("\2", 2)
        changes = [line.split("\t", 1) for line in names.splitlines() if "\t" in line]
        yield Commit(number, subject, body, changes)


def usable(commit: Commit) -> UsableCommit | None:
    """Return a commit if it is usable, else None."""
    number, subject, body, changes = commit
    sources = [name for _, name in changes if _SOURCE.search(name) and not _ASIDE.search(name)]
    modified = {name for status, name in changes if status == "M"}
    text = " ".join(_NOT_WORDS.sub(" ", subject).split()).strip(" .:-")
    is_usable = (
        1 <= len(sources) <= _MOST_SOURCES
        and len(changes) <= _MOST_CHANGED
        and modified.issuperset(sources)
        and len(text.split()) >= _LEAST_WORDS
        and not (_DULL.search(text) or _DULL.search(subject))
        and not any(_names(text, name) for name in sources)
    )
    return UsableCommit(number, text, body, sources) if is_usable else None


def _names(subject: str, path: str) -> bool:
    """Return True if a subject contains the name of a file."""
    stem = re.sub(r"[^a-z0-9]", "", path.rpartition("/")[2].rpartition(".")[0].lower())
    return len(stem) > 3 and stem in re.sub(r"[^a-z0-9]", "", subject.lower())


def write_tree(clone: Path, revision: str, folder: Path) -> None:
    """Write the tree of a commit to a folder, without the files that the clone lacks."""
    listed = git(clone, "ls-tree", "-r", "-z", revision).split(b"\0")
    entries = [entry.split(b"\t", 1) for entry in listed if b" blob " in entry]
    blobs = b"\n".join(about.split()[2] for about, _ in entries) + b"\n"
    check = ["git", "--git-dir", str(clone), "cat-file", "--batch-check"]
    there = subprocess.run(check, input=blobs, capture_output=True, check=True).stdout.splitlines()
    missing = [
        f":(exclude,literal){os.fsdecode(path)}"
        for (_, path), answer in zip(entries, there, strict=True)
        if answer.endswith(b"missing")
    ]
    archive = git(clone, "archive", revision, "--", ".", *missing)
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive, check=True)
