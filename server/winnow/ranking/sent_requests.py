"""The requests sent to models and today's use of them, from the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from winnow.privacy.outbound.audit_log import LoggedRequest, Outcome, Purpose, now
from winnow.ranking.models import Models
from winnow.types import Result


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


class SentRequests(Struct, frozen=True):
    """The newest requests in the log; ``total`` counts all, ``unreadable`` the damaged lines."""

    requests: list[AuditedRequest]
    total: int
    unreadable: int
    today: DaysUse


def read_log(models: Models, limit: int) -> SentRequests:
    """Return the newest requests in the log, newest first. Raises OSError."""
    log, settings = models.egress.log, models.settings
    logged, used = log.read(), log.used_on(now()[:10])
    return SentRequests(
        requests=[_audited(entry) for entry in reversed(logged.requests[-limit:])],
        total=len(logged.requests),
        unreadable=logged.unreadable,
        today=DaysUse(
            requests=used.requests,
            tokens=used.tokens,
            cost_usd=round(used.usd, 6),
            daily_tokens=settings.daily_tokens,
            daily_usd=settings.daily_usd,
        ),
    )


def _audited(entry: LoggedRequest) -> AuditedRequest:
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
