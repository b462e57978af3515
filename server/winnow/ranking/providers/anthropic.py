"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2

from winnow.config import Model
from winnow.ranking.providers import ModelError, ModelRequest, status_error
from winnow.types import Usage


class AnthropicProvider:
    def __init__(
        self, model: Model, base_url: str, key: str | None, connect_seconds: float
    ) -> None:
        self._model = model
        self._key = key
        self._client = anthropic.AsyncAnthropic(
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            timeout=anthropic.Timeout(None, connect=connect_seconds),
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        read = written = cached = 0
        stopped: str | None = None
        try:
            async with await self._client.messages.create(
                model=self._model.model,
                max_tokens=self._model.output_tokens,
                system=request.system,
                messages=[{"role": "user", "content": request.prompt}],
                stream=True,
                **self._options(request),
            ) as events:
                async for event in events:
                    if event.type == "message_start":
                        usage = event.message.usage
                        cached = usage.cache_read_input_tokens or 0
                        read = usage.input_tokens + cached
                    elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                        yield event.delta.text
                    elif event.type == "message_delta":
                        stopped = event.delta.stop_reason or stopped
                        written = event.usage.output_tokens
        except anthropic.APIStatusError as error:
            raise status_error(error, self._key) from error
        except anthropic.APIConnectionError as error:
            raise ModelError(f"no connection: {error.__cause__ or error}") from error
        except anthropic.APIError as error:
            raise ModelError(f"the server reported an error: {error}"[:200]) from error
        except httpx2.HTTPError as error:
            raise ModelError(f"the connection broke: {type(error).__name__}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"an answer that is none: {type(error).__name__}") from error
        yield Usage(input_tokens=read, output_tokens=written, cached_tokens=cached)
        if stopped == "refusal":
            raise ModelError("the model refused", 403)
        if stopped is None:
            raise ModelError("the answer broke off")

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        if request.schema is None:
            return {}
        config: dict[str, Any] = {"format": {"type": "json_schema", "schema": request.schema}}
        if self._model.effort:
            config["effort"] = self._model.effort
        return {"output_config": config}

    async def aclose(self) -> None:
        await self._client.close()
