"""Numbers and articles of things in English texts."""

from __future__ import annotations


def counted(number: int, one: str, more: str) -> str:
    """Return a number with what it counts: `1 file is read`, `1,200 files are read`."""
    return f"{number:,} {one if number == 1 else more}"


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article: `an example file`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
