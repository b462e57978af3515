"""feedback: what became of a result, for the searches to come."""

from __future__ import annotations

from winnow.storage.paths import shown_path
from winnow.text.paths import locate
from winnow.types import Completeness, Skipped
from winnow.types.feedback import FeedbackParams, FeedbackResult
from winnow.workspace import Workspace

OFF = "learning is off (`learning.enabled`): nothing is kept"
NOTHING_SKIPPED = Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)


async def take_feedback(workspace: Workspace, params: FeedbackParams) -> FeedbackResult:
    """Take down what became of a result. Raises UnknownSearch, NotFound, PathOutsideWorkspace and
    NoWorkspace."""
    roots = workspace.search_roots()
    located = locate(params.path, roots, tuple(workspace.buffers))
    root, warnings = roots[located.place], [] if workspace.history.enabled else [OFF]
    query = tool = ""
    if not warnings:
        path = str(root / located.below)
        search = await workspace.history.add_feedback(
            params.search_id, path, params.action, params.rank
        )
        query, tool = search.query, search.tool
    taken = int(not warnings)
    return FeedbackResult(
        root=shown_path(str(root))[0],
        query=query,
        tool=tool,
        path=shown_path(located.below)[0],
        total_found=taken,
        returned=taken,
        truncated=False,
        completeness=NOTHING_SKIPPED,
        warnings=warnings,
    )
