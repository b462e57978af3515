"""glob: find files by name."""

from __future__ import annotations

import asyncio
import functools
import os
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, EmptyQuery
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.files.glob import FileList, GlobFile, SortBy, excluded_matches, list_matches
from winnow.text.paths import shown_folder
from winnow.tools.recording import searches
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import FileParams, Progress, Result, SearchAnswer
from winnow.workspace import EngineWorkspace


class GlobParams(FileParams, frozen=True, kw_only=True):
    """The files to find."""

    pattern: Annotated[
        str,
        Meta(
            description="Glob pattern, such as 'src/**/*.rs' or '**/test_*.py', relative to the"
            " root or to `path`. A pattern without a slash matches names at any depth.",
            max_length=4_000,
        ),
    ]
    sort_by: Annotated[
        SortBy, Meta(description="'mtime': last modified first. 'size': largest first.")
    ] = "path"
    max_results: Annotated[
        int, Meta(description="Maximum number of files to return.", ge=1, le=100_000)
    ] = 100


class GlobResult(SearchAnswer, frozen=True, kw_only=True):
    """The matching files, in the requested order."""

    files: Annotated[list[GlobFile], Meta(description="The files; empty if they were streamed.")]


class GlobPartial(Result, frozen=True, kw_only=True):
    """Further files, which the result does not repeat."""

    files: Annotated[list[GlobFile], Meta(description="The next files.")]


class GlobPosition(msgspec.Struct, frozen=True, array_like=True):
    """The last file on a page, and the key it is sorted by."""

    value: int
    path: bytes


def text(result: GlobResult, style: Style, folder: str | None) -> str:
    """Render a line per file with its time, size and path; then notes."""
    lines = []
    for file in result.files:
        path = seen_path(file, result.root, folder)
        size = "" if file.size is None else f"{file.size:,}"
        lines.append(style.dim(f"{file.modified or '':20} {size:>12}  ") + style.path(path))
    return _with_notes(result, lines, style)


def plain(result: GlobResult) -> str:
    """Render a path per line; then notes."""
    paths = [seen_path(file, result.root, None) for file in result.files]
    return _with_notes(result, paths, FOR_AGENTS)


def _with_notes(result: GlobResult, lines: list[str], style: Style) -> str:
    notes = notes_of(result, f"{result.returned} of {result.total_found} files", style)
    return "\n".join([*lines, *[""] * bool(lines), *notes])


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Find files by name.",
        "winnow glob '**/*_test.py' --sort-by size",
        "winnow glob '*.sql' db --limit 10",
    ),
    example={"pattern": "*.py", "sort_by": "size", "max_results": 3},
    raises=(EmptyQuery, *SEARCHING),
    partial=GlobPartial,
    learn=searches(lambda params, result: params.pattern, lambda result: result.files),
)
async def glob(workspace: EngineWorkspace, params: GlobParams, progress: Progress) -> GlobResult:
    """Find files whose path matches a glob pattern. Returns paths, sizes and times, no content.

    Effective use:
    - `src/**/*.rs`, `**/test_*.py`, `*.{json,toml}`: `*` matches within a name, `**` across folders
    - `sort_by: "mtime"` shows the most recent work
    - Pass the returned paths to other tools unchanged
    - Ignored and hidden files are excluded by default; the answer says so
    """
    if not params.pattern.strip():
        raise EmptyQuery
    scope = workspace.scope(filters_of(params))
    async with workspace.search_slots:
        progress(f"Listing files that match {params.pattern[:60]}")
        ripgrep = workspace.run_ripgrep()
        scope = await workspace.narrow_scope(
            scope, ripgrep, files=params.scope, follow_symlinks=params.follow_symlinks
        )
        matches = list_matches(workspace, ripgrep, scope, params.pattern, params.sort_by)
        async with matches as found:
            result = await asyncio.to_thread(_page, params, found)
            if not found.paths and not params.cursor:
                if params.scope == "workspace":
                    warnings = await excluded_matches(workspace, found)
                else:
                    files = len(found.scope.files or ())
                    warnings = [f"scope={params.scope!r} has only {files} files"]
                result = msgspec.structs.replace(result, warnings=[*result.warnings, *warnings])
    if progress.streaming and not params.max_tokens and result.files:
        progress(f"{result.returned} files", partial=GlobPartial(files=result.files))
        return msgspec.structs.replace(result, files=[])
    return result


def _page(params: GlobParams, found: FileList) -> GlobResult:
    """Return the page after the cursor, shortened to `max_tokens`."""
    first, changed = cursor.resume(
        params,
        GlobPosition,
        lambda last: found.count_before(last.value, os.fsdecode(last.path)),
        lambda end: _stamp(found, end),
    )
    files = [found.row(path) for path in found.paths[first : first + params.max_results]]
    completeness = found.completeness(*[CHANGED] * changed)

    def page_of(count: int, *, bare: bool = False) -> GlobResult:
        end = first + count
        is_last = end >= len(found.paths)
        rows = files[:count]
        if bare:
            rows = [msgspec.structs.replace(file, size=None, modified=None) for file in rows]
        return GlobResult(
            root=shown_folder(found.scope.root),
            files=rows,
            total_found=len(found.paths),
            returned=count,
            truncated=not is_last or (bare and count > 0),
            completeness=completeness,
            warnings=found.warnings,
            cursor=None if is_last else _cursor(params, found, end),
        )

    fewer = [functools.partial(page_of, count, bare=True) for count in fractions(len(files))]
    return shorten(page_of(len(files)), params.max_tokens, fewer)


def _cursor(params: GlobParams, found: FileList, end: int) -> str:
    last = GlobPosition(found.keys[end - 1], os.fsencode(found.paths[end - 1]))
    return cursor.encode(params, last, _stamp(found, end))


def _stamp(found: FileList, end: int) -> bytes:
    return cursor.stamp_of([*zip(found.paths[:end], found.keys[:end], strict=True)])
