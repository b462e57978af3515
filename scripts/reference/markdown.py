"""Pieces of Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence

WRITTEN = "<!-- Written by scripts/docs from what stands in server/winnow: change it there. -->"
WIDTH = 96
# A longer block is folded.
LONG = 80


def page(title: str, *parts: str) -> str:
    """A page of parts with blank lines between them; empty parts are left out."""
    return "\n\n".join([WRITTEN, f"# {title}", *filter(None, parts)]) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; nothing without rows."""
    lines = [head, ["---"] * len(head), *rows] if rows else []
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def block(language: str, text: str) -> str:
    """A block of code, folded if it is long."""
    fence = f"```{language}\n{text}\n```"
    lines = text.count("\n") + 1
    if lines <= LONG:
        return fence
    return f"<details><summary>{lines} lines</summary>\n\n{fence}\n\n</details>"


def pretty(value: object, room: int = WIDTH, indent: str = "") -> str:
    """A value as JSON: on one line where it fits, else with its parts on lines of their own."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) <= room or not isinstance(value, (dict, list)) or not value:
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        keys = [json.dumps(key, ensure_ascii=False) + ": " for key in value]
        parts = zip(keys, value.values(), strict=True)
        begin, end = "{", "}"
    else:
        parts = zip([""] * len(value), value, strict=True)
        begin, end = "[", "]"
    made = [f"{inner}{key}{pretty(one, WIDTH - len(inner + key) - 1, inner)}" for key, one in parts]
    return "\n".join([begin, ",\n".join(made), indent + end])
