"""The editor's own model, reached by a request of the language server to its client.

The editor returns a complete text and the name of the model that wrote it. The model's cost and
location are between the editor and its user.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import msgspec

from winnow.config import ModelSettings
from winnow.ranking.providers import AnsweredBy, ModelError, ModelRequest, Usage
from winnow.text.sanitize import clean_line

NAME_CHARACTERS = 100

# Sends the params of `$/complete` and returns the result, or raises ConnectionError.
AskEditor = Callable[[Mapping[str, object]], Awaitable[object]]


class EditorProvider:
    def __init__(self, model: ModelSettings, ask: AskEditor) -> None:
        self._model = model
        self._ask = ask

    async def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage | AnsweredBy]:
        try:
            answer = await self._ask(self._params(request))
        except ConnectionError as error:
            raise ModelError(str(error), 424) from error
        text = answer.get("text") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not isinstance(text, str):
            raise ModelError("the editor's answer has no text", 422)
        name = answer.get("model")
        if isinstance(name, str) and name.strip():
            yield AnsweredBy(clean_line(name, NAME_CHARACTERS))
        yield text

    def _params(self, request: ModelRequest) -> dict[str, object]:
        return {
            "system": request.system,
            "prompt": request.prompt,
            "max_tokens": self._model.output_tokens,
        }

    async def body(self, request: ModelRequest) -> bytes:
        """Return the params as JSON."""
        return msgspec.json.encode(self._params(request))

    async def aclose(self) -> None:
        """Nothing to close."""
