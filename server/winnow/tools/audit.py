"""audit: show what left this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Annotated

from msgspec import Meta

from winnow.errors import StateUnavailable
from winnow.privacy.outbound.audit_log import LoggedRequest, Outcome, Purpose, now
from winnow.storage.paths import shown_path
from winnow.text.sanitize import printable
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import COMPLETE, Answer, Params, Progress, Result
from winnow.workspace import EngineWorkspace

# Files of a request that the rendered text names; the answer has all of them.
SHOWN_FILES = 5


class AuditParams(Params, frozen=True, kw_only=True):
    """The number of requests to show."""

    limit: Annotated[
        int, Meta(description="Maximum number of requests, newest first.", ge=1, le=100_000)
    ] = 50


class AuditedRequest(Result, frozen=True, kw_only=True):
    """A request to a model: its destination and a summary. Contents are never stored."""

    time: Annotated[str, Meta(description="When the request was made, in ISO 8601, UTC.")]
    purpose: Annotated[
        Purpose,
        Meta(
            description="'keyword_search': ranking of matching lines. 'index_order': names of"
            " folders, sent by earlier versions only."
        ),
    ]
    workspace: Annotated[list[str], Meta(description="The folders that were searched.")]
    model: Annotated[str, Meta(description="Name of the model.")]
    answered_by: Annotated[
        str | None, Meta(description="The model that answered, if the editor chose it.")
    ] = None
    provider: Annotated[str, Meta(description="The wire format.")]
    destination: Annotated[
        str,
        Meta(
            description="Scheme, host and port; 'editor' for the editor's own model, which may run"
            " anywhere."
        ),
    ]
    remote: Annotated[
        bool,
        Meta(description="True if it counts as leaving this machine: the model is not local."),
    ]
    files: Annotated[
        list[str],
        Meta(description="The files whose lines were sent, relative to their workspace folder."),
    ]
    bytes: Annotated[int, Meta(description="Size of the system prompt and the prompt.")]
    redactions: Annotated[
        Mapping[str, int], Meta(description="Number of secrets that were redacted, by kind.")
    ]
    outcome: Annotated[
        Outcome | None,
        Meta(
            description="'broken_off': the answer was incomplete or cancelled. 'failed': the"
            " request did not arrive or was refused. Absent while it runs, and if the process was"
            " killed."
        ),
    ] = None
    tokens: Annotated[
        int,
        Meta(
            description="Tokens counted towards `llm.daily_tokens`: the provider's figure, else"
            " the maximum possible; 0 if the request failed."
        ),
    ]
    input_tokens: Annotated[
        int | None, Meta(description="Input tokens, as the provider reports them.")
    ] = None
    output_tokens: Annotated[
        int | None, Meta(description="Output tokens, as the provider reports them.")
    ] = None
    cost_usd: Annotated[
        float | None, Meta(description="Cost counted in US dollars, if prices are known.")
    ] = None


class DaysUse(Result, frozen=True, kw_only=True):
    """Use of models on other machines since midnight UTC, and the daily caps."""

    requests: Annotated[int, Meta(description="Number of requests.")]
    tokens: Annotated[int, Meta(description="Their tokens.")]
    cost_usd: Annotated[float, Meta(description="Their cost, for models with known prices.")]
    daily_tokens: Annotated[int | None, Meta(description="The cap on tokens, if set.")] = None
    daily_usd: Annotated[float | None, Meta(description="The cap on costs, if set.")] = None


class AuditResult(Answer, frozen=True, kw_only=True):
    """Requests to models. `total_found` counts the requests in the log, which drops its oldest
    entries when it is full."""

    requests: Annotated[list[AuditedRequest], Meta(description="The requests, newest first.")]
    today: Annotated[DaysUse, Meta(description="Usage today.")]
    log: Annotated[
        str | None, Meta(description="The folder of the log, whose files are JSON lines.")
    ] = None


# --- rendering -----------------------------------------------------------------------------


def plain(result: AuditResult) -> str:
    """Render one line per request, its files, and today's usage."""
    return text(result, Style(colour=False), "")


def text(result: AuditResult, style: Style, folder: str) -> str:
    """Render the same with colors."""
    lines = [line for request in result.requests for line in _lines(request, style)]
    return "\n".join([*(lines or ["No request was made to any model."]), *_notes(result, style)])


def _lines(request: AuditedRequest, style: Style) -> Iterator[str]:
    who = request.answered_by or request.model
    where = request.destination if request.remote else f"{request.destination} (this machine)"
    yield printable(
        f"{request.time}  {who} at {where}: {_count(len(request.files), 'file')},"
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _notes(result: AuditResult, style: Style) -> Iterator[str]:
    today = result.today
    tokens = f"{today.tokens:,} tokens" + (
        f" of {today.daily_tokens:,}" if today.daily_tokens is not None else ""
    )
    cost = f"${today.cost_usd:.6f}" + (
        f" of ${today.daily_usd:.2f}" if today.daily_usd is not None else ""
    )
    yield style.dim(
        f"[since midnight UTC, to other machines: {_count(today.requests, 'request')}, {tokens},"
        f" {cost}]"
    )
    if result.truncated:
        yield style.dim(f"[{result.returned} of {result.total_found} requests: --limit]")
    for warning in result.warnings:
        yield style.dim(f"[note: {warning}]")
    if result.log:
        yield style.dim(printable(f"[log: {result.log}]"))


# --- the tool ------------------------------------------------------------------------------


@tool(
    plain=plain,
    text=text,
    command_help=CommandHelp(
        "List the requests sent to language models, from all workspaces.",
        "winnow audit --limit 5",
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
    log, settings = workspace.models.egress.log, workspace.config.llm
    try:
        logged, used = await asyncio.to_thread(lambda: (log.read(), log.used_on(now()[:10])))
    except OSError as error:
        raise StateUnavailable(str(log.folder), error.strerror or str(error)) from error
    requests = [_request(entry) for entry in reversed(logged.requests[-params.limit :])]
    damaged = f"skipped {logged.unreadable} damaged lines of the log"
    return AuditResult(
        root=shown_path(str(next(iter(workspace.roots()), log.folder)))[0],
        requests=requests,
        today=DaysUse(
            requests=used.requests,
            tokens=used.tokens,
            cost_usd=round(used.usd, 6),
            daily_tokens=settings.daily_tokens,
            daily_usd=settings.daily_usd,
        ),
        log=shown_path(str(log.folder))[0] if log.folder else None,
        total_found=len(logged.requests),
        returned=len(requests),
        truncated=len(requests) < len(logged.requests),
        completeness=COMPLETE,
        warnings=[damaged] * bool(logged.unreadable),
    )


def _request(entry: LoggedRequest) -> AuditedRequest:
    """Merge the two lines that the log has of a request: when it was sent, and when it ended."""
    sent, ended = entry.sent, entry.ended
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
        tokens=entry.tokens,
        input_tokens=ended.input_tokens if ended else None,
        output_tokens=ended.output_tokens if ended else None,
        cost_usd=None if sent.usd is None else entry.usd,
    )
