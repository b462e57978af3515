"""Shortening a result until it is estimated to fit a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from winnow.types import Answer

# JSON of paths, code and numbers, with any current tokenizer; the estimate errs upwards.
BYTES_PER_TOKEN = 3.0

R = TypeVar("R", bound=Answer)


def estimated_tokens(result: Answer) -> int:
    return int(len(msgspec.json.encode(result)) / BYTES_PER_TOKEN) + 1


def shorten(result: R, max_tokens: int, steps: Sequence[Callable[[], R]]) -> R:
    """The result itself if it fits, else that of the first step that does, else of the last, which
    says that it is longer.

    ``steps`` make ever shorter results, each of which says that it is truncated.
    """
    if not max_tokens or estimated_tokens(result) <= max_tokens:
        return result
    for step in steps:
        result = step()
        if estimated_tokens(result) <= max_tokens:
            return result
    needed = f"there is no shorter answer: it has about {estimated_tokens(result)} tokens"
    return msgspec.structs.replace(result, warnings=[*result.warnings, needed])
