"""consent: whether code of this workspace may be sent to a model."""

from __future__ import annotations

from winnow.errors import NotFound, NoWorkspace, StateUnavailable
from winnow.text.sanitize import printable
from winnow.tools.registry import Effects, tool
from winnow.types import Progress
from winnow.types.consent import ConsentParams, ConsentResult
from winnow.workspace import Workspace

SAID = {
    "needed": "nothing is sent: `winnow consent give` allows it",
    "given": "may be sent, by your consent",
    "refused": "nothing is sent: you have refused",
    "always": "may be sent from every workspace (`llm.consent`)",
}


def plain(result: ConsentResult) -> str:
    """A line for each destination."""
    lines = [
        printable(f"{one.destination}: {SAID[one.state]}")
        + (f"  [{', '.join(map(printable, one.models))}]" if one.models else "")
        for one in result.destinations
    ]
    return "\n".join([*lines, *(f"[note: {warning}]" for warning in result.warnings)])


@tool(
    plain=plain,
    positional=("action",),
    example={},
    raises=(NoWorkspace, NotFound, StateUnavailable),
    effects=Effects(changes=True),
    for_agents=False,
)
async def consent(workspace: Workspace, params: ConsentParams, progress: Progress) -> ConsentResult:
    """Decide whether code of this workspace may be sent to a language model on another machine.

    Without consent the local ranker does the work, and the answer says so. It is given for a
    workspace and a destination, and kept for the user: no file of a workspace can give it. A model
    on this machine needs none.
    """
    # Not needed to start a server or to print help.
    from winnow.search import consent

    return await consent.consent(workspace, params)
