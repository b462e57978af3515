"""Compare paths."""

from __future__ import annotations


def shared_folders(path: str, other: str) -> int:
    """Return the number of leading folders that two files share."""
    count = 0
    for mine, theirs in zip(path.split("/")[:-1], other.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count
