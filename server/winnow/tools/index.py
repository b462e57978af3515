"""index: build, pause, resume or delete the index."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.errors import IndexUnavailable, NotFound, NoWorkspace
from winnow.tools.registry import CommandHelp, Effects, tool
from winnow.tools.terminal import Style, notes_of
from winnow.types import Answer, Params, Progress
from winnow.workspace import EngineWorkspace, Lifetime

Action = Literal["build", "pause", "resume", "clear"]
_DONE = {
    "build": "the index is complete",
    "pause": "background work is paused",
    "resume": "background work is resumed",
    "clear": "the index is deleted",
}


class IndexParams(Params, frozen=True, kw_only=True):
    """The action on the index."""

    action: Annotated[
        Action,
        Meta(
            description="'build': build or update the index, even for a folder that is not indexed"
            " automatically (more than `index.max_files` files, or a home folder with"
            " `workspace.allow_home_root`). 'pause': stop background work until 'resume'."
            " 'clear': delete the index."
        ),
    ]


class IndexResult(Answer, frozen=True, kw_only=True):
    """The outcome. `returned` counts the indexed files, `total_found` all files."""

    action: Annotated[str, Meta(description="The requested action.")]
    done: Annotated[
        bool, Meta(description="True if the action is complete, false if it continues.")
    ]


def text(result: IndexResult, style: Style, folder: str | None) -> str:
    """Render the outcome and the number of indexed files."""
    undone = "in progress" if result.action == "build" else "nothing runs in the background"
    done = style.good(_DONE[result.action]) if result.done else style.bad(undone)
    if result.action == "build" and result.done and not result.total_found:
        done = style.bad("no file is indexed")
    elif result.action == "build" and result.done and result.returned < result.total_found:
        done = style.bad("the index is full")
    summary = f"{result.returned} of {result.total_found} files indexed"
    return "\n".join([done, *notes_of(result, summary, style)])


@tool(
    text=text,
    command_help=CommandHelp(
        "Build, pause, resume or delete the index of this workspace.\n"
        "The first search begins to build it in the background. `build` waits until it is\n"
        "complete.",
        "winnow index build",
        "winnow index",
    ),
    example={"action": "build"},
    raises=(NoWorkspace, NotFound, IndexUnavailable),
    effects=Effects(changes=True, destroys=True),
)
async def index(workspace: EngineWorkspace, params: IndexParams, progress: Progress) -> IndexResult:
    """Build, pause, resume or delete the index that semantic_search, code_search and find_symbol use.
    'build' also indexes folders that are not indexed automatically: those with more than `index.max_files` files, or a home folder where `workspace.allow_home_root` is set. Ask the user first. A language server builds in the background: `index_status` shows its progress.
    """  # noqa: E501 - one sentence a line, as agents read it
    # Importing the index takes a tenth of a second.
    from winnow.search.index.background import open_index
    from winnow.search.index.build import build_index
    from winnow.search.index.state import count_indexed, index_completeness, unsaved_folders

    root = workspace.shown_root
    if params.action == "build" and workspace.lifetime is Lifetime.SERVER:
        workspace.start_indexing(True)
    elif params.action == "build":
        # The caller waits until the index is complete, which a pause would prevent.
        workspace.index.resume()
        await build_index(workspace, progress, consent=True, texts_first=False)
        if not workspace.has_background and (unsaved := unsaved_folders(workspace)):
            raise IndexUnavailable(f"it could not be saved in {', '.join(unsaved)}")
    elif params.action == "clear":
        await workspace.index.clear()
    elif not workspace.has_background:
        await open_index(workspace, progress)  # nothing but its state is shown
    elif params.action == "pause":
        workspace.index.pause()
    else:
        workspace.index.resume()
    state = workspace.index.state()
    done = _is_done(workspace, params.action, is_ready=state.state == "ready")
    return IndexResult(
        root=root,
        action=params.action,
        done=done,
        total_found=state.files_total,
        returned=await count_indexed(workspace, state),
        truncated=state.files_indexed < state.files_total,
        completeness=index_completeness(workspace),
        warnings=_warnings(workspace, params.action, is_ready=state.state == "ready"),
    )


def _is_done(workspace: EngineWorkspace, action: Action, *, is_ready: bool) -> bool:
    if action == "build":
        return is_ready
    return action == "clear" or workspace.has_background


def _warnings(workspace: EngineWorkspace, action: Action, *, is_ready: bool) -> list[str]:
    from winnow.search.index.build import build_started
    from winnow.search.index.state import index_warnings

    if action == "build":
        is_running = workspace.lifetime is Lifetime.SERVER and not is_ready
        return build_started(workspace) if is_running else index_warnings(workspace)
    if action == "clear" or workspace.has_background:
        return []
    return ["only a server or a background process can be paused: this command changed nothing"]
