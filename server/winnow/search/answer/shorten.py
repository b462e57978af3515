"""Shorten a result until it is estimated to fit a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from winnow.types import Answer

# For JSON of paths, code and numbers, with any current tokenizer; the estimate is rather too high.
BYTES_PER_TOKEN = 3.0

R = TypeVar("R", bound=Answer)


def estimated_tokens(result: Answer) -> int:
    return int(len(msgspec.json.encode(result)) / BYTES_PER_TOKEN) + 1


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
