"""Connect to a model; separate, because every provider imports this package."""

from __future__ import annotations

from winnow.config import ModelSettings
from winnow.ranking.providers import Provider


def connect(
    model: ModelSettings, base_url: str, key: str | None, connect_seconds: float
) -> Provider:
    """A connection for a model; imports the SDK, which takes one to three seconds at first."""
    if model.provider == "anthropic":
        from winnow.ranking.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model, base_url, key, connect_seconds)
    from winnow.ranking.providers.openai import OpenAIProvider

    return OpenAIProvider(model, base_url, key, connect_seconds)
