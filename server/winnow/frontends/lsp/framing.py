"""Framing of LSP messages: headers that end with a blank line, then a body of a given length.

On standard input, the reader skips bytes that aren't a message, because the client may have
miscounted once. On a TCP port, which every program on this machine and web pages can reach, a
strict reader ends the connection at the first byte that isn't LSP.
"""

from __future__ import annotations

import io
import logging
import re

from msgspec import Struct

logger = logging.getLogger(__name__)

# Also in the middle of a line: if the header of the message before it was damaged, the reader still
# finds the next message.
_LENGTH = re.compile(rb"content-length:\s*(\d{1,12})\s*$", re.I | re.M)
_STRICT_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r\n", re.I)
_STRICT_TYPE = re.compile(rb"content-type:[ \t]*[\x20-\x7e]{0,200}\r\n", re.I)
# Twice the largest document that VS Code sends to its extensions, as JSON.
MESSAGE_BYTES = 128 * 1024**2
# A larger body is skipped. A header with a larger length is treated as damaged.
SKIPPED_BYTES = 1024**3
# Only the end of a longer header is kept.
HEADER_BYTES = 64 * 1024
STRICT_HEADER_BYTES = 4 * 1024
HEAD_BYTES = 4 * 1024
_CHUNK_BYTES = 1024**2


class NotLsp(Exception):
    """The peer sent bytes that aren't LSP."""


class Oversized(Struct, frozen=True):
    """A body that was skipped because of its length, with its first bytes."""

    length: int
    head: bytes


class Frames:
    """The bodies of the messages in a stream of bytes."""

    def __init__(
        self, stream: io.BufferedIOBase, *, strict: bool = False, limit: int = MESSAGE_BYTES
    ) -> None:
        self.limit = limit
        self._stream = stream
        self._strict = strict

    def next(self) -> bytes | Oversized | None:
        """Return the next body, or None at the end of the stream. Raise OSError, or NotLsp if the
        reader is strict."""
        length = self._strict_length() if self._strict else self._lenient_length()
        if length is None:
            return None
        if length > self.limit:
            return self._skip(length)
        body = self._stream.read(length)
        return body if len(body) == length else None

    def _skip(self, length: int) -> Oversized | None:
        head = self._stream.read(HEAD_BYTES)
        left = length - len(head)
        while left:
            chunk = self._stream.read(min(left, _CHUNK_BYTES))
            if not chunk:
                return None
            left -= len(chunk)
        return Oversized(length, head)

    def _lenient_length(self) -> int | None:
        """Return the length of the next body. Skip bytes that aren't a header."""
        header = bytearray()
        while line := self._stream.readline(HEADER_BYTES):
            if line.strip():
                header += line
                # Not for each line: moving 64 KiB a million times takes minutes.
                if len(header) > 2 * HEADER_BYTES:
                    del header[:-HEADER_BYTES]
                continue
            found = _LENGTH.search(header)
            if found and int(found[1]) <= SKIPPED_BYTES:
                return int(found[1])
            if header:
                logger.warning("Skipped %d bytes that aren't a message header", len(header))
            header.clear()
        return None

    def _strict_length(self) -> int | None:
        length: int | None = None
        size = 0
        while line := self._stream.readline(STRICT_HEADER_BYTES):
            size += len(line)
            if size > STRICT_HEADER_BYTES:
                raise NotLsp("the header is too long")
            if line == b"\r\n" and length is not None:
                return length
            found = _STRICT_LENGTH.fullmatch(line)
            if found and length is None and int(found[1]) <= SKIPPED_BYTES:
                length = int(found[1])
            elif not _STRICT_TYPE.fullmatch(line):
                raise NotLsp("invalid header line")
        return None
