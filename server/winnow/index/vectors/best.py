"""Find the best scores of a group, such as the chunks of a text.

Scores come with their owners, which are numbers; the scores of an owner are adjacent.
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
    return np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))


def best_of_each(owners: Owners, scores: Floats, count: int, none: float = 0.0) -> Floats:
    """Return the best score of each owner; ``none`` for an owner without scores."""
    best = np.full(count, none, np.float32)
    if len(scores):
        starts = starts_of(owners)
        best[owners[starts]] = np.maximum.reduceat(scores, starts)
    return best


def top_of_each(owners: Owners, scores: Floats, count: int) -> Floats:
    """Return a third of the sum of each owner's best three scores."""
    order = np.argsort(-scores)
    # The stable sort of small integers needs no comparisons.
    small = np.uint16 if count <= 1 << 16 else np.uint32
    order = order[np.argsort(owners[order].astype(small), kind="stable")]
    owned = owners[order]
    place = np.arange(len(order)) - np.searchsorted(owned, owned)
    some = place < TOP
    top: Floats = np.bincount(owned[some], scores[order][some], count) / TOP
    return top
