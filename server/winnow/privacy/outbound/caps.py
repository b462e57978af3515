"""What requests to models may take: of one request, and of a day."""

from __future__ import annotations

from winnow.config import LlmSettings, ModelSettings, Prices
from winnow.privacy.outbound.audit import DayUse, SentRequest


def cost(
    prices: Prices, input_tokens: int, output_tokens: int, cached_tokens: int | None = None
) -> float:
    """What tokens cost in US dollars; of those that were sent, some were cached."""
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
    """Why a request may not be made, after what the day has ``used``; None if it may."""
    most = settings.request_tokens
    if most is not None and sent.tokens > most:
        return f"a request of up to {sent.tokens:,} tokens: `llm.request_tokens` is {most:,}"
    daily = settings.daily_tokens
    if daily is not None and used.tokens + sent.tokens > daily:
        return (
            f"the day's {daily:,} tokens (`llm.daily_tokens`) have no room for {sent.tokens:,} more"
            f": {used.tokens:,} are used since midnight UTC"
        )
    return None if model.provider == "editor" else _too_dear(settings, sent, used)


def _too_dear(settings: LlmSettings, sent: SentRequest, used: DayUse) -> str | None:
    if settings.request_usd is None and settings.daily_usd is None:
        return None
    if sent.usd is None:
        return "it has no prices in the settings, and there is a cap on costs"
    most, daily = settings.request_usd, settings.daily_usd
    if most is not None and sent.usd > most:
        return f"a request of up to ${sent.usd:.4f}: `llm.request_usd` is ${most:.4f}"
    if daily is not None and used.usd + sent.usd > daily:
        return (
            f"the day's ${daily:.2f} (`llm.daily_usd`) have no room for ${sent.usd:.4f} more:"
            f" ${used.usd:.4f} are spent since midnight UTC"
        )
    return None
