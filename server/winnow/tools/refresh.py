"""refresh: index changed files now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.text.paths import locate, paths_of_deleted
from winnow.text.plural import counted
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style, notes_of
from winnow.types import Answer, Params, Progress
from winnow.workspace import EngineWorkspace

# How long a request waits until the changed files are indexed.
REFRESH_SECONDS = 30.0


class RefreshParams(Params, frozen=True, kw_only=True):
    """The changed files, and whether to wait."""

    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=4_000)]],
        Meta(
            description="Changed files or folders, absolute or relative to the root. For a deleted"
            " file, pass its folder. Empty: check all files.",
            max_length=10_000,
        ),
    ] = []
    wait: Annotated[
        bool, Meta(description="Wait until the files are indexed, for up to 30 seconds.")
    ] = True


class RefreshResult(Answer, frozen=True, kw_only=True):
    """The outcome. `returned` counts the indexed files, `total_found` all files."""

    done: Annotated[
        bool, Meta(description="True if the index is up to date, false if work continues.")
    ]


def text(result: RefreshResult, style: Style, folder: str | None) -> str:
    """Render the outcome and the number of indexed files."""
    done = style.good("up to date") if result.done else style.bad("not up to date yet")
    summary = f"{result.returned} of {result.total_found} files indexed"
    return "\n".join([done, *notes_of(result, summary, style)])


@tool(
    text=text,
    command_help=CommandHelp(
        "Update the index with changed files now.",
        "winnow refresh --paths src/loader.py",
        "winnow refresh",
    ),
    example={"paths": ["src/loader.py"]},
    raises=(NoWorkspace, NotFound, PathOutsideWorkspace, IndexUnavailable),
)
async def refresh(
    workspace: EngineWorkspace, params: RefreshParams, progress: Progress
) -> RefreshResult:
    """Index changed files now: the named ones, or all that differ from the index.
    Rarely needed: changes are detected automatically, and every answer is checked against the disk. Use it after a program has changed many files, before several searches, or where `index_status` says that changes are detected by a scan only.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Importing the index takes a tenth of a second.
    from winnow.search.index.state import (
        count_indexed,
        index_completeness,
        index_warnings,
    )

    root = workspace.shown_root
    paths = _changed_paths(workspace, params.paths)
    if any(map(os.path.isdir, paths)):
        paths = []  # a full scan finds the changes in folders
    progress(f"Checking {counted(len(paths), 'file', 'files')}" if paths else "Checking all files")
    async with workspace.index.snapshot(workspace.buffers, 0):
        pass  # an index that is not open ignores changes
    done = await workspace.index.refresh(paths, REFRESH_SECONDS if params.wait else 0.0)
    if params.wait:
        async with workspace.index.snapshot(workspace.buffers, REFRESH_SECONDS):
            done = True  # the reported changes and those that the scan has found are indexed
    state = workspace.index.state()
    return RefreshResult(
        root=root,
        done=done and state.state == "ready",
        total_found=state.files_total,
        returned=await count_indexed(workspace, state),
        truncated=state.files_indexed < state.files_total,
        completeness=index_completeness(workspace),
        warnings=index_warnings(workspace),
    )


def _changed_paths(workspace: EngineWorkspace, paths: Sequence[str]) -> list[str]:
    """Return the absolute paths of the named files and folders.

    Raise NotFound for the first that does not exist, after reporting the others as changed, and the
    missing ones as possibly deleted.
    """
    roots = workspace.search_roots()
    found, missing = list[str](), list[NotFound]()
    for path in paths:
        try:
            real = locate(path, roots, tuple(workspace.buffers)).real
            if os.path.islink(real):  # a loop of symlinks
                raise NotFound(path)
            found.append(real)
        except NotFound as error:
            missing.append(error)
            found += paths_of_deleted(path, roots)
    if missing:
        workspace.files_changed(found)
        raise missing[0]
    return found
