"""feedback: what became of a result."""

from __future__ import annotations

from winnow.errors import NotFound, NoWorkspace, PathOutsideWorkspace, UnknownSearch
from winnow.tools.registry import Effects, tool
from winnow.types import Progress
from winnow.types.feedback import FeedbackParams, FeedbackResult
from winnow.workspace import Workspace


def plain(result: FeedbackResult) -> str:
    """What was taken down, in a line."""
    notes = [f"[note: {warning}]" for warning in result.warnings]
    if not result.returned:
        return "\n".join(notes)
    return "\n".join([f"{result.path}: noted, for {result.query!r} ({result.tool})", *notes])


@tool(
    plain=plain,
    example={"search_id": "5ea7c41d5ea7", "path": "src/loader.py", "action": "opened"},
    raises=(UnknownSearch, NotFound, NoWorkspace, PathOutsideWorkspace),
    effects=Effects(changes=True, repeatable=False),
)
async def feedback(
    workspace: Workspace, params: FeedbackParams, progress: Progress
) -> FeedbackResult:
    """Say what became of a result of a search: it was opened, kept, dismissed, or judged.

    Effective use:
    - Pass the `search_id` of the answer and the `path` of the result
    - `kept` says that it was what you looked for, `dismissed` that it was not
    - Later searches that ask something similar rank the file higher or lower, within bounds
    - It stays on this machine, in the workspace's `.winnow` folder
    """
    # Not needed to start a server or to print help.
    from winnow.search.feedback import take_feedback

    return await take_feedback(workspace, params)
