"""The state of the index, and what answers say about it."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import islice

import msgspec

from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.state import FolderState
from winnow.index.not_covered import NotCovered
from winnow.index.problems import is_failure, not_covered
from winnow.index.snapshot import Snapshot
from winnow.index.store.reader import Reader
from winnow.index.store.store import REPLACED
from winnow.index.vectors.embeddings import load_model
from winnow.index.workspace_index import WorkspaceIndex
from winnow.processes.memory import anonymous_bytes
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.search.index.rows import FolderStatus, IndexStatus, IndexStatusSettings
from winnow.storage.paths import shown_path
from winnow.text.paths import containing_root
from winnow.text.plural import counted
from winnow.text.scope import Scope, clean_path
from winnow.types import Completeness, IndexState, Progress, Skipped
from winnow.workspace import EngineWorkspace

# Tests whether a search covers a file: the position of its root, and its path below that.
Covers = Callable[[int, str], bool]

# How long `index_status` waits for the index to open.
STATUS_SECONDS = 2.0
# Files that failed, in a status.
SHOWN_FAILURES = 10
NO_INDEX = "there is no index: `index build` makes one"
PAUSED = "paused: `index resume` continues"


@again_if_damaged
async def read_status(workspace: EngineWorkspace, progress: Progress) -> IndexStatus:
    """Return the state of the index of every folder. Raise IndexUnavailable."""
    await open_index(workspace, progress)
    # Opens the index, without building a deleted one, so that the status is current.
    with workspace.index.beginning_none():
        async with workspace.index.snapshot(workspace.buffers, STATUS_SECONDS):
            return await current_status(workspace)


async def current_status(workspace: EngineWorkspace) -> IndexStatus:
    """Return the state of the index of every folder, as it is."""
    index, settings = workspace.index, workspace.config.index
    state, folders = index.state().state, []
    for folder in index.folder_indexes():
        reader = await folder.reader()
        try:
            folders.append(await asyncio.to_thread(_folder_status, folder, reader, state))
        finally:
            reader.close()
    paused = index.throttle.state == "paused"
    if paused:
        folders = [
            msgspec.structs.replace(status, state="paused")
            if status.state in ("building", "stale")
            else status
            for status in folders
        ]
    return IndexStatus(
        folders=folders,
        settings=IndexStatusSettings(
            enabled=settings.enabled,
            max_files=settings.max_files,
            max_index_size_mb=settings.max_index_size_mb,
            max_memory_usage_mb=settings.max_memory_usage_mb,
            cpu_throttle_threshold=settings.cpu_throttle_threshold,
            exclude_patterns=list(settings.exclude_patterns),
            watch=settings.watch,
            embeddings=settings.embeddings,
        ),
        workers=len(index.worker_pids),
        memory_mb=round(index.throttle.memory() / 1e6, 1),
        workers_memory_mb=round(sum(map(anonymous_bytes, index.worker_pids)) / 1e6, 1),
        paused=paused,
        waits_for=index.throttle.reason or None,
        embeddings=model.name if (model := load_model(settings.embeddings)) else None,
    )


def _folder_status(folder: FolderIndex, reader: Reader, state: str) -> FolderStatus:
    """Return the status of a folder's index, from a reader of its store. ``state`` is the state of
    the workspace's index."""
    store, watcher = folder.disk.opened, folder.files.watcher
    partial = reader.partial_count()
    texts = folder.work.texts if folder.state is FolderState.BUILDING else 0
    own = state if folder.complete or state in ("none", "opening") else "building"
    counts = not_covered(reader.problem_counts(), reader.binaries())
    return FolderStatus(
        folder=shown_path(folder.root.as_posix())[0],
        state="none" if state == "none" or folder.state is FolderState.ABSENT else own,  # type: ignore[arg-type]
        files_indexed=max(0, folder.work.indexed - (counts.size_limit or 0)),
        files_total=folder.files.total,
        texts_indexed=texts if texts > folder.work.indexed else None,
        files_with_occurrences=reader.source_count() - partial,
        files_without_occurrences=partial or None,
        commits=reader.commit_count() or None,
        not_covered=counts,
        failed_files=_failed_files(reader) if counts.failed else None,
        store=None if store is None or store.is_temporary else shown_path(str(store.file))[0],
        bytes_on_disk=reader.size(),
        updated_at=folder.work.updated_at,
        watching="events" if folder.files.is_watched else "asked",
        watching_why=watcher.reason or None if watcher else None,
        problem=folder.lifecycle.problem or folder.files.why_empty or None,
        damage=folder.disk.damage or None,
        replaced=reader.notes().get(REPLACED),
    )


def _failed_files(reader: Reader) -> list[str]:
    """Return the first files that could not be indexed in time or memory, with the reasons."""
    found = ((file.path, problem) for file, problem in reader.problems().items())
    failed = (f"{shown_path(path)[0]}: {problem}" for path, problem in found if is_failure(problem))
    return list(islice(failed, SHOWN_FAILURES))


def index_completeness(workspace: EngineWorkspace) -> Completeness:
    """Return the completeness of an answer about the index itself."""
    state = workspace.index.state()
    if state.state == "ready":
        reasons = nothing_indexed(workspace)
    else:
        reasons = [state_in_words(workspace.index, state)]
    return Completeness(
        complete=not reasons, reasons=reasons, skipped=Skipped(), timed_out=False, index=state
    )


def nothing_indexed(workspace: EngineWorkspace) -> list[str]:
    """Return the reason why a complete index has no files, if it has none."""
    why = workspace.index.why_empty
    return [why] if why else []


def path_not_indexed(workspace: EngineWorkspace, scope: Scope) -> list[str]:
    """Return why a complete index has nothing of the path that a search names, if so."""
    path = clean_path(scope.paths[0])
    if not scope.filters.path or not workspace.index.state().knows_all:
        return []
    folder = path if (scope.root / path).is_dir() else os.path.dirname(path)
    if folder in ("", ".") or scope.root not in workspace.roots():
        return []
    if workspace.index.has_folder(scope.root, folder):
        return []
    return [
        f"{scope.filters.path} is not in the index, because it is ignored, hidden or in a"
        " submodule: search for exact text to find what is in it"
    ]


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


async def count_indexed(workspace: EngineWorkspace, state: IndexState) -> int:
    """Return the number of files in the index, for its state: of a full one, without those that are
    left out."""
    left_out = await workspace.index.left_out() if state.state == "ready" else NotCovered()
    return state.files_indexed - (left_out.size_limit or 0)


def unsaved_folders(workspace: EngineWorkspace) -> list[str]:
    """Return the folders whose index ends with this process because a write has failed."""
    return [
        shown_path(str(folder.root))[0]
        for folder in workspace.index.folder_indexes()
        if folder.disk.writable and folder.disk.is_lost_on_exit
    ]


def state_in_words(index: WorkspaceIndex, state: IndexState) -> str:
    """Describe an index that is not ready."""
    if damages := index.damages():
        return "; ".join(damages)
    if state.state == "none":
        return "not every folder has an index" if index.has_complete_folder else "there is no index"
    if state.state == "opening":
        return "the index is being opened"
    waits = [f"indexing waits: {state.waits_for}"] if state.waits_for else []
    if index.throttle.state == "paused":
        waits = [PAUSED]
    if state.state != "building":
        return "; ".join(["some changed files are not indexed yet", *waits])
    indexed = f"{state.files_indexed:,} of {state.files_total:,} files"
    if state.files_indexed >= state.files_total:  # the listing is incomplete or uncertain
        indexed = f"{state.files_indexed:,} files so far"
    elif state.knows_all_texts:
        indexed = f"all texts, and the definitions of {indexed}"
    elif state.texts_indexed is not None:
        indexed = f"the texts of {state.texts_indexed:,} of {state.files_total:,} files"
    known = [indexed] if state.files_total or state.files_indexed else []
    details = "; ".join([*known, *waits])
    return f"the index is being built ({details})" if details else "the index is being built"


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
    reasons, warnings = [], []
    if count := left_out.size_limit:
        reasons.append(f"{full_in_words(left_out)}: {_instead(count)}")
    if count := left_out.failed:
        failed = counted(count, "file", "files")
        reasons.append(f"{failed} took too much time or memory to index: {_instead(count)}")
    if count := left_out.unreadable:
        reasons.append(f"{counted(count, 'file', 'files')} could not be read")
    if count := left_out.excluded:
        excluded = counted(count, "file is", "files are")
        warnings.append(f"{excluded} not searched, as index.exclude_patterns says")
    if count := left_out.too_large:
        large = counted(count, "file is", "files are")
        warnings.append(f"{large} too large to index (limits.parse_bytes): {_instead(count)}")
    return reasons, warnings


def full_in_words(left_out: NotCovered) -> str:
    """Return that files are left out of a full index."""
    files = counted(left_out.size_limit or 0, "file is", "files are")
    full = "the index has reached its maximum size (index.max_index_size_mb)"
    return f"{files} not indexed, because {full}"


def _instead(count: int) -> str:
    return f"search for exact text to find {'it' if count == 1 else 'them'}"
