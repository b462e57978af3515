"""Describe the problems of folders, and group those of files by reason."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from winnow.index.builder.folder import FolderIndex
from winnow.index.not_covered import NotCovered
from winnow.index.store.file_record import EXCLUDED, FULL, HOLDS_SECRETS, TOO_LARGE, UNREADABLE_FILE
from winnow.text.plural import counted

# Reasons by the beginning of a problem.
REASONS = (
    (EXCLUDED, "excluded"),
    (FULL, "size_limit"),
    (TOO_LARGE, "too_large"),
    (HOLDS_SECRETS, "secret"),
    (UNREADABLE_FILE, "unreadable"),
    ("it took longer", "failed"),
    ("its parser has crashed", "failed"),
    ("its symbols cannot be extracted", "failed"),
)


def not_covered(problems: Mapping[str, int], binary: int) -> NotCovered:
    """Return how many files the index leaves out, by reason, from counts by problem."""
    counts: dict[str, int] = {"binary": binary} if binary else {}
    for problem, count in problems.items():
        reason = _reason(problem)
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + count
    return NotCovered(**counts)


def is_failure(problem: str) -> bool:
    """Return True if a problem is a failure of a worker."""
    return _reason(problem) == "failed"


def _reason(problem: str) -> str | None:
    return next((name for start, name in REASONS if problem.startswith(start)), None)


async def count_left_out(folders: Iterable[FolderIndex]) -> NotCovered:
    """Return how many files the indexes of some folders leave out, by reason."""
    problems, binaries = Counter[str](), 0
    for folder in folders:
        reader = await folder.reader()
        try:
            problems.update(await asyncio.to_thread(reader.problem_counts))
            binaries += await asyncio.to_thread(reader.binaries)
        finally:
            reader.close()
    return not_covered(problems, binaries)


def damages(folders: Iterable[FolderIndex], build_was_requested: bool) -> list[str]:
    """Describe damaged indexes: which folder, what is wrong, and how it is repaired."""
    rebuilt = "it is being rebuilt" if build_was_requested else "`winnow index build` rebuilds it"
    return [
        f"the index of {folder.root} is damaged ({folder.disk.damage}): {rebuilt}"
        for folder in folders
        if folder.disk.damage
    ]


def problem_messages(folders: Sequence[FolderIndex], build_was_requested: bool) -> list[str]:
    """Explain why folders are not fully indexed."""
    found = [
        f"{folder.root}: {folder.lifecycle.problem}"
        for folder in folders
        if folder.lifecycle.problem
    ]
    found += damages(folders, build_was_requested)
    if left_out := sum(folder.work.left_out for folder in folders):
        found.append(f"{counted(left_out, 'file is', 'files are')} left out: {FULL}")
    return found
