"""Answer a request about symbols: index the relevant files first, and retry if files changed.

The work runs in a thread, on a snapshot of the index. While the index is incomplete, ripgrep lists
the files that contain the names, and the index reads these first. The same happens before a stale
index is trusted that no file defines a name. If a file changed after it was indexed, the work is
repeated.

Occurrences of names are not in the index until they are needed: the index reads the files that
contain the names again, and stores their occurrences. The work may turn out to need further names,
such as aliases; then these are read, too, and the work is repeated.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from winnow.errors import NoSymbol, SearchError, SearchTimedOut
from winnow.index.snapshot import Overlay
from winnow.index.store.file_record import may_have_symbols
from winnow.index.workspace_index import CATCH_UP_SECONDS, NOTHING
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.search.index.state import state_in_words
from winnow.search.symbols.navigation import Navigation
from winnow.text.definition_patterns import DefinitionPattern, files_with
from winnow.text.lines import SourceTexts
from winnow.text.paths import Located, containing_root, locate
from winnow.text.scope import Filters
from winnow.types import Completeness, IndexState, Progress, Skipped
from winnow.workspace import EngineWorkspace

ATTEMPTS = 3
# Changed files that a reason names.
CHANGED_NAMED = 3
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
    further: Overlay = NOTHING,
    further_roots: Sequence[Path] = (),
) -> SymbolAnswer[T]:
    """Run the work once the index has what it needs. ``further`` are the symbols of files outside
    the workspace, by absolute path, in ``further_roots``.

    Raises what the work raises, and SearchTimedOut instead of NoSymbol if not all files that
    contain the name were indexed in time.
    """
    await open_index(workspace, progress)
    reading = _Reading(workspace, needed, progress, early, further)
    stores: tuple[object, ...] | None = None  # in which the relevant files were indexed
    state, prepared, attempts = workspace.index.state(), 0, 0
    is_doubted = False  # a stale index has no definition
    is_found = False
    while True:
        if (is_doubted or not state.knows_all) and stores is None:
            if not state.knows_all:
                workspace.index.start_worker()
            async with workspace.index.snapshot(workspace.buffers, 0) as (view, _):
                stores = view.stores
            await reading.index_files()
            prepared += 1
        is_read = await reading.add_occurrences(is_found)
        snapshot = workspace.index.snapshot(
            workspace.buffers, CATCH_UP_SECONDS, needed.paths, further
        )
        async with snapshot as (view, state):
            # The user may have deleted the store, or another one replaced it, for instance because
            # the disk is full: the relevant files are not in that.
            lost = stores != view.stores and prepared < ATTEMPTS
            if not state.knows_all and lost:
                stores = None
                continue
            sources = sources_of(workspace, further_roots)
            navigation = Navigation(view, sources, workspace.resolvers)
            try:
                result = await view.read(work, navigation)
            except NoSymbol:
                if await reading.needs_more(navigation):
                    continue
                if state.state == "stale" and needed.names and not prepared:
                    is_doubted = True
                    continue
                if reading.timed_out:
                    seconds = workspace.config.limits.search_seconds
                    raise SearchTimedOut(seconds, NOT_ALL_READ) from None
                raise
        is_found = True
        if not is_read or await reading.needs_more(navigation):
            continue
        attempts += 1
        if not navigation.changed or attempts == ATTEMPTS:
            problem_messages = workspace.index.problem_messages()
            if not (navigation.changed or reading.timed_out):
                navigation.end()
            return SymbolAnswer(result, navigation, state, reading.timed_out, problem_messages)
        workspace.files_changed(navigation.changed)


def sources_of(workspace: EngineWorkspace, further: Sequence[Path] = ()) -> SourceTexts:
    """Return the texts of files, for one request, also of those in ``further`` folders. Raises
    NoWorkspace and NotFound."""
    roots = [*workspace.search_roots(), *further]
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


class _Reading(Generic[E]):
    """Reads what a request needs and the index lacks, in the time of a search, and sends early
    results meanwhile."""

    def __init__(
        self,
        workspace: EngineWorkspace,
        needed: Prerequisites,
        progress: Progress,
        early: EarlyResults[E] | None,
        further: Overlay,
    ) -> None:
        self.timed_out = False
        self._workspace = workspace
        self._needed = needed
        self._progress = progress
        self._early = early
        self._further = further
        # The names and the files whose occurrences the work reads.
        self._names = dict.fromkeys(needed.names)
        self._paths = dict.fromkeys(needed.paths)
        self._indexed = 0
        self._loop = asyncio.get_running_loop()
        self._deadline = self._loop.time() + workspace.config.limits.search_seconds
        self._due = 0.0

    async def index_files(self) -> None:
        """Index the files with the names, which ripgrep lists."""
        workspace = self._workspace
        ripgrep, scope = workspace.run_ripgrep(), workspace.scope(Filters())
        # The uses in the file of the symbol are known at once.
        await self._send_early()
        if self._needed.names:
            pattern = DefinitionPattern("|".join(map(re.escape, self._needed.names)))
            async with contextlib.aclosing(files_with(ripgrep, scope, pattern)) as found:
                paths = [scope.absolute(path) async for path in found if may_have_symbols(path)]
            await self._take(workspace.index.index_files(paths, self._seconds_left()))
        self.timed_out |= self._seconds_left() <= 0

    async def add_occurrences(self, is_found: bool) -> bool:
        """Complete the occurrences of the files and names; ``is_found`` is True if the work has
        found the symbol. Otherwise a request for names alone will probably fail if no file defines
        one of them: then this returns False at once."""
        index = self._workspace.index
        missing = await index.without_occurrences(list(self._names), self._paths)
        if not missing:
            return True
        if not (is_found or self._paths or await self._is_any_defined()):
            return False
        await self._send_early()
        try:
            await self._take(index.add_occurrences(missing, self._seconds_left()))
        except asyncio.TimeoutError:
            self.timed_out = True
        return True

    async def _is_any_defined(self) -> bool:
        snapshot = self._workspace.index.snapshot(self._workspace.buffers, 0, further=self._further)
        async with snapshot as (view, _):
            return await view.read(
                lambda: any(True for name in self._names for _ in view.definitions(name))
            )

    async def needs_more(self, navigation: Navigation) -> bool:
        """Return True if the work has read occurrences of other names or files, for instance of
        aliases, which are incomplete, and there is time to complete them."""
        names = [name for name in navigation.searched_names if name not in self._names]
        paths = [path for path in navigation.searched_files if path not in self._paths]
        self._names.update(dict.fromkeys(names))
        self._paths.update(dict.fromkeys(paths))
        if self.timed_out or not (names or paths):
            return False
        return bool(await self._workspace.index.without_occurrences(names, paths))

    def _seconds_left(self) -> float:
        return self._deadline - self._loop.time()

    async def _take(self, batches: AsyncGenerator[list[str], None]) -> None:
        async with contextlib.aclosing(batches):
            async for batch in batches:
                self._indexed += len(batch)
                self._progress(f"{self._indexed} files read")
                await self._send_early()

    async def _send_early(self) -> None:
        if self._early is None or self._loop.time() < self._due:
            return
        workspace, paths = self._workspace, self._needed.paths
        async with workspace.index.snapshot(workspace.buffers, 0, paths) as (view, _):
            navigation = Navigation(view, sources_of(workspace))
            self._early.emit(await view.read(self._early.work, navigation))
        self._due = self._loop.time() + EARLY_SECONDS


def completeness_of(
    workspace: EngineWorkspace, answered: SymbolAnswer[T], more: Sequence[str]
) -> Completeness:
    """Return the completeness of an answer; ``more`` are further reasons why it is incomplete."""
    reasons = [*index_reasons(workspace, answered), *more]
    return Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(),
        timed_out=answered.timed_out,
        index=answered.state,
    )


def index_reasons(workspace: EngineWorkspace, answered: SymbolAnswer[T]) -> list[str]:
    """Return why an answer may be incomplete because of the index."""
    state = answered.state
    lacks = "" if state.knows_all else state_in_words(workspace.index, state)
    reasons = [f"{lacks}: types and imports in other files may still be unknown"] * bool(lacks)
    problems = [problem for problem in answered.problem_messages if problem not in lacks]
    reasons += [f"the index is incomplete: {problem}" for problem in problems]
    if state.state == "stale":
        reasons.append("some changed files are not indexed yet")
    if answered.timed_out:
        reasons.append("timed out before reading every file that contains the name")
    if answered.navigation.changed:
        reasons.append(_changed_in_words(workspace, list(answered.navigation.changed)))
    return reasons


def _changed_in_words(workspace: EngineWorkspace, changed: Sequence[str]) -> str:
    """Return a sentence about files whose index is older than their text."""
    roots = [root.as_posix() for root in workspace.search_roots()]
    located = [(path, containing_root(path, roots)) for path in changed[:CHANGED_NAMED]]
    names = [found[1] if found else path for path, found in located]
    more = f" and {len(changed) - len(names)} more" if len(changed) > len(names) else ""
    return f"changed, and not indexed again in time: {', '.join(names)}{more}"
