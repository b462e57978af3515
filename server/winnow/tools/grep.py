"""grep: exact text or a regular expression, in the files of the workspace."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import SEARCHING, EmptyQuery, InvalidPattern
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Placed, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.grep import (
    GrepParams,
    GrepPartial,
    GrepResult,
    PreviewLine,
)
from winnow.workspace import Workspace


def text(result: GrepResult, style: Style, folder: str) -> str:
    """Files, each with its lines under it (`12:` matches, `11-` is context); then what was left
    out. Paths are shown as seen from ``folder``."""
    return _rendered(result, style, folder)


def plain(result: GrepResult) -> str:
    """The same without colours, with paths as the result has them."""
    return _rendered(result, FOR_AGENTS, None)


def _rendered(result: GrepResult, style: Style, folder: str | None) -> str:
    def shown(found: Placed) -> str:
        return style.path(seen_path(found, result.root, folder))

    lines: list[str] = []
    for file in result.files or []:
        lines.append(shown(file) + (f": {file.matches}" if file.matches is not None else ""))
    at = None
    for match in result.matches:
        if (match.root, match.path) != at:
            lines += [""] * bool(lines) + [shown(match)]
            at, last = (match.root, match.path), 0
        if not match.preview and match.line > last:
            lines.append(style.dim(f"{match.line}:{match.column}"))
            last = match.line
        for line in match.preview:
            if last and line.line > last + 1:
                lines.append(style.dim("--"))
            last = line.line
            lines.append(_line(line, style))
    return "\n".join([*lines, *[""] * bool(lines), *_notes(result, style)])


def _line(line: PreviewLine, style: Style) -> str:
    mark = ":" if line.match else "-"
    return style.dim(f"{line.line}{mark}") + printable(line.text)


def _notes(result: GrepResult, style: Style) -> Iterator[str]:
    what = "matches" if result.files is None else "files"
    least = "at least " * (result.total_is_lower_bound and what == "matches")
    summary = f"{result.returned} of {least}{result.total_found} {what}"
    if what == "files" and result.total_matches is not None:
        summary += f", {result.total_matches} matches"
    return notes_of(result, summary, style)


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"pattern": "def load_plugin", "context_lines": 1},
    raises=(EmptyQuery, InvalidPattern, *SEARCHING),
    partial=GrepPartial,
    learn=searches(
        lambda params, result: params.pattern,
        lambda result: [*result.matches, *(result.files or ())],
    ),
    of_open_documents=True,
)
async def grep(workspace: Workspace, params: GrepParams, progress: Progress) -> GrepResult:
    """Search for exact text or a regular expression in files. Returns matches with surrounding lines.

    Effective use:
    - Use it when you know what the text looks like: names, messages, calls
    - Narrow with `path`, `include` and `file_types` before raising `max_results`
    - `mode: "counts"` or `"files"` tells cheaply where a common word is
    - `total_is_lower_bound` says that the search stopped early; `cursor` continues it exactly
    - Ignored, hidden and binary files are not searched unless asked for; `completeness` and
      `warnings` say what that left out
    """  # noqa: E501 - the first line is the summary
    # Not needed to start a server or to print help.
    from winnow.search.grep.search import search_text

    return await search_text(workspace, params, progress)
