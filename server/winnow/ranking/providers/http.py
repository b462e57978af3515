"""How the SDKs reach a server: nowhere else than to its address, and with a limit on the answer.

They would follow a redirect with all that was sent, read a line of any length into memory, and hand
what is for this machine to the proxy of the environment.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx2

from winnow.privacy.outbound import is_this_machine

# An answer of 1,500 tokens, each in an event of its own, is about half of one.
RESPONSE_BYTES = 4 * 1024 * 1024


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = RESPONSE_BYTES
        async for chunk in self._stream:
            left -= len(chunk)
            if left < 0:
                raise httpx2.ReadError("the response is far too long")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Capture(httpx2.AsyncBaseTransport):
    """Takes the ``body`` of a request, and lets nothing out."""

    body = b""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.body = await request.aread()
        raise httpx2.ConnectError("nothing is sent", request=request)


def client_options(base_url: str) -> dict[str, Any]:
    """Options of an httpx client that is for one address."""
    options: dict[str, Any] = {
        "follow_redirects": False,
        "event_hooks": {"response": [_limit_response]},
    }
    if is_this_machine(base_url):
        # Of the SDKs, one reads the environment itself, and only `mounts` go before that.
        direct = dict.fromkeys(("all://", "http://", "https://"))
        options |= {"trust_env": False, "mounts": direct}
    return options


async def body_sent(
    send: Callable[[httpx2.AsyncClient], Awaitable[object]], not_sent: type[Exception]
) -> bytes:
    """The body of the request that ``send`` makes by the client that it is given: nothing leaves,
    which the SDK tells by ``not_sent``."""
    capture = _Capture()
    # The environment's proxies would go before the transport.
    async with httpx2.AsyncClient(transport=capture, trust_env=False) as client:
        with contextlib.suppress(not_sent):
            await send(client)
    return capture.body


async def _limit_response(response: httpx2.Response) -> None:
    """A response hook of an httpx client: the body ends with an error at the limit."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Limited(response.stream)
