"""Encode and decode cursors: opaque text that continues a truncated answer.

A cursor belongs to the params it was made for. Its stamp shows whether earlier results have
changed. It is neither secret nor trusted: tools validate a position like any other param.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Callable
from typing import TypeVar

import msgspec
from msgspec import Struct

from winnow.errors import InvalidParams
from winnow.types import PageParams

# Every cursor starts with it: base64 alone may start with a hyphen, like an option.
VERSION = "1"
# These params set the size of a page, which may differ from page to page.
HOW_MUCH = frozenset(
    {"cursor", "max_tokens", "max_lines", "max_results", "max_entries", "top_k", "limit"}
)

P = TypeVar("P")


class Cursor(Struct, array_like=True, frozen=True):
    """A decoded cursor; `position` is tool-specific and msgpack-encodable."""

    digest: bytes
    position: msgspec.Raw
    stamp: bytes


def encode(params: PageParams, position: object, stamp: bytes = b"") -> str:
    """Return a cursor for these params that continues at the position."""
    raw = msgspec.Raw(msgspec.msgpack.encode(position))
    data = msgspec.msgpack.encode(Cursor(_digest(params), raw, stamp))
    checked = zlib.crc32(data).to_bytes(4, "big") + data
    return VERSION + base64.urlsafe_b64encode(checked).decode().rstrip("=")


def decode(params: PageParams, position: type[P]) -> tuple[P, bytes] | None:
    """Return the position and the stamp of the params' cursor; None if they have no cursor.

    Raises InvalidParams for a cursor that is damaged or belongs to other params.
    """
    if not params.cursor:
        return None
    try:
        version, text = params.cursor[:1], params.cursor[1:]
        checked = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        if version != VERSION or zlib.crc32(checked[4:]) != int.from_bytes(checked[:4], "big"):
            raise ValueError("version or checksum")
        cursor = msgspec.msgpack.decode(checked[4:], type=Cursor)
        if cursor.digest == _digest(params):
            return msgspec.msgpack.decode(cursor.position, type=position), cursor.stamp
    except (ValueError, msgspec.DecodeError, RecursionError):
        raise InvalidParams(
            "cursor", "it is damaged: pass the `cursor` of an answer, unchanged"
        ) from None
    raise InvalidParams(
        "cursor", "it belongs to another request: apart from it, pass the params of that one"
    )


def resume(
    params: PageParams,
    position: type[P],
    passed: Callable[[P], int],
    stamp: Callable[[int], bytes],
) -> tuple[int, bool]:
    """Return the number of results before the page, and whether they have changed.

    ``passed`` counts the results up to a position; ``stamp`` returns the stamp of the first
    results. Raises InvalidParams, like :func:`decode`.
    """
    continued = decode(params, position)
    if continued is None:
        return 0, False
    first = passed(continued[0])
    return first, stamp(first) != continued[1]


def stamp_of(*values: object) -> bytes:
    """Return a short digest of plain values."""
    # Not msgpack, which lacks integers of more than 64 bits; params of a client may have some.
    return hashlib.blake2b(ascii(values).encode(), digest_size=8).digest()


def _digest(params: PageParams) -> bytes:
    fields = msgspec.to_builtins(params)
    identifying = sorted((name, value) for name, value in fields.items() if name not in HOW_MUCH)
    return stamp_of(type(params).__name__, identifying)
