"""Find the best scores of a group, such as the chunks of a text.

Scores come with their owners, which are ascending numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Owners = npt.NDArray[np.integer[Any]]

# This number of the best chunks represents a text; a text with fewer chunks scores less.
TOP = 3


def starts_of(owners: Owners) -> npt.NDArray[np.int64]:
    """Return where the scores of each owner begin."""
    begins = np.ones(len(owners), np.bool_)
    np.not_equal(owners[1:], owners[:-1], out=begins[1:])
    return begins.nonzero()[0]


def best_of_each(owners: Owners, scores: Floats, count: int, none: float = 0.0) -> Floats:
    """Return the best score of each owner; ``none`` for an owner without scores."""
    best = np.full(count, none, np.float32)
    if len(scores):
        starts = starts_of(owners)
        best[owners[starts]] = np.maximum.reduceat(scores, starts)
    return best


def top_of_each(owners: Owners, scores: Floats, count: int) -> Floats:
    """Return a third of the sum of each owner's best three scores."""
    order = (-scores).argsort()
    # The stable sort of small integers needs no comparisons.
    small = np.uint16 if count <= 1 << 16 else np.uint32
    order = order[owners[order].astype(small).argsort(kind="stable")]
    # The scores of each owner are still at the same places.
    starts = starts_of(owners)
    places = np.arange(len(order))
    some = places < (starts + TOP).repeat(np.diff(starts, append=len(order)))
    top: Floats = np.bincount(owners[some], scores[order[some]], count) / TOP
    return top
