"""Repeat a request whose index was damaged, replaced or out of date."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Concatenate, ParamSpec, TypeVar

from winnow.errors import IndexUnavailable
from winnow.storage.database import StoreDamaged
from winnow.types import IndexState
from winnow.workspace import EngineWorkspace

logger = logging.getLogger(__name__)

# A request that meets damage: the store is opened again, found to be damaged, and replaced by its
# successor, which answers.
MOST_TRIES = 4
# Searches of an index while files change.
MOST_SEARCHES = 3

P = ParamSpec("P")
T = TypeVar("T")


def again_if_damaged(
    request: Callable[Concatenate[EngineWorkspace, P], Awaitable[T]],
) -> Callable[Concatenate[EngineWorkspace, P], Awaitable[T]]:
    """Repeat a request that finds a store damaged or replaced. It then reads the reopened store or
    its successor. Raises IndexUnavailable after :data:`MOST_TRIES` attempts."""

    @functools.wraps(request)
    async def again(workspace: EngineWorkspace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        problem = ""
        for _ in range(MOST_TRIES):
            before = workspace.index.stores_changed
            try:
                answer = await request(workspace, *args, **kwargs)
            except StoreDamaged as error:
                problem = str(error)
                logger.warning("Repeating a request: %s", error)
            else:
                # Parts of the answer may be missing in the next store.
                if workspace.index.stores_changed == before:
                    return answer
                problem = "it was replaced several times"
        raise IndexUnavailable(f"The index is damaged ({problem}): `winnow index clear` deletes it")

    return again


async def retry_until_current(
    workspace: EngineWorkspace,
    search: Callable[[], Awaitable[tuple[Collection[str], IndexState]]],
    prepare: Callable[[], Awaitable[None]] | None,
    seconds: float,
    may_lack: Callable[[IndexState], bool] = lambda state: not state.knows_all,
) -> bool:
    """Search until all files with results are indexed in their current state.

    ``search`` returns the files with results that changed since they were indexed. ``prepare`` runs
    first if the index ``may_lack`` results; by default if it turns out to be incomplete, because
    its store was deleted and replaced. Returns False if files kept changing.
    """
    read: set[str] = set()
    for _ in range(MOST_SEARCHES):
        found_in, state = await search()
        # A file that has just been written counts as changed once more.
        changed = set(found_in) - read
        if prepare and may_lack(state):
            await prepare()
            prepare = None
        elif changed:
            read |= await index_files(workspace, changed, seconds)
        else:
            return True
    return False


async def index_files(
    workspace: EngineWorkspace, paths: Collection[str], seconds: float
) -> set[str]:
    """Update files in the index for a time; return those that were updated."""
    read: set[str] = set()
    if paths and seconds > 0:
        async with contextlib.aclosing(workspace.index.index_files(paths, seconds)) as portions:
            async for portion in portions:
                read.update(portion)
    return read
