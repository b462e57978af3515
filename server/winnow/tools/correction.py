"""Correct a call that a tool has refused, if it is clear what was meant.

A model repeats a call that it sees; an explanation alone often costs it several attempts.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import inspect as inspection

from winnow.errors import InvalidParams, InvalidPattern, NoSymbol, NotFound, SearchError
from winnow.tools.registry import LIMITS, Tool, choices_of, is_list_of_ranges

# Names that models use for a param, because other tools call it so.
_OTHER_NAMES = {
    "query": ("pattern", "q", "text", "question", "search", "keyword", "name", "symbol"),
    "pattern": ("query", "q", "regex", "text", "search"),
    "name": ("symbol", "query", "symbol_name", "identifier"),
    "path": ("file", "file_path", "filename", "filepath", "directory", "folder", "dir", "uri"),
    "include": ("glob", "globs", "include_pattern", "file_pattern", "files"),
    "file_types": ("type", "file_type", "filetype", "language", "lang"),
    "spans": ("lines", "range", "ranges", "line_range", "view_range"),
    "context_lines": ("context", "lines_of_context", "-C"),
    "literal": ("fixed_strings", "fixed", "is_literal"),
    "mode": ("output_mode",),
}
# Names that models use for the opposite of a param.
_OPPOSITES = {"case_sensitive": ("-i", "ignore_case", "case_insensitive")}
# Values that the search tools of agents have for `mode`.
_OTHER_VALUES = {"content": "matches", "files_with_matches": "files"}
# The first and the last line of a file, which `spans` has as one text.
_FIRST = ("start_line", "line_start", "first_line", "from_line", "start")
_LAST = ("end_line", "line_end", "last_line", "to_line", "end")
# The first line and the number of lines, as other tools for reading files have them.
_OFFSET, _COUNT = "offset", ("limit", "max_lines", "num_lines", "count", "length")
_NAMES_OF_LINES = {_OFFSET, *_COUNT, *_FIRST, *_LAST}
_LIMITS = (*LIMITS, "top_k", "k", "count", "num_results", "n", "max", "head_limit")
SIMILAR = 0.75
_GLOB = re.compile(r"[^/].*[*?]|[*?]", re.S)
# Lookaround, references to groups, and line ends.
_UNSUPPORTED = re.compile(r"\(\?<?[=!]|\\[1-9]|\\n|\n")


class Correction(NamedTuple):
    """The params of the call that was probably meant, and the names of those that it leaves out."""

    call: dict[str, Any]
    dropped: Sequence[str] = ()


def corrected(
    tool: Tool[Any, Any], raw: Mapping[str, Any], error: SearchError
) -> Correction | None:
    """Return the call that was probably meant; None if that is unclear."""
    dropped: Sequence[str] = ()
    if isinstance(error, NotFound):
        call = _with_known_path(tool, raw, error.meant)
    elif isinstance(error, NoSymbol):
        call = {**raw, "name": error.meant} if error.meant else None
    elif isinstance(error, InvalidPattern):
        # A pattern that ripgrep does not support is no text either.
        is_text = "literal" in _kinds(tool) and not _UNSUPPORTED.search(error.data["pattern"])
        call = {**raw, "literal": True} if is_text else None
    elif isinstance(error, InvalidParams):
        call, dropped = _with_known_params(tool, raw)
    else:
        call = None
    if call is None or call == raw:
        return None
    lists = {name for name, kind in _kinds(tool).items() if isinstance(kind, inspection.ListType)}
    # As in the schema: a tool accepts one value instead of a list, but a client may not.
    call = {
        name: [value] if name in lists and isinstance(value, str) else value
        for name, value in call.items()
    }
    try:
        tool.parse(call)
    except InvalidParams:
        return None
    return Correction(call, dropped)


def _with_known_path(
    tool: Tool[Any, Any], raw: Mapping[str, Any], meant: str
) -> dict[str, Any] | None:
    """Return params with the path that was ``meant``, or a glob where globs are accepted."""
    path = raw.get("path")
    if not isinstance(path, str):
        return None
    if meant:
        return {**raw, "path": meant}
    if "include" in raw or "include" not in _kinds(tool) or not _GLOB.match(path):
        return None
    others = {name: value for name, value in raw.items() if name != "path"}
    return {**others, "include": path.removeprefix("./")}


def _with_known_params(
    tool: Tool[Any, Any], raw: Mapping[str, Any]
) -> tuple[dict[str, Any], Sequence[str]]:
    """Return params with known names and values of their types, and the names of the others."""
    kinds = _kinds(tool)
    call: dict[str, Any] = {}
    dropped = []
    for name, value in raw.items():
        known = name if name in kinds else meant_param(name, kinds)
        opposite = next((known for known, names in _OPPOSITES.items() if name in names), "")
        if opposite in kinds and isinstance(value, bool):
            call[opposite] = not value
        elif known and known not in call:
            call[known] = _of_kind(kinds[known], value)
        else:
            dropped.append(name)
    if "spans" in kinds and "spans" not in call and (lines := _lines_of(raw)):
        call["spans"] = lines
        call.pop("max_lines", None)
        dropped = [name for name in dropped if name not in _NAMES_OF_LINES]
    return call, dropped


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


def meant_param(name: str, params: Collection[str]) -> str:
    """Return the param that a wrong name means, or ""."""
    for known, others in _OTHER_NAMES.items():
        if known in params and name in others:
            return known
    if name in _LIMITS:
        return next((limit for limit in sorted(LIMITS) if limit in params), "")
    return next(iter(difflib.get_close_matches(name, params, 1, SIMILAR)), "")


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
    if isinstance(kind, inspection.StrType) and isinstance(value, list) and len(value) == 1:
        return value[0]
    if is_list_of_ranges(kind):
        return _span(value)
    if choices := choices_of(kind):
        return _chosen(choices, value)
    return value


def _span(value: Any) -> Any:
    """Return a list of the first and the last line, or each in a list, as a span; -1 is the last
    line of the file."""
    match value:
        case [int() as first, int() as last]:
            return f"{first}-{'' if last == -1 else last}"
        case [*several]:
            return list(map(_span, several))
    return value


def _chosen(choices: Sequence[str], value: Any) -> Any:
    """Return the choices that are most similar to a value, or to each in a list."""
    if isinstance(value, list):
        return [_chosen(choices, item) for item in value]
    known = _OTHER_VALUES.get(value, value) if isinstance(value, str) else ""
    return next(iter(difflib.get_close_matches(known, choices, 1, SIMILAR)), value)
