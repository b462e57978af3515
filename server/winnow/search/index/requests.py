"""Requests about the index itself, and when searches make one."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.errors import IndexUnavailable, NotFound
from winnow.index.build.folder import BEGUN
from winnow.index.snapshot import Snapshot
from winnow.index.status import not_covered
from winnow.index.workspace_index import WorkspaceIndex
from winnow.processes.memory import give_back_what_is_freed
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.storage.paths import is_inside, real_path, shown_path
from winnow.text.buffers import Overlay
from winnow.text.listing import list_files
from winnow.text.paths import held_by, locate
from winnow.text.roots import is_indexable
from winnow.text.scope import Scope
from winnow.types import Completeness, IndexState, Progress, SearchParams, Skipped
from winnow.types.index import IndexParams, IndexResult
from winnow.types.index_status import IndexStatusParams, IndexStatusResult, NotCovered
from winnow.types.refresh import RefreshParams, RefreshResult
from winnow.types.semantic_search import IndexOffer
from winnow.workspace import Lifetime, Workspace

# Whether a file is one that was asked for: the place of its root, and its path below that.
Covers = Callable[[int, str], bool]

# About how many files are read in a second, with two processors; the estimate errs upwards.
FILES_PER_SECOND = 250
COMMAND = "winnow index build"
PARAM = "enable_indexing"
# For so long, a request waits for what has changed to be known.
REFRESH_SECONDS = 30.0
STATUS_SECONDS = 2.0
NO_INDEX = "there is no index: `index` with action 'build' makes one"
PAUSED = "it is paused until `index` with action 'resume'"


def state_in_words(index: WorkspaceIndex, state: IndexState) -> str:
    """What is to be said of an index that is not ready, or has turned out not to be."""
    if damages := index.damages():
        return "; ".join(damages)
    if state.state == "none":
        return "not every folder has an index" if index.has_complete_folder else "there is no index"
    if state.state == "opening":
        return "the index is being opened"
    paused = [PAUSED] if index.throttle.state == "paused" else []
    if state.state != "building":
        return "; ".join(["files have changed that the index does not know yet", *paused])
    known = f"{state.files_indexed:,} of {state.files_total:,} files"
    if state.files_indexed >= state.files_total:  # it has not listed all, or is not sure of them
        known = f"{state.files_indexed:,} files so far"
    return f"the index is being built ({'; '.join([known, *paused])})"


async def left_out_of(
    workspace: Workspace, scope: Scope, covers: Covers | None, view: Snapshot | None = None
) -> NotCovered:
    """How many files the index leaves out of those that are asked for, by reason; see
    :meth:`WorkspaceIndex.left_out`. What was not counted is absent: where not all files are asked
    for, the binary ones."""
    left_out = await workspace.index.left_out(view)
    if covers is None:
        return left_out
    if msgspec.structs.replace(left_out, binary=None) == NotCovered():
        return NotCovered()
    problems = await workspace.index.problems()
    return await asyncio.to_thread(_left_out_there, scope, covers, problems)


def _left_out_there(scope: Scope, covers: Covers, problems: Mapping[str, str]) -> NotCovered:
    roots = [root.as_posix() for root in scope.roots]
    located = ((held_by(path, roots), problem) for path, problem in problems.items())
    return not_covered(Counter(problem for at, problem in located if at and covers(*at)), 0)


def left_out_in_words(left_out: NotCovered) -> tuple[list[str], list[str]]:
    """Why an answer lacks something for which the index leaves out files; and warnings of those
    that it is not to have."""
    searched = "code_search with search_type 'text' searches them"
    reasons, warnings = [], []
    if count := left_out.size_limit:
        reasons.append(
            f"{count:,} files are not in the index, which has index.max_index_size_mb: {searched}"
        )
    if count := left_out.failed:
        reasons.append(
            f"{count:,} files took too much time or memory to be parsed, or their parser failed:"
            f" {searched}"
        )
    if count := left_out.unreadable:
        reasons.append(f"{count:,} files could not be read")
    if count := left_out.excluded:
        warnings.append(f"{count:,} files are not searched that index.exclude_patterns names")
    if count := left_out.too_large:
        warnings.append(f"{count:,} files are larger than limits.parse_bytes: {searched}")
    return reasons, warnings


# --- searches ------------------------------------------------------------------------------


async def begin_index(workspace: Workspace, wanted: bool, progress: Progress) -> list[str]:
    """See to an index before a search: at the command line, where the folder is small, where there
    is one already, or where somebody wants one, it is made now; in a language server, where
    somebody wants it, it is begun. Gives warnings."""
    if not workspace.config.index.enabled:
        return ["index.enabled is off: no index is made"] if wanted else []
    await open_index(workspace, progress)
    if wanted and not _may_be_indexed(workspace):
        return [f"no index is made here, as of a home folder: ask for just that by `{COMMAND}`"]
    if workspace.lifetime is Lifetime.SERVER:
        if not wanted or workspace.index.state().knows_all:
            return []
        workspace.start_indexing(True)
        return _making(workspace)
    if workspace.index.state().knows_all:
        return []
    try:
        async with workspace.index.snapshot(workspace.buffers):
            pass  # what an earlier process has left is up to date then, if little has changed
        known = workspace.index.state().knows_all
        if not known and (wanted or await _is_small_or_begun(workspace)):
            await _build(workspace, progress, consent=wanted)
    except IndexUnavailable as error:
        return [error.message]
    return []


def _making(workspace: Workspace) -> list[str]:
    paused = workspace.index.throttle.state == "paused"
    making = "the index is being made in the background: `index_status` says how far it is"
    return [making, *[PAUSED] * paused]


async def index_offer(workspace: Workspace) -> IndexOffer | None:
    """How to have an index, where there is none and none will come by itself; None else."""
    settings, state = workspace.config.index, workspace.index.state()
    if state.state != "none" or not settings.enabled or not _may_be_indexed(workspace):
        return None
    if workspace.lifetime is Lifetime.SERVER and not workspace.index.build_was_requested:
        return None  # the session has just begun
    files = state.files_total or await _count_files(workspace)
    if workspace.lifetime is Lifetime.COMMAND and files < settings.auto_index_threshold:
        return None  # it could not be made
    seconds = round(files / FILES_PER_SECOND, 1)
    takes = f"about {seconds:,.0f} seconds" if seconds > 1 else "a second"
    takes += " in the background" * (workspace.lifetime is Lifetime.SERVER)
    return IndexOffer(
        text=f"An index of these {files:,} files answers by meaning, and sooner. It takes {takes}"
        f" and at most {settings.max_index_size_mb} MB in .winnow: pass enable_indexing to"
        " code_search, or ask for `index` with action 'build'.",
        param=PARAM,
        command=COMMAND,
        files=files,
        seconds=seconds,
    )


def _may_be_indexed(workspace: Workspace) -> bool:
    """Whether no folder is one that is indexed only if somebody asks for just that."""
    roots = workspace.roots()
    return bool(roots) and all(is_indexable(root, workspace.environment) for root in roots)


async def _is_small_or_begun(workspace: Workspace) -> bool:
    files = await _count_files(workspace)
    small = files < workspace.config.index.auto_index_threshold
    return small or await workspace.index.count_indexed_files() > BEGUN * files


async def _build(workspace: Workspace, progress: Progress, *, consent: bool) -> None:
    def report(done: int, total: int) -> None:
        message = f"Indexing: {done:,} of {total:,} files"
        progress(message, percentage=100 * done // max(total, 1))

    progress("Indexing")
    give_back_what_is_freed()  # as a language server does when it starts
    with workspace.index.throttle.hurry():
        await workspace.index.build(report, consent)


async def _count_files(workspace: Workspace) -> int:
    """How many files there are that searches cover."""
    ripgrep = workspace.run_ripgrep()
    async with workspace.search_slots:
        listing = await list_files(ripgrep, workspace.scope(SearchParams()), Overlay())
    return len(listing.paths)


# --- requests ------------------------------------------------------------------------------


@again_if_damaged
async def index_status_of(
    workspace: Workspace, params: IndexStatusParams, progress: Progress
) -> IndexStatusResult:
    """The state of the index of every folder.

    Raises NoWorkspace, NotFound and IndexUnavailable.
    """
    root = _root(workspace)
    await open_index(workspace, progress)
    # Without it, this would not be of now. Whoever has deleted the index wants to see that.
    async with workspace.index.snapshot(workspace.buffers, STATUS_SECONDS, begin=False):
        status = await workspace.index.status()
    return IndexStatusResult(
        root=root,
        index=status,
        total_found=len(status.folders),
        returned=len(status.folders),
        truncated=False,
        completeness=_completeness(workspace),
        warnings=_warnings(workspace),
    )


async def refresh_index(
    workspace: Workspace, params: RefreshParams, progress: Progress
) -> RefreshResult:
    """Have the index look at what has changed.

    Raises NoWorkspace, NotFound, PathOutsideWorkspace and IndexUnavailable.
    """
    root = _root(workspace)
    paths = _changed_paths(workspace, params.paths)
    if any(map(os.path.isdir, paths)):
        paths = []  # what is in a folder is seen by looking at all
    progress(f"Looking at {len(paths)} files" if paths else "Looking at all files")
    async with workspace.index.snapshot(workspace.buffers, 0):
        pass  # what is not open hears of nothing
    done = await workspace.index.refresh(paths, REFRESH_SECONDS if params.wait else 0.0)
    if params.wait:
        async with workspace.index.snapshot(workspace.buffers, REFRESH_SECONDS):
            done = True  # what was told is taken, and so is what a look has found
    state = workspace.index.state()
    return RefreshResult(
        root=root,
        done=done and state.state == "ready",
        total_found=state.files_total,
        returned=state.files_indexed,
        truncated=state.files_indexed < state.files_total,
        completeness=_completeness(workspace),
        warnings=_warnings(workspace),
    )


async def change_index(
    workspace: Workspace, params: IndexParams, progress: Progress
) -> IndexResult:
    """Make, pause, resume or delete the index.

    Raises NoWorkspace, NotFound and IndexUnavailable.
    """
    root = _root(workspace)
    index = workspace.index
    if params.action == "build" and workspace.lifetime is Lifetime.SERVER:
        workspace.start_indexing(True)
    elif params.action == "build":
        await _build(workspace, progress, consent=True)
    elif params.action == "clear":
        await index.clear()
    elif params.action == "pause":
        index.pause()
    else:
        index.resume()
    state = index.state()
    return IndexResult(
        root=root,
        action=params.action,
        done=params.action != "build" or state.state == "ready",
        total_found=state.files_total,
        returned=state.files_indexed,
        truncated=state.files_indexed < state.files_total,
        completeness=_completeness(workspace),
        warnings=_about(workspace, params, state),
    )


def _root(workspace: Workspace) -> str:
    return shown_path(str(workspace.search_roots()[0]))[0]


def _changed_paths(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Return the files and folders that are named, absolute.

    Raises NotFound for the first that does not exist; the index then hears of the others, and that
    the missing ones may be deleted files.
    """
    roots = workspace.search_roots()
    found, missing = list[str](), list[NotFound]()
    for path in paths:
        try:
            real = locate(path, roots, tuple(workspace.buffers)).real
            if os.path.islink(real):  # a loop of links
                raise NotFound(path)
            found.append(real)
        except NotFound as error:
            missing.append(error)
            found += _deleted(path, roots)
    if missing:
        workspace.files_changed(found)
        raise missing[0]
    return found


def _deleted(path: str, roots: Sequence[Path]) -> Iterator[str]:
    """The absolute paths that a path of a deleted file may have been."""
    for root in map(real_path, roots):
        gone = os.path.normpath(os.path.join(root, path))
        if is_inside(gone, root):
            yield gone


def _completeness(workspace: Workspace) -> Completeness:
    state = workspace.index.state()
    reasons = [] if state.state == "ready" else [state_in_words(workspace.index, state)]
    return Completeness(
        complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=False, index=state
    )


def _about(workspace: Workspace, params: IndexParams, state: IndexState) -> list[str]:
    """What is to be said of what was done."""
    has_background = workspace.lifetime is Lifetime.SERVER
    if params.action == "build":
        begun = has_background and state.state != "ready"
        return _making(workspace) if begun else _warnings(workspace)
    if params.action == "clear" or has_background:
        return []
    return ["this holds for a language server only: a command has no background"]


def _warnings(workspace: Workspace) -> list[str]:
    found = [*workspace.index.notices(), *workspace.index.problem_messages()]
    found += [
        f"{shown_path(str(root))[0]}: its index ends with this process: nothing is written there"
        for root in workspace.index.temporary_folders()
    ]
    if workspace.index.state().state == "none":
        found.append(NO_INDEX)
    return found
