"""Wait without losing a cancellation, or what is being made for whoever is cancelled.

Before Python 3.12, `asyncio.wait_for` returns the result if the cancellation comes at the moment in
which that is there (https://github.com/python/cpython/issues/86296): a request that was cancelled
then went on to its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def within(work: Awaitable[T], seconds: float) -> T:
    """Return what an awaitable gives. Raises asyncio.TimeoutError, and cancels it, if that takes
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


async def acquire_within(slots: asyncio.Semaphore, seconds: float) -> None:
    """Acquire a semaphore. Raises asyncio.TimeoutError if that takes longer."""
    task = asyncio.ensure_future(slots.acquire())
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _release(task, slots)
        raise
    if not task.done():
        await _release(task, slots)
        raise asyncio.TimeoutError


async def to_the_end(work: Awaitable[T], undo: Callable[[T], object] | None = None) -> T:
    """Return what an awaitable gives. When the caller is cancelled, the work ends before that is
    raised, and what it gives is undone: a thread cannot be cancelled, and what it makes needs an
    owner."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        if undo is not None and not task.cancelled() and task.exception() is None:
            undo(task.result())
        raise


async def _release(task: asyncio.Future[Any], slots: asyncio.Semaphore) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and task.exception() is None:
        slots.release()
