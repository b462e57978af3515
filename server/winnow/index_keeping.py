"""The index of a session: made in the background of a server, and kept up to date.

Apart from :mod:`winnow.index_requests`, because nothing heavy may be imported here: a server's loop
would stand still for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from winnow.database import StoreDamaged
from winnow.errors import SearchError

if TYPE_CHECKING:
    from winnow.workspace import Workspace

# With numpy they take a tenth of a second to load. The first request would do that in the loop, and
# keep all others waiting.
LOADED_FIRST = ("winnow.index.filetable", "winnow.narrowing", "winnow.retrieval.search")


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
    workspace.index.keep_watching()
    await workspace.index.build(report, consent)


async def load_names(workspace: Workspace) -> None:
    """Have the names of all definitions in memory: the first query need not wait for them."""
    with contextlib.suppress(SearchError, StoreDamaged):
        async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
            await view.read(view.names, workspace.names)
