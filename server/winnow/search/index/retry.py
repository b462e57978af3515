"""Repeat a request whose index turned out to be damaged or was replaced."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from winnow.errors import IndexUnavailable
from winnow.storage.database import StoreDamaged
from winnow.workspace import Workspace

logger = logging.getLogger(__name__)

# A request that meets damage: the store is opened again, found to be damaged, and replaced by its
# successor, which answers.
MOST_TRIES = 4

P = ParamSpec("P")
T = TypeVar("T")


def again_if_damaged(
    request: Callable[Concatenate[Workspace, P], Awaitable[T]],
) -> Callable[Concatenate[Workspace, P], Awaitable[T]]:
    """Make a request again where a store shows itself to be damaged while it is read: by then it is
    opened again, or its successor answers. Raises IndexUnavailable if that does not help."""

    @functools.wraps(request)
    async def again(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        problem = ""
        for _ in range(MOST_TRIES):
            before = workspace.index.stores_changed
            try:
                answer = await request(workspace, *args, **kwargs)
            except StoreDamaged as error:
                problem = str(error)
                logger.warning("A request is made again: %s", error)
            else:
                # What was read of one store may be missing in the next.
                if workspace.index.stores_changed == before:
                    return answer
                problem = "it was replaced several times"
        raise IndexUnavailable(f"The index is damaged ({problem}): `winnow index clear` deletes it")

    return again
