"""index_status: how much the index knows, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import msgspec

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace
from winnow.text.sanitize import printable
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style
from winnow.types import Progress
from winnow.types.index_status import (
    FolderStatus,
    IndexStatus,
    IndexStatusParams,
    IndexStatusResult,
)
from winnow.workspace import Workspace

MB = 1_000_000


def plain(result: IndexStatusResult) -> str:
    """A few lines for each folder, then what works on it."""
    return text(result, FOR_AGENTS, "")


def text(result: IndexStatusResult, style: Style, folder: str) -> str:
    """The same with colours."""
    lines = [line for one in result.index.folders for line in _folder(one, style)]
    lines += _running(result.index)
    lines += [f"note: {printable(warning)}" for warning in result.warnings]
    return "\n".join(lines)


def _folder(status: FolderStatus, style: Style) -> Iterator[str]:
    mark = style.good(status.state) if status.state == "ready" else style.bad(status.state)
    yield f"{style.path(printable(status.folder))}: {mark}"
    yield f"  {status.files_indexed:,} of {status.files_total:,} files"
    left_out = msgspec.structs.asdict(status.not_covered).items()
    if named := [f"{count:,} {name.replace('_', ' ')}" for name, count in left_out if count]:
        yield f"  not in it: {', '.join(named)}"
    if status.store is not None and status.bytes_on_disk is not None:
        yield f"  {status.bytes_on_disk / MB:.1f} MB in {printable(status.store)}"
    if status.updated_at:
        when = datetime.fromtimestamp(int(status.updated_at), timezone.utc)
        yield f"  changed last at {when.isoformat().replace('+00:00', 'Z')}"
    why = f" ({printable(status.watching_why)})" if status.watching_why else ""
    how = "told by the system" if status.watching == "events" else "looked for when asked"
    yield f"  changes are {how}{why}"
    if status.problem:
        yield style.bad(f"  {printable(status.problem)}")


def _running(status: IndexStatus) -> Iterator[str]:
    if status.memory_mb is not None:
        yield f"{status.workers} workers, {status.memory_mb:.0f} MB of memory with the server"
    if status.waits_for:
        yield f"the background waits: {printable(status.waits_for)}"


@tool(
    plain=plain,
    text=text,
    example={},
    raises=(NoWorkspace, NotFound, IndexUnavailable),
)
async def index_status(
    workspace: Workspace, params: IndexStatusParams, progress: Progress
) -> IndexStatusResult:
    """Say what the index knows: files known and left out with reasons, size, memory, workers, how changes are heard of, the last error.
    Use when an answer says that the index is building, stale or missing, or when a file is not found that should be.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.index.requests import index_status_of

    return await index_status_of(workspace, params, progress)
