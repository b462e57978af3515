"""Shorten a result until it is estimated to fit a number of tokens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import msgspec

from winnow.types import Answer

# For paths, code and numbers, with any current tokenizer; the estimate is rather too high.
BYTES_PER_TOKEN = 3.0

R = TypeVar("R", bound=Answer)

_as_text: ContextVar[Callable[[Any], str] | None] = ContextVar("_as_text", default=None)


@contextlib.contextmanager
def measured_as(text: Callable[[Any], str]) -> Iterator[None]:
    """Estimate the tokens of results in this text, instead of in JSON, during the block."""
    token = _as_text.set(text)
    try:
        yield
    finally:
        _as_text.reset(token)


def estimated_tokens(result: Answer) -> int:
    """Return the estimated tokens of a result as its client gets it."""
    text = _as_text.get()
    sent = text(result).encode("utf-8", "replace") if text else msgspec.json.encode(result)
    return int(len(sent) / BYTES_PER_TOKEN) + 1


def shorten(result: R, max_tokens: int, steps: Sequence[Callable[[], R]]) -> R:
    """Return the result if it fits, else the first step that fits, else the last with a warning.

    ``steps`` return ever shorter results that are marked as truncated.
    """
    if not max_tokens or estimated_tokens(result) <= max_tokens:
        return result
    for step in steps:
        result = step()
        if estimated_tokens(result) <= max_tokens:
            return result
    needed = f"there is no shorter answer: it has about {estimated_tokens(result)} tokens"
    return msgspec.structs.replace(result, warnings=[*result.warnings, needed])
