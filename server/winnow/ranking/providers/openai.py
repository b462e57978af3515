"""OpenAI and all servers with its Chat Completions API: Fireworks, Ollama, vLLM, llama.cpp."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any

import openai
from openai.types.chat import ChatCompletionChunk

from winnow.config import ModelSettings
from winnow.ranking.providers import ModelError, ModelRequest, Usage, model_errors, token_usage
from winnow.ranking.providers.http import body_sent, client_options, iterating

# Reasons for an incomplete answer. Servers have many names for a normal end.
CUT = frozenset({"length", "content_filter"})


class OpenAIProvider:
    def __init__(
        self, model: ModelSettings, base_url: str, key: str | None, connect_seconds: float
    ) -> None:
        self._model = model
        self._key = key
        self._client = openai.AsyncOpenAI(
            # The SDK requires a key; a server without keys ignores it.
            api_key=key or "none",
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(
                timeout=openai.Timeout(None, connect=connect_seconds), **client_options(base_url)
            ),
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage]:
        refusal = ""
        finish: str | None = None
        with model_errors(openai, self._key):
            async with (
                await self._create(self._client, request) as stream,
                iterating(stream) as chunks,
            ):
                async for chunk in chunks:
                    for choice in chunk.choices[:1]:
                        refusal += choice.delta.refusal or ""
                        finish = choice.finish_reason or finish
                        if isinstance(choice.delta.content, str) and choice.delta.content:
                            yield choice.delta.content
                    if chunk.usage and (usage := _usage(chunk.usage)):
                        yield usage
            if refusal:
                raise ModelError("the model refused to answer", 403)
            if finish is None:
                raise ModelError("the answer ended early")
            if finish in CUT:
                raise ModelError(f"the answer was cut off: {finish}", 413)

    async def body(self, request: ModelRequest) -> bytes:
        def send(http_client: Any) -> Awaitable[object]:
            return self._create(self._client.with_options(http_client=http_client), request)

        return await body_sent(send, openai.APIConnectionError)

    async def _create(
        self, client: openai.AsyncOpenAI, request: ModelRequest
    ) -> openai.AsyncStream[ChatCompletionChunk]:
        chunks: openai.AsyncStream[ChatCompletionChunk] = await client.chat.completions.create(
            model=self._model.model,
            messages=[
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            stream=True,
            **self._options(request),
        )
        return chunks

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        # OpenAI's models accept only max_completion_tokens; other servers know max_tokens.
        own = not self._model.base_url
        options: dict[str, Any] = {
            "max_completion_tokens" if own else "max_tokens": self._model.output_tokens
        }
        if request.schema is None:
            return options
        options["stream_options"] = {"include_usage": True}
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "relevant_files", "schema": request.schema, "strict": True},
        }
        if self._model.effort:
            options["reasoning_effort"] = self._model.effort
        return options

    async def aclose(self) -> None:
        await self._client.close()


def _usage(usage: Any) -> Usage | None:
    cached = getattr(usage.prompt_tokens_details, "cached_tokens", None)
    return token_usage(usage.prompt_tokens, usage.completion_tokens, cached)
