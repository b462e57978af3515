"""One way to wait for something, with one limit that a busy machine does not reach.

What comes late is no failure; a test fails here only where something does not come at all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

SECONDS = 60.0
# Between two looks, at first and at last.
SHORT, LONG = 0.002, 0.1

T = TypeVar("T")


def wait_until(
    look: Callable[[], T], what: str | Callable[[], object] = "", seconds: float = SECONDS
) -> T:
    """Look again and again until there is something; return it. What is missing is said in words,
    or by what ``what`` returns."""
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
    """As `wait_until`, in an event loop, for what can be seen at once or has to be asked for."""
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
    said = what() if callable(what) else what
    return said or f"{getattr(look, '__name__', 'it')} has not come"
