"""Build the index for a search, or offer to."""

from __future__ import annotations

from winnow.errors import IndexUnavailable
from winnow.index.builder.folder import BEGUN
from winnow.processes.memory import return_freed_memory
from winnow.search.index.background import open_index
from winnow.search.index.state import PAUSED
from winnow.text.buffers import Overlay
from winnow.text.listing import list_files
from winnow.text.roots import is_indexable
from winnow.text.scope import Filters
from winnow.types import IndexOffer, Progress
from winnow.workspace import EngineWorkspace, Lifetime

# A low estimate for two processors.
FILES_PER_SECOND = 250
COMMAND = "winnow index build"
PARAM = "enable_indexing"


async def begin_index(workspace: EngineWorkspace, enable: bool, progress: Progress) -> list[str]:
    """Build or start an index before a search, and return warnings.

    A command builds it now if the caller passes `enable`, the folder is small or an index exists. A
    language server starts it in the background if the caller passes `enable`.
    """
    if not workspace.config.index.enabled:
        return ["index.enabled is off: no index is built"] if enable else []
    await open_index(workspace, progress)
    if enable and not _may_be_indexed(workspace):
        return [f"a home folder is not indexed by a search: use `{COMMAND}`"]
    if workspace.lifetime is Lifetime.SERVER:
        if not enable or workspace.index.state().knows_all:
            return []
        workspace.start_indexing(True)
        return build_started(workspace)
    if workspace.index.state().knows_all:
        return []
    try:
        async with workspace.index.snapshot(workspace.buffers):
            pass  # brings an index on disk up to date, if little has changed
        is_complete = workspace.index.state().knows_all
        if not is_complete and (enable or await _is_small_or_begun(workspace)):
            await build_index(workspace, progress, consent=enable)
    except IndexUnavailable as error:
        return [error.message]
    return []


def build_started(workspace: EngineWorkspace) -> list[str]:
    """Return the warnings of an answer that started a build in the background."""
    is_paused = workspace.index.throttle.state == "paused"
    started = "the index is being built in the background: see `index_status`"
    return [started, *[PAUSED] * is_paused]


async def build_index(workspace: EngineWorkspace, progress: Progress, *, consent: bool) -> None:
    """Build the index now. With `consent`, also index a folder that is too large by default."""

    def report(done: int, total: int) -> None:
        message = f"Indexing: {done:,} of {total:,} files"
        progress(message, percentage=100 * done // max(total, 1))

    progress("Indexing")
    return_freed_memory()  # as a language server does when it starts
    with workspace.index.throttle.hurry():
        await workspace.index.build(report, consent)


async def index_offer(workspace: EngineWorkspace) -> IndexOffer | None:
    """Offer to build an index, if there is none and none will be built automatically."""
    settings, state = workspace.config.index, workspace.index.state()
    if state.state != "none" or not settings.enabled or not _may_be_indexed(workspace):
        return None
    is_server = workspace.lifetime is Lifetime.SERVER
    if is_server and not workspace.index.build_was_requested:
        return None  # the session has just begun
    files = state.files_total or await _count_files(workspace)
    if not is_server and files < settings.auto_index_threshold:
        return None  # building it has failed
    seconds = round(files / FILES_PER_SECOND, 1)
    takes = f"about {seconds:,.0f} seconds" if seconds > 1 else "a second"
    takes += " in the background" * is_server
    return IndexOffer(
        text=f"An index of these {files:,} files would search by meaning, and faster. It takes"
        f" {takes} and at most {settings.max_index_size_mb} MB in .winnow: pass enable_indexing to"
        " code_search, or call `index` with action 'build'.",
        param=PARAM,
        command=COMMAND,
        files=files,
        seconds=seconds,
    )


def _may_be_indexed(workspace: EngineWorkspace) -> bool:
    """Return True unless a folder needs an explicit request to be indexed, as home folders do."""
    roots = workspace.roots()
    return bool(roots) and all(is_indexable(root, workspace.environment) for root in roots)


async def _is_small_or_begun(workspace: EngineWorkspace) -> bool:
    files = await _count_files(workspace)
    is_small = files < workspace.config.index.auto_index_threshold
    return is_small or await workspace.index.count_indexed_files() > BEGUN * files


async def _count_files(workspace: EngineWorkspace) -> int:
    """Return the number of files that searches cover."""
    ripgrep = workspace.run_ripgrep()
    async with workspace.search_slots:
        listing = await list_files(ripgrep, workspace.scope(Filters()), Overlay())
    return len(listing.paths)
