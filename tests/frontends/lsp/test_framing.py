"""Messages in a stream of bytes: leniently from standard input, strictly from a socket (#21)."""

from __future__ import annotations

import io

import pytest

from winnow.frontends.lsp.framing import SKIPPED_BYTES, Frames, NotLsp, Oversized

TYPE = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"


def frames(stream: bytes, *, strict: bool, limit: int = 100) -> Frames:
    return Frames(io.BytesIO(stream), strict=strict, limit=limit)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\n\r\n",
        b"content-length:2\r\n\r\n",
        TYPE + b"Content-Length: 2\r\n\r\n",
        b"Content-Length: 2\r\n" + TYPE + b"\r\n",
    ],
)
def test_messages_are_read_one_after_another(header: bytes, strict: bool) -> None:
    stream = frames((header + b"{}") * 3, strict=strict)
    assert [stream.next() for _ in range(4)] == [b"{}", b"{}", b"{}", None]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("cut", [b"", b"Content-Length: 2\r\n", b"Content-Length: 5\r\n\r\n{}"])
def test_a_stream_that_ends_within_a_message_ends(cut: bytes, strict: bool) -> None:
    assert frames(cut, strict=strict).next() is None


@pytest.mark.parametrize("strict", [True, False])
def test_a_message_that_is_too_long_is_skipped(strict: bool) -> None:
    body = b"x" * 10_000
    stream = frames(
        b"Content-Length: 10000\r\n\r\n" + body + b"Content-Length: 2\r\n\r\n{}", strict=strict
    )
    assert stream.next() == Oversized(10_000, body[:4096])
    assert stream.next() == b"{}"


@pytest.mark.parametrize(
    "stream",
    [
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        b"GET / HTTP/1.1\r\n\r\n",
        b"Content-Length: 2\r\nHost: localhost\r\n\r\n{}",
        b"Content-Length: 2\n\n{}",
        b"Content-Length: 2\r\n\n{}",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        b"Content-Length: -2\r\n\r\n{}",
        b"Content-Length: 2 2\r\n\r\n{}",
        b"Content-Length: %d\r\n\r\n" % (SKIPPED_BYTES + 1),
        b" Content-Length: 2\r\n\r\n{}",
        TYPE + b"\r\n{}",
        b"\r\nContent-Length: 2\r\n\r\n{}",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        TYPE * 1_000,
        b"x" * 100_000,
    ],
)
def test_a_strict_reader_rejects_bytes_that_are_not_lsp(stream: bytes) -> None:
    with pytest.raises(NotLsp):
        frames(stream, strict=True).next()


@pytest.mark.parametrize("garbage", [b"x: y\r\n" * 200_000, b"\r\n" * 200_000, b"x" * 2_000_000])
def test_a_lenient_reader_skips_any_amount_of_garbage(garbage: bytes) -> None:
    stream = frames(garbage + b"\r\n\r\nContent-Length: 2\r\n\r\n{}", strict=False)
    assert stream.next() == b"{}"
