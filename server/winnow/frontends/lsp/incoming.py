"""Messages from the client: read and decoded in a thread, bounded, and handed out in order.

While the client doesn't read its answers, or many requests are running, no message is handed out,
and then none is read: the client has to wait in turn. Messages that end work overtake the others:
cancellations, `exit`, and the client's responses to requests of the server. The thread notices that
the client has exited even while its last messages are unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from lsprotocol import types
from msgspec import Struct
from pygls.protocol import JsonRPCProtocol

from winnow.frontends.lsp.decoding import Refusal, decoded, is_id
from winnow.frontends.lsp.framing import Frames, NotLsp
from winnow.frontends.lsp.outgoing import Outgoing

logger = logging.getLogger(__name__)

REQUEST_CANCELLED = -32800
# What stands for the end of the messages: a message may be null.
ENDED = object()
# A decoded message takes up to 24 times its size.
WAITING_BYTES = 2 * 1024**2
WAITING_MESSAGES = 1_000
# How often a thread that does not read checks whether the client is gone.
_HANG_UP_SECONDS = 0.25
_CANCELLATIONS = (types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL)


class _Waiting(Struct, frozen=True):
    """A decoded message and the size of its body."""

    message: Any
    size: int


class Incoming:
    """The messages of a client, for one consumer in the event loop.

    :meth:`next` waits while ``outgoing`` has no room or ``may_start`` returns False. ``news`` is
    set when either may have changed.
    """

    def __init__(
        self, news: asyncio.Event, outgoing: Outgoing, may_start: Callable[[], bool]
    ) -> None:
        self._outgoing = outgoing
        self._may_start = may_start
        self._loop = asyncio.get_running_loop()
        self._urgent: deque[_Waiting] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._cancelled: deque[_Waiting] = deque()
        self._news = news
        self._has_ended = False
        # Messages that the thread has queued and the consumer hasn't taken, and their size.
        self._space = threading.Condition()
        self._messages = 0
        self._bytes = 0

    # --- the consumer ----------------------------------------------------------------------

    async def next(self) -> Any:
        """Return the next message to handle, or ENDED when the client has exited."""
        while not self._outgoing.is_broken:
            if self._urgent:
                return self._taken(self._urgent.popleft())
            if self._outgoing.has_room:
                if self._cancelled:
                    return _refused(self._taken(self._cancelled.popleft()))
                if self._waiting and self._may_start():
                    return self._taken(self._waiting.popleft())
            if self._has_ended:
                break
            self._news.clear()
            await self._news.wait()
        return ENDED

    def end(self) -> None:
        """Hand out only the messages that can be handled immediately."""
        self._has_ended = True
        self._news.set()

    def _taken(self, waiting: _Waiting) -> Any:
        """Return a message and make space for another."""
        with self._space:
            self._messages -= 1
            self._bytes -= waiting.size
            self._space.notify()
        return waiting.message

    def _arrive(self, waiting: _Waiting) -> None:
        if not _is_urgent(waiting.message):
            self._waiting.append(waiting)
        else:
            if _is_method(waiting.message, types.EXIT):
                self._drop_all_but_shutdown()
            else:
                self._cancel_waiting(waiting.message)
            self._urgent.append(waiting)
        self._news.set()

    def _drop_all_but_shutdown(self) -> None:
        """Drop waiting messages before `exit`, except `shutdown`, which sets the exit code."""
        waiting, self._waiting = self._waiting, deque()
        for entry in waiting:
            if _is_method(entry.message, types.SHUTDOWN):
                self._urgent.append(entry)
            else:
                self._taken(entry)

    def _cancel_waiting(self, cancellation: Any) -> None:
        named = set(_names(cancellation))
        for waiting in list(self._waiting):
            if named.intersection(_names_of_request(waiting.message)):
                self._waiting.remove(waiting)
                self._cancelled.append(waiting)

    # --- the thread ------------------------------------------------------------------------

    def read(self, frames: Frames, is_hung_up: Callable[[], bool]) -> threading.Thread:
        """Start reading messages in a thread."""
        thread = threading.Thread(
            target=self._read, args=(frames, is_hung_up), name="reader", daemon=True
        )
        thread.start()
        return thread

    def _read(self, frames: Frames, is_hung_up: Callable[[], bool]) -> None:
        try:
            while self._has_space(is_hung_up) and (body := frames.next()) is not None:
                size = len(body) if isinstance(body, bytes) else 0
                self._hand_over(_Waiting(decoded(body), size))
        except NotLsp as error:
            logger.warning("The connection ends: %s", error)
        except (OSError, ValueError, MemoryError) as error:
            logger.info("The client sends no more: %s", error)
        finally:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.end)

    def _has_space(self, is_hung_up: Callable[[], bool]) -> bool:
        """Wait until there is space for a message. Return False if the client has exited."""
        with self._space:
            while self._messages >= WAITING_MESSAGES or self._bytes >= WAITING_BYTES:
                if not self._space.wait(_HANG_UP_SECONDS) and is_hung_up():
                    return False
        return True

    def _hand_over(self, waiting: _Waiting) -> None:
        with self._space:
            self._messages += 1
            self._bytes += waiting.size
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._arrive, waiting)


def _is_method(message: Any, method: str) -> bool:
    return isinstance(message, dict) and message.get("method") == method


def _is_urgent(message: Any) -> bool:
    """Return True if a message ends work or answers a request of the server.

    These are handled even while the client doesn't read, so they must be messages that get no
    answer: a flood of them must not fill the queue of answers.
    """
    if not isinstance(message, dict) or message.get("jsonrpc") != JsonRPCProtocol.VERSION:
        return False
    if "method" not in message:
        return ("result" in message or "error" in message) and is_id(message.get("id"))
    return message["method"] in (types.EXIT, *_CANCELLATIONS) and "id" not in message


def _names(cancellation: Any) -> Iterator[tuple[str, Any]]:
    """Yield the ids and progress tokens of the requests that a message cancels."""
    params = cancellation.get("params")
    if isinstance(params, dict):
        yield from _named("id", params.get("id"))
        yield from _named("token", params.get("token"))


def _names_of_request(message: Any) -> Iterator[tuple[str, Any]]:
    """Yield the id and the progress token of a request."""
    if isinstance(message, dict) and "method" in message and is_id(message.get("id")):
        yield from _named("id", message["id"])
        params = message.get("params")
        if isinstance(params, dict):
            yield from _named("token", params.get("workDoneToken"))


def _named(kind: str, value: Any) -> Iterator[tuple[str, Any]]:
    if is_id(value):
        yield kind, value


def _refused(message: Any) -> Refusal:
    return Refusal(REQUEST_CANCELLED, "The request is cancelled.", message.get("id"))
