"""Wait without losing a cancellation, or a result that is produced meanwhile.

Before Python 3.12, `asyncio.wait_for` returns the result if the cancellation arrives together with
it (https://github.com/python/cpython/issues/86296), and the canceled request ran to its deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def wait_within(work: Awaitable[T], seconds: float) -> T:
    """Return the result of an awaitable. After the time, cancel it and raise
    asyncio.TimeoutError."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=max(seconds, 0.0))
    finally:
        is_late = not task.done()
        if is_late:
            task.cancel()
        # This also retrieves an error that has no other reader.
        await asyncio.gather(task, return_exceptions=True)
    if is_late:
        raise asyncio.TimeoutError
    return task.result()


async def acquire_within(slots: asyncio.Semaphore, seconds: float) -> None:
    """Acquire a semaphore. Raises asyncio.TimeoutError after the time."""
    task = asyncio.ensure_future(slots.acquire())
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _release(task, slots)
        raise
    if not task.done():
        await _release(task, slots)
        raise asyncio.TimeoutError


async def run_to_end(work: Awaitable[T], undo: Callable[[T], object] | None = None) -> T:
    """Return the result of an awaitable. If the caller is canceled, let the work finish, pass its
    result to ``undo`` and raise: a thread cannot be canceled, and its result needs an owner."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.gather(task, return_exceptions=True)
        if undo is not None and not task.cancelled() and task.exception() is None:
            undo(task.result())
        raise


def is_running(task: asyncio.Task[None] | None) -> bool:
    """Return True if there is a task that has not ended."""
    return task is not None and not task.done()


async def finish_within(task: asyncio.Task[None] | None, seconds: float) -> bool:
    """Wait for a task, which goes on after the time. Return True if it was running."""
    if task is None or task.done():
        return False
    await asyncio.wait({task}, timeout=max(seconds, 0.0))
    return True


async def cancel_all(tasks: Iterable[asyncio.Task[Any] | None]) -> None:
    """Cancel the tasks that exist, and wait until they have ended."""
    some = [task for task in tasks if task is not None]
    for task in some:
        task.cancel()
    await asyncio.gather(*some, return_exceptions=True)


async def _release(task: asyncio.Future[Any], slots: asyncio.Semaphore) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and task.exception() is None:
        slots.release()
