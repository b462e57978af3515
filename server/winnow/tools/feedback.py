"""feedback: record what happened to a search result."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.errors import NotFound, NoWorkspace, PathOutsideWorkspace, UnknownSearch
from winnow.text.paths import locate, shown_folder
from winnow.tools.registry import CommandHelp, Effects, tool
from winnow.tools.terminal import Style
from winnow.types import COMPLETE, Answer, FeedbackAction, Params, Progress
from winnow.workspace import EngineWorkspace

LEARNING_OFF = "learning.enabled is off: searches and feedback are not recorded"


class FeedbackParams(Params, frozen=True, kw_only=True):
    """A result of a search, and what happened to it."""

    search_id: Annotated[
        str,
        Meta(description="The `search_id` of the answer.", min_length=1, max_length=100),
    ]
    path: Annotated[
        str,
        Meta(
            description="The file of the result, as the answer shows it or absolute.",
            min_length=1,
            max_length=4_000,
        ),
    ]
    action: Annotated[
        FeedbackAction,
        Meta(
            description="'opened': the user opened it. 'kept': it was the right result."
            " 'dismissed': it was not. 'up' or 'down': an explicit rating, which counts most."
        ),
    ]
    rank: Annotated[
        int,
        Meta(
            description="The position of the result in the answer, from 1; 0 if unknown.",
            ge=0,
            le=1_000_000,
        ),
    ] = 0


class FeedbackResult(Answer, frozen=True, kw_only=True):
    """The recorded feedback. `total_found` and `returned` are 1, or 0 if nothing was recorded."""

    query: Annotated[str, Meta(description="The query of the search.")]
    tool: Annotated[str, Meta(description="The tool that answered the search.")]
    path: Annotated[str, Meta(description="The file, relative to `root`.")]


def text(result: FeedbackResult, style: Style, folder: str | None) -> str:
    """Render one line about the recorded feedback."""
    notes = [f"[note: {warning}]" for warning in result.warnings]
    if not result.returned:
        return "\n".join(notes)
    return "\n".join([f"{result.path}: recorded for {result.query!r} ({result.tool})", *notes])


@tool(
    text=text,
    command_help=CommandHelp(
        "Record that a search result was useful or not, for later rankings.\n"
        "The JSON result of a search contains its `search_id`.",
        "winnow feedback 5ea7c41d5ea7 src/loader.py opened",
        "winnow feedback 5ea7c41d5ea7 src/registry.py down",
    ),
    example={"search_id": "5ea7c41d5ea7", "path": "src/loader.py", "action": "opened"},
    raises=(UnknownSearch, NotFound, NoWorkspace, PathOutsideWorkspace),
    effects=Effects(changes=True, repeatable=False),
)
async def feedback(
    workspace: EngineWorkspace, params: FeedbackParams, progress: Progress
) -> FeedbackResult:
    """Record what happened to a search result: it was opened, kept, dismissed or rated.

    Effective use:
    - Pass the `search_id` of the answer and the `path` of the result
    - `kept` means that it was the right result, `dismissed` that it was not
    - Later searches for something similar rank the file slightly higher or lower
    - Feedback stays on this machine, in the workspace's `.winnow` folder
    """
    roots = workspace.search_roots()
    located = locate(params.path, roots, tuple(workspace.buffers))
    root = roots[located.place]
    enabled = workspace.history.enabled
    query = tool_name = ""
    if enabled:
        path = str(root / located.below)
        search = await workspace.history.add_feedback(
            params.search_id, path, params.action, params.rank
        )
        if search is None:
            raise UnknownSearch(params.search_id)
        query, tool_name = search.query, search.tool
    return FeedbackResult(
        root=shown_folder(root),
        query=query,
        tool=tool_name,
        path=located.shown,
        total_found=int(enabled),
        returned=int(enabled),
        truncated=False,
        completeness=COMPLETE,
        warnings=[] if enabled else [LEARNING_OFF],
    )
