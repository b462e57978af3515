"""tree: show the structure of a folder."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, NotAFolder
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.files.tree import (
    FolderTree,
    TreeEntry,
    TreePosition,
    excluded_files,
    list_tree,
)
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.text.scope import Filters
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style, notes_of
from winnow.types import Answer, PageParams, Pattern, Progress
from winnow.workspace import EngineWorkspace

INDENT = "  "


class TreeParams(PageParams, frozen=True, kw_only=True):
    """The folder to show, and how much of it."""

    path: Annotated[
        str,
        Meta(description="Folder, absolute or relative to the root.", max_length=4_000),
    ] = "."
    depth: Annotated[int, Meta(description="Levels of folders to show.", ge=1, le=100)] = 3
    include: Annotated[
        list[Pattern],
        Meta(description="Glob patterns of files to show, such as '*.py'.", max_length=100),
    ] = []
    exclude: Annotated[
        list[Pattern],
        Meta(description="Glob patterns of files to exclude, such as 'vendor/**'.", max_length=100),
    ] = []
    show_hidden: Annotated[bool, Meta(description="Also show hidden files and folders.")] = False
    show_sizes: Annotated[
        bool, Meta(description="Show the sizes of files and folders, in bytes.")
    ] = False
    include_ignored: Annotated[
        bool, Meta(description="Also show files that .gitignore and similar files exclude.")
    ] = False
    include_submodules: Annotated[
        bool, Meta(description="Also show git submodules that are checked out.")
    ] = False
    max_entries: Annotated[
        int, Meta(description="Maximum number of entries to return.", ge=1, le=100_000)
    ] = 500


class TreeResult(Answer, frozen=True, kw_only=True):
    """The structure of the folder. `total_found` and `returned` count entries at any depth."""

    entries: Annotated[
        list[TreeEntry], Meta(description="The entries of the folder, sorted by name.")
    ]
    text: Annotated[str, Meta(description="The same as indented lines.")]


def text(result: TreeResult, style: Style, folder: str | None) -> str:
    """Render indented lines; then notes."""
    summary = f"{result.returned} of {result.total_found} entries"
    return "\n".join([result.text, "", *notes_of(result, summary, style)])


@tool(
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Show the structure of a folder.",
        "winnow tree server",
        "winnow tree src --depth 2",
    ),
    example={"depth": 2, "show_sizes": True},
    raises=(NotAFolder, *SEARCHING),
)
async def tree(workspace: EngineWorkspace, params: TreeParams, progress: Progress) -> TreeResult:
    """Show the structure of a folder as a tree, with counts of omitted entries.

    Effective use:
    - Start with the default depth at the root of an unfamiliar code base
    - `… 42 files` after a folder shows what `depth` cuts off: call again with that `path`
    - If `max_entries` is too small, folders near the top come first; `cursor` returns the rest
    - `include: ["*.py"]` shows only the folders that contain such files
    """
    filters = Filters(
        path="" if params.path in ("", ".") else params.path,
        include=params.include,
        exclude=params.exclude,
        include_ignored=params.include_ignored,
        include_hidden=params.show_hidden,
        include_submodules=params.include_submodules,
    )
    scope = workspace.scope(filters)
    async with workspace.search_slots:
        progress(f"Listing {params.path}")
        ripgrep = workspace.run_ripgrep()
        async with list_tree(
            workspace, ripgrep, scope, depth=params.depth, sizes=params.show_sizes
        ) as found:
            result = await asyncio.to_thread(_page, params, found)
            if found.nodes or params.cursor:
                return result
            count, flags = await excluded_files(workspace, found)
    if not count:
        return result
    names = ["show_hidden" if flag == "include_hidden" else flag for flag in flags]
    warning = f"no files; {_count(count, 'excluded file')}: pass {' and '.join(names)}"
    return msgspec.structs.replace(result, warnings=[*result.warnings, warning])


def _page(params: TreeParams, tree: FolderTree) -> TreeResult:
    """Return the page after the cursor, shortened to `max_tokens`."""
    first, changed = cursor.resume(
        params,
        TreePosition,
        lambda last: sum(position <= last for position, _ in tree.nodes),
        lambda end: _stamp(tree, end),
    )
    count = min(len(tree.nodes) - first, params.max_entries)
    completeness, warnings = tree.completeness(*[CHANGED] * changed), tree.warnings

    def page_of(count: int, *, bare: bool = False) -> TreeResult:
        end = first + count
        is_last = end >= len(tree.nodes)
        chosen = [node for _, node in tree.nodes[first:end]]
        entries = tree.entries(chosen, bare=bare)
        lines = [printable(tree.title), *_lines(entries, INDENT)]
        if omitted := len(tree.root.children) - len(entries):
            lines.append(f"{INDENT}… {omitted} more")
        shortened = bare and any(params.show_sizes or node.target for node in chosen)
        more = not is_last and end > 0
        return TreeResult(
            root=shown_folder(tree.scope.root),
            entries=entries,
            text="\n".join(lines),
            total_found=len(tree.nodes),
            returned=count,
            truncated=not is_last or shortened,
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, tree.nodes[end - 1][0], _stamp(tree, end))
            if more
            else None,
        )

    shorter = [functools.partial(page_of, fewer, bare=True) for fewer in fractions(count)]
    return shorten(page_of(count), params.max_tokens, shorter)


def _stamp(tree: FolderTree, end: int) -> bytes:
    return cursor.stamp_of([node.path for _, node in tree.nodes[:end]])


def _lines(entries: Sequence[TreeEntry], indent: str) -> Iterator[str]:
    """Render entries as lines. Folders end in a slash, `…` counts omitted entries."""
    for entry in entries:
        line = indent + printable(entry.name) + "/" * (entry.type == "folder")
        if entry.size is not None:
            line += f"  {entry.size:,} B"
        if entry.target is not None:
            line += f" -> {printable(entry.target)}"
        if entry.unsaved:
            line += "  (not saved)"
        if entry.children is None and entry.omitted:
            line += f" … {_count(entry.files, 'file') if entry.files else f'{entry.omitted} more'}"
        yield line
        if entry.children is not None:
            yield from _lines(entry.children, indent + INDENT)
            if entry.omitted:
                yield f"{indent}{INDENT}… {entry.omitted} more"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
