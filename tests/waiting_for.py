"""Wait for conditions, with a time limit that even a busy machine does not reach.

A condition that becomes true late is not a failure; a test fails only if it never becomes true.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

SECONDS = 60.0
# The first and the longest pause between two checks.
SHORT, LONG = 0.002, 0.1

T = TypeVar("T")


def wait_until(
    look: Callable[[], T], what: str | Callable[[], object] = "", seconds: float = SECONDS
) -> T:
    """Call ``look`` until its result is true, and return the result. ``what`` describes the missing
    condition, or returns its description."""
    end, pause = time.monotonic() + seconds, SHORT
    while not (found := look()):
        assert time.monotonic() < end, _missing(look, what)
        time.sleep(pause)
        pause = min(2 * pause, LONG)
    return found


async def until(
    look: Callable[[], Any],
    what: str | Callable[[], object] = "",
    seconds: float = SECONDS,
) -> Any:
    """Wait like `wait_until`, in an event loop; ``look`` may be a function or a coroutine."""
    end, pause = time.monotonic() + seconds, SHORT
    while True:
        seen = look()
        found = await seen if isinstance(seen, Awaitable) else seen
        if found:
            return found
        assert time.monotonic() < end, _missing(look, what)
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONG)


def _missing(look: Callable[[], object], what: str | Callable[[], object]) -> object:
    missing = what() if callable(what) else what
    return missing or f"{getattr(look, '__name__', 'the condition')} did not become true"
