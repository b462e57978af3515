"""Params and results of audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, Params, Purpose, Result


class AuditParams(Params, frozen=True, kw_only=True):
    """How much to show."""

    limit: Annotated[
        int, Meta(description="At most so many requests, the last ones.", ge=1, le=100_000)
    ] = 50


class AuditedRequest(Result, frozen=True, kw_only=True):
    """A request to a model: where it went and what was in it; the contents are kept nowhere."""

    time: Annotated[str, Meta(description="When it was made, in ISO 8601 and UTC.")]
    purpose: Annotated[
        Purpose,
        Meta(
            description="'keyword_search': matching lines, to be ranked; 'index_order': names of"
            " folders, which only earlier versions sent."
        ),
    ]
    workspace: Annotated[list[str], Meta(description="The folders that were searched.")]
    model: Annotated[str, Meta(description="Name of the model.")]
    answered_by: Annotated[
        str | None, Meta(description="Who has answered, where the editor's own model was asked.")
    ] = None
    provider: Annotated[str, Meta(description="The wire format.")]
    destination: Annotated[
        str,
        Meta(
            description="Where it went: scheme, host and port; 'editor' for the model that the"
            " editor offers, which sends it on to wherever that is."
        ),
    ]
    remote: Annotated[
        bool,
        Meta(
            description="Whether it counts as leaving this machine: all but models that are on it."
        ),
    ]
    files: Annotated[
        list[str], Meta(description="The files of which lines were sent, relative to their folder.")
    ]
    bytes: Annotated[int, Meta(description="The size of the system prompt and the prompt.")]
    redactions: Annotated[
        Mapping[str, int], Meta(description="How many secrets were replaced in them, by kind.")
    ]
    outcome: Annotated[
        Literal["answered", "broken_off", "failed"] | None,
        Meta(
            description="'broken_off': no whole answer came, or nobody waited for it; 'failed': it"
            " did not get there, or was refused; absent while it runs, and if the process was"
            " killed."
        ),
    ] = None
    tokens: Annotated[
        int,
        Meta(
            description="What it counts as for `llm.daily_tokens`: as the provider told, else the"
            " most that it can have been; 0 if it failed."
        ),
    ]
    input_tokens: Annotated[int | None, Meta(description="Tokens sent, as told.")] = None
    output_tokens: Annotated[int | None, Meta(description="Tokens written, as told.")] = None
    cost_usd: Annotated[
        float | None, Meta(description="What it counts as in US dollars, if prices are known.")
    ] = None


class DaysUse(Result, frozen=True, kw_only=True):
    """What has left this machine since midnight UTC, and the caps that hold."""

    requests: Annotated[int, Meta(description="How many requests.")]
    tokens: Annotated[int, Meta(description="Their tokens.")]
    cost_usd: Annotated[float, Meta(description="Their costs, as far as prices are known.")]
    daily_tokens: Annotated[int | None, Meta(description="The cap on tokens, if there is one.")] = (
        None
    )
    daily_usd: Annotated[float | None, Meta(description="The cap on costs, if there is one.")] = (
        None
    )


class AuditResult(Answer, frozen=True, kw_only=True):
    """What left this machine; `total_found` counts the requests that the log has, which forgets the
    oldest ones."""

    requests: Annotated[list[AuditedRequest], Meta(description="The requests, the last one first.")]
    today: Annotated[DaysUse, Meta(description="What the day has used.")]
    log: Annotated[
        str | None, Meta(description="The folder of the log, whose files are lines of JSON.")
    ] = None
