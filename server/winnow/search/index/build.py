"""Build the index now, or offer to."""

from __future__ import annotations

from winnow.processes.memory import return_freed_memory
from winnow.search.index.indexable import COMMAND, count_files, may_be_indexed
from winnow.search.index.state import PAUSED
from winnow.types import IndexOffer, Progress
from winnow.workspace import EngineWorkspace, Lifetime

# A low estimate for two processors.
FILES_PER_SECOND = 250
PARAM = "enable_indexing"


def build_started(workspace: EngineWorkspace) -> list[str]:
    """Return the warnings of an answer that started a build in the background."""
    is_paused = workspace.index.throttle.state == "paused"
    started = "the index is being built in the background: see `index_status`"
    return [started, *[PAUSED] * is_paused]


async def build_index(
    workspace: EngineWorkspace, progress: Progress, *, consent: bool, texts_first: bool = True
) -> None:
    """Build the index now. With `consent`, also index a folder that is too large by default.
    Without `texts_first`, the index is complete earlier, but answers later."""

    def report(done: int, total: int) -> None:
        message = f"Indexing: {done:,} of {total:,} files"
        progress(message, percentage=100 * done // max(total, 1))

    progress("Indexing")
    return_freed_memory()  # as a language server does when it starts
    with workspace.index.throttle.hurry():
        await workspace.index.build(report, consent, texts_first=texts_first)


async def index_offer(workspace: EngineWorkspace) -> IndexOffer | None:
    """Offer to build an index, if there is none and none will be built automatically."""
    settings, state = workspace.config.index, workspace.index.state()
    if state.state != "none" or not settings.enabled or not may_be_indexed(workspace):
        return None
    is_server = workspace.lifetime is Lifetime.SERVER
    if is_server and not workspace.index.build_was_requested:
        return None
    files = await count_files(workspace)
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
