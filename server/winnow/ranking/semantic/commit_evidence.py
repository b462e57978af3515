"""Score files by the messages of the commits that changed them, and by what changed with them.

A commit message says what a change is for in the words of people, which need not occur in the code.
Messages are scored by BM25, and a file gets a power of the scores of its commits: a message that is
nearly the query counts more than many that share a word with it. A commit of many files says less
about each of them, and an old commit less about the code as it is.

A history must end before the change that a query is about: otherwise, its message is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winnow.index.commits.history import CommitHistory
from winnow.index.postings.corpus import Corpus
from winnow.index.postings.segment import chunk_numbers
from winnow.index.vectors.best import Floats
from winnow.ranking.semantic.question import Question

# BM25's parameters for messages. A term counts once per message.
K1, B = 1.2, 0.3
# A commit with this number of newer ones counts half as much as the newest.
HALF_COMMITS = 300
# Files that change with the best candidates are likely answers, too.
SEEDS = 5
_LEAST = 1e-6

Numbers = npt.NDArray[np.int64]


class CommitEvidence:
    """The evidence of commits for the files of a corpus, for one query."""

    def __init__(self, corpus: Corpus, question: Question) -> None:
        self._histories = _changed_files(corpus)
        self._messages, self._nearest = np.zeros((2, len(corpus.paths)))
        self._best = 0.0
        for changed in self._histories:
            scores = _message_scores(changed.history, question)
            self._best = max(self._best, float(scores.max(initial=0)))
            weighted = scores**2 * changed.weights
            self._messages += changed.sums(weighted) / np.sqrt(1 + changed.mass)
            self._nearest += changed.sums(scores**2 * weighted)

    def found(self, limit: int, ranks: npt.NDArray[np.int32]) -> list[int]:
        """Return the files for which there is the most evidence, best first; of equal ones, those
        with the lowest ranks."""
        files = np.flatnonzero(self._messages)
        order = np.lexsort((ranks[files], -self._messages[files]))
        found: list[int] = files[order[:limit]].tolist()
        return found

    def features(self, files: Numbers, hand: Floats) -> dict[str, Floats]:
        """Return the features of candidates; ``hand`` are their manual scores.

        `message_says` is not to be scaled; the others are scaled by their maximum.
        """
        found = {
            # The messages of a file's commits, relative to how often it changes; and how near the
            # nearest are to the query, relative to the nearest message of all commits.
            "earlier_messages": self._messages[files],
            "message_says": self._nearest[files] ** 0.25 / max(self._best, _LEAST),
            "changes_together": self._together(files, hand),
        }
        return {name: values.astype(np.float32) for name, values in found.items()}

    def _together(self, files: Numbers, hand: Floats) -> Floats:
        """Return how often each candidate changed with the best ones."""
        total = np.zeros(len(files))
        for place in np.argsort(-hand, kind="stable")[:SEEDS].tolist():
            for changed in self._histories:
                often = changed.changed_with(int(files[place]))[files]
                often[place] = 0
                total += hand[place] * often
        return total


class _ChangedFiles:
    """The files of a corpus in a history. ``numbers`` are the numbers in the corpus of the paths in
    the history, or -1; ``count`` is the number of all files in the corpus.

    ``weights`` say how recent a commit is and how much it is about each of its files; ``mass`` is
    the sum of the weights of each file's commits.
    """

    def __init__(self, history: CommitHistory, numbers: Numbers, count: int) -> None:
        self.history = history
        self._count = count
        changed = np.diff(history.file_starts)
        self._shares = 1 / np.sqrt(np.maximum(changed, 1))
        self.weights = self._shares / (1 + np.arange(history.count) / HALF_COMMITS)
        # Pairs of a commit and a file, by commit and by file.
        files = numbers[history.files]
        in_corpus = files >= 0
        self._files = files[in_corpus]
        self._commits = np.repeat(np.arange(history.count), changed)[in_corpus]
        self._of_commits = _Groups(self._commits, history.count)
        self._by_file = np.argsort(self._files, kind="stable")
        self._of_files = _Groups(self._files, count)
        self.mass = self.sums(self.weights)

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each file's commits."""
        total: Floats = np.bincount(self._files, values[self._commits], self._count).astype(
            np.float64, copy=False
        )
        return total

    def changed_with(self, file: int) -> Floats:
        """Return how often each file changed with one, relative to how often both changed."""
        commits = self._commits[self._by_file[self._of_files.members([file])]]
        pairs = self._of_commits.members(commits)
        together = np.bincount(self._files[pairs], self._shares[self._commits[pairs]], self._count)
        counts = self._of_files.counts
        often: Floats = together / np.sqrt(np.maximum(counts * counts[file], 1))
        return often


class _Groups:
    """The places of the members of each group in a sorted array of groups."""

    def __init__(self, groups: Numbers, count: int) -> None:
        self.counts = np.bincount(groups, minlength=count)
        self._starts = np.cumsum(self.counts) - self.counts

    def members(self, groups: Sequence[int] | Numbers) -> Numbers:
        """Return the places of the members of some groups."""
        return chunk_numbers(self._starts[groups], self.counts[groups])


def _message_scores(history: CommitHistory, question: Question) -> Floats:
    """Return BM25 of the message of each commit."""
    scores: Floats = np.zeros(history.count)
    average = max(float(history.lengths.mean()), 1.0) if history.count else 1.0
    weights = (K1 + 1) / (1 + K1 * (1 - B + B * history.lengths / average))
    for term, weight in zip(question.numbers, question.weights, strict=True):
        commits = history.with_term(term)
        rarity = np.log(1 + (history.count - len(commits) + 0.5) / (len(commits) + 0.5))
        scores[commits] += weight * rarity * weights[commits]
    return scores


def _changed_files(corpus: Corpus) -> Sequence[_ChangedFiles]:
    """Return the files of each root's history, cached in the corpus."""
    histories = [history for history in corpus.histories if history is not None]
    known: Sequence[_ChangedFiles] = corpus.cache.get("commits", ())
    if [changed.history for changed in known] != histories:
        known = [
            _ChangedFiles(history, _numbers(corpus, root, history), len(corpus.paths))
            for root, history in enumerate(corpus.histories)
            if history is not None
        ]
        corpus.cache["commits"] = known
    return known


def _numbers(corpus: Corpus, root: int, history: CommitHistory) -> Numbers:
    """Return the number in the corpus of each path in a history, or -1."""
    places = np.flatnonzero(corpus.root_of == root).tolist()
    known = {corpus.paths[place]: place for place in places}
    return np.array([known.get(path, -1) for path in history.paths], np.int64)
