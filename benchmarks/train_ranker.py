"""Train the ranker of semantic search and measure it on other code.

    python benchmarks/train_ranker.py --annotations dev.jsonl --repositories repos.json \
        --corpora DIR --commits DIR --clones DIR [--save] [--no-embeddings]

Needs `winnow-ls[benchmark]`, and about half an hour.

Annotations are questions about repositories with the files that answer them. Commits are real
queries: the messages that people wrote, and the files that they changed, in an older tree. Their
folder is that of `commit_queries.py`. Clones are bare clones, `owner+name/repo`: what was committed
before a tree is evidence. `--save` stores the models in the package: for an index that knows the
commits and for one without, each for queries that describe work on the code and for all others.

Two rankers are trained, and their scores are added: a weighted sum of the features, fitted to the
likelihood of the relevant files (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise
Approach", 2007) with a penalty on weights, and LightGBM's LambdaMART. Both are deliberately simple:
there are few questions, and users search other code.

The table has NDCG@10 as the mean over repositories, by files (lines are ignored): of annotations,
of the benchmark's subjects of commits, and of the subjects and entire messages of all others. The
ranker that ranks a question was trained without the questions and commits of its repository.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import numpy.typing as npt
from bare_clones import clone_of
from questions import same_file
from ranked_corpus import corpus_of, history_at
from scipy.optimize import minimize

from winnow.index.commits.history import CommitHistory
from winnow.index.vectors.embeddings import load_model
from winnow.ranking.semantic import features as of
from winnow.ranking.semantic.decision_trees import (
    MAX_LEAVES,
    MAX_SCORED,
    Ranker,
    model_name,
)
from winnow.ranking.semantic.search import weigh

Rows = npt.NDArray[np.float32]

MODELS = Path(of.__file__).parent / "models"
FOLDS = 5
# Categories of queries that were made from commits.
SUBJECT, REPORT = "commit", "report"
COLUMNS = ("annotations", "commits", "other commits", "reports")
# For queries that describe work on the code, and for others.
TASKS = (False, True)
# For questions: the weight of a query from a commit, where an annotation has weight 1. There are 15
# times as many, and most are no questions: with .05, NDCG@10 on annotations is .004 lower.
COMMIT_WEIGHT = 0.02
# For queries that describe work: the weight of an annotation, where a query from a commit has
# weight 1. Without annotations, the quality is the same, except for single names.
QUESTION_WEIGHT = 0.3
# Features with different weights if the query is a single name.
SYMBOL_FEATURES = ("defines", "defines_type", "named_like", "best_chunk", "definition")
# The penalty on squared weights; 100 to 400 give the same quality.
PENALTY = 200.0
# The weight of the sum relative to the trees; from 0.6 to 2, NDCG@10 changes by less than 0.001.
SUM_SHARE = 0.8
# A higher value of these features never lowers (or never raises) a candidate's score.
POSITIVE = frozenset(
    """
    best_chunk bare_chunk top_chunks whole comment head type definition most focus said said_at_once
    all_names first_terms defines defines_type defines_title imports_name joined_names single_names
    named_like name_share name_only name_says name_rarity first_in_name folder_says path_says
    imported hand near_best near_top near_document near_path path_written earlier_messages
    message_says changes_together
    """.split()
)
NEGATIVE = frozenset(
    "test side prose data generated generated_text declarations paired_header".split()
)
BAGS = 4
ROUNDS = 150
PARAMETERS = {
    "objective": "lambdarank",
    "learning_rate": 0.05,
    "num_leaves": 7,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.4,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "lambdarank_truncation_level": 12,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


class Sample(NamedTuple):
    """A query: its candidates, their relevance, and the total number of targets.

    ``measured`` is True for a subject that belongs to the benchmark."""

    repository: str
    language: str
    category: str
    features: Mapping[str, Rows]
    relevant: npt.NDArray[np.bool_]
    targets: npt.NDArray[np.int64]  # by candidate: the number of its target, or -1
    target_count: int
    symbol: bool
    task: bool
    measured: bool = False


# --- questions -------------------------------------------------------------------------------


def samples_of(
    repository: Mapping[str, Any],
    questions: Sequence[Mapping[str, Any]],
    folder: Path,
    history: CommitHistory | None,
    embeddings: str,
) -> Iterator[Sample]:
    """Yield the questions about a repository with their features."""
    corpus = corpus_of(folder, embeddings, history)
    model = load_model(embeddings)
    for question in questions:
        targets = [target["path"] for target in question["targets"]]
        weighed = weigh(corpus, question["query"], dense=model)
        if weighed is None:
            continue
        paths = [corpus.paths[file] for file in weighed.evidence.candidates.files]
        hit = np.array(
            [
                next((n for n, target in enumerate(targets) if same_file(path, target)), -1)
                for path in paths
            ]
        )
        yield Sample(
            repository["name"],
            repository["language"],
            question["category"],
            weighed.features,
            hit >= 0,
            hit,
            len(targets),
            weighed.evidence.question.symbol,
            weighed.evidence.question.task,
            question.get("measured", False),
        )


def all_samples(arguments: argparse.Namespace, embeddings: str) -> Iterator[Sample]:
    """Yield the annotations and the commits of all repositories with their features."""
    annotations = _by_repository(arguments.annotations)
    for entry in json.loads(arguments.repositories.read_text()):
        root = entry.get("root") or ""
        history = history_at(clone_of(arguments.clones, entry["github"]), entry["revision"], root)
        folder = arguments.corpora / entry["name"] / root
        yield from samples_of(entry, annotations[entry["name"]], folder, history, embeddings)
    commits = _by_repository(arguments.commits / "history.jsonl")
    for entry in json.loads((arguments.commits / "repos.json").read_text()):
        history = history_at(clone_of(arguments.clones, entry["github"]), entry["tree"])
        folder = arguments.commits / "corpora" / entry["name"]
        yield from samples_of(entry, commits[entry["name"]], folder, history, embeddings)


def _by_repository(file: Path) -> Mapping[str, list[Mapping[str, Any]]]:
    found = defaultdict(list)
    for line in file.read_text().splitlines():
        question = json.loads(line)
        found[question["repo"]].append(question)
    return found


# --- training --------------------------------------------------------------------------------


def train(
    samples: Sequence[Sample], names: Sequence[str], *, task: bool
) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a :class:`winnow.ranking.semantic.decision_trees.Ranker`, without its
    probabilities. ``task`` trains the ranker of queries that describe work on the code."""
    weights = (QUESTION_WEIGHT, 1.0) if task else (1.0, COMMIT_WEIGHT)
    data = _training_data(samples, names, *weights)
    boosters = [_boosted(data, names, bag) for bag in range(BAGS)]
    return {
        "names": np.array(names),
        **_weighted_sum(data, names),
        **_packed([tree for model in boosters for tree in model.dump_model()["tree_info"]]),
        "slope": np.array(1.0),
        "offset": np.array(0.0),
    }


class TrainingData(NamedTuple):
    """Candidates grouped by question: rows of features ``x``, relevance ``y``, the number of
    candidates per question, and the weight of each question."""

    x: Rows
    y: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.int64]
    w: npt.NDArray[np.float64]


def _training_data(
    samples: Sequence[Sample], names: Sequence[str], question_weight: float, commit_weight: float
) -> TrainingData:
    rows, relevant, sizes, weights = [], [], [], []
    for sample in samples:
        best = np.argsort(-sample.features["hand"], kind="stable")[:MAX_SCORED]
        if sample.relevant[best].any():
            rows.append(np.stack([sample.features[name][best] for name in names], axis=1))
            relevant.append(sample.relevant[best])
            sizes.append(len(best))
            is_commit = sample.category in (SUBJECT, REPORT)
            weights.append(commit_weight if is_commit else question_weight)
    return TrainingData(
        np.concatenate(rows), np.concatenate(relevant), np.array(sizes), np.array(weights)
    )


def _weighted_sum(data: TrainingData, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Return the feature weights that maximize the likelihood of the relevant files."""
    x, y, groups, w = data
    symbol = x[:, names.index("symbol")][:, None]
    special = [names.index(name) for name in SYMBOL_FEATURES]
    columns = np.concatenate([x, x[:, special] * symbol], axis=1).astype(np.float64)
    spread = columns.std(axis=0) + 1e-6
    columns /= spread
    starts = np.cumsum(groups) - groups
    each = np.repeat(w, groups)
    shares = y / np.repeat(np.add.reduceat(y.astype(float), starts), groups) * each

    def loss(weights: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        scores = columns @ weights
        scores -= np.repeat(np.maximum.reduceat(scores, starts), groups)
        sums = np.repeat(np.add.reduceat(np.exp(scores), starts), groups)
        likelihood = float((shares * (scores - np.log(sums))).sum())
        slope = columns.T @ (shares - np.exp(scores) / sums * each)
        penalty = PENALTY * float(weights @ weights) / 2
        return penalty - likelihood, PENALTY * weights - slope

    start = np.zeros(columns.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x / spread
    found *= SUM_SHARE
    of_symbols = np.zeros(len(names))
    of_symbols[special] = found[len(names) :]
    return {
        "weights": found[: len(names)].astype(np.float32),
        "symbol_weights": of_symbols.astype(np.float32),
    }


def _boosted(training: TrainingData, names: Sequence[str], bag: int) -> lightgbm.Booster:
    x, y, groups, weights = training
    seeds = {"seed": bag + 1, "bagging_seed": bag + 3, "feature_fraction_seed": bag + 2}
    signs = [1 if name in POSITIVE else -1 if name in NEGATIVE else 0 for name in names]
    each = np.repeat(weights, groups)
    data = lightgbm.Dataset(x, y.astype(int), group=groups, weight=each, feature_name=list(names))
    return lightgbm.train({**PARAMETERS, **seeds, "monotone_constraints": signs}, data, ROUNDS)


def _packed(trees: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Store the trees as arrays. Values are divided by the number of bags, so that the sum over
    all trees is the mean of the bags."""
    conditions = MAX_LEAVES - 1
    columns = np.zeros((len(trees), conditions), np.uint8)
    thresholds = np.full((len(trees), conditions), np.inf, np.float32)
    masks = np.full((len(trees), conditions), 0xFF, np.uint8)
    values = np.zeros((len(trees), MAX_LEAVES), np.float32)
    for row, tree in enumerate(trees):
        leaves: list[float] = []
        conditions_of_tree: list[tuple[int, np.float32, int]] = []
        _walk(tree["tree_structure"], leaves, conditions_of_tree)
        for place, condition in enumerate(conditions_of_tree):
            columns[row, place], thresholds[row, place], masks[row, place] = condition
        values[row, : len(leaves)] = np.array(leaves) / BAGS
    return {"columns": columns, "thresholds": thresholds, "masks": masks, "values": values}


def _walk(
    node: Mapping[str, Any], leaves: list[float], conditions: list[tuple[int, np.float32, int]]
) -> int:
    """Return the bits of the leaves below a node; leaves are numbered from left to right. Append
    the leaves and the conditions. Each condition has the bits that remain if it is false."""
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        return 1 << (len(leaves) - 1)
    assert node["decision_type"] == "<="
    left = _walk(node["left_child"], leaves, conditions)
    # Features have 32 bits: round the threshold down to a 32-bit number.
    near = np.float32(node["threshold"])
    if float(near) > node["threshold"]:
        near = np.nextafter(near, np.float32(-np.inf))
    conditions.append((node["split_feature"], near, 0xFF & ~left))
    return left | _walk(node["right_child"], leaves, conditions)


def with_probabilities(
    arrays: Mapping[str, npt.NDArray[Any]],
    samples: Sequence[Sample],
    scores: Sequence[Rows],
    *,
    task: bool,
) -> dict[str, npt.NDArray[Any]]:
    """Return the ranker's arrays with a mapping from scores to probabilities, fitted to scores of
    its questions when they were not in the training data."""
    own = [number for number, sample in enumerate(samples) if sample.task == task]
    x = np.concatenate([scores[number] for number in own]).astype(np.float64)
    y = np.concatenate([samples[number].relevant for number in own])

    def loss(line: npt.NDArray[np.float64]) -> float:
        return float(np.logaddexp(0, np.where(y, -1, 1) * (line[0] * x + line[1])).sum())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return {**arrays, "slope": np.array(slope), "offset": np.array(offset)}


# --- evaluation ------------------------------------------------------------------------------


def ndcg(sample: Sample, scores: Rows) -> float:
    """Return NDCG@10; each target counts once, at its first file."""
    order = np.argsort(-scores, kind="stable")[:10]
    seen: set[int] = set()
    gain = 0.0
    for rank, target in enumerate(sample.targets[order].tolist()):
        if target >= 0 and target not in seen:
            seen.add(target)
            gain += 1 / math.log2(rank + 2)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(10, sample.target_count)))


def cross_validated(
    samples: Sequence[Sample], names: Sequence[str], group: Callable[[Sample], str]
) -> list[Rows]:
    """Score each question's candidates with a ranker that was trained on the other groups."""
    scores: dict[int, Rows] = {}
    for held_out in sorted({group(sample) for sample in samples}):
        training = [sample for sample in samples if group(sample) != held_out]
        rankers = {task: Ranker(train(training, names, task=task)) for task in TASKS}
        # Names are ranked without vectors, see `winnow.ranking.semantic.search`.
        without = [name for name in names if name not in of.DENSE_FEATURES]
        lexical = Ranker(train(training, without, task=False))
        for number, sample in enumerate(samples):
            if group(sample) == held_out:
                chosen = lexical if sample.symbol else rankers[sample.task]
                scores[number] = chosen.scores(sample.features, symbol=sample.symbol)
    return [scores[number] for number in range(len(samples))]


def row(title: str, samples: Sequence[Sample], scores: Sequence[Rows]) -> str:
    """Format a row of the table: means over repositories by `COLUMNS`, and means of the categories
    of annotations."""
    of_column: dict[str, dict[str, list[float]]] = {column: {} for column in COLUMNS}
    of_category = defaultdict(list)
    for sample, its_scores in zip(samples, scores, strict=True):
        value = ndcg(sample, its_scores)
        column = _column(sample)
        of_column[column].setdefault(sample.repository, []).append(value)
        if column == COLUMNS[0]:
            of_category[sample.category].append(value)
    means = [np.mean([np.mean(one) for one in each.values()]) for each in of_column.values()]
    shown = "".join(f"{mean:14.4f}" for mean in means)
    categories = "".join(f"{np.mean(of_category[name]):14.3f}" for name in sorted(of_category))
    return f"{title:36}{shown}{categories}"


def _column(sample: Sample) -> str:
    annotations, measured, subjects, reports = COLUMNS
    if sample.category == SUBJECT:
        return measured if sample.measured else subjects
    return reports if sample.category == REPORT else annotations


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--commits", type=Path, required=True)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--no-embeddings", action="store_true")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    embeddings = "off" if arguments.no_embeddings else "auto"
    samples = list(all_samples(arguments, embeddings))
    basic = [*of.FEATURES] if arguments.no_embeddings else [*of.FEATURES, *of.DENSE_FEATURES]
    for has_commits in (False, True):
        names = [*basic, *of.COMMIT_FEATURES] if has_commits else basic
        complete = [sample for sample in samples if sample.features.keys() >= set(names)]
        print(f"{'with' if has_commits else 'without'} the commits of the repository")
        scores = evaluate(complete, names)
        for task in TASKS if arguments.save else ():
            ranker = train(complete, names, task=task)
            name = model_name(dense=not arguments.no_embeddings, commits=has_commits, task=task)
            with open(MODELS / f"{name}.npz", "wb") as file:
                savez: Callable[..., None] = np.savez_compressed
                savez(file, **with_probabilities(ranker, complete, scores, task=task))


def evaluate(samples: Sequence[Sample], names: Sequence[str]) -> list[Rows]:
    """Print the quality of rankers. Return the scores of each question's candidates by rankers that
    were trained without its repository."""
    categories = sorted({sample.category for sample in samples} - {SUBJECT, REPORT})
    titles = "".join(f"{name:>14}" for name in COLUMNS) + "".join(
        f"{name:>14}" for name in categories
    )
    print(f"{'NDCG@10':36}{titles}")
    print(row("manual weights", samples, [sample.features["hand"] for sample in samples]))
    numbers = {name: place for place, name in enumerate(sorted({s.repository for s in samples}))}
    scores = cross_validated(samples, names, lambda s: str(numbers[s.repository] % FOLDS))
    print(row(f"trained, {FOLDS} groups of repositories", samples, scores), flush=True)
    return scores


if __name__ == "__main__":
    main()
