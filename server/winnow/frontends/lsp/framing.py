"""Framing of LSP messages: headers that end with a blank line, then a body of a given length.

A language server on standard input skips bytes that are no message and goes on, because a client
that miscounts once is still a client. A TCP port is open to every program of this machine, and a
browser can send HTTP to it: a strict reader ends the connection at the first byte that is not LSP.
"""

from __future__ import annotations

import io
import logging
import re

from msgspec import Struct

logger = logging.getLogger(__name__)

# Not only at the beginning of a line: what stands before it is then of a message whose own header
# was damaged, and the next message is read again.
_LENGTH = re.compile(rb"content-length:\s*(\d{1,12})\s*$", re.I | re.M)
_STRICT_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r\n", re.I)
_STRICT_TYPE = re.compile(rb"content-type:[ \t]*[\x20-\x7e]{0,200}\r\n", re.I)
# Twice the largest document that VS Code sends to its extensions, as JSON spells it.
MESSAGE_BYTES = 128 * 1024**2
# A larger body is skipped. A header that announces even more is damaged: its body will never come.
SKIPPED_BYTES = 1024**3
# Of a longer header only the end can be that of a message.
HEADER_BYTES = 64 * 1024
STRICT_HEADER_BYTES = 4 * 1024
HEAD_BYTES = 4 * 1024
_CHUNK_BYTES = 1024**2


class NotLsp(Exception):
    """The peer sends something that is not LSP."""


class Oversized(Struct, frozen=True):
    """A body that was skipped because it is too long, with its first bytes."""

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
        """Return the next body, or None at the end of the stream. Raises OSError, and NotLsp if
        the reader is strict."""
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
        """Return the length of the next body, and skip what is no header."""
        header = bytearray()
        while line := self._stream.readline(HEADER_BYTES):
            if line.strip():
                header += line
                # Not at each line: moving 64 KiB for each of a million short lines takes minutes.
                if len(header) > 2 * HEADER_BYTES:
                    del header[:-HEADER_BYTES]
                continue
            found = _LENGTH.search(header)
            if found and int(found[1]) <= SKIPPED_BYTES:
                return int(found[1])
            if header:
                logger.warning("Skipped %d bytes that are no header of a message", len(header))
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
                raise NotLsp("a header line is not one of LSP")
        return None
