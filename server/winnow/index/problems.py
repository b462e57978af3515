"""Group the problems of files by reason."""

from __future__ import annotations

from collections.abc import Mapping

from winnow.index.not_covered import NotCovered
from winnow.index.store.file_record import EXCLUDED, FULL, HOLDS_SECRETS, TOO_LARGE, UNREADABLE_FILE

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
        reason = next((name for start, name in REASONS if problem.startswith(start)), None)
        if reason is not None:
            counts[reason] = counts.get(reason, 0) + count
    return NotCovered(**counts)
