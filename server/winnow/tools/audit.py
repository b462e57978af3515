"""audit: what left this machine."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import StateUnavailable
from winnow.text.sanitize import printable
from winnow.tools.registry import tool
from winnow.tools.terminal import Style
from winnow.types import Progress
from winnow.types.audit import AuditedRequest, AuditParams, AuditResult
from winnow.workspace import Workspace

# Of the files of a request, what is shown to people; the answer has them all.
SHOWN_FILES = 5


def plain(result: AuditResult) -> str:
    """A line for each request, its files below it, and what the day has used."""
    return text(result, Style(colour=False), "")


def text(result: AuditResult, style: Style, folder: str) -> str:
    """The same, with quiet files and notes."""
    lines = [line for one in result.requests for line in _request(one, style)]
    return "\n".join([*(lines or ["No request was made to any model."]), *_notes(result, style)])


def _request(one: AuditedRequest, style: Style) -> Iterator[str]:
    who = one.answered_by or one.model
    where = one.destination if one.remote else f"{one.destination} (this machine)"
    yield printable(
        f"{one.time}  {who} at {where}: {_count(len(one.files), 'file')}, {one.bytes:,} bytes,"
        f" {_took(one)}, {(one.outcome or 'not ended').replace('_', ' ')}"
    )
    if one.redactions:
        kinds = ", ".join(f"{kind} {count}" for kind, count in one.redactions.items())
        yield style.dim(printable(f"    redacted: {kinds}"))
    for path in one.files[:SHOWN_FILES]:
        yield style.dim(printable(f"    {path}"))
    if len(one.files) > SHOWN_FILES:
        yield style.dim(f"    and {len(one.files) - SHOWN_FILES} more")


def _took(one: AuditedRequest) -> str:
    told = one.input_tokens is not None or one.tokens == 0
    tokens = f"{one.tokens:,} tokens" if told else f"at most {one.tokens:,} tokens"
    return tokens if one.cost_usd is None else f"{tokens}, ${one.cost_usd:.6f}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


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


@tool(
    plain=plain,
    text=text,
    example={"limit": 1},
    raises=(StateUnavailable,),
    for_agents=False,
)
async def audit(workspace: Workspace, params: AuditParams, progress: Progress) -> AuditResult:
    """Show what left this machine: each request to a language model, from all workspaces.

    When, where to, which files, how many bytes, what was redacted, tokens and costs; never
    contents, never keys. A request is in the log before it is sent. The log is kept for the user,
    outside of all workspaces, and forgets its oldest part when it is full.
    """
    # Not needed to start a server or to print help.
    from winnow.search.consent import read_audit

    return await read_audit(workspace, params)
