"""Decoding the body of a message, in bounded time and memory.

A few megabytes of JSON can contain millions of values. One call converts them while it holds the
interpreter's lock, so a thread wouldn't help. Therefore the values are counted first, without
creating any, and a message with too many is refused.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
from msgspec import Struct

from winnow.frontends.lsp.framing import HEAD_BYTES, Oversized

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
# Converting these takes a quarter of a second. Enough for a notification of 33,000 changed files,
# or for 11,000 edits of a document at once.
VALUES = 100_000
DEPTH = 256  # Python's parser and recursive functions fail at 1,000
# A message up to this size can't have enough values to be slow.
_SMALL_BYTES = 64 * 1024
_CHUNK_BYTES = 256 * 1024
# `lsprotocol` takes long to import, and MCP messages are decoded here too.
_DID_CHANGE = "textDocument/didChange"
_OTHER_THAN_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


class Refusal(Struct, frozen=True):
    """An error instead of a message that wasn't decoded.

    ``id`` is None if it is unknown. ``uri`` is the document of a refused change.
    """

    code: int
    problem: str
    id: int | str | None = None
    is_notification: bool = False
    uri: str = ""


class _Envelope(Struct):
    """A message with undecoded members; missing ones are empty. Skipping params takes milliseconds
    for a megabyte."""

    jsonrpc: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()


class _Document(Struct):
    uri: str


class _ChangeParams(Struct, rename="camel"):
    text_document: _Document


def decoded(body: bytes | Oversized) -> Any:
    """Return a message as plain data, or a Refusal."""
    if isinstance(body, Oversized):
        return _refusal_by_head(
            body.head, INVALID_REQUEST, f"The message has {body.length} bytes, which is too long."
        )
    if len(body) > _SMALL_BYTES or body.count(b"[") + body.count(b"{") > DEPTH:
        values, depth = _structure(body)
        if values > VALUES:
            problem = f"The message has more than {VALUES} values. Send it in parts."
            return _refusal(body, INVALID_REQUEST, problem)
        if depth > DEPTH:
            return _refusal(body, PARSE_ERROR, f"The message is nested deeper than {DEPTH} levels.")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        return Refusal(PARSE_ERROR, f"Parse error: {type(error).__name__}")


def _structure(body: bytes) -> tuple[int, int]:
    """Return the number of values in a body and their depth. The count stops above VALUES.

    Ignore the contents of strings. Work in chunks, so that other threads can run between them.
    """
    values = depth = deepest = at = 0
    is_in_string = False
    while at < len(body) and values <= VALUES:
        chunk = body[at : at + _CHUNK_BYTES]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:  # the chunk ends inside an escape sequence
            chunk = body[at : at + len(chunk) + 1]
        at += len(chunk)
        parts = chunk.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[1::2] if is_in_string else parts[::2])
        is_in_string ^= len(parts) % 2 == 0
        values += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
        for bracket in outside.translate(None, _OTHER_THAN_BRACKETS):
            depth += 1 if bracket in b"[{" else -1
            deepest = max(deepest, depth)
    return values, deepest


def _refusal(body: bytes, code: int, problem: str) -> Refusal:
    """Refuse a message without decoding its params."""
    try:
        envelope = msgspec.json.decode(body, type=_Envelope)
    except (ValueError, RecursionError):
        return _refusal_by_head(body[:HEAD_BYTES], code, problem)
    method = _value(envelope.method)
    uri = ""
    if method == _DID_CHANGE:
        with contextlib.suppress(ValueError, RecursionError):  # it names no document
            uri = msgspec.json.decode(envelope.params, type=_ChangeParams).text_document.uri
    is_valid = _value(envelope.jsonrpc) == "2.0" and isinstance(method, str)
    is_notification = is_valid and not bytes(envelope.id)
    return Refusal(code, problem, id_of({"id": _value(envelope.id)}), is_notification, uri)


def _refusal_by_head(head: bytes, code: int, problem: str) -> Refusal:
    """Refuse a message, given only its beginning. Its id may come before its params."""
    before, params, _ = head.partition(b'"params"')
    members = _value(before.rstrip(b" \t\r\n,") + b"}") if params else None
    return Refusal(code, problem, id_of(members))


def id_of(message: Any) -> int | str | None:
    """Return the id of a message, or None if it has none or an invalid one."""
    value = message.get("id") if isinstance(message, dict) else None
    return value if is_id(value) else None


def is_id(value: Any) -> bool:
    """Return True if the value may be an id or a token."""
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _value(raw: bytes | msgspec.Raw) -> Any:
    """Return the value of a member, or None if it is missing or too long."""
    if len(memoryview(raw)) > HEAD_BYTES:
        return None
    try:
        return json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return None
