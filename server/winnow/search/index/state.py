"""The state of the index, and what answers say about it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping

import msgspec

from winnow.index.report import IndexStatus, NotCovered
from winnow.index.snapshot import Snapshot
from winnow.index.status import not_covered
from winnow.index.workspace_index import WorkspaceIndex
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.storage.paths import shown_path
from winnow.text.paths import containing_root
from winnow.text.scope import Scope
from winnow.types import Completeness, IndexState, Progress, Skipped
from winnow.workspace import EngineWorkspace

# Tests whether a search covers a file: the position of its root, and its path below that.
Covers = Callable[[int, str], bool]

# How long `index_status` waits for the index to open.
STATUS_SECONDS = 2.0
NO_INDEX = "there is no index: build it with `index` and action 'build'"
PAUSED = "paused until `index` with action 'resume'"


@again_if_damaged
async def read_status(workspace: EngineWorkspace, progress: Progress) -> IndexStatus:
    """Return the state of the index of every folder. Raise IndexUnavailable."""
    await open_index(workspace, progress)
    # Opens the index, without building a deleted one, so that the status is current.
    async with workspace.index.snapshot(workspace.buffers, STATUS_SECONDS, begin=False):
        return await workspace.index.status()


def index_completeness(workspace: EngineWorkspace) -> Completeness:
    """Return the completeness of an answer about the index itself."""
    state = workspace.index.state()
    reasons = [] if state.state == "ready" else [state_in_words(workspace.index, state)]
    return Completeness(
        complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=False, index=state
    )


def index_warnings(workspace: EngineWorkspace) -> list[str]:
    """Return the warnings of an answer about the index itself."""
    warnings = [*workspace.index.notices(), *workspace.index.problem_messages()]
    warnings += [
        f"{shown_path(str(root))[0]}: cannot be written; its index is lost when this process ends"
        for root in workspace.index.temporary_folders()
    ]
    if workspace.index.state().state == "none":
        warnings.append(NO_INDEX)
    return warnings


def state_in_words(index: WorkspaceIndex, state: IndexState) -> str:
    """Describe an index that is not ready."""
    if damages := index.damages():
        return "; ".join(damages)
    if state.state == "none":
        return "not every folder has an index" if index.has_complete_folder else "there is no index"
    if state.state == "opening":
        return "the index is being opened"
    paused = [PAUSED] if index.throttle.state == "paused" else []
    if state.state != "building":
        return "; ".join(["some changed files are not indexed yet", *paused])
    indexed = f"{state.files_indexed:,} of {state.files_total:,} files"
    if state.files_indexed >= state.files_total:  # the listing is incomplete or uncertain
        indexed = f"{state.files_indexed:,} files so far"
    return f"the index is being built ({'; '.join([indexed, *paused])})"


# --- files that are not indexed ------------------------------------------------------------


async def left_out_of(
    workspace: EngineWorkspace, scope: Scope, covers: Covers | None, view: Snapshot | None = None
) -> NotCovered:
    """Count the files in scope that are not indexed, by reason; as `WorkspaceIndex.left_out` does.

    `covers` restricts the count to some files; binary files are then not counted.
    """
    left_out = await workspace.index.left_out(view)
    if covers is None:
        return left_out
    if msgspec.structs.replace(left_out, binary=None) == NotCovered():
        return NotCovered()
    problems = await workspace.index.problems()
    return await asyncio.to_thread(_count_covered, scope, covers, problems)


def _count_covered(scope: Scope, covers: Covers, problems: Mapping[str, str]) -> NotCovered:
    roots = [root.as_posix() for root in scope.roots]
    located = ((containing_root(path, roots), problem) for path, problem in problems.items())
    return not_covered(Counter(problem for at, problem in located if at and covers(*at)), 0)


def left_out_in_words(left_out: NotCovered) -> tuple[list[str], list[str]]:
    """Return why an answer is incomplete because of files that are not indexed, and warnings.

    Files that the user's settings exclude are only worth a warning.
    """
    instead = "code_search with search_type 'text' searches them"
    reasons, warnings = [], []
    if count := left_out.size_limit:
        reasons.append(
            f"{count:,} files exceed index.max_index_size_mb and are not indexed: {instead}"
        )
    if count := left_out.failed:
        reasons.append(f"{count:,} files could not be parsed in time or memory: {instead}")
    if count := left_out.unreadable:
        reasons.append(f"{count:,} files could not be read")
    if count := left_out.excluded:
        warnings.append(f"{count:,} files match index.exclude_patterns and are not searched")
    if count := left_out.too_large:
        warnings.append(f"{count:,} files are larger than limits.parse_bytes: {instead}")
    return reasons, warnings
