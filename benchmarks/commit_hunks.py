"""Turn commits into questions: the subject of a commit asks for the lines that it changed.

Of each bare clone, the tree before the oldest of some recent commits is written to a folder, and
the lines that each commit changed are located in that tree. Commits that change no or many source
files, or whose subjects name a changed file or describe no change of behavior, are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import CONTAINERS, Definition
from winnow.symbols.language import language_of

# Commits per clone that become questions.
MOST_COMMITS = 40
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
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Span = tuple[int, int]


class CommitQuestion(NamedTuple):
    """A subject, and by file the lines of the tree that answer it, from 1."""

    text: str
    spans: Mapping[str, Sequence[Span]]


class _Commit(NamedTuple):
    number: str
    subject: str
    sources: Sequence[str]


class _Hunk(NamedTuple):
    """Lines that a commit replaces: their first line and their number, before and after."""

    before: int
    removed: int
    after: int
    added: int


def questions_of(clone: Path, tree: Path) -> list[CommitQuestion]:
    """Return questions about a clone; write the tree that they ask about, if it is missing."""
    commits = []
    for commit in _commits(clone):
        commits.append(commit)
        if len(commits) == MOST_COMMITS:
            break
    if not commits:
        return []
    base = f"{commits[-1].number}^"
    if not tree.is_dir():
        _write_tree(clone, base, tree)
    found = []
    for commit in commits:
        spans = {path: _spans(clone, base, commit, path, tree) for path in commit.sources}
        if any(spans.values()):
            answers = {path: lines for path, lines in spans.items() if lines}
            found.append(CommitQuestion(commit.subject, answers))
    return found


def _git(clone: Path, *arguments: str) -> bytes:
    # A clone may lack its largest files; nothing is fetched.
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    command = ["git", "--git-dir", str(clone), *arguments]
    return subprocess.run(command, capture_output=True, check=True, env=environment).stdout


def _commits(clone: Path) -> Iterator[_Commit]:
    """Yield usable commits, newest first."""
    options = ("--no-merges", "--first-parent", "--name-status", "--no-renames")
    log = _git(clone, "log", *options, "-n", str(_HISTORY), "--format=%x01%H%x02%s")
    for block in log.decode("utf-8", "replace").split("\1")[1:]:
        head, _, names = block.partition("\n")
        number, _, subject = head.partition("\2")
        changes = [line.split("\t", 1) for line in names.splitlines() if "\t" in line]
        sources = [name for _, name in changes if _SOURCE.search(name) and not _ASIDE.search(name)]
        modified = {name for status, name in changes if status == "M"}
        text = " ".join(_NOT_WORDS.sub(" ", subject).split()).strip(" .:-")
        if (
            1 <= len(sources) <= _MOST_SOURCES
            and len(changes) <= _MOST_CHANGED
            and modified.issuperset(sources)
            and len(text.split()) >= _LEAST_WORDS
            and not (_DULL.search(text) or _DULL.search(subject))
            and not any(_names(text, name) for name in sources)
        ):
            yield _Commit(number, text, sources)


def _names(subject: str, path: str) -> bool:
    """Return True if a subject contains the name of a file: it needs no search."""
    stem = re.sub(r"[^a-z0-9]", "", path.rpartition("/")[2].rpartition(".")[0].lower())
    return len(stem) > 3 and stem in re.sub(r"[^a-z0-9]", "", subject.lower())


def _write_tree(clone: Path, revision: str, tree: Path) -> None:
    listed = _git(clone, "ls-tree", "-r", "-z", revision).split(b"\0")
    entries = [entry.split(b"\t", 1) for entry in listed if b" blob " in entry]
    blobs = b"\n".join(about.split()[2] for about, _ in entries) + b"\n"
    check = ["git", "--git-dir", str(clone), "cat-file", "--batch-check"]
    there = subprocess.run(check, input=blobs, capture_output=True, check=True).stdout.splitlines()
    missing = [
        f":(exclude,literal){os.fsdecode(path)}"
        for (_, path), answer in zip(entries, there, strict=True)
        if answer.endswith(b"missing")
    ]
    archive = _git(clone, "archive", revision, "--", ".", *missing)
    tree.mkdir(parents=True)
    subprocess.run(["tar", "x", "-C", str(tree)], input=archive, check=True)


def _hunks(clone: Path, old: str, new: str, path: str) -> list[_Hunk]:
    try:
        diff = _git(clone, "diff", "-U0", "--no-renames", "--no-color", old, new, "--", path)
    except subprocess.CalledProcessError:  # the clone lacks the file
        return []
    found = []
    for line in diff.decode("utf-8", "replace").splitlines():
        if hunk := _HUNK.match(line):
            before, removed, after, added = hunk.groups()
            found.append(_Hunk(int(before), int(removed or 1), int(after), int(added or 1)))
    return found


def _spans(clone: Path, base: str, commit: _Commit, path: str, tree: Path) -> list[Span]:
    """Return the lines of the tree that a commit changes in a file, each change with the function
    that contains it."""
    try:
        source = (tree / path).read_bytes()
    except OSError:
        return []
    parent = f"{commit.number}^"
    earlier = _hunks(clone, base, parent, path)
    functions = _functions(path, source)
    found = []
    for hunk in _hunks(clone, parent, commit.number, path):
        # New lines stand between two lines.
        last = hunk.before + max(hunk.removed - 1, 0 if hunk.removed else 1)
        lines = [_line_before(line, earlier) for line in (hunk.before, last)]
        known = [line for line in lines if line is not None]
        if known:
            found.append(_with_function((min(known), max(known)), functions))
    return found


def _line_before(line: int, hunks: Sequence[_Hunk]) -> int | None:
    """Return the number that a line had before some changes; None for a line that they added."""
    # The first lines behind changes; a change without new lines is behind its line.
    ends = [hunk.after + (hunk.added or 1) for hunk in hunks]
    place = bisect_right(ends, line)
    if place < len(hunks) and hunks[place].added and hunks[place].after <= line:
        return None
    if not place:
        return line
    hunk = hunks[place - 1]
    return line - ends[place - 1] + hunk.before + (hunk.removed or 1)


def _functions(path: str, source: bytes) -> list[Definition]:
    language = language_of(path)
    symbols = extract(language, source) if language else None
    return [each for each in symbols.definitions if _is_function(each)] if symbols else []


def _is_function(definition: Definition) -> bool:
    return not definition.local and definition.kind not in CONTAINERS


def _with_function(span: Span, functions: Sequence[Definition]) -> Span:
    """Return some lines with the smallest function that contains them, if any does."""
    first, last = span
    around = [each for each in functions if each.line < last and each.end_line >= first - 1]
    inner = min(around, key=lambda each: each.end_line - each.line, default=None)
    if inner is None:
        return span
    return min(first, inner.line + 1), max(last, inner.end_line + 1)
