"""The trained ranker: a weighted sum of features and small trees, evaluated in numpy.

Trees are gradient-boosted ones (Friedman, "Greedy Function Approximation", 2001) that LightGBM has
trained, see ``benchmarks/train_ranker.py``; here is no LightGBM. All conditions of all trees are
asked at once. Which leaf a candidate comes to is found by bits, as in QuickScorer (Lucchese et al.,
SIGIR 2015): each condition that does not hold rules out the leaves on its one side, and of those
that are left, the first is it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.index.vectors.best import Floats
from winnow.ranking.semantic.paths import KINDS

# So many leaves have bits in the number of a condition.
MAX_LEAVES = 8
# So many candidates, the best by the sum alone, are asked of the trees, which were trained on so
# many.
MAX_SCORED = 60
# What a file of a kind that is not asked for loses, such as a test. The code that the ranker was
# trained on has few of them, and so they weigh little; in others there are more than sources.
# Anything from 1 to 3 does well there, too.
UNASKED = np.float32(2)
# The numbers of leaves, by the bits of those that are left.
_FIRST_LEAF = np.array([(bits & -bits).bit_length() - 1 if bits else 0 for bits in range(256)])


class Ranker:
    """What features weigh. Arrays are as :func:`trained` has them:

    ``names`` of features; ``weights`` of the sum, one for each feature, and ``symbol_weights`` that
    are added where the question is a single name. Trees all have as many conditions: ``columns``
    are the numbers of features, ``thresholds`` what they are not to exceed, ``masks`` the bits of
    the leaves that are left where they do, ``values`` of the leaves, by tree. ``slope`` and
    ``offset`` make a probability of a score.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.names: Sequence[str] = arrays["names"].tolist()
        self._weights, self._symbol_weights = arrays["weights"], arrays["symbol_weights"]
        # All first conditions of the trees come before all second ones, and so on: what is done to
        # many candidates at a time is then done to numbers that stand side by side.
        self._columns = arrays["columns"].T.ravel()
        self._thresholds = arrays["thresholds"].T.ravel()[:, None]
        # Of a condition that holds, all leaves are left.
        self._masks = ~arrays["masks"].T.ravel()[:, None]
        self._values = arrays["values"].ravel()
        self._trees, leaves = arrays["values"].shape
        self._firsts = np.arange(self._trees)[:, None] * leaves
        self._slope, self._offset = float(arrays["slope"]), float(arrays["offset"])

    def scores(self, features: Mapping[str, Floats], *, symbol: bool) -> Floats:
        """The score of each candidate: the higher, the better; comparable within a question."""
        rows = np.stack([features[name] for name in self.names], axis=1)
        weights = self._weights + self._symbol_weights if symbol else self._weights
        scores: Floats = rows @ weights
        best = np.arange(len(scores))
        if len(scores) > MAX_SCORED:
            best = np.argpartition(-scores, MAX_SCORED)[:MAX_SCORED]
        of_trees = self.sum_of_trees(rows[best])
        # What is not judged by the trees stays behind.
        scores += of_trees.min(initial=0)
        scores[best] += of_trees - of_trees.min(initial=0)
        scores -= UNASKED * np.maximum.reduce([features[name] for name, _, _ in KINDS])
        return scores

    def sum_of_trees(self, rows: Floats) -> Floats:
        """What the trees say of candidates, given in rows of features."""
        by_feature = np.ascontiguousarray(rows.T)
        ruled_out = (by_feature[self._columns] > self._thresholds) * self._masks
        ruled_out = np.bitwise_or.reduce(ruled_out.reshape(-1, self._trees, len(rows)), axis=0)
        leaves = _FIRST_LEAF[~ruled_out] + self._firsts
        total: Floats = self._values[leaves].sum(axis=0)
        return total

    def probabilities(self, scores: Floats) -> Floats:
        """How likely it is that a candidate with a score answers, from 0 to 1."""
        likely: Floats = 1 / (1 + np.exp(-(self._slope * scores + self._offset)))
        return likely


@functools.cache
def trained(name: str) -> Ranker:
    """The ranker that is shipped: "lexical", or "dense" where there are vectors."""
    file = resources.files("winnow.ranking.semantic") / "models" / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream) as arrays:
        return Ranker(dict(arrays))
