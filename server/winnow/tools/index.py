"""index: make, pause, resume or delete the index."""

from __future__ import annotations

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace
from winnow.tools.registry import Effects, tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of
from winnow.types import Progress
from winnow.types.index import IndexParams, IndexResult
from winnow.workspace import Workspace

_DONE = {
    "build": "the index is built",
    "pause": "the background is paused",
    "resume": "the background goes on",
    "clear": "the index is deleted",
}


def plain(result: IndexResult) -> str:
    """What was done, and how many files it knows."""
    return text(result, FOR_AGENTS, "")


def text(result: IndexResult, style: Style, folder: str) -> str:
    """The same with colours."""
    done = style.good(_DONE[result.action]) if result.done else style.bad("it goes on")
    summary = f"{result.returned} of {result.total_found} files are known"
    return "\n".join([done, *notes_of(result, summary, style)])


@tool(
    plain=plain,
    text=text,
    example={"action": "build"},
    raises=(NoWorkspace, NotFound, IndexUnavailable),
    effects=Effects(changes=True, destroys=True),
)
async def index(workspace: Workspace, params: IndexParams, progress: Progress) -> IndexResult:
    """Make, pause, resume or delete the index that semantic_search, code_search and find_symbol use.
    'build' also indexes what is not indexed by itself: a folder with more than `index.max_files` files, or a home folder where `workspace.allow_home_root` is set. Ask the user before. A language server builds in the background: `index_status` says how far it is.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Not needed to start a server or to print help.
    from winnow.search.index.requests import change_index

    return await change_index(workspace, params, progress)
