"""Spending caps: of a request and of a day."""

from __future__ import annotations

from winnow.config import LlmSettings, ModelSettings, Prices
from winnow.privacy.outbound.audit_log import DayUse, SentRequest


def cost(
    prices: Prices, input_tokens: int, output_tokens: int, cached_tokens: int | None = None
) -> float:
    """Return the cost of tokens in US dollars; ``cached_tokens`` are part of the input."""
    cached = cached_tokens or 0
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    dollars = (
        (input_tokens - cached) * prices.input
        + cached * cached_price
        + output_tokens * prices.output
    ) / 1_000_000
    return round(dollars, 6)


def cap_problem(
    settings: LlmSettings, model: ModelSettings, sent: SentRequest, used: DayUse
) -> str | None:
    """Return the cap that a request would exceed after the day's use; None if it is within all."""
    limit = settings.request_tokens
    if limit is not None and sent.tokens > limit:
        return f"the request may need {sent.tokens:,} tokens: `llm.request_tokens` is {limit:,}"
    daily = settings.daily_tokens
    if daily is not None and used.tokens + sent.tokens > daily:
        return (
            f"the request may need {sent.tokens:,} tokens: `llm.daily_tokens` is {daily:,}, and"
            f" {used.tokens:,} are used since midnight UTC"
        )
    return None if model.provider == "editor" else _cost_problem(settings, sent, used)


def _cost_problem(settings: LlmSettings, sent: SentRequest, used: DayUse) -> str | None:
    if settings.request_usd is None and settings.daily_usd is None:
        return None
    if sent.usd is None:
        return "the model has no prices in the settings, but a cap on costs is set"
    limit, daily = settings.request_usd, settings.daily_usd
    if limit is not None and sent.usd > limit:
        return f"the request may cost ${sent.usd:.4f}: `llm.request_usd` is ${limit:.4f}"
    if daily is not None and used.usd + sent.usd > daily:
        return (
            f"the request may cost ${sent.usd:.4f}: `llm.daily_usd` is ${daily:.2f}, and"
            f" ${used.usd:.4f} are spent since midnight UTC"
        )
    return None
