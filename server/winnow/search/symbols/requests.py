"""Answer a request about symbols: index the relevant files first, and retry if files changed.

The work runs in a thread, on a snapshot of the index. While the index is incomplete, ripgrep lists
the files that contain the names, and the index reads these first. The same happens before a stale
index is trusted that no file defines a name. If a file changed after it was indexed, the work is
repeated.
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
from winnow.text.scope import Filters
from winnow.types import IndexState, Progress
from winnow.workspace import EngineWorkspace

ATTEMPTS = 3
NOT_ALL_READ = "not all files that contain the name have been read: try again"

# How often early results are sent while the index is incomplete.
EARLY_SECONDS = 0.15

T = TypeVar("T")
E = TypeVar("E")


class Prerequisites(msgspec.Struct, frozen=True):
    """The files to index before the work: these, and all files with these names."""

    names: Sequence[str] = ()
    paths: Sequence[str] = ()


class SymbolAnswer(msgspec.Struct, Generic[T], frozen=True):
    """The result of the work, and the state of the index. ``timed_out`` is True if not all files
    that contain the name were indexed in time."""

    result: T
    navigation: Navigation
    state: IndexState
    timed_out: bool = False
    problem_messages: Sequence[str] = ()


class EarlyResults(msgspec.Struct, Generic[E], frozen=True):
    """Early results while files are being indexed: ``work`` runs in a thread, ``emit`` gets its
    result."""

    work: Callable[[Navigation], E]
    emit: Callable[[E], None]


@again_if_damaged
async def with_symbols(
    workspace: EngineWorkspace,
    needed: Prerequisites,
    work: Callable[[Navigation], T],
    progress: Progress,
    early: EarlyResults[E] | None = None,
) -> SymbolAnswer[T]:
    """Run the work once the index has what it needs.

    Raises what the work raises, and SearchTimedOut instead of NoSymbol if not all files that
    contain the name were indexed in time.
    """
    await open_index(workspace, progress)
    timed_out = False
    stores: tuple[object, ...] | None = None  # in which the relevant files were indexed
    state, prepared, attempts = workspace.index.state(), 0, 0
    is_doubted = False  # a stale index has no definition
    while True:
        if (is_doubted or not state.knows_all) and stores is None:
            async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
                stores = view.stores
            timed_out = await _prepare(workspace, needed, progress, early)
            prepared += 1
        snapshot = workspace.index.snapshot(workspace.buffers, CATCH_UP_SECONDS, needed.paths)
        async with snapshot as (view, state):
            # The user may have deleted the store, or another one replaced it, for instance because
            # the disk is full: the relevant files are not in that.
            lost = stores != view.stores and prepared < ATTEMPTS
            if not state.knows_all and lost:
                stores = None
                continue
            navigation = Navigation(view, sources_of(workspace))
            try:
                result = await view.read(work, navigation)
            except NoSymbol:
                if state.state == "stale" and needed.names and not prepared:
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


def sources_of(workspace: EngineWorkspace) -> SourceTexts:
    """Return the texts of files, for one request. Raises NoWorkspace and NotFound."""
    roots = workspace.search_roots()
    return SourceTexts(roots, workspace.buffers, workspace.config.limits.parse_bytes)


def workspace_path(workspace: EngineWorkspace, path: Path) -> str | None:
    """Return a path as the index has it: absolute, below a root as the workspace spells it, with
    ``/``; None outside of all roots."""
    try:
        roots = workspace.search_roots()
        located = locate(str(path), roots, tuple(workspace.buffers))
    except SearchError:
        return None
    return absolute(roots, located)


def absolute(roots: Sequence[Path], located: Located) -> str:
    """Return a located path as the index has it."""
    return os.path.normpath(os.path.join(roots[located.place], located.below)).replace(os.sep, "/")


async def _prepare(
    workspace: EngineWorkspace,
    needed: Prerequisites,
    progress: Progress,
    early: EarlyResults[E] | None,
) -> bool:
    """Index the relevant files first. Return True if time ran out."""
    ripgrep = workspace.run_ripgrep()
    scope = workspace.scope(Filters())
    loop = asyncio.get_running_loop()
    indexed, due = 0, loop.time()

    async def send_early() -> None:
        nonlocal due
        if early is not None and loop.time() >= due:
            async with workspace.index.snapshot(workspace.buffers, 0, needed.paths) as (view, _):
                navigation = Navigation(view, sources_of(workspace))
                early.emit(await view.read(early.work, navigation))
            due = loop.time() + EARLY_SECONDS

    # The uses in the file of the symbol are known at once.
    await send_early()
    if needed.names:
        pattern = DefinitionPattern("|".join(map(re.escape, needed.names)))
        async with contextlib.aclosing(files_with(ripgrep, scope, pattern)) as found:
            paths = [scope.absolute(path) async for path in found if may_have_symbols(path)]
        async for batch in workspace.index.index_files(paths, ripgrep.deadline - loop.time()):
            indexed += len(batch)
            progress(f"{indexed} files read")
            await send_early()
    return loop.time() >= ripgrep.deadline


def index_reasons(answered: SymbolAnswer[T]) -> list[str]:
    """Return why an answer may be incomplete because of the index."""
    reasons = []
    state = answered.state
    if not state.knows_all:
        reasons.append(
            f"the index is {'being built' if state.state == 'building' else 'not built'}"
            f" ({state.files_indexed} of {state.files_total} files): types and imports in other"
            " files may still be unknown"
        )
    reasons += [f"the index is incomplete: {problem}" for problem in answered.problem_messages]
    if state.state == "stale":
        reasons.append("some changed files are not indexed yet")
    if answered.timed_out:
        reasons.append("timed out before reading every file that contains the name")
    if answered.navigation.changed:
        reasons.append(f"{len(answered.navigation.changed)} files could not be read")
    return reasons
