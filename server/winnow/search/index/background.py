"""The index of a session: made in the background of a server, and kept up to date.

Apart from :mod:`winnow.search.index.build`, because nothing heavy may be imported here: a
server's loop would stand still for it.
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
    from winnow.workspace import Workspace

# With numpy they take a tenth of a second to load. The first request would do that in the loop, and
# keep all others waiting.
LOADED_FIRST = (
    "winnow.index.store.file_table",
    "winnow.search.grep.prefilter",
    "winnow.ranking.semantic.search",
)


# A search waits for so long until an index on disk is open. That takes a quarter of a second for
# some thousand files, unless other programs have the processors.
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
    workspace: Workspace, progress: Progress = no_progress, seconds: float | None = None
) -> bool:
    """Wait until an index that an earlier process has left can answer, and return whether there was
    anything to wait for. An index that does not exist, or is being built, is not waited for.

    Waits ``seconds`` at most, by default `OPEN_SECONDS`.
    """
    if not await _is_to_open(workspace):
        return False
    progress("Opening the index")
    limit = OPEN_SECONDS if seconds is None else seconds
    await asyncio.wait({workspace.opening()}, timeout=limit)
    return True


async def _is_to_open(workspace: Workspace) -> bool:
    """Whether there is an index on disk that is not open yet; loads nothing to find out."""
    if workspace.has_index:
        return not workspace.index.is_opened
    if not workspace.config.index.enabled:
        return False
    roots, user = workspace.roots(), workspace.user
    return await asyncio.to_thread(lambda: any(is_indexed(root, user) for root in roots))


async def load_index() -> None:
    """Load what an index needs, while the loop goes on."""
    for module in LOADED_FIRST:
        await asyncio.to_thread(importlib.import_module, module)


async def keep_index(
    workspace: Workspace, report: Callable[[int, int], None], consent: bool = False
) -> None:
    """Bring the index up to date, and hear of changes from now on; ``report`` is told how many
    files are done, of how many. With ``consent``, also one that is not made unless somebody asks.
    """
    workspace.index.enable_watching()
    await workspace.index.build(report, consent)


async def load_names(workspace: Workspace) -> None:
    """Have the names of all definitions in memory: the first query need not wait for them."""
    with contextlib.suppress(SearchError, StoreDamaged):
        async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
            await view.read(view.names, workspace.names)
