"""Requests about the index itself, and when searches make one."""

from __future__ import annotations

from winnow.text.buffers import Overlay
from winnow.text.listing import list_files
from winnow.types import IndexState, Progress, SearchParams
from winnow.types.semantic_search import IndexOffer
from winnow.workspace import Workspace

# About how many files are read in a second, with two processors; the estimate errs upwards.
FILES_PER_SECOND = 250
COMMAND = "winnow index build"
PARAM = "enable_indexing"


async def begin_index(workspace: Workspace, wanted: bool, progress: Progress) -> list[str]:
    """See to an index before a search: at the command line, where the folder is small or somebody
    wants it, it is made now; in a language server, where somebody wants it, it is begun. Gives
    warnings."""
    if not workspace.config.index.enabled:
        return ["index.enabled is off: no index is made"] if wanted else []
    if workspace.start_indexing is not None:
        if wanted and not workspace.index.state().knows_all:
            workspace.start_indexing()
            return ["the index is being made in the background: `index_status` says how far it is"]
        return []
    if workspace.index.state().knows_all:
        return []
    if wanted or await count_files(workspace) < workspace.config.index.auto_index_threshold:

        def report(done: int, total: int) -> None:
            progress(
                f"Indexing: {done:,} of {total:,} files", percentage=100 * done // max(total, 1)
            )

        progress("Indexing")
        await workspace.index.build(report)
    return []


async def index_offer(workspace: Workspace, state: IndexState) -> IndexOffer | None:
    """How to have an index, where there is none and it would pay; None else."""
    settings = workspace.config.index
    if state.state != "none" or not settings.enabled:
        return None
    files = await count_files(workspace)
    if files < settings.auto_index_threshold:
        return None
    seconds = round(files / FILES_PER_SECOND, 1)
    return IndexOffer(
        text=f"An index of these {files:,} files answers by meaning, and sooner. It takes about"
        f" {seconds:,.0f} seconds in the background and at most {settings.max_index_size_mb} MB in"
        " .winnow: pass enable_indexing to code_search, or ask for `index` with action 'build'.",
        param=PARAM,
        command=COMMAND,
        files=files,
        seconds=seconds,
    )


async def count_files(workspace: Workspace) -> int:
    """How many files there are that searches cover."""
    ripgrep = workspace.run_ripgrep()
    async with workspace.turns:
        listing = await list_files(ripgrep, workspace.scope(SearchParams()), Overlay())
    return len(listing.paths)
