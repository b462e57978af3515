"""Begin the index of a folder at the first search that uses it.

Separate from :mod:`winnow.search.index.build`, because every search calls this, also in the event
loop of a server, which importing the index would block.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Any

from winnow.errors import IndexUnavailable
from winnow.index.builder.folder_settings import BEGUN
from winnow.index.builder.passes import TEXT_SHARE
from winnow.processes.waiting import run_to_end
from winnow.search.index.background import open_index
from winnow.search.index.indexable import COMMAND, any_may_be_indexed, count_files, may_be_indexed
from winnow.types import Progress
from winnow.workspace import EngineWorkspace, Lifetime

# How often a search that waits for the index reports its progress.
REPORT_SECONDS = 0.1
# The index of so few files is complete after a second or two, and answers better than their text.
FEW_FILES = 500
# After this time, an index of few files is enough without definitions.
DEFINITIONS_SECONDS = 2.0
# The texts of so many files are often indexed after this time, and answer better than ripgrep:
# NDCG@10 .83 instead of .76 (71 questions about seven benchmark repositories). On a slow machine,
# it is soon clear that they won't be: starting the workers takes no longer than START_SECONDS.
SOME_FILES = 2_500
SOME_FILES_SECONDS = 3.0
START_SECONDS = 1.0
# How long a search builds the index of more files itself, if there is no background process.
MANY_FILES_SECONDS = 0.5


async def open_and_begin_index(
    workspace: EngineWorkspace, progress: Progress, *, enable: bool | None = None, waits: bool
) -> list[str]:
    """Open the index on disk, begin one if it is missing or incomplete, and return warnings.

    Begins the index of a folder with fewer files than `auto_index_threshold`, or of any folder with
    ``enable``; never with an ``enable`` of False. The search of a server does not wait for it. The
    search of a command ``waits``, as long as the workspace says.
    """
    if not workspace.config.index.enabled:
        return ["index.enabled is off: no index is built"] if enable else []
    await open_index(workspace, progress)
    if workspace.lifetime is Lifetime.COMMAND:
        try:
            async with workspace.index.snapshot(workspace.buffers):
                pass  # brings an index on disk up to date, if little has changed
        except IndexUnavailable as error:
            return [error.message]
    return await begin_index(workspace, progress, enable=enable, waits=waits)


async def begin_index(
    workspace: EngineWorkspace,
    progress: Progress,
    *,
    enable: bool | None = None,
    waits: bool = False,
) -> list[str]:
    """Begin an index as :func:`open_and_begin_index` does, for a search that opens it itself."""
    if not workspace.config.index.enabled:
        return []
    if enable is None and _has_begun(workspace):
        return []
    if enable and not may_be_indexed(workspace):
        return [f"a home folder is not indexed by a search: use `{COMMAND}`"]
    if enable is False or not any_may_be_indexed(workspace):
        return []
    if workspace.lifetime is Lifetime.SERVER:
        return _begin_in_server(workspace, bool(enable))
    try:
        if waits or enable:
            if await _begin_and_wait(workspace, progress, bool(enable)):
                return workspace.index.archive_notices()
        elif workspace.has_background and await _is_to_begin(workspace):
            workspace.start_indexing(False)
    except IndexUnavailable as error:
        return [error.message]
    return []


def _has_begun(workspace: EngineWorkspace) -> bool:
    """Return True if no search needs to begin the index: in a server, if a build was requested, and
    otherwise if the index is complete. Tells sooner than which folders may be indexed."""
    if workspace.lifetime is Lifetime.SERVER:
        return workspace.has_index and workspace.index.build_was_requested
    return _is_complete(workspace)


async def _is_to_begin(workspace: EngineWorkspace) -> bool:
    if workspace.is_indexing or _is_complete(workspace):
        return False
    return await _is_small_or_begun(workspace, await count_files(workspace))


async def _is_small_or_begun(workspace: EngineWorkspace, files: int) -> bool:
    is_small = files < workspace.config.index.auto_index_threshold
    return is_small or await workspace.index.count_indexed_files() > BEGUN * files


def _is_complete(workspace: EngineWorkspace) -> bool:
    return workspace.has_index and workspace.index.state().knows_all


def _begin_in_server(workspace: EngineWorkspace, consent: bool) -> list[str]:
    if consent:
        if _is_complete(workspace):
            return []
        workspace.start_indexing(True)
        from winnow.search.index.build import build_started

        return build_started(workspace)
    # After `index` with action 'clear', the index is built again only on request.
    if not (workspace.has_index and workspace.index.build_was_requested):
        workspace.start_indexing(False)
    return []


async def _begin_and_wait(workspace: EngineWorkspace, progress: Progress, consent: bool) -> bool:
    """Begin the index, in the background if there is one, and wait for it. Return False if there is
    nothing to begin."""
    if _is_complete(workspace):
        return False
    if consent:
        await _build(workspace, progress, consent=True)
        return True
    files = await count_files(workspace)
    if not (workspace.is_indexing or await _is_small_or_begun(workspace, files)):
        return False
    if building := workspace.start_indexing(False):
        await _wait(workspace, building, progress, files, in_background=True)
    else:
        building = asyncio.create_task(_build(workspace, Progress(), consent=False))
        workspace.record_build(building)
        try:
            await _wait(workspace, building, progress, files)
        finally:
            building.cancel()
            # What is indexed so far is in the store, and the next command goes on.
            await run_to_end(asyncio.wait({building}))
        if not building.cancelled():
            building.result()
    return True


async def _wait(
    workspace: EngineWorkspace,
    building: asyncio.Task[Any],
    progress: Progress,
    files: int,
    *,
    in_background: bool = False,
) -> None:
    """Wait for the index of so many files, for a limited time, or until the user skips the wait.

    A build that goes on ``in_background`` is not waited for in a large folder, unless the time is
    unlimited, and the texts of all files are enough, in a small folder after a while. Otherwise,
    the next command would have to index the definitions.
    """
    most = _most_seconds(files, workspace.index_seconds, in_background)
    if most == 0:
        return
    doing = f"indexing this folder{' in the background' if in_background else ''}"
    notice = f"{doing}; this search waits at most {most:g} s" if most < math.inf else doing
    begin = asyncio.get_running_loop().time()
    with contextlib.ExitStack() as stack:
        skipped = stack.enter_context(progress.waiting(notice))
        stack.enter_context(workspace.index.throttle.hurry())
        skipping = asyncio.create_task(skipped.wait())
        stack.callback(skipping.cancel)
        while not (building.done() or skipped.is_set() or workspace.index.state().knows_all):
            waited = asyncio.get_running_loop().time() - begin
            if (
                waited >= most
                or _is_late(workspace, files, waited)
                or (in_background and _is_enough(workspace, files, waited))
            ):
                break
            _report(workspace, doing, progress)
            await asyncio.wait(
                {building, skipping},
                timeout=min(most - waited, REPORT_SECONDS),
                return_when=asyncio.FIRST_COMPLETED,
            )


def _most_seconds(files: int, seconds: float | None, in_background: bool) -> float:
    if seconds is None:
        return math.inf
    if files <= FEW_FILES:
        return seconds
    if files <= SOME_FILES:
        return min(seconds, SOME_FILES_SECONDS)
    return 0.0 if in_background else min(seconds, MANY_FILES_SECONDS)


def _is_late(workspace: EngineWorkspace, files: int, waited: float) -> bool:
    """Return True if the texts of some thousand files won't be indexed in time."""
    if workspace.index_seconds is None or not FEW_FILES < files <= SOME_FILES:
        return False
    due = (waited - START_SECONDS) / (SOME_FILES_SECONDS - START_SECONDS)
    state = workspace.index.state()
    return state.known_texts < due * state.files_total


def _is_enough(workspace: EngineWorkspace, files: int, waited: float) -> bool:
    is_time = files > FEW_FILES or waited >= DEFINITIONS_SECONDS
    return is_time and workspace.index.state().knows_all_texts


def _report(workspace: EngineWorkspace, doing: str, progress: Progress) -> None:
    state = workspace.index.state()
    message, total, indexed = doing[:1].upper() + doing[1:], state.files_total, state.files_indexed
    texts = state.known_texts
    if texts < total:
        message += f": {texts:,} of {total:,} files"
    elif total:
        message += f": the definitions of {indexed:,} of {total:,} files"
    done = TEXT_SHARE * texts + (1 - TEXT_SHARE) * indexed
    progress(message, percentage=int(100 * done / max(total, 1)))


async def _build(workspace: EngineWorkspace, progress: Progress, *, consent: bool) -> None:
    from winnow.search.index.build import build_index

    await build_index(workspace, progress, consent=consent)
