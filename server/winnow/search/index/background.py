"""Open, build and update the index in the background of a server.

Separate from :mod:`winnow.search.index.build`, because a server imports this module in its event
loop, which a slow import would block.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from winnow.errors import SearchError
from winnow.storage.database import StoreDamaged
from winnow.storage.state_folder import is_indexed
from winnow.types import Progress, no_progress

if TYPE_CHECKING:
    from winnow.workspace import EngineWorkspace

# With numpy they take a tenth of a second to import. Otherwise the first request would import them
# in the event loop and block all others.
PRELOADED = (
    "winnow.index.store.file_table",
    "winnow.search.grep.prefilter",
    "winnow.ranking.semantic.search",
)

# How long a search waits for an index on disk to open. Opening takes a quarter of a second for some
# thousand files on an idle machine.
OPEN_SECONDS = 5.0


def watch_problem() -> str:
    """Return why Linux can't report changes of files, or "" if it can. Raise OSError."""
    from winnow.index.watch.channel import WatchEnded
    from winnow.index.watch.linux import opened

    try:
        opened().close()
    except WatchEnded as ended:
        return str(ended)
    return ""


async def open_index(
    workspace: EngineWorkspace, progress: Progress = no_progress, seconds: float | None = None
) -> bool:
    """Open the index on disk, and wait until it can answer, up to `seconds` or `OPEN_SECONDS`.

    Return False if there is nothing to open. Does not wait for an index that is being built.
    """
    if not await _is_to_open(workspace):
        return False
    progress("Opening the index")
    limit = OPEN_SECONDS if seconds is None else seconds
    await asyncio.wait({workspace.opening()}, timeout=limit)
    return True


async def _is_to_open(workspace: EngineWorkspace) -> bool:
    """Return True if an index on disk is not open yet, without importing the index."""
    if workspace.has_index:
        return not workspace.index.is_opened
    if not workspace.config.index.enabled:
        return False
    roots, user = workspace.roots(), workspace.user
    return await asyncio.to_thread(lambda: any(is_indexed(root, user) for root in roots))


async def load_index() -> None:
    """Import the index without blocking the event loop."""
    for module in PRELOADED:
        await asyncio.to_thread(importlib.import_module, module)


async def keep_index(
    workspace: EngineWorkspace, report: Callable[[int, int], None], consent: bool = False
) -> None:
    """Build or update the index, and watch for changes from now on.

    `report` receives the numbers of indexed files and of all files. With `consent`, also index
    folders that are not indexed by default.
    """
    workspace.index.enable_watching()
    await workspace.index.build(report, consent)


async def load_names(workspace: EngineWorkspace) -> None:
    """Load the names of all definitions into memory, so that the first query does not have to."""
    with contextlib.suppress(SearchError, StoreDamaged):
        async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
            await view.read(view.names, workspace.names)
