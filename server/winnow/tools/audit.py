"""audit: show what left this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta

from winnow.errors import StateUnavailable
from winnow.ranking.sent_requests import AuditedRequest, DaysUse, read_log
from winnow.text.paths import shown_folder
from winnow.text.plural import counted
from winnow.text.sanitize import printable
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import COMPLETE, Answer, Params, Progress
from winnow.workspace import EngineWorkspace

# Files of a request that the rendered text names; the answer has all of them.
SHOWN_FILES = 5


class AuditParams(Params, frozen=True, kw_only=True):
    """The number of requests to show."""

    limit: Annotated[
        int, Meta(description="Maximum number of requests, newest first.", ge=1, le=100_000)
    ] = 50


class AuditResult(Answer, frozen=True, kw_only=True):
    """Requests to models. `total_found` counts the requests in the log, which drops its oldest
    entries when it is full."""

    requests: Annotated[list[AuditedRequest], Meta(description="The requests, newest first.")]
    today: Annotated[DaysUse, Meta(description="Usage today.")]
    log: Annotated[
        str | None, Meta(description="The folder of the log, whose files are JSON lines.")
    ] = None


# --- rendering -----------------------------------------------------------------------------


def text(result: AuditResult, style: Style, folder: str | None) -> str:
    """Render one line per request, its files, and today's usage."""
    lines = [line for request in result.requests for line in _lines(request, style)]
    return "\n".join([*(lines or ["No request was made to any model."]), *_notes(result, style)])


def _lines(request: AuditedRequest, style: Style) -> Iterator[str]:
    who = request.answered_by or request.model
    where = request.destination if request.remote else f"{request.destination} (this machine)"
    yield printable(
        f"{request.time}  {who} at {where}: {counted(len(request.files), 'file', 'files')},"
        f" {request.bytes:,} bytes, {_usage(request)},"
        f" {(request.outcome or 'not ended').replace('_', ' ')}"
    )
    if request.redactions:
        kinds = ", ".join(f"{kind} {count}" for kind, count in request.redactions.items())
        yield style.dim(printable(f"    redacted: {kinds}"))
    for path in request.files[:SHOWN_FILES]:
        yield style.dim(printable(f"    {path}"))
    if len(request.files) > SHOWN_FILES:
        yield style.dim(f"    and {len(request.files) - SHOWN_FILES} more")


def _usage(request: AuditedRequest) -> str:
    is_exact = request.input_tokens is not None or request.tokens == 0
    tokens = f"{request.tokens:,} tokens" if is_exact else f"at most {request.tokens:,} tokens"
    return tokens if request.cost_usd is None else f"{tokens}, ${request.cost_usd:.6f}"


def _notes(result: AuditResult, style: Style) -> Iterator[str]:
    today = result.today
    tokens = f"{today.tokens:,} tokens" + (
        f" of {today.daily_tokens:,}" if today.daily_tokens is not None else ""
    )
    cost = f"${today.cost_usd:.6f}" + (
        f" of ${today.daily_usd:.2f}" if today.daily_usd is not None else ""
    )
    requests = counted(today.requests, "request", "requests")
    yield style.dim(f"[since midnight UTC, to other machines: {requests}, {tokens}, {cost}]")
    if result.truncated:
        yield style.dim(f"[{result.returned} of {result.total_found} requests: --limit]")
    for warning in result.warnings:
        yield style.dim(f"[note: {warning}]")
    if result.log:
        yield style.dim(printable(f"[log: {result.log}]"))


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    command_help=CommandHelp(
        "List the requests sent to language models, from all workspaces.",
        "winnow audit --limit 5",
        "winnow audit --json",
    ),
    example={"limit": 1},
    raises=(StateUnavailable,),
    for_agents=False,
)
async def audit(workspace: EngineWorkspace, params: AuditParams, progress: Progress) -> AuditResult:
    """Show what left this machine: every request to a language model, from all workspaces.

    Shows the time, destination, files, bytes, redactions, tokens and cost of each request, never
    its contents or keys. A request is logged before it is sent. The log belongs to the user, lies
    outside all workspaces, and drops its oldest entries when it is full.
    """
    folder = workspace.models.egress.log.folder
    try:
        logged = await asyncio.to_thread(read_log, workspace.models, params.limit)
    except OSError as error:
        raise StateUnavailable(str(folder), error.strerror or str(error)) from error
    log = shown_folder(folder) if folder else None
    damaged = f"skipped {logged.unreadable} damaged lines of the log"
    return AuditResult(
        root=next(map(shown_folder, workspace.roots()), str(log)),
        requests=logged.requests,
        today=logged.today,
        log=log,
        total_found=logged.total,
        returned=len(logged.requests),
        truncated=len(logged.requests) < logged.total,
        completeness=COMPLETE,
        warnings=[damaged] * bool(logged.unreadable),
    )
