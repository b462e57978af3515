"""Turn commits into questions: the subject of a commit asks for the lines that it changed.

Of each bare clone, the tree before the oldest of some recent commits is written to a folder, and
the lines that each commit changed are located in that tree. `bare_clones.py` says which commits are
usable.
"""

from __future__ import annotations

import re
import subprocess
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bare_clones import UsableCommit, commits_of, git, usable, write_tree

from winnow.index.postings.imports import is_import
from winnow.symbols.extract.driver import extract
from winnow.symbols.file_symbols import CONTAINERS, Definition
from winnow.symbols.language import language_of

# Commits per clone that become questions.
MOST_COMMITS = 40
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")

Span = tuple[int, int]


class CommitQuestion(NamedTuple):
    """A subject, and by file the lines of the tree that answer it, from 1."""

    text: str
    spans: Mapping[str, Sequence[Span]]


class _Hunk(NamedTuple):
    """Lines that a commit replaces: their first line and their number, before and after."""

    before: int
    removed: int
    after: int
    added: int


def questions_of(clone: Path, tree: Path) -> list[CommitQuestion]:
    """Return questions about a clone; write the tree that they ask about, if it is missing."""
    commits = list(islice(filter(None, map(usable, commits_of(clone))), MOST_COMMITS))
    if not commits:
        return []
    base = f"{commits[-1].number}^"
    if not tree.is_dir():
        write_tree(clone, base, tree)
    found = []
    for commit in commits:
        spans = {path: _spans(clone, base, commit, path, tree) for path in commit.sources}
        if any(spans.values()):
            answers = {path: lines for path, lines in spans.items() if lines}
            found.append(CommitQuestion(commit.subject, answers))
    return found


def _hunks(clone: Path, old: str, new: str, path: str) -> list[_Hunk]:
    try:
        diff = git(clone, "diff", "-U0", "--no-renames", "--no-color", old, new, "--", path)
    except subprocess.CalledProcessError:  # the clone lacks the file
        return []
    found = []
    for line in diff.decode("utf-8", "replace").splitlines():
        if hunk := _HUNK.match(line):
            before, removed, after, added = hunk.groups()
            found.append(_Hunk(int(before), int(removed or 1), int(after), int(added or 1)))
    return found


def _spans(clone: Path, base: str, commit: UsableCommit, path: str, tree: Path) -> list[Span]:
    """Return the lines of the tree that a commit changes in a file, each change with the function
    that contains it. Changed imports only follow from other changes."""
    try:
        source = (tree / path).read_bytes()
    except OSError:
        return []
    parent = f"{commit.number}^"
    earlier = _hunks(clone, base, parent, path)
    functions = _functions(path, source)
    texts = source.decode("utf-8", "replace").split("\n")
    found = []
    for hunk in _hunks(clone, parent, commit.number, path):
        # New lines stand between two lines.
        last = hunk.before + max(hunk.removed - 1, 0 if hunk.removed else 1)
        lines = [_line_before(line, earlier) for line in (hunk.before, last)]
        known = [line for line in lines if line is not None]
        if known and not _is_imports(texts[min(known) - 1 : max(known)]):
            found.append(_with_function((min(known), max(known)), functions))
    return found


def _is_imports(lines: Sequence[str]) -> bool:
    written = [line for line in lines if line.strip()]
    return bool(written) and all(map(is_import, written))


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
