"""Correct a call that a tool has refused, if it is clear what was meant.

A model repeats a call that it sees; an explanation alone often costs it several attempts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from msgspec import inspect as inspection

from winnow.errors import InvalidParams, InvalidPattern, NoSymbol, NotFound, SearchError
from winnow.tools.registry import LIMITS, Tool

# Names that models use for a param, because other tools call it so.
_OTHER_NAMES = {
    "query": ("pattern", "q", "text", "question", "search", "keyword", "name", "symbol"),
    "pattern": ("query", "q", "regex", "text", "search"),
    "name": ("symbol", "query", "symbol_name", "identifier"),
    "path": ("file", "file_path", "filename", "filepath", "directory", "folder", "dir", "uri"),
    "include": ("glob", "globs", "include_pattern", "file_pattern", "files"),
    "spans": ("lines", "range", "ranges", "line_range"),
    "context_lines": ("context", "lines_of_context"),
    "literal": ("fixed_strings", "fixed", "is_literal"),
}
# The first and the last line of a file, which `spans` has as one text.
_FIRST = ("start_line", "line_start", "first_line", "from_line", "start")
_LAST = ("end_line", "line_end", "last_line", "to_line", "end")
# The first line and the number of lines, as other tools for reading files have them.
_OFFSET, _COUNT = "offset", ("limit", "max_lines", "num_lines", "count", "length")
_LIMITS = (*LIMITS, "top_k", "k", "count", "num_results", "n", "max", "head_limit")
SIMILAR = 0.75
# Lookaround, references to groups, and line ends.
_UNSUPPORTED = re.compile(r"\(\?<?[=!]|\\[1-9]|\\n|\n")


def corrected(
    tool: Tool[Any, Any], raw: Mapping[str, Any], error: SearchError
) -> dict[str, Any] | None:
    """Return the params of the call that was probably meant; None if that is unclear."""
    if isinstance(error, NotFound):
        call = {**raw, "path": error.meant} if error.meant and "path" in raw else None
    elif isinstance(error, NoSymbol):
        call = {**raw, "name": error.meant} if error.meant else None
    elif isinstance(error, InvalidPattern):
        # A pattern that ripgrep does not support is no text either.
        is_text = "literal" in _kinds(tool) and not _UNSUPPORTED.search(error.data["pattern"])
        call = {**raw, "literal": True} if is_text else None
    elif isinstance(error, InvalidParams):
        call = _with_known_params(tool, raw)
    else:
        call = None
    if call is None or call == raw:
        return None
    try:
        tool.parse(call)
    except InvalidParams:
        return None
    return call


def _with_known_params(tool: Tool[Any, Any], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return params with known names and values of their types."""
    kinds = _kinds(tool)
    call: dict[str, Any] = {}
    for name, value in raw.items():
        known = name if name in kinds else _meant(name, kinds)
        if known and known not in call:
            call[known] = _of_kind(kinds[known], value)
    if "spans" in kinds and "spans" not in call and (lines := _lines_of(raw)):
        call["spans"] = lines
        call.pop("max_lines", None)
    return call


def _lines_of(raw: Mapping[str, Any]) -> str:
    """Return the lines that two params name, as a span, or ""."""
    offset, count, first, last = (
        next((raw[name] for name in names if name in raw), None)
        for names in ((_OFFSET,), _COUNT, _FIRST, _LAST)
    )
    if isinstance(offset, int):
        start = max(1, offset)
        return f"{start}-{start + count - 1 if isinstance(count, int) and count > 0 else ''}"
    return f"{first}-{last}" if first is not None and last is not None else ""


def _kinds(tool: Tool[Any, Any]) -> dict[str, inspection.Type]:
    return {field.name: field.kind for field in tool.fields}


def _meant(name: str, kinds: Mapping[str, inspection.Type]) -> str:
    """Return the param that a wrong name means, or ""."""
    for known, others in _OTHER_NAMES.items():
        if known in kinds and name in others:
            return known
    if name in _LIMITS:
        return next((limit for limit in sorted(LIMITS) if limit in kinds), "")
    return next(iter(difflib.get_close_matches(name, kinds, 1, SIMILAR)), "")


def _of_kind(kind: inspection.Type, value: Any) -> Any:
    """Return the value in the type of its param, and within its bounds."""
    if isinstance(kind, inspection.IntType) and isinstance(value, (int, str, float)):
        try:
            number = int(value)
        except ValueError:
            return value
        return max(kind.ge or 0, min(number, kind.le if kind.le is not None else number))
    if isinstance(kind, inspection.BoolType) and value in ("true", "false"):
        return value == "true"
    return value
