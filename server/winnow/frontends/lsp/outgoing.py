"""Messages to the client: a bounded queue that a thread writes.

Writing to a client that doesn't read blocks. If the event loop blocked, it could neither notice
that the client has exited nor end on a signal. The queue must not grow without limit either, so the
loop starts no requests while the queue is full. It still accepts the answers of running requests:
only progress reports are dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable

logger = logging.getLogger(__name__)

QUEUED_BYTES = 4 * 1024**2
QUEUED_MESSAGES = 1_000
# Small messages are written together.
_BATCH_BYTES = 64 * 1024
_POLL_SECONDS = 0.005


class Outgoing:
    """A pygls writer, created and used in the event loop.

    ``news`` is set when the queue has room again and when the client has exited.
    """

    def __init__(self, write: Callable[[bytes], object], news: asyncio.Event) -> None:
        self._write = write
        self._news = news
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._room.set()
        self._is_closed = False
        self.is_broken = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self._thread.start()

    @property
    def has_room(self) -> bool:
        """True if the queue has room. After it was full, False until it is half empty."""
        return self._room.is_set()

    async def room(self) -> None:
        """Wait until the queue has room."""
        await self._room.wait()

    def write(self, message: bytes) -> None:
        """Queue a message, or drop it if the connection is closed."""
        with self._changed:
            if self._is_closed or self.is_broken:
                return
            self._queue.append(message)
            self._bytes += len(message)
            self._changed.notify()
            # Under the lock, so that the writer sees it when it makes room.
            if not self._is_below(1):
                self._room.clear()

    def close(self) -> None:
        """Accept no more messages. Queued messages are still written."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    async def flush(self, seconds: float) -> None:
        """Close, and wait up to this time until everything is written."""
        self.close()
        end = self._loop.time() + seconds
        while self._thread.is_alive() and self._loop.time() < end:  # noqa: ASYNC110 (a thread ends)
            await asyncio.sleep(_POLL_SECONDS)

    def _is_below(self, share: float) -> bool:
        """Return True if the queue is below this share of its limits."""
        return self._bytes < QUEUED_BYTES * share and len(self._queue) < QUEUED_MESSAGES * share

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._write(batch)
            except (OSError, ValueError) as error:  # ValueError: the file is closed
                logger.info("The client reads no more: %s", error)
                with self._changed:
                    self.is_broken = True
                    self._queue.clear()
                self._wake()
                return
            with self._changed:
                self._bytes -= len(batch)
                has_room_again = self._is_below(0.5) and not self._room.is_set()
            if has_room_again:
                self._wake()

    def _next(self) -> bytes:
        """Return the next messages, or b"" when the queue is closed and empty."""
        with self._changed:
            while not (self._queue or self._is_closed):
                self._changed.wait()
            batch: list[bytes] = []
            size = 0
            while self._queue and size < _BATCH_BYTES:
                batch.append(self._queue.popleft())
                size += len(batch[-1])
            return b"".join(batch)

    def _wake(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._has_changed)

    def _has_changed(self) -> None:
        with self._changed:
            has_room = self.is_broken or self._is_below(1)
        if has_room:
            self._room.set()
        self._news.set()
