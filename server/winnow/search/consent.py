"""Requests about what may leave this machine, and what has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from winnow.errors import InvalidParams, StateUnavailable
from winnow.privacy.outbound.audit import Log, Logged, Used, now
from winnow.ranking.models import TURNED_OFF
from winnow.search.feedback import NOTHING_SKIPPED
from winnow.storage.paths import shown_path
from winnow.types.audit import AuditedRequest, AuditParams, AuditResult, DaysUse
from winnow.types.consent import ConsentParams, ConsentResult, Destination
from winnow.workspace import Workspace


async def read_audit(workspace: Workspace, params: AuditParams) -> AuditResult:
    """What the log has. Raises StateUnavailable."""
    log = workspace.models.egress.log
    try:
        read, used = await asyncio.to_thread(lambda: (log.read(), log.used_on(now()[:10])))
    except OSError as error:
        raise StateUnavailable(str(log.folder), error.strerror or str(error)) from error
    root = next(iter(workspace.roots()), log.folder)
    return _audit(read, used, params.limit, workspace, shown_path(str(root))[0])


def _audit(read: Log, used: Used, limit: int, workspace: Workspace, root: str) -> AuditResult:
    folder, settings = workspace.models.egress.log.folder, workspace.config.llm
    requests = [_request(one) for one in reversed(read.requests[-limit:])]
    damaged = f"{read.unreadable} lines of the log are damaged: left out"
    return AuditResult(
        root=root,
        requests=requests,
        today=DaysUse(
            requests=used.requests,
            tokens=used.tokens,
            cost_usd=round(used.usd, 6),
            daily_tokens=settings.daily_tokens,
            daily_usd=settings.daily_usd,
        ),
        log=shown_path(str(folder))[0] if folder else None,
        total_found=len(read.requests),
        returned=len(requests),
        truncated=len(requests) < len(read.requests),
        completeness=NOTHING_SKIPPED,
        warnings=[damaged] * bool(read.unreadable),
    )


def _request(one: Logged) -> AuditedRequest:
    sent, ended = one.sent, one.ended
    return AuditedRequest(
        time=sent.time,
        purpose=sent.purpose,
        workspace=list(sent.workspace),
        model=sent.model,
        answered_by=ended.answered_by if ended else None,
        provider=sent.provider,
        destination=sent.destination,
        remote=sent.remote,
        files=list(sent.files),
        bytes=sent.bytes,
        redactions=sent.redactions,
        outcome=ended.outcome if ended else None,
        tokens=one.tokens,
        input_tokens=ended.input_tokens if ended else None,
        output_tokens=ended.output_tokens if ended else None,
        cost_usd=None if sent.usd is None else one.usd,
    )


async def consent(workspace: Workspace, params: ConsentParams) -> ConsentResult:
    """Take down what somebody has decided, and show what holds then.

    Raises NoWorkspace, NotFound, StateUnavailable, and InvalidParams for a destination that no
    model has.
    """
    root = workspace.search_roots()[0]
    egress = workspace.models.egress
    roots, known = egress.roots(), workspace.models.destinations()
    if unknown := [one for one in params.destinations if one not in known]:
        problem = f"no model that has all it needs is at {unknown[0]!r}"
        there = f"there are: {', '.join(known)}" if known else _why_none(workspace)
        raise InvalidParams("destinations", f"{problem}; {there}")
    try:
        if params.action == "give":
            egress.consents.give(roots, params.destinations or known)
        elif params.action == "refuse":
            egress.consents.refuse(roots)
        elif params.action == "withdraw":
            egress.consents.withdraw(roots)
    except OSError as error:
        raise StateUnavailable(str(egress.log.folder), error.strerror or str(error)) from error
    destinations, enabled = list(_destinations(workspace)), workspace.config.llm.enabled
    return ConsentResult(
        root=shown_path(str(root))[0],
        destinations=destinations,
        workspace=roots,
        total_found=len(destinations),
        returned=len(destinations),
        truncated=False,
        completeness=NOTHING_SKIPPED,
        warnings=[_why_none(workspace)] if not (destinations and enabled) else [],
    )


def _why_none(workspace: Workspace) -> str:
    """Why there is no destination that could be consented to."""
    if not workspace.config.llm.enabled:
        return f"{TURNED_OFF}: nothing is sent"
    return "no model has a key and is elsewhere: nothing to decide"


def _destinations(workspace: Workspace) -> Iterator[Destination]:
    """Those that models have, and those that were decided about before."""
    egress = workspace.models.egress
    consents, roots, known = egress.consents, egress.roots(), workspace.models.destinations()
    refused = consents.refused(roots)
    for destination in dict.fromkeys((*known, *sorted(consents.destinations(roots)))):
        if workspace.config.llm.consent == "always":
            state = "always"
        elif refused:
            state = "refused"
        else:
            state = "given" if consents.given(roots, destination) else "needed"
        models = [model.name for model in known.get(destination, ())]
        yield Destination(destination=destination, models=models, state=state)  # type: ignore[arg-type]
