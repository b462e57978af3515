"""The trained ranker: a weighted sum of features plus small trees, evaluated in numpy.

The trees are gradient-boosted (Friedman, "Greedy Function Approximation", 2001). LightGBM trained
them, see ``benchmarks/train_ranker.py``, and is not needed here. All conditions of all trees are
evaluated at once. As in QuickScorer (Lucchese et al., SIGIR 2015), bits select the leaf of a
candidate: each false condition excludes the leaves on one side, and the first remaining leaf is the
result.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from winnow.index.vectors.best import Floats
from winnow.ranking.semantic.path_index import KINDS

# Leaves of a tree, one bit each in the mask of a condition.
MAX_LEAVES = 8
# Only the best candidates by the sum go through the trees, which were trained on as many.
MAX_SCORED = 60
# Penalty of a file of a kind that the query does not ask for, such as a test. The training code has
# few such files, so their features weigh little; other code has more of them than sources. Any
# value from 1 to 3 also works well on the training code.
UNASKED = np.float32(2)
# The first remaining leaf, by the bits of the remaining leaves.
_FIRST_LEAF = np.array([(bits & -bits).bit_length() - 1 if bits else 0 for bits in range(256)])


class Ranker:
    """The weights of features. The arrays are those of :func:`trained`:

    ``names`` of features; ``weights`` of the sum, one per feature, and ``symbol_weights`` that are
    added for a query that is one name. All trees have the same number of conditions: ``columns``
    are the numbers of features, ``thresholds`` the values that they must not exceed, ``masks`` the
    bits of the leaves that remain if they do, and ``values`` those of the leaves, by tree.
    ``slope`` and ``offset`` turn a score into a probability.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.names: Sequence[str] = arrays["names"].tolist()
        self._weights, self._symbol_weights = arrays["weights"], arrays["symbol_weights"]
        # The first conditions of all trees come before all second ones, and so on: numpy then
        # processes adjacent numbers of many candidates.
        self._columns = arrays["columns"].T.ravel()
        self._thresholds = arrays["thresholds"].T.ravel()[:, None]
        # A true condition keeps all leaves.
        self._masks = ~arrays["masks"].T.ravel()[:, None]
        self._values = arrays["values"].ravel()
        self._trees, leaves = arrays["values"].shape
        self._firsts = np.arange(self._trees)[:, None] * leaves
        self._slope, self._offset = float(arrays["slope"]), float(arrays["offset"])

    def scores(self, features: Mapping[str, Floats], *, symbol: bool) -> Floats:
        """Return the score of each candidate: higher is better; comparable within a query."""
        by_feature = np.array([features[name] for name in self.names])
        weights = self._weights + self._symbol_weights if symbol else self._weights
        scores: Floats = np.ascontiguousarray(by_feature.T) @ weights
        best = np.arange(len(scores))
        if len(scores) > MAX_SCORED:
            best = np.argsort(-scores, kind="stable")[:MAX_SCORED]
        of_trees = self.sum_of_trees(by_feature[:, best])
        # Candidates outside the trees rank below.
        scores += of_trees.min(initial=0)
        scores[best] += of_trees - of_trees.min(initial=0)
        scores -= UNASKED * np.maximum.reduce([features[name] for name, _, _ in KINDS])
        return scores

    def sum_of_trees(self, by_feature: Floats) -> Floats:
        """Return the sum of the trees for candidates, from a row of each feature."""
        ruled_out = (by_feature[self._columns] > self._thresholds) * self._masks
        conditions = ruled_out.reshape(-1, self._trees, by_feature.shape[1])
        ruled_out = np.bitwise_or.reduce(conditions, axis=0)
        leaves = _FIRST_LEAF[~ruled_out] + self._firsts
        total: Floats = self._values[leaves].sum(axis=0)
        return total

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability that a candidate with a score is an answer."""
        likely: Floats = 1 / (1 + np.exp(-(self._slope * scores + self._offset)))
        return likely


def model_name(*, dense: bool, commits: bool, task: bool) -> str:
    """Return the name of the shipped ranker for an index with vectors or without, with the commits
    of the repository or without, and for a query that describes work on the code or another."""
    name = "dense" if dense else "lexical"
    return name + "-commits" * commits + "-task" * task


@functools.cache
def trained(name: str) -> Ranker:
    """Load a shipped ranker by its :func:`model_name`."""
    file = resources.files("winnow.ranking.semantic") / "models" / f"{name}.npz"
    with file.open("rb") as stream, np.load(stream) as arrays:
        return Ranker(dict(arrays))
