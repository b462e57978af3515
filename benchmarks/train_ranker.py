"""Train the ranker of semantic search and measure it on other code.

    python benchmarks/train_ranker.py --annotations dev.jsonl --repositories repos.json \
        --corpora DIR [--histories DIR] [--save] [--no-embeddings]

Needs `winnow-ls[benchmark,embeddings]`; takes some ten minutes.

Annotations are questions to repositories with the files that answer them. With `--histories`,
commits of the same repositories are questions, too: their subjects, and the one or two files that
they changed; they count less. `--save` puts the model where the package has it.

What is trained are two rankers whose scores are added up: a weighted sum of the features, by the
likelihood of the relevant files (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise
Approach", 2007) with a penalty on weights, and LightGBM's LambdaMART. Each is kept simple on
purpose: there are few questions, and the code that they are about is not that of the users.

The table has NDCG@10 as the mean over repositories, by files (lines do not count). Whoever is
judged was not trained on: neither its repository's questions nor its commits.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import numpy.typing as npt
from questions import same_file
from ranked_corpus import corpus_of
from scipy.optimize import minimize

from winnow.index.vectors.embeddings import AUTO, load_model
from winnow.ranking.semantic import features as of
from winnow.ranking.semantic.decision_trees import MAX_LEAVES, MAX_SCORED, Ranker
from winnow.ranking.semantic.search import weigh

Rows = npt.NDArray[np.float32]

MODELS = Path(of.__file__).parent / "models"
FOLDS = 5
# What a commit counts, where a question is 1, and how many of a repository there are at most.
COMMIT = "commit"
COMMIT_WEIGHT = 0.3
COMMITS = 60
# Features that weigh otherwise where a single name is asked for.
SYMBOL_FEATURES = ("defines", "defines_type", "named_like", "best_chunk", "definition")
# On the squares of weights: 100 to 400 do as well.
PENALTY = 200.0
# What the sum counts against the trees: from 0.6 to 2, NDCG@10 does not change by 0.001.
SUM_SHARE = 0.8
# More of these never makes a candidate worse, or better.
SPEAKS_FOR = frozenset(
    """
    best_chunk bare_chunk top_chunks whole comment head type definition most focus said said_at_once
    all_names first_terms defines defines_type defines_title imports_name joined_names single_names
    named_like name_share name_only name_says name_rarity first_in_name folder_says path_says
    imported hand near_best near_top near_document near_path
    """.split()
)
SPEAKS_AGAINST = frozenset(
    "test side prose data generated generated_text declarations paired_header".split()
)
BAGS = 4
ROUNDS = 100
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
    """A question: its candidates, which of them are relevant, and how many there are in all."""

    repository: str
    language: str
    category: str
    features: Mapping[str, Rows]
    relevant: npt.NDArray[np.bool_]
    targets: npt.NDArray[np.int64]  # for each candidate the number of its target, or -1
    wanted: int
    symbol: bool
    weight: float


# --- questions -------------------------------------------------------------------------------

# Commits that say nothing of what they change.
_EMPTY = re.compile(
    r"(?i)^(?:merge|bump|release|v?\d|chore|docs?\b|ci\b|build\b|revert|update dep|prepare|style"
    r"|test|changelog|updated?\b)|typo|clang-format|copyright|lint|whitespace|deps|version|warning"
)
_NO_SOURCE = re.compile(r"(?i)test|\.md$|mock|example")
_NUMBERS = re.compile(r"\(?#\d+\)?|\b[a-f0-9]{7,40}\b|:\w+:|\[[^\]]*\]|^\w+(?:\([^)]*\))?!?: ")
_SUBJECT_WORDS = range(4, 15)
_MOST_CHANGED = 2
_HISTORY = 6_000


def samples_of(
    repository: Mapping[str, Any],
    annotations: Sequence[Mapping[str, Any]],
    corpora: Path,
    histories: Path | None,
    embeddings: str,
) -> Iterator[Sample]:
    """The questions to a repository with their features."""
    name, root = repository["name"], repository.get("root") or ""
    corpus = corpus_of(corpora / name / root, embeddings)
    model = load_model(embeddings).model

    def sample(
        question: str, category: str, targets: Sequence[str], weight: float
    ) -> Sample | None:
        weighed = weigh(corpus, question, dense=model)
        if weighed is None:
            return None
        paths = [corpus.paths[file] for file in weighed.evidence.candidates.files]
        hit = np.array(
            [
                next((n for n, one in enumerate(targets) if same_file(path, one)), -1)
                for path in paths
            ]
        )
        return Sample(
            name,
            repository["language"],
            category,
            weighed.features,
            hit >= 0,
            hit,
            len(targets),
            weighed.evidence.question.symbol,
            weight,
        )

    for one in annotations:
        targets = [target["path"] for target in one["targets"]]
        found = sample(one["query"], one["category"], targets, 1.0)
        if found is not None:
            yield found
    if histories is not None:
        clone = histories / repository["github"].replace("/", "+") / "repo"
        below = f"{root}/" if root else ""
        for subject, changed in commits(clone, repository["revision"], below, set(corpus.paths)):
            found = sample(subject, COMMIT, changed, COMMIT_WEIGHT)
            if found is not None:
                yield found


def commits(clone: Path, revision: str, below: str, files: set[str]) -> list[tuple[str, list[str]]]:
    """Subjects of commits before a revision, and the few files that each has changed."""
    command = ["git", "--git-dir", str(clone), "log", "-n", str(_HISTORY), "--no-merges"]
    command += ["--no-renames", "--format=%x01%s", "--name-only", revision]
    log = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    found = []
    for commit in log.decode("utf-8", "replace").split("\1")[1:]:
        subject, *names = (line for line in commit.split("\n") if line)
        inside = [name[len(below) :] for name in names if name.startswith(below)]
        changed = [name for name in inside if name in files and not _NO_SOURCE.search(name)]
        told = _NUMBERS.sub("", subject).strip()
        if (
            1 <= len(changed) <= _MOST_CHANGED
            and len(told.split()) in _SUBJECT_WORDS
            and not _EMPTY.search(subject)
        ):
            found.append((told, changed))
    # Any of them, but the same ones every time.
    found.sort(key=lambda one: zlib.crc32(one[0].encode()))
    return found[:COMMITS]


# --- training --------------------------------------------------------------------------------


def train(samples: Sequence[Sample], names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """What :class:`winnow.ranking.semantic.decision_trees.Ranker` is made of; no probabilities
    yet."""
    # Trees gain nothing from commits.
    asked = _learned([one for one in samples if one.category != COMMIT], names)
    boosters = [_boosted(asked, names, bag) for bag in range(BAGS)]
    return {
        "names": np.array(names),
        **_weighted_sum(_learned(samples, names), names),
        **_packed([tree for one in boosters for tree in one.dump_model()["tree_info"]]),
        "slope": np.float64(1),
        "offset": np.float64(0),
    }


class Learned(NamedTuple):
    """Candidates to learn from, one question's after the other's: rows of features ``x``, whether
    they are relevant, how many each question has, and what it counts."""

    x: Rows
    y: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.int64]
    w: npt.NDArray[np.float64]


def _learned(samples: Sequence[Sample], names: Sequence[str]) -> Learned:
    rows, relevant, sizes, weights = [], [], [], []
    for one in samples:
        best = np.argsort(-one.features["hand"], kind="stable")[:MAX_SCORED]
        if one.relevant[best].any():
            rows.append(np.stack([one.features[name][best] for name in names], axis=1))
            relevant.append(one.relevant[best])
            sizes.append(len(best))
            weights.append(one.weight)
    return Learned(
        np.concatenate(rows), np.concatenate(relevant), np.array(sizes), np.array(weights)
    )


def _weighted_sum(learned: Learned, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Weights of the features that make what is relevant most likely."""
    x, y, groups, w = learned
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


def _boosted(learned: Learned, names: Sequence[str], bag: int) -> lightgbm.Booster:
    x, y, groups, _ = learned
    seeds = {"seed": bag + 1, "bagging_seed": bag + 3, "feature_fraction_seed": bag + 2}
    signs = [1 if name in SPEAKS_FOR else -1 if name in SPEAKS_AGAINST else 0 for name in names]
    data = lightgbm.Dataset(x, y.astype(int), group=groups, feature_name=list(names))
    return lightgbm.train({**PARAMETERS, **seeds, "monotone_constraints": signs}, data, ROUNDS)


def _packed(trees: Sequence[Mapping[str, Any]]) -> dict[str, npt.NDArray[Any]]:
    """Trees as arrays; those of all bags together give the mean of the bags."""
    conditions = MAX_LEAVES - 1
    columns = np.zeros((len(trees), conditions), np.uint8)
    thresholds = np.full((len(trees), conditions), np.inf, np.float32)
    masks = np.full((len(trees), conditions), 0xFF, np.uint8)
    values = np.zeros((len(trees), MAX_LEAVES), np.float32)
    for row, tree in enumerate(trees):
        leaves: list[float] = []
        asked: list[tuple[int, np.float32, int]] = []
        _walk(tree["tree_structure"], leaves, asked)
        for place, condition in enumerate(asked):
            columns[row, place], thresholds[row, place], masks[row, place] = condition
        values[row, : len(leaves)] = np.array(leaves) / BAGS
    return {"columns": columns, "thresholds": thresholds, "masks": masks, "values": values}


def _walk(
    node: Mapping[str, Any], leaves: list[float], asked: list[tuple[int, np.float32, int]]
) -> int:
    """The bits of the leaves below a node, which are numbered from left to right. Adds them, and
    the conditions, each with the bits that are left where it does not hold."""
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        return 1 << (len(leaves) - 1)
    assert node["decision_type"] == "<="
    left = _walk(node["left_child"], leaves, asked)
    # Features have 32 bits: the greatest number of those that is not above the threshold.
    near = np.float32(node["threshold"])
    if float(near) > node["threshold"]:
        near = np.nextafter(near, np.float32(-np.inf))
    asked.append((node["split_feature"], near, 0xFF & ~left))
    return left | _walk(node["right_child"], leaves, asked)


def with_probabilities(
    arrays: Mapping[str, npt.NDArray[Any]], samples: Sequence[Sample], scores: Sequence[Rows]
) -> dict[str, npt.NDArray[Any]]:
    """The ranker with what makes a probability of a score, from scores of what it was not trained
    on."""
    x = np.concatenate(list(scores)).astype(np.float64)
    y = np.concatenate([one.relevant for one in samples])

    def loss(line: npt.NDArray[np.float64]) -> float:
        return float(np.logaddexp(0, np.where(y, -1, 1) * (line[0] * x + line[1])).sum())

    slope, offset = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead").x
    return {**arrays, "slope": np.float64(slope), "offset": np.float64(offset)}


# --- judging ---------------------------------------------------------------------------------


def ndcg(sample: Sample, scores: Rows) -> float:
    """NDCG@10: each target counts once, at its first file."""
    order = np.argsort(-scores, kind="stable")[:10]
    seen: set[int] = set()
    gain = 0.0
    for rank, target in enumerate(sample.targets[order].tolist()):
        if target >= 0 and target not in seen:
            seen.add(target)
            gain += 1 / math.log2(rank + 2)
    return gain / sum(1 / math.log2(rank + 2) for rank in range(min(10, sample.wanted)))


def cross_validated(
    samples: Sequence[Sample], names: Sequence[str], group: Callable[[Sample], str]
) -> list[Rows]:
    """The scores of each question's candidates by a ranker that was trained on other groups."""
    scores: dict[int, Rows] = {}
    for left_out in sorted({group(one) for one in samples}):
        known = [one for one in samples if group(one) != left_out]
        ranker = Ranker(train(known, names))
        # Names are ranked without vectors, see `winnow.ranking.semantic.search`.
        plain = Ranker(train(known, [*of.FEATURES])) if {*names} - {*of.FEATURES} else ranker
        for number, one in enumerate(samples):
            if group(one) == left_out:
                its = plain if one.symbol else ranker
                scores[number] = its.scores(one.features, symbol=one.symbol)
    return [scores[number] for number in range(len(samples))]


def row(title: str, samples: Sequence[Sample], scores: Sequence[Rows]) -> str:
    """A row of the table: over repositories, and by categories."""
    of_repository, of_category = defaultdict(list), defaultdict(list)
    for one, its in zip(samples, scores, strict=True):
        if one.category != COMMIT:
            value = ndcg(one, its)
            of_repository[one.repository].append(value)
            of_category[one.category].append(value)
    mean = np.mean([np.mean(values) for values in of_repository.values()])
    categories = "".join(f"{np.mean(of_category[name]):14.3f}" for name in sorted(of_category))
    return f"{title:44}{mean:8.4f}{categories}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--annotations", type=Path, required=True)
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--histories", type=Path)
    parser.add_argument("--no-embeddings", action="store_true")
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    repositories = {one["name"]: one for one in json.loads(arguments.repositories.read_text())}
    annotations = defaultdict(list)
    for line in arguments.annotations.read_text().splitlines():
        one = json.loads(line)
        annotations[one["repo"]].append(one)
    embeddings = "off" if arguments.no_embeddings else AUTO
    samples = [
        sample
        for name in sorted(annotations)
        for sample in samples_of(
            repositories[name],
            annotations[name],
            arguments.corpora,
            arguments.histories,
            embeddings,
        )
    ]
    names = [*of.FEATURES] if arguments.no_embeddings else [*of.FEATURES, *of.DENSE_FEATURES]
    arrays = judged([one for one in samples if one.features.keys() >= set(names)], names)
    if arguments.save:
        MODELS.mkdir(exist_ok=True)
        name = "lexical" if arguments.no_embeddings else "dense"
        with open(MODELS / f"{name}.npz", "wb") as file:
            savez: Callable[..., None] = np.savez_compressed
            savez(file, **arrays)


def judged(samples: Sequence[Sample], names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """Train a ranker, and print how well it does."""
    categories = sorted({one.category for one in samples} - {COMMIT})
    print(f"{'NDCG@10':44}{'all':>8}" + "".join(f"{name:>14}" for name in categories))
    print(row("weights of hand", samples, [one.features["hand"] for one in samples]))
    numbers = {name: place for place, name in enumerate(sorted({s.repository for s in samples}))}
    groups: Sequence[tuple[str, Callable[[Sample], str]]] = (
        (f"trained, {FOLDS} groups of repositories", lambda s: str(numbers[s.repository] % FOLDS)),
        ("trained, without the language", lambda s: s.language),
        ("trained, without the repository", lambda s: s.repository),
    )
    for title, group in groups:
        scores = cross_validated(samples, names, group)
        print(row(title, samples, scores), flush=True)
    return with_probabilities(train(samples, names), samples, scores)


if __name__ == "__main__":
    main()
