"""HTTP options for the SDKs: connect only to the configured address, and limit the response.

By default they would follow a redirect with the full request, read a line of any length into
memory, decompress a response to a thousand times its size, and send requests for this machine to
the environment's proxy.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2

from winnow.privacy.outbound import is_this_machine

# An answer of 1,500 tokens, each in its own event, is about half a megabyte.
RESPONSE_BYTES = 4 * 1024 * 1024
# The content coding of a response that is not compressed.
IDENTITY = "identity"


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding

    async def __aiter__(self) -> AsyncIterator[bytes]:
        # The limit would not apply to what httpx decompresses.
        if self._encoding != IDENTITY:
            raise httpx2.ReadError("the response is compressed, although that was not requested")
        left = RESPONSE_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError("the response is too long")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Capture(httpx2.AsyncBaseTransport):
    """A transport that captures the ``body`` of a request and sends nothing."""

    body = b""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.body = await request.aread()
        raise httpx2.ConnectError("nothing is sent", request=request)


def client_options(base_url: str) -> dict[str, Any]:
    """Return the options of an httpx client for one address."""
    options: dict[str, Any] = {
        "follow_redirects": False,
        "headers": {"accept-encoding": IDENTITY},
        "event_hooks": {"response": [_limit_response]},
    }
    if is_this_machine(base_url):
        # One SDK reads the environment itself, and only `mounts` override that.
        direct = dict.fromkeys(("all://", "http://", "https://"))
        options |= {"trust_env": False, "mounts": direct}
    return options


def iterating(stream: Any) -> contextlib.aclosing[Any]:
    """Return a context that iterates over an SDK's stream and then ends its private generator.

    The two refer to each other: the garbage collector would close the generator in any thread, even
    while the event loop runs it.
    """
    return contextlib.aclosing(getattr(stream, "_iterator", stream))


async def body_sent(
    send: Callable[[httpx2.AsyncClient], Awaitable[object]], not_sent: type[Exception]
) -> bytes:
    """Return the body of the request that ``send`` makes; it is not sent, so ``not_sent`` is
    raised."""
    capture = _Capture()
    # The environment's proxies would override the transport.
    async with httpx2.AsyncClient(transport=capture, trust_env=False) as client:
        with contextlib.suppress(not_sent):
            await send(client)
    return capture.body


async def _limit_response(response: httpx2.Response) -> None:
    """Make a response fail at the size limit, or if compressed; a response hook of httpx."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    encoding = response.headers.get("content-encoding", "").strip().lower()
    response.stream = _Limited(response.stream, encoding or IDENTITY)
