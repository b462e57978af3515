"""consent: allow or forbid sending code of this workspace to a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta

from winnow.errors import InvalidParams, NotFound, NoWorkspace, StateUnavailable
from winnow.ranking.models import TURNED_OFF
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.tools.registry import CommandHelp, Effects, tool
from winnow.tools.terminal import Style
from winnow.types import COMPLETE, Answer, Params, Progress, Result
from winnow.workspace import EngineWorkspace

ConsentState = Literal["needed", "given", "refused", "always"]
STATES = {
    "needed": "nothing is sent: allow it with `winnow consent give`",
    "given": "may be sent: you have consented",
    "refused": "nothing is sent: you have refused",
    "always": "may be sent from every workspace (`llm.consent`)",
}


class ConsentParams(Params, frozen=True, kw_only=True):
    """The user's decision."""

    action: Annotated[
        Literal["show", "give", "refuse", "withdraw"],
        Meta(
            description="'give': code of this workspace may be sent to the destinations. 'refuse':"
            " it may not, and do not ask again. 'withdraw': forget the decision. 'show': change"
            " nothing."
        ),
    ] = "show"
    destinations: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=1_000)]],
        Meta(
            description="With 'give': the destinations that the user has seen and consents to."
            " Without it, all destinations of the configured models.",
            max_length=100,
        ),
    ] = []


class ConsentDestination(Result, frozen=True, kw_only=True):
    """A destination that code of this workspace could be sent to."""

    destination: Annotated[str, Meta(description="Scheme, host and port.")]
    models: Annotated[list[str], Meta(description="The usable models at this destination.")]
    state: Annotated[
        ConsentState,
        Meta(
            description="'needed': nothing is sent until the user consents. 'given', 'refused':"
            " the user's decision. 'always': `llm.consent` allows it for every workspace."
        ),
    ]


class ConsentResult(Answer, frozen=True, kw_only=True):
    """The destinations, and the consent to each. Models on this machine need none. The editor asks
    for consent to its own model. `total_found` and `returned` count destinations."""

    destinations: Annotated[
        list[ConsentDestination], Meta(description="All destinations, most preferred first.")
    ]
    workspace: Annotated[list[str], Meta(description="The folders that the decision is for.")]
    models: Annotated[
        list[str],
        Meta(description="The models that would rank a search now, most preferred first."),
    ]


def text(result: ConsentResult, style: Style, folder: str | None) -> str:
    """Render one line per destination."""
    lines = [
        printable(f"{row.destination}: {STATES[row.state]}")
        + (f"  [{', '.join(map(printable, row.models))}]" if row.models else "")
        for row in result.destinations
    ]
    return "\n".join([*lines, *(f"[note: {warning}]" for warning in result.warnings)])


@tool(
    text=text,
    positional=("action",),
    command_help=CommandHelp(
        "Allow or refuse sending code of this workspace to a remote language model.",
        "winnow consent give",
        "winnow consent show",
    ),
    example={},
    raises=(NoWorkspace, NotFound, StateUnavailable),
    effects=Effects(changes=True),
    for_agents=False,
)
async def consent(
    workspace: EngineWorkspace, params: ConsentParams, progress: Progress
) -> ConsentResult:
    """Decide whether code of this workspace may be sent to a language model on another machine.

    Without consent, the local ranker is used, and the answer says so. Consent applies to one
    workspace and one destination. It is stored for the user: no file in a workspace can give it.
    Models on this machine need no consent.
    """
    root = workspace.search_roots()[0]
    egress = workspace.models.egress
    roots, available = egress.roots(), workspace.models.destinations()
    if unknown := [one for one in params.destinations if one not in available]:
        problem = f"no usable model is at {unknown[0]!r}"
        hint = f"available: {', '.join(available)}" if available else _why_none(workspace)
        raise InvalidParams("destinations", f"{problem}; {hint}")
    try:
        if params.action == "give":
            egress.consents.give(roots, params.destinations or available)
        elif params.action == "refuse":
            egress.consents.refuse(roots)
        elif params.action == "withdraw":
            egress.consents.withdraw(roots)
    except OSError as error:
        raise StateUnavailable(str(egress.log.folder), error.strerror or str(error)) from error
    destinations, enabled = list(_destinations(workspace)), workspace.config.llm.enabled
    return ConsentResult(
        root=shown_folder(root),
        destinations=destinations,
        workspace=roots,
        models=[model.name for model in workspace.models.usable()[0]],
        total_found=len(destinations),
        returned=len(destinations),
        truncated=False,
        completeness=COMPLETE,
        warnings=[_why_none(workspace)] if not (destinations and enabled) else [],
    )


def _why_none(workspace: EngineWorkspace) -> str:
    """Explain why no destination needs consent."""
    if not workspace.config.llm.enabled:
        return f"{TURNED_OFF}: nothing is sent"
    return "no model on another machine has a key: nothing to decide"


def _destinations(workspace: EngineWorkspace) -> Iterator[ConsentDestination]:
    """Yield the destinations of the models, then others that the user has decided about."""
    egress = workspace.models.egress
    consents, roots, available = egress.consents, egress.roots(), workspace.models.destinations()
    refused = consents.refused(roots)
    for destination in dict.fromkeys((*available, *sorted(consents.destinations(roots)))):
        state: ConsentState
        if workspace.config.llm.consent == "always":
            state = "always"
        elif refused:
            state = "refused"
        else:
            state = "given" if consents.given(roots, destination) else "needed"
        models = [model.name for model in available.get(destination, ())]
        yield ConsentDestination(destination=destination, models=models, state=state)
