"""Connections to models: one small module per wire format, which imports its SDK when it is used.

The seam is :class:`Provider`: it takes a request, yields pieces of text and the usage, and raises
:class:`ModelError`. The SDKs' retries and timeouts are off because the caller has a deadline.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Annotated, Any, Protocol

from msgspec import Meta, Struct

from winnow.privacy.outbound.audit_log import Purpose
from winnow.text.sanitize import clean_line
from winnow.types import Result

MESSAGE_CHARACTERS = 250
# Much more than any requested answer; a server that sends more is broken.
ANSWER_CHARACTERS = 64 * 1024
# Much more than any model reads or writes at once.
MOST_TOKENS = 10**9


class Usage(Result, frozen=True, kw_only=True):
    """The cost of a model's answer."""

    input_tokens: Annotated[int, Meta(description="Input tokens.")]
    output_tokens: Annotated[int, Meta(description="Output tokens.")]
    cached_tokens: Annotated[
        int | None, Meta(description="Input tokens that the provider had cached.")
    ] = None
    cost_usd: Annotated[
        float | None, Meta(description="Cost in US dollars, if prices are configured.")
    ] = None


class ModelRequest(Struct, frozen=True):
    """A request to a model.

    Without a ``schema`` it uses no options, for servers that refuse options they don't know.
    ``purpose``, ``files`` and ``redactions`` describe the request for the log and are not sent.
    """

    system: str
    prompt: str
    schema: dict[str, object] | None
    purpose: Purpose = "keyword_search"
    files: Sequence[str] = ()
    redactions: Mapping[str, int] = {}

    @property
    def size(self) -> int:
        """The size of the texts in bytes."""
        return len((self.system + self.prompt).encode("utf-8", "replace"))


class AnsweredBy(Struct, frozen=True):
    """The model that answers, if the configured name stands for one of several."""

    model: str


class ModelError(Exception):
    """A failed call.

    ``status`` is the HTTP status, or None without an answer; ``retry_after`` is the wait in seconds
    that the server requests. ``reached`` is False if no model received the request. The message is
    one clean line without the ``key``.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        retry_after: float | None = None,
        *,
        key: str | None = None,
        reached: bool = True,
    ) -> None:
        # Servers may echo the request, or send any text.
        if key:
            message = message.replace(key, "***")
        super().__init__(clean_line(message, MESSAGE_CHARACTERS))
        self.status = status
        self.retry_after = retry_after
        self.reached = reached

    @property
    def refused_options(self) -> bool:
        """True if the server may accept the same request without a schema."""
        return self.status in (400, 415, 422, 501)

    @property
    def is_temporary(self) -> bool:
        """True if the same request may succeed in a moment."""
        return self.status is None or self.status in (408, 409, 429) or self.status >= 500


class Provider(Protocol):
    """A connection to one model."""

    def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage | AnsweredBy]:
        """Yield the text of the answer in pieces without its thinking, then the usage; the name of
        the answering model may come first.

        Raises ModelError, also during the iteration.
        """

    async def body(self, request: ModelRequest) -> bytes:
        """Return the bytes that would be sent for a request, without sending them."""

    async def aclose(self) -> None:
        """Close the connections."""


class NotSent(ModelError):
    """A request that was not sent, for lack of consent or at a cap; retrying does not help."""

    @property
    def is_temporary(self) -> bool:
        return False


@contextlib.contextmanager
def model_errors(sdk: Any, key: str | None) -> Iterator[None]:
    """Turn the errors of an SDK inside the block into ModelError; both SDKs use the same names."""
    import httpx2  # the SDKs' transport; a stream raises its errors as they are

    try:
        yield
    except sdk.APIStatusError as error:
        raise _status_error(error, key) from error
    except sdk.APIConnectionError as error:
        cause = error.__cause__
        connected = not isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout))
        raise ModelError(f"no connection: {cause or error}", key=key, reached=connected) from error
    except sdk.APIError as error:
        raise ModelError(f"the server reported an error: {error}", key=key) from error
    except httpx2.HTTPError as error:
        detail = str(error) or type(error).__name__
        raise ModelError(f"the connection broke: {detail}", key=key) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(f"invalid answer: {type(error).__name__}") from error


def _status_error(error: Any, key: str | None) -> ModelError:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    detail = inner.get("message") if isinstance(inner, dict) else None
    message = f"HTTP {error.status_code}"
    if isinstance(detail, str) and detail:
        message += f": {detail}"
    header = error.response.headers.get("retry-after", "")
    try:
        retry_after = max(0.0, float(header))
    except ValueError:
        retry_after = None
    return ModelError(message, error.status_code, retry_after, key=key, reached=False)


def token_usage(read: object, written: object, cached: object) -> Usage | None:
    """Return the usage if the server reports possible numbers. Others would count against the caps:
    a negative one would raise them."""
    input_tokens, output_tokens = _token_count(read), _token_count(written)
    if input_tokens is None or output_tokens is None:
        return None
    return Usage(
        input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=_token_count(cached)
    )


def _token_count(value: object) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None
