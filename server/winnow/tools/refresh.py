"""refresh: have the index look at what has changed."""

from __future__ import annotations

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace, PathOutsideWorkspace
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of
from winnow.types import Progress
from winnow.types.refresh import RefreshParams, RefreshResult
from winnow.workspace import Workspace


def plain(result: RefreshResult) -> str:
    """Whether it is up to date, and how many files it knows."""
    return text(result, FOR_AGENTS, "")


def text(result: RefreshResult, style: Style, folder: str) -> str:
    """The same with colours."""
    done = style.good("up to date") if result.done else style.bad("not up to date yet")
    summary = f"{result.returned} of {result.total_found} files are known"
    return "\n".join([done, *notes_of(result, summary, style)])


@tool(
    plain=plain,
    text=text,
    example={"paths": ["src/loader.py"]},
    raises=(NoWorkspace, NotFound, PathOutsideWorkspace, IndexUnavailable),
)
async def refresh(workspace: Workspace, params: RefreshParams, progress: Progress) -> RefreshResult:
    """Have the index take files that have changed, now: those that are named, or all that differ.
    Hardly ever needed: changes are seen by themselves, and every answer is held against the disk. Use it after a program has changed many files, before several searches, or where `index_status` says that changes are only looked for.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.index.requests import refresh_index

    return await refresh_index(workspace, params, progress)
