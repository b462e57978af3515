"""index_status: show what is indexed, and the resources it takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace
from winnow.search.index.rows import FolderStatus, IndexStatus
from winnow.text.plural import counted
from winnow.text.sanitize import printable
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import Answer, Params, Progress
from winnow.workspace import EngineWorkspace

MB = 1_000_000


class IndexStatusParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class IndexStatusResult(Answer, frozen=True, kw_only=True):
    """The state of the index. `total_found` and `returned` count folders."""

    index: Annotated[IndexStatus, Meta(description="The index of all folders.")]


def text(result: IndexStatusResult, style: Style, folder: str | None) -> str:
    """Render a few lines per folder, then the processes."""
    lines = [line for status in result.index.folders for line in _folder(status, style)]
    lines += _processes(result.index)
    lines += [f"note: {printable(warning)}" for warning in result.warnings]
    return "\n".join(lines)


def _folder(status: FolderStatus, style: Style) -> Iterator[str]:
    state = style.good(status.state) if status.state == "ready" else style.bad(status.state)
    yield f"{style.path(printable(status.folder))}: {state}"
    # Files that have changed meanwhile are counted by the next scan.
    as_of = ", as of the last scan" if status.state == "stale" else ""
    yield f"  {status.files_indexed:,} of {status.files_total:,} files indexed{as_of}"
    if status.texts_indexed:
        yield f"  and the texts of {status.texts_indexed:,} files, whose definitions follow"
    if status.files_without_occurrences:
        source = status.files_with_occurrences + status.files_without_occurrences
        yield f"  references stored of {status.files_with_occurrences:,} of {source:,} source files"
    if status.commits:
        yield f"  messages of {counted(status.commits, 'commit', 'commits')}"
    counts = msgspec.structs.asdict(status.not_covered).items()
    if excluded := [f"{count:,} {name.replace('_', ' ')}" for name, count in counts if count]:
        yield f"  not indexed: {', '.join(excluded)}"
    yield from (f"    failed: {printable(failed)}" for failed in status.failed_files or ())
    if status.store is not None and status.bytes_on_disk is not None:
        yield f"  {status.bytes_on_disk / MB:.1f} MB in {printable(status.store)}"
    if status.updated_at:
        when = datetime.fromtimestamp(int(status.updated_at), timezone.utc)
        yield f"  last updated at {when.isoformat().replace('+00:00', 'Z')}"
    why = f" ({printable(status.watching_why)})" if status.watching_why else ""
    how = "by file system events" if status.watching == "events" else "by a scan on request"
    yield f"  changes are detected {how}{why}"
    if status.problem:
        yield style.bad(f"  {printable(status.problem)}")


def _processes(status: IndexStatus) -> Iterator[str]:
    if status.memory_mb is not None:
        workers = counted(status.workers, "worker", "workers")
        yield f"{workers}, {status.memory_mb:.0f} MB of memory with the server"
    if status.waits_for:
        yield f"background work waits: {printable(status.waits_for)}"


@tool(
    text=text,
    command_help=CommandHelp(
        "Show what the index covers, what it leaves out, and its size.",
        "winnow index-status",
        "winnow index-status --json",
    ),
    example={},
    raises=(NoWorkspace, NotFound, IndexUnavailable),
)
async def index_status(
    workspace: EngineWorkspace, params: IndexStatusParams, progress: Progress
) -> IndexStatusResult:
    """Show the state of the index: indexed and excluded files, size, memory, workers, how changes are detected, the last error.
    Use when an answer says that the index is building, stale or missing, or when a search misses a file that it should find.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Importing the index takes a tenth of a second.
    from winnow.search.index.state import index_completeness, index_warnings, read_status

    root = workspace.shown_root
    status = await read_status(workspace, progress)
    return IndexStatusResult(
        root=root,
        index=status,
        total_found=len(status.folders),
        returned=len(status.folders),
        truncated=False,
        completeness=index_completeness(workspace),
        warnings=index_warnings(workspace),
    )
