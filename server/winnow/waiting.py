"""Wait for a bounded time without losing a cancellation.

Before Python 3.12, `asyncio.wait_for` returns the result if the cancellation comes at the moment in
which that is there (https://github.com/python/cpython/issues/86296): a request that was cancelled
then went on to its deadline.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def within(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return what a coroutine returns. Raises asyncio.TimeoutError, and cancels it, if that takes
    longer."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=max(seconds, 0.0))
    finally:
        is_late = not task.done()
        if is_late:
            task.cancel()
        # Also to take note of an error that nobody waits for any more.
        await asyncio.gather(task, return_exceptions=True)
    if is_late:
        raise asyncio.TimeoutError
    return task.result()


async def turn_within(turns: asyncio.Semaphore, seconds: float) -> None:
    """Acquire a semaphore. Raises asyncio.TimeoutError if that takes longer."""
    task = asyncio.ensure_future(turns.acquire())
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _given_back(task, turns)
        raise
    if not task.done():
        await _given_back(task, turns)
        raise asyncio.TimeoutError


async def _given_back(task: asyncio.Future[Any], turns: asyncio.Semaphore) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and task.exception() is None:
        turns.release()


async def made_in_thread(make: Callable[[], T], undo: Callable[[T], None]) -> T:
    """Return what ``make`` makes in a thread. When the caller is cancelled, the thread goes on, and
    what it makes is nobody's: it is undone."""
    made: list[T] = []
    lock = threading.Lock()
    is_wanted = True

    def work() -> T:
        one = make()
        with lock:
            made.append(one)
            if not is_wanted:
                undo(one)
        return one

    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        with lock:
            is_wanted = False
            for one in made:
                undo(one)
        raise
