"""The trained ranker: equal to LightGBM, and complete as shipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from winnow.ranking.semantic.decision_trees import (
    MAX_LEAVES,
    MAX_SCORED,
    UNASKED,
    Ranker,
    model_name,
    trained,
)
from winnow.ranking.semantic.features import COMMIT_FEATURES, DENSE_FEATURES, FEATURES
from winnow.ranking.semantic.path_index import KINDS

# Three trees trained by LightGBM, packed, with rows and its predictions for them.
FIXTURE = Path(__file__).parent / "fixtures/trees.json"


def with_kinds(**features: np.typing.NDArray[np.float32]) -> dict[str, Any]:
    """Return features of candidates of no penalized kind."""
    [count] = {len(values) for values in features.values()}
    return {name: np.zeros(count, np.float32) for name, _, _ in KINDS} | features


def ranker(**changed: Any) -> Ranker:
    """Return a ranker with one feature and trees without effect."""
    arrays: dict[str, Any] = {
        "names": np.array(["a"]),
        "weights": np.array([1.0], np.float32),
        "symbol_weights": np.array([2.0], np.float32),
        "columns": np.zeros((1, MAX_LEAVES - 1), np.uint8),
        "thresholds": np.full((1, MAX_LEAVES - 1), np.inf, np.float32),
        "masks": np.full((1, MAX_LEAVES - 1), 0xFF, np.uint8),
        "values": np.zeros((1, MAX_LEAVES), np.float32),
        "slope": np.float64(1),
        "offset": np.float64(0),
    }
    return Ranker(arrays | changed)


def test_trees_predict_like_lightgbm() -> None:
    stored = json.loads(FIXTURE.read_text())
    types = {"columns": np.uint8, "masks": np.uint8}
    arrays = {name: np.array(stored[name], types.get(name, np.float32)) for name in stored["trees"]}
    rows = np.array(stored["rows"], np.float32)
    found = ranker(**arrays).sum_of_trees(rows.T)
    np.testing.assert_allclose(found, stored["predictions"], rtol=1e-5)
    assert len(set(np.round(stored["predictions"], 6))) > 10


def test_a_symbol_query_has_other_weights() -> None:
    features = with_kinds(a=np.array([1.0, 2.0], np.float32))
    assert ranker().scores(features, symbol=False).tolist() == [1, 2]
    assert ranker().scores(features, symbol=True).tolist() == [3, 6]


def test_candidates_outside_the_trees_rank_below() -> None:
    values = np.zeros((1, MAX_LEAVES), np.float32)
    values[0, 0] = -5
    features = with_kinds(a=np.arange(2.0 * MAX_SCORED, dtype=np.float32))
    scores = ranker(values=values).scores(features, symbol=False)
    assert (np.diff(scores) > 0).all()


def test_kinds_of_files_not_in_the_query_rank_lower() -> None:
    a, test = np.array([1.0, 1.0], np.float32), np.array([0.0, 1.0], np.float32)
    scores = ranker().scores(with_kinds(a=a, test=test), symbol=False)
    assert scores.tolist() == [1, 1 - UNASKED]


def test_probabilities_grow_with_scores() -> None:
    likely = ranker(offset=np.float64(-1)).probabilities(np.array([-100.0, 0, 1, 100]))
    assert likely.tolist() == pytest.approx([0, 0.2689, 0.5, 1], abs=1e-4)


@pytest.mark.parametrize("task", [False, True])
@pytest.mark.parametrize("commits", [False, True])
@pytest.mark.parametrize("dense", [False, True])
def test_the_shipped_models_fit_the_features(dense: bool, commits: bool, task: bool) -> None:
    features = [
        *FEATURES,
        *(DENSE_FEATURES if dense else ()),
        *(COMMIT_FEATURES if commits else ()),
    ]
    name = model_name(dense=dense, commits=commits, task=task)
    assert trained(name).names == features
    rows = with_kinds(**{name: np.linspace(0, 1, 9, dtype=np.float32) for name in features})
    rows |= {name: np.zeros(9, np.float32) for name, _, _ in KINDS}
    scores = trained(name).scores(rows, symbol=False)
    assert np.isfinite(scores).all()
    assert scores[-1] > scores[0]
