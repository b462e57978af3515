"""Numbers of things in English texts."""

from __future__ import annotations


def counted(number: int, one: str, more: str) -> str:
    """Return a number with what it counts: `1 file is read`, `1,200 files are read`."""
    return f"{number:,} {one if number == 1 else more}"
