"""Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import anthropic
from anthropic.types import RawMessageStreamEvent
from msgspec.structs import replace

from winnow.config import ModelSettings
from winnow.ranking.providers import ModelError, ModelRequest, Usage, model_errors, token_usage
from winnow.ranking.providers.http import body_sent, client_options, iterating


class AnthropicProvider:
    def __init__(
        self, model: ModelSettings, base_url: str, key: str | None, connect_seconds: float
    ) -> None:
        self._model = model
        self._key = key
        self._client = anthropic.AsyncAnthropic(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=anthropic.Timeout(None, connect=connect_seconds), **client_options(base_url)
            ),
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        read: Any = None
        written: Any = None
        cached: Any = 0
        stopped: str | None = None
        with model_errors(anthropic, self._key):
            async with (
                await self._create(self._client, request) as stream,
                iterating(stream) as events,
            ):
                async for event in events:
                    if event.type == "message_start":
                        usage = event.message.usage
                        cached = usage.cache_read_input_tokens or 0
                        read = usage.input_tokens
                    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                        if isinstance(event.delta.text, str):
                            yield event.delta.text
                    elif event.type == "message_delta":
                        stopped = event.delta.stop_reason or stopped
                        written = event.usage.output_tokens
        if total := token_usage(read, written, cached):
            yield replace(total, input_tokens=total.input_tokens + (total.cached_tokens or 0))
        if stopped == "refusal":
            raise ModelError("the model refused to answer", 403)
        if stopped is None:
            raise ModelError("the answer ended early")
        if stopped not in ("end_turn", "stop_sequence"):
            raise ModelError(f"the answer was cut off: {stopped}", 413)

    async def body(self, request: ModelRequest) -> bytes:
        def send(http_client: Any) -> Awaitable[object]:
            return self._create(self._client.with_options(http_client=http_client), request)

        return await body_sent(send, anthropic.APIConnectionError)

    async def _create(
        self, client: anthropic.AsyncAnthropic, request: ModelRequest
    ) -> anthropic.AsyncStream[RawMessageStreamEvent]:
        events: anthropic.AsyncStream[RawMessageStreamEvent] = await client.messages.create(
            model=self._model.model,
            max_tokens=self._model.output_tokens,
            system=request.system,
            messages=[{"role": "user", "content": request.prompt}],
            stream=True,
            **self._options(request),
        )
        return events

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        if request.schema is None:
            return {}
        config: dict[str, Any] = {"format": {"type": "json_schema", "schema": request.schema}}
        if self._model.effort:
            config["effort"] = self._model.effort
        return {"output_config": config}

    async def aclose(self) -> None:
        await self._client.close()
