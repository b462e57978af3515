"""Find the definition around a line, for hits that are about a single line."""

from __future__ import annotations

from collections.abc import Sequence

from winnow.symbols.file_symbols import Definition

# A marked line is shown, whatever words other lines have.
MARK = 100.0


def enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """Return the innermost definition that contains a line, from 1."""
    around = [d for d in definitions if d.line + 1 <= line <= d.end_line + 1]
    return min(around, key=lambda d: d.end_line - d.line, default=None)
