"""glob: files by name."""

from __future__ import annotations

from winnow.errors import SEARCHING, EmptyQuery
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.glob import GlobParams, GlobPartial, GlobResult
from winnow.workspace import Workspace


def text(result: GlobResult, style: Style, folder: str) -> str:
    """One line a file: time, size, path as seen from ``folder``; then what was left out."""
    lines = []
    for file in result.files:
        path = seen_path(file, result.root, folder)
        size = "" if file.size is None else f"{file.size:,}"
        lines.append(style.dim(f"{file.modified or '':20} {size:>12}  ") + style.path(path))
    return _with_notes(result, lines, style)


def plain(result: GlobResult) -> str:
    """One path a line; then what was left out."""
    return _with_notes(
        result, [seen_path(file, result.root, None) for file in result.files], FOR_AGENTS
    )


def _with_notes(result: GlobResult, lines: list[str], style: Style) -> str:
    notes = notes_of(result, f"{result.returned} of {result.total_found} files", style)
    return "\n".join([*lines, *[""] * bool(lines), *notes])


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"pattern": "*.py", "sort_by": "size", "max_results": 3},
    raises=(EmptyQuery, *SEARCHING),
    partial=GlobPartial,
    learn=searches(lambda params, result: params.pattern, lambda result: result.files),
)
async def glob(workspace: Workspace, params: GlobParams, progress: Progress) -> GlobResult:
    """Find files whose path matches a glob pattern. Returns paths, sizes and times, no content.

    Effective use:
    - `src/**/*.rs`, `**/test_*.py`, `*.{json,toml}`: `*` stays within a name, `**` does not
    - `sort_by: "mtime"` shows what was worked on last
    - Paths of the answer can be passed to the other tools as they are
    - Ignored and hidden files are left out unless asked for; the answer says so
    """
    # Not needed to start a server or to print help.
    from winnow.search.files.glob import find_files

    return await find_files(workspace, params, progress)
