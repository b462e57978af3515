"""Spending caps: of a request and of a day."""

from __future__ import annotations

from msgspec import Struct

from winnow.privacy.outbound.audit_log import DayUse, SentRequest


class Caps(Struct, frozen=True):
    """The caps in tokens and US dollars; None is no cap."""

    request_tokens: int | None = None
    daily_tokens: int | None = None
    request_usd: float | None = None
    daily_usd: float | None = None


def cap_problem(caps: Caps, sent: SentRequest, used: DayUse) -> str | None:
    """Return the cap that a request would exceed after the day's use; None if it is within all."""
    limit = caps.request_tokens
    if limit is not None and sent.tokens > limit:
        return f"the request may need {sent.tokens:,} tokens: `llm.request_tokens` is {limit:,}"
    daily = caps.daily_tokens
    if daily is not None and used.tokens + sent.tokens > daily:
        return (
            f"the request may need {sent.tokens:,} tokens: `llm.daily_tokens` is {daily:,}, and"
            f" {used.tokens:,} are used since midnight UTC"
        )
    return None if sent.provider == "editor" else _cost_problem(caps, sent, used)


def _cost_problem(caps: Caps, sent: SentRequest, used: DayUse) -> str | None:
    if caps.request_usd is None and caps.daily_usd is None:
        return None
    if sent.usd is None:
        return "the model has no prices in the settings, but a cap on costs is set"
    limit, daily = caps.request_usd, caps.daily_usd
    if limit is not None and sent.usd > limit:
        return f"the request may cost ${sent.usd:.4f}: `llm.request_usd` is ${limit:.4f}"
    if daily is not None and used.usd + sent.usd > daily:
        return (
            f"the request may cost ${sent.usd:.4f}: `llm.daily_usd` is ${daily:.2f}, and"
            f" ${used.usd:.4f} are spent since midnight UTC"
        )
    return None
