"""Read the messages of an MCP client in bounded memory.

The SDK reads a line of any length, decodes any number of values, and drops a request that it can't
decode, for which the client then waits. Here, such a request is refused with its id.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, BinaryIO

from winnow.frontends.lsp.decoding import INVALID_REQUEST, Refusal, decoded, id_of
from winnow.frontends.lsp.framing import HEAD_BYTES, MESSAGE_BYTES, Oversized


class MessageLines:
    """A text file of messages, one on each line, as the SDK reads it.

    ``is_message`` returns True for what the SDK accepts. ``refuse`` is called for each refused
    request that has an id, in the thread that reads.
    """

    def __init__(
        self,
        stream: BinaryIO,
        is_message: Callable[[Any], bool],
        refuse: Callable[[Refusal], object],
        limit: int = MESSAGE_BYTES,
    ) -> None:
        self._stream = stream
        self._is_message = is_message
        self._refuse = refuse
        self._limit = limit

    def readline(self) -> str:
        """Return the next message that the SDK can read, or an empty string at the end."""
        while line := self._line():
            message = decoded(line)
            if not isinstance(message, Refusal):
                if self._is_message(message):
                    # The SDK refuses half of a surrogate pair, which clients send after cutting
                    # a text.
                    text = json.dumps(message, ensure_ascii=False)
                    return text.encode("utf-8", "replace").decode() + "\n"
                message = Refusal(INVALID_REQUEST, "Invalid request", id_of(message))
            if message.id is not None:
                self._refuse(message)
        return ""

    def _line(self) -> bytes | Oversized:
        """Return the next line in UTF-8. Of one that is too long, only the beginning is kept."""
        line = self._stream.readline(self._limit)
        if len(line) < self._limit or line.endswith(b"\n"):
            return line.decode("utf-8", "replace").encode()
        length = self._limit
        while (rest := self._stream.readline(self._limit)) and not rest.endswith(b"\n"):
            length += len(rest)
        return Oversized(length + len(rest), line[:HEAD_BYTES])
