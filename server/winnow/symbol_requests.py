"""Asking the index: what every request about symbols does before and after its own work.

Work on facts runs in a thread, on a view of one moment. Before the index is complete, the files
that hold the names in question are looked for with ripgrep and taken first. Where a text turns out
to be newer than its facts, the work is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from winnow.navigation import Navigation
from winnow.sources import Sources
from winnow.text.candidates import files_with
from winnow.text.files import search_roots
from winnow.types import IndexState, Progress, SearchParams
from winnow.workspace import Workspace

ATTEMPTS = 3
COMPLETE = frozenset(("ready", "stale"))

T = TypeVar("T")


class Asking(msgspec.Struct, frozen=True):
    """What has to be known before the work can be done: files, and all files with these names."""

    names: Sequence[str] = ()
    paths: Sequence[str] = ()


class Answered(msgspec.Struct, Generic[T], frozen=True):
    """What the work has found, and how much was known then. ``timed_out`` says that not all files
    that hold a name could be read in time."""

    result: T
    navigation: Navigation
    state: IndexState
    timed_out: bool = False


async def ask(
    workspace: Workspace,
    asking: Asking,
    work: Callable[[Navigation], T],
    progress: Progress,
) -> Answered[T]:
    """Do the work on what is known, once enough is known for it."""
    timed_out = False
    if workspace.index.state().state not in COMPLETE:
        timed_out = await _prepare(workspace, asking, progress)
    for attempt in range(ATTEMPTS):
        async with navigating(workspace) as (navigation, state):
            result = await asyncio.to_thread(work, navigation)
        if not navigation.changed or attempt == ATTEMPTS - 1:
            break
        workspace.files_changed(navigation.changed)
    return Answered(result, navigation, state, timed_out)


@contextlib.asynccontextmanager
async def navigating(workspace: Workspace) -> AsyncIterator[tuple[Navigation, IndexState]]:
    """What is known now, for one thread at a time."""
    async with workspace.index.snapshot(workspace.buffers) as (view, state):
        sources = Sources(
            search_roots(workspace.folders), workspace.buffers, workspace.config.limits.parse_bytes
        )
        yield Navigation(view, sources), state


async def _prepare(workspace: Workspace, asking: Asking, progress: Progress) -> bool:
    """Have the files that matter taken first; whether the time was too short for all."""
    ripgrep = workspace.run_ripgrep()
    scope = workspace.scope(SearchParams())
    paths = [*asking.paths]
    late = False
    if asking.names:
        found, late = await files_with(ripgrep, scope, asking.names)
        paths += found
    loop = asyncio.get_running_loop()
    taken = 0
    async for some in workspace.index.facts_for(paths, ripgrep.deadline - loop.time()):
        taken += len(some)
        progress(f"{taken} files read")
    return late or loop.time() >= ripgrep.deadline


def index_reasons(answered: Answered[T]) -> list[str]:
    """Why an answer may lack something, as far as the index is concerned."""
    reasons = []
    state = answered.state
    if state.state not in COMPLETE:
        reasons.append(
            f"the index is {'being built' if state.state == 'building' else 'not built'}"
            f" ({state.files_indexed} of {state.files_total} files): types and imports in other"
            " files may not be known yet"
        )
    if state.state == "stale":
        reasons.append("files have changed that the index does not know yet")
    if answered.timed_out:
        reasons.append("time ran out before all files that hold the name were read")
    if answered.navigation.changed:
        reasons.append(f"{len(answered.navigation.changed)} files could not be read")
    return reasons
