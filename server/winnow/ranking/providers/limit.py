"""A limit on what a server may answer with: an SDK reads a line of any length into memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

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


async def limit_response(response: httpx2.Response) -> None:
    """A response hook of an httpx client: the body ends with an error at the limit."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Limited(response.stream)
