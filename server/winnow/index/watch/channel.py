"""Exchange data between a watching thread and the event loop.

Neither waits for the other. The thread collects its changes until the loop reads them; the loop
sends a request and gets the answer through a future.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable

# More changed paths are better replaced by a rescan; they take some 10 MB.
MOST_PATHS = 50_000

Asked = list["asyncio.Future[bool]"]


class WatchEnded(Exception):
    """A folder cannot be watched, or not any longer; the message tells the user why."""


class WatchChannel:
    """The connection to one thread; created in the event loop."""

    def __init__(self, changed: Callable[[set[str]], None], lost: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = changed
        self._report_lost = lost
        self._lock = threading.Lock()
        self._delivering = False
        self._paths: set[str] = set()
        self._lost = False
        self._answered: Asked = []
        self._pending: Asked = []
        self._unanswered: set[asyncio.Future[bool]] = set()
        self._wake: Callable[[], None] = lambda: None
        self._is_quiet: Callable[[], bool] = lambda: False
        # True while the thread has changes that it has not reported.
        self._working = True
        self._refresh = False
        self.begun: asyncio.Future[None] = self._loop.create_future()
        self.ended = asyncio.Event()
        self.closing = threading.Event()
        self.reason = ""

    # --- the side of the loop --------------------------------------------------------------

    def request_sync(self) -> asyncio.Future[bool]:
        """Return a future: True once all earlier changes are reported, False if they never will
        be."""
        answer: asyncio.Future[bool] = self._loop.create_future()
        self._unanswered.add(answer)
        answer.add_done_callback(self._unanswered.discard)
        with self._lock:
            self._pending.append(answer)
            self._wake()
        return answer

    def is_current(self) -> bool:
        """Return True if all earlier changes are reported, False if only the thread can tell."""
        with self._lock:
            is_busy = self._working or self._delivering or self._refresh
            return not is_busy and self._is_quiet()

    def refresh(self) -> None:
        """Let the thread scan all folders again."""
        with self._lock:
            self._refresh = True
            self._wake()

    def close(self) -> None:
        """End the thread; nothing more is reported."""
        with self._lock:
            self.closing.set()
            self._wake()
        self._answer_no()

    # --- the side of the thread ------------------------------------------------------------

    def connect(self, wake: Callable[[], None], is_quiet: Callable[[], bool]) -> None:
        """Set the function that wakes the thread, and the one that returns True if the system has
        nothing new for it. Neither may block."""
        with self._lock:
            self._wake, self._is_quiet = wake, is_quiet

    def disconnect(self) -> None:
        """Call neither function any more."""
        self.connect(lambda: None, lambda: False)

    def begin(self) -> None:
        """Report that the thread sees changes from now on."""
        self._in_loop(self._begin)

    def requests(self) -> tuple[Asked, bool]:
        """Return the open requests, to be answered with :meth:`report`, and whether to scan all
        folders again."""
        with self._lock:
            self._working = True
            pending, self._pending = self._pending, []
            refresh, self._refresh = self._refresh, False
        return pending, refresh

    def report(
        self, paths: Iterable[str], lost: bool = False, answered: Asked | None = None
    ) -> None:
        """Report changed paths, whether any changes were lost, and then the answered requests."""
        with self._lock:
            self._paths.update(paths)
            self._lost |= lost
            if len(self._paths) > MOST_PATHS:
                self._paths.clear()
                self._lost = True
            self._answered += answered or []
            self._working = False
            due = not self._delivering and bool(self._paths or self._lost or self._answered)
            self._delivering |= due
        if due:
            self._in_loop(self._deliver)

    def end(self, reason: str) -> None:
        """Report that the thread ends, and why."""
        self.disconnect()
        self._in_loop(self._end, reason)

    # --- in the loop, for the thread -------------------------------------------------------

    def _in_loop(self, call: Callable[..., None], *arguments: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
            self._loop.call_soon_threadsafe(call, *arguments)

    def _begin(self) -> None:
        if not self.begun.done():
            self.begun.set_result(None)

    def _deliver(self) -> None:
        with self._lock:
            paths, self._paths = self._paths, set()
            lost, self._lost = self._lost, False
            answered, self._answered = self._answered, []
            self._delivering = False
        if self.closing.is_set():
            return
        if lost:
            self._report_lost()
        if paths:
            self._changed(paths)
        for answer in answered:
            if not answer.done():
                answer.set_result(True)

    def _end(self, reason: str) -> None:
        self._deliver()
        self.reason = reason
        self.ended.set()
        had_begun = self.begun.done()
        self._begin()
        self._answer_no()
        if had_begun and not self.closing.is_set():
            self._report_lost()

    def _answer_no(self) -> None:
        for answer in list(self._unanswered):
            if not answer.done():
                answer.set_result(False)
