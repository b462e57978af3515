"""Files are found by the messages of commits that changed them, and by what changed with them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from ranked_texts import corpus_of
from winnow.index.commits.git_log import LoggedCommit
from winnow.index.commits.history import CommitHistory, CommitTable
from winnow.index.commits.messages import commit_of
from winnow.index.postings.corpus import Corpus
from winnow.ranking.semantic.commit_evidence import CommitEvidence
from winnow.ranking.semantic.question import question_of

FILES = ["a.py", "b.py", "c.py", "d.py", "e.py"]
QUERY = "Stop losing cookies on redirects"


def history_of(*commits: tuple[str, Sequence[str]]) -> CommitHistory:
    logged = [
        LoggedCommit(number.to_bytes(8, "big"), message, tuple(paths))
        for number, (message, paths) in enumerate(commits)
    ]
    return CommitHistory(
        CommitTable.of([commit_of(commit, masked=True, rules=()) for commit in logged])
    )


def corpus_with(*commits: tuple[str, Sequence[str]], files: Sequence[str] = FILES) -> Corpus:
    corpus = corpus_of(dict.fromkeys(files, "x = 1\n"))
    return msgspec.structs.replace(corpus, histories=[history_of(*commits)])


def found(corpus: Corpus, query: str = QUERY, limit: int = 15) -> list[str]:
    evidence = CommitEvidence(corpus, question_of(query, lambda numbers: [1.0] * len(numbers)))
    ranks = np.argsort(np.argsort(corpus.paths)).astype(np.int32)
    return [corpus.paths[file] for file in evidence.found(limit, ranks)]


def features(corpus: Corpus, hand: Sequence[float] = (0,) * 5) -> dict[str, list[float]]:
    evidence = CommitEvidence(corpus, question_of(QUERY, lambda numbers: [1.0] * len(numbers)))
    rows = evidence.features(np.arange(len(corpus.paths)), np.array(hand, np.float32))
    return {name: [round(value, 3) for value in row.tolist()] for name, row in rows.items()}


def test_the_files_of_the_most_similar_messages_come_first() -> None:
    corpus = corpus_with(
        ("Update dependencies", ["a.py", "e.py"]),
        ("Keep cookies on redirects", ["b.py"]),
        ("Rename cookies", ["c.py", "gone.py"]),
    )
    assert found(corpus) == ["b.py", "c.py"]
    assert found(corpus, limit=1) == ["b.py"]
    assert found(corpus, "elephants") == []


def test_a_commit_of_few_files_says_more_about_each() -> None:
    message = "Keep cookies on redirects"
    assert found(corpus_with((message, ["a.py", "b.py", "c.py"]), (message, ["d.py"])))[0] == "d.py"


def test_a_recent_commit_says_more() -> None:
    others = [("Other work", ["e.py"])] * 400
    message = "Keep cookies on redirects"
    assert found(corpus_with((message, ["b.py"]), *others, (message, ["a.py"]))) == ["b.py", "a.py"]


def test_a_file_that_always_changes_is_not_found_for_that() -> None:
    busy = [("Other work", ["a.py"])] * 50
    corpus = corpus_with(("Keep cookies on redirects", ["a.py", "b.py"]), *busy)
    assert found(corpus) == ["b.py", "a.py"]


def test_equal_files_are_in_the_order_of_paths() -> None:
    commits = ("Keep cookies", ["a.py", "b.py", "c.py"])
    for files in (FILES, FILES[::-1]):
        assert found(corpus_with(commits, files=files)) == ["a.py", "b.py", "c.py"]


def test_features_compare_messages_with_the_nearest_of_all() -> None:
    rows = features(
        corpus_with(
            ("Stop losing cookies on redirects", ["gone.py"]),
            ("Stop losing cookies on redirects", ["a.py"]),
            ("Stop the server", ["b.py"]),
        )
    )
    assert rows["message_says"][0] == pytest.approx(1, abs=0.01)
    assert 0 < rows["message_says"][1] < 0.5
    assert rows["message_says"][2:] == [0, 0, 0]
    assert rows["earlier_messages"][0] > rows["earlier_messages"][1] > 0


def test_files_that_change_with_the_best_candidate_have_evidence() -> None:
    corpus = corpus_with(
        ("One", ["a.py", "b.py"]), ("Two", ["a.py", "b.py"]), ("Three", ["a.py", "c.py", "d.py"])
    )
    together = features(corpus, [1, 0, 0, 0, 0])["changes_together"]
    assert together[1] > together[2] == together[3] > 0
    assert together[0] == together[4] == 0


def test_without_commits_there_is_no_evidence() -> None:
    without = corpus_of(dict.fromkeys(FILES, "x = 1\n"))
    for corpus in (without, msgspec.structs.replace(without, histories=[None]), corpus_with()):
        assert found(corpus) == []
        assert {value for row in features(corpus).values() for value in row} == {0}


def test_each_root_has_its_own_commits() -> None:
    corpus = corpus_of({"a.py": "x = 1\n", "b.py": "x = 2\n"})
    corpus = msgspec.structs.replace(
        corpus,
        roots=["/one", "/two"],
        root_of=np.array([0, 1], np.int32),
        histories=[history_of(("Keep cookies", ["b.py"])), history_of(("Keep cookies", ["b.py"]))],
    )
    assert found(corpus) == ["b.py"]
    # The next corpus of the same paths may have other commits.
    later = msgspec.structs.replace(corpus, histories=[history_of(("Cookies", ["a.py"])), None])
    assert found(later) == ["a.py"]
