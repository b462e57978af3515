"""How a model is spoken to: one small module a wire format, each importing its SDK when called.

The seam is :class:`Provider`: a request in, pieces of text and the usage out, :class:`ModelError`
for everything that goes wrong. SDK retries and time-outs are off: the caller has a deadline.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from msgspec import Struct

from winnow.config import Model
from winnow.types import Usage


class ModelRequest(Struct, frozen=True):
    """What to ask. Without a ``schema`` the request is as plain as it can be, for servers that
    refuse options they do not know."""

    system: str
    prompt: str
    schema: dict[str, object] | None


class ModelError(Exception):
    """A call that failed: ``status`` is HTTP's, None if there was no answer; ``retry_after`` is in
    seconds, as the server asked."""

    def __init__(
        self, message: str, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after

    @property
    def refused_options(self) -> bool:
        """Whether the server may take the same request without a schema."""
        return self.status in (400, 415, 422, 501)

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed in a moment."""
        return self.status is None or self.status in (408, 409, 429) or self.status >= 500


class Provider(Protocol):
    """A connection to one model."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        """Pieces of the answer's text as they come (thinking left out), and the usage at last.

        Raises ModelError, from the iteration too.
        """

    async def aclose(self) -> None:
        """Close the connections."""


def connect(model: Model, base_url: str, key: str | None, connect_seconds: float) -> Provider:
    """A connection for a model; imports the SDK, which takes one to three seconds at first."""
    if model.provider == "anthropic":
        from winnow.ranking.providers.anthropic import AnthropicProvider

        return AnthropicProvider(model, base_url, key, connect_seconds)
    from winnow.ranking.providers.openai import OpenAIProvider

    return OpenAIProvider(model, base_url, key, connect_seconds)


def status_error(error: Any, key: str | None) -> ModelError:
    """The ModelError for an SDK's status error; both SDKs shape theirs alike."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    said = inner.get("message") if isinstance(inner, dict) else None
    message = f"HTTP {error.status_code}"
    if isinstance(said, str) and said:
        if key:
            said = said.replace(key, "***")
        message += f": {said[:200]}"
    header = error.response.headers.get("retry-after", "")
    try:
        retry_after = max(0.0, float(header))
    except ValueError:
        retry_after = None
    return ModelError(message, error.status_code, retry_after)
