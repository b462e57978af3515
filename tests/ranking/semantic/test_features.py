"""Features: the value of each for small code bases that differ in one thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ranked_texts import corpus_of
from winnow.ranking.semantic.features import DENSE_FEATURES, FEATURES
from winnow.ranking.semantic.search import weigh

BODY = "def run(task):\n    return task\n"


def features(files: Mapping[str, str], query: str, *names: str) -> dict[str, Any]:
    """Return some features of each candidate, by path."""
    corpus = corpus_of(files)
    weighed = weigh(corpus, query)
    assert weighed is not None
    paths = [corpus.paths[file] for file in weighed.evidence.candidates.files.tolist()]
    columns = [weighed.features[name].tolist() for name in names]
    return {
        path: tuple(round(value, 2) for value in row)
        for path, *row in zip(paths, *columns, strict=True)
    }


def test_every_feature_is_a_number() -> None:
    corpus = corpus_of({"a.py": BODY, "b/test_a.py": "# a task\n", "c.md": "# Task\n"})
    for query in ("run a task", "run", "Task::run", "unheard of"):
        weighed = weigh(corpus, query)
        if weighed is not None:
            assert weighed.features.keys() == FEATURES.keys()
            assert all(np.isfinite(values).all() for values in weighed.features.values())
    assert not FEATURES.keys() & DENSE_FEATURES.keys()


def test_definitions_of_a_name_count_by_kind() -> None:
    files = {
        "type.py": "class Task:\n    pass\n",
        "function.py": "def Task():\n    pass\n",
        "use.py": "x = Task()\n",
    }
    assert features(files, "Task", "defines", "defines_type") == {
        "type.py": (1, 1),
        "function.py": (1, 0),
        "use.py": (0, 0),
    }


def test_a_declaration_counts_less_than_a_definition() -> None:
    files = {"task.h": "int run_task(void);\n", "task.c": "int run_task(void) { return 1; }\n"}
    assert features(files, "run_task", "defines", "paired_header") == {
        "task.h": (0.3, 1),
        "task.c": (1, 0),
    }


def test_a_name_of_several_words_matches_in_any_convention() -> None:
    files = {
        "a.py": "def task_runner():\n    pass\n",
        "b.js": "class TaskRunner {}\n",
        "c.py": "def task():\n    runner = 1\n",
    }
    found = features(files, "the task runner", "joined_names")
    assert found["a.py"] == found["b.js"] == (1,)
    assert found["c.py"] == (0,)


def test_a_file_can_be_named_after_the_query() -> None:
    files = {"task_queue.py": BODY, "test-queue.py": BODY, "taskqueue.py": BODY, "other.py": BODY}
    found = features(files, "task queue", "named_like", "name_share")
    assert found == {
        "task_queue.py": (0.7, 1),
        "test-queue.py": (0, 0.5),
        "taskqueue.py": (0.7, 0.8),
        "other.py": (0, 0),
    }


def test_a_name_can_be_an_abbreviation() -> None:
    files = {"auth.py": BODY, "authentication.py": BODY, "author.py": BODY, "run.py": BODY}
    found = features(files, "authentication task", "name_share")
    assert found == {
        "auth.py": (0.8,),
        "authentication.py": (1,),
        "author.py": (0,),
        "run.py": (0,),
    }


def test_a_kind_that_the_query_asks_for_is_not_penalized() -> None:
    files = {
        "tests/test_run.py": BODY,
        "examples/run.py": BODY,
        "README.md": "# Task\n",
        "src/org/example/run.py": BODY,
    }
    kinds = ("test", "side", "prose")
    assert features(files, "run a task", *kinds) == {
        "tests/test_run.py": (1, 0, 0),
        "examples/run.py": (0, 1, 0),
        "src/org/example/run.py": (0, 0, 0),
        "README.md": (0, 0, 1),
    }
    assert features(files, "testing how a task is run", *kinds)["tests/test_run.py"] == (0, 0, 0)


def test_a_file_can_represent_its_folder() -> None:
    files = {
        "task/mod.rs": "mod runner;\n",
        "task/runner.rs": "fn run_task() {}\n",
        "alone/mod.rs": "mod nothing;\n",
        "other.rs": "fn task() {}\n",
    }
    found = features(files, "run a task", "front", "own_folder", "front_score")
    assert found["task/mod.rs"][:2] == (1, 1)
    assert found["task/runner.rs"][2] == 1
    assert found["other.rs"] == (0, 0, 0)


def test_files_imported_by_many_count_more() -> None:
    users = {f"user{number}.py": "from core import task\n" for number in range(4)}
    found = features({"core.py": BODY, "aside.py": BODY, **users}, "run a task", "imported")
    assert found["core.py"] == (1,)
    assert found["aside.py"] == (0,)


def test_an_exported_name_counts() -> None:
    files = {"mod.rs": "pub use other_crate::{\n    Left,\n    Task,\n};\n", "b.rs": "// Task\n"}
    assert features(files, "Task", "imports_name") == {"mod.rs": (1,), "b.rs": (0,)}


def test_terms_close_together_count_more() -> None:
    gap = "".join(f"def step{number}():\n    pass\n\n\n" for number in range(40))
    files = {
        "together.py": f"# run the task queue\n{gap}",
        "apart.py": f"# run\n{gap}# task\n{gap}# queue\n",
    }
    found = features(files, "run task queue", "said", "said_at_once")
    assert found["together.py"] == (1, 1)
    assert found["apart.py"][0] == 1
    assert found["apart.py"][1] < 1
