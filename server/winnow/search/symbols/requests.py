"""Asking the index: what every request about symbols does before and after its own work.

Work on facts runs in a thread, on a view of one moment. Before the index is complete, the files
that hold the names in question are looked for with ripgrep and taken first; so they are before an
index that may be stale is believed that nothing defines a name. Where a text turns out to be newer
than its facts, the work is done again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from winnow.errors import NoSymbol, SearchError, SearchTimedOut
from winnow.index.store.file_record import may_have_symbols
from winnow.index.workspace_index import CATCH_UP_SECONDS
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.search.symbols.navigation import Navigation
from winnow.text.definition_patterns import DefinitionPattern, files_with
from winnow.text.lines import SourceTexts
from winnow.text.paths import Located, locate
from winnow.types import IndexState, Progress, SearchParams
from winnow.workspace import Workspace

ATTEMPTS = 3
NOT_ALL_READ = "not all files that hold the name have been read: ask again"

# How often what is known so far is sent, before the index is complete.
EARLY_SECONDS = 0.15

T = TypeVar("T")
E = TypeVar("E")


class Prerequisites(msgspec.Struct, frozen=True):
    """What has to be known before the work can be done: files, and all files with these names."""

    names: Sequence[str] = ()
    paths: Sequence[str] = ()


class SymbolAnswer(msgspec.Struct, Generic[T], frozen=True):
    """What the work has found, and how much was known then. ``timed_out`` says that not all files
    that hold a name could be read in time."""

    result: T
    navigation: Navigation
    state: IndexState
    timed_out: bool = False
    problem_messages: Sequence[str] = ()


class EarlyResults(msgspec.Struct, Generic[E], frozen=True):
    """What is done with the first facts, while more are being taken: ``work`` in a thread, and
    ``emit`` with its result."""

    work: Callable[[Navigation], E]
    emit: Callable[[E], None]


@again_if_damaged
async def with_symbols(
    workspace: Workspace,
    asking: Prerequisites,
    work: Callable[[Navigation], T],
    progress: Progress,
    early: EarlyResults[E] | None = None,
) -> SymbolAnswer[T]:
    """Do the work on what is known, once enough is known for it.

    Raises what the work raises, but SearchTimedOut for NoSymbol where not all files that hold the
    name could be read in time.
    """
    await open_index(workspace, progress)
    timed_out = False
    stores: tuple[object, ...] | None = None  # in which the files that matter were taken
    state, prepared, attempts = workspace.index.state(), 0, 0
    is_doubted = False  # a stale index knows no definition
    while True:
        if (is_doubted or not state.knows_all) and stores is None:
            async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
                stores = view.stores
            timed_out = await _prepare(workspace, asking, progress, early)
            prepared += 1
        snapshot = workspace.index.snapshot(workspace.buffers, CATCH_UP_SECONDS, asking.paths)
        async with snapshot as (view, state):
            # Somebody may have deleted the store, or it had to be left for another one, as where
            # the disk is full: what was taken is not in that.
            lost = stores != view.stores and prepared < ATTEMPTS
            if not state.knows_all and lost:
                stores = None
                continue
            navigation = Navigation(view, sources_of(workspace))
            try:
                result = await view.read(work, navigation)
            except NoSymbol:
                if state.state == "stale" and asking.names and not prepared:
                    is_doubted = True
                    continue
                if timed_out:
                    seconds = workspace.config.limits.search_seconds
                    raise SearchTimedOut(seconds, NOT_ALL_READ) from None
                raise
        attempts += 1
        if not navigation.changed or attempts == ATTEMPTS:
            problem_messages = workspace.index.problem_messages()
            return SymbolAnswer(result, navigation, state, timed_out, problem_messages)
        workspace.files_changed(navigation.changed)


def sources_of(workspace: Workspace) -> SourceTexts:
    """The texts of the workspace's files, for one request. Raises NoWorkspace and NotFound."""
    roots = workspace.search_roots()
    return SourceTexts(roots, workspace.buffers, workspace.config.limits.parse_bytes)


def workspace_path(workspace: Workspace, path: Path) -> str | None:
    """A path as facts have it: absolute, below a root as the workspace spells it, with ``/``; None
    outside of all roots."""
    try:
        roots = workspace.search_roots()
        located = locate(str(path), roots, tuple(workspace.buffers))
    except SearchError:
        return None
    return absolute(roots, located)


def absolute(roots: Sequence[Path], located: Located) -> str:
    """A path that was located, as facts have it."""
    return os.path.normpath(os.path.join(roots[located.place], located.below)).replace(os.sep, "/")


async def _prepare(
    workspace: Workspace, asking: Prerequisites, progress: Progress, early: EarlyResults[E] | None
) -> bool:
    """Have the files that matter taken first; whether the time was too short for all."""
    ripgrep = workspace.run_ripgrep()
    scope = workspace.scope(SearchParams())
    loop = asyncio.get_running_loop()
    taken, due = 0, loop.time()

    async def tell_early() -> None:
        nonlocal due
        if early is not None and loop.time() >= due:
            async with workspace.index.snapshot(workspace.buffers, 0, asking.paths) as (view, _):
                navigation = Navigation(view, sources_of(workspace))
                early.emit(await view.read(early.work, navigation))
            due = loop.time() + EARLY_SECONDS

    # What is asked about has uses itself, which are known at once.
    await tell_early()
    if asking.names:
        look = DefinitionPattern("|".join(map(re.escape, asking.names)))
        async with contextlib.aclosing(files_with(ripgrep, scope, look)) as found:
            paths = [scope.absolute(path) async for path in found if may_have_symbols(path)]
        async for some in workspace.index.index_files(paths, ripgrep.deadline - loop.time()):
            taken += len(some)
            progress(f"{taken} files read")
            await tell_early()
    return loop.time() >= ripgrep.deadline


def index_reasons(answered: SymbolAnswer[T]) -> list[str]:
    """Why an answer may lack something, as far as the index is concerned."""
    reasons = []
    state = answered.state
    if not state.knows_all:
        reasons.append(
            f"the index is {'being built' if state.state == 'building' else 'not built'}"
            f" ({state.files_indexed} of {state.files_total} files): types and imports in other"
            " files may not be known yet"
        )
    reasons += [f"the index lacks something: {one}" for one in answered.problem_messages]
    if state.state == "stale":
        reasons.append("some changed files are not indexed yet")
    if answered.timed_out:
        reasons.append("time ran out before all files that hold the name were read")
    if answered.navigation.changed:
        reasons.append(f"{len(answered.navigation.changed)} files could not be read")
    return reasons
