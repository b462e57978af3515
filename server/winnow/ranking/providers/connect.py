"""Connect to a model. This is a separate module because every provider imports the package."""

from __future__ import annotations

from winnow.config import ModelSettings
from winnow.ranking.providers import Provider


def connect(
    model: ModelSettings, base_url: str, key: str | None, connect_seconds: float
) -> Provider:
    """Return a connection to a model; importing its SDK takes one to three seconds."""
    if model.provider == "anthropic":
        from winnow.ranking.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model, base_url, key, connect_seconds)
    from winnow.ranking.providers.openai import OpenAIProvider

    return OpenAIProvider(model, base_url, key, connect_seconds)
