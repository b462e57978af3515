"""How a model is spoken to: one small module a wire format, each importing its SDK when called.

The seam is :class:`Provider`: a request in, pieces of text and the usage out, :class:`ModelError`
for everything that goes wrong. SDK retries and time-outs are off: the caller has a deadline.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from winnow.text.sanitize import clean_line
from winnow.types import Purpose
from winnow.types.keyword_search import Usage

MESSAGE_CHARACTERS = 250
# Far more than any answer that was asked for; a server that sends more is out of order.
ANSWER_CHARACTERS = 64 * 1024


class ModelRequest(Struct, frozen=True):
    """What to ask. Without a ``schema`` the request is as plain as it can be, for servers that
    refuse options they do not know. ``purpose``, ``files`` and ``redactions`` are sent to nobody:
    they say what is in it."""

    system: str
    prompt: str
    schema: dict[str, object] | None
    purpose: Purpose = "keyword_search"
    files: Sequence[str] = ()
    redactions: Mapping[str, int] = {}

    @property
    def size(self) -> int:
        """The size of what is said, in bytes."""
        return len((self.system + self.prompt).encode("utf-8", "replace"))


class AnsweredBy(Struct, frozen=True):
    """The model that answers, where the name that was asked stands for one of several."""

    model: str


class ModelError(Exception):
    """A call that failed: ``status`` is HTTP's, None if there was no answer; ``retry_after`` is in
    seconds, as the server asked. ``reached`` is False where no model was: there was no connection,
    or its server refused. The message is one clean line without the ``key``."""

    def __init__(
        self,
        message: str,
        status: int | None = None,
        retry_after: float | None = None,
        *,
        key: str | None = None,
        reached: bool = True,
    ) -> None:
        # Servers repeat what they were sent, and may say anything.
        if key:
            message = message.replace(key, "***")
        super().__init__(clean_line(message, MESSAGE_CHARACTERS))
        self.status = status
        self.retry_after = retry_after
        self.reached = reached

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

    def stream(self, request: ModelRequest) -> AsyncIterator[str | Usage | AnsweredBy]:
        """Pieces of the answer's text as they come (thinking left out), and the usage at last;
        before both perhaps who answers.

        Raises ModelError, from the iteration too.
        """

    async def body(self, request: ModelRequest) -> bytes:
        """What would be sent for a request, byte for byte; nothing is."""

    async def aclose(self) -> None:
        """Close the connections."""


class NotSent(ModelError):
    """A request that was not made: there is no consent, or a cap is reached. Nothing about that
    changes in a moment."""

    @property
    def passing(self) -> bool:
        return False


@contextlib.contextmanager
def model_errors(sdk: Any, key: str | None) -> Iterator[None]:
    """Turn what an SDK raises inside the block into ModelError; the SDKs name theirs alike."""
    import httpx2  # the SDKs' transport, whose errors leave a stream as they are

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
        said = str(error) or type(error).__name__
        raise ModelError(f"the connection broke: {said}", key=key) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelError(f"an answer that is none: {type(error).__name__}") from error


def _status_error(error: Any, key: str | None) -> ModelError:
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error", body)
    said = inner.get("message") if isinstance(inner, dict) else None
    message = f"HTTP {error.status_code}"
    if isinstance(said, str) and said:
        message += f": {said}"
    header = error.response.headers.get("retry-after", "")
    try:
        retry_after = max(0.0, float(header))
    except ValueError:
        retry_after = None
    return ModelError(message, error.status_code, retry_after, key=key, reached=False)


def token_usage(read: object, written: object, cached: object) -> Usage | None:
    """The usage, if the server tells it in numbers."""
    if type(read) is not int or type(written) is not int:
        return None
    return Usage(
        input_tokens=read,
        output_tokens=written,
        cached_tokens=cached if type(cached) is int else None,
    )
