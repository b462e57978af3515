"""Open, build and update the index in the background of a server.

Separate from :mod:`winnow.search.index.build`, because a server imports this module in its event
loop, which a slow import would block.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from winnow.errors import SearchError
from winnow.storage.database import StoreDamaged
from winnow.storage.state_folder import is_indexed
from winnow.types import Progress, no_progress

if TYPE_CHECKING:
    from winnow.workspace import EngineWorkspace

logger = logging.getLogger(__name__)

# With numpy they take a tenth of a second to import. Otherwise the first request would import them
# in the event loop and block all others.
PRELOADED = (
    "winnow.index.store.file_table",
    "winnow.search.grep.prefilter",
    "winnow.search.code.semantic",
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
    return await asyncio.to_thread(_is_indexed, workspace)


def _is_indexed(workspace: EngineWorkspace) -> bool:
    """Return True if an earlier process has left an index of a folder."""
    return any(is_indexed(root, workspace.user) for root in workspace.roots())


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


class IndexKeeper:
    """Keeps the index of a workspace complete and current in the background, once it has begun: by
    :meth:`begin` or by a search.

    The owner closes it before the workspace.
    """

    def __init__(self, workspace: EngineWorkspace) -> None:
        self._workspace = workspace
        self._keeping: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        workspace.index_in_background(self.begin)

    def begin(self, consent: bool = False) -> asyncio.Task[None]:
        """Build or update the index, and keep it current from then on. Return the running task.

        With `consent`, also index folders that are not indexed by default.
        """
        if consent or self._keeping is None or self._keeping.done():
            self._keeping = self._start(self._keep(consent))
        return self._keeping

    def begin_if_indexed(self) -> None:
        """Do the same if there is an index on disk, unless it is kept already."""
        if self._keeping is None and not self._tasks:
            self._start(self._begin_if_indexed())

    @property
    def is_busy(self) -> bool:
        """True while the index is being built or updated for the first time."""
        return bool(self._tasks)

    async def aclose(self) -> None:
        """Cancel the work."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("Updating the index failed", exc_info=error)
        if task is self._keeping and (task.cancelled() or task.exception()):
            self._keeping = None

    async def _begin_if_indexed(self) -> None:
        if await asyncio.to_thread(_is_indexed, self._workspace):
            self.begin()

    async def _keep(self, consent: bool) -> None:
        workspace = self._workspace
        if workspace.config.index.enabled or consent:
            await open_index(workspace)
            await load_index()
            await keep_index(workspace, lambda done, total: None, consent)
            await load_names(workspace)


async def load_names(workspace: EngineWorkspace) -> None:
    """Load the names of all definitions into memory, so that the first query does not have to."""
    with contextlib.suppress(SearchError, StoreDamaged):
        async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
            await view.read(view.names, workspace.names)
