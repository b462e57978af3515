"""The first question of a fresh process, with an index on disk, at every front end; see #21."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from conftest import CI, git_commit

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import first_question  # noqa: E402
from first_question import DOORS, Question, by_open_index, make_index, run  # noqa: E402

pytestmark = [pytest.mark.wire, pytest.mark.slow]

FILES = 300
WORDS = "parcel letter stamp postage scale weight route depot clerk counter label customs".split()
ABOUT = "where are heavy parcels weighed"
QUESTIONS = (
    Question(
        "keyword_search",
        # Each of the terms is in all files: ripgrep alone would refuse them.
        {"query": ABOUT, "search_terms": ["def", "return"], "broad_terms": "shrink"},
        "post/scales.py",
    ),
    Question("semantic_search", {"query": ABOUT}, "post/scales.py"),
    Question("code_search", {"query": ABOUT}, "post/scales.py"),
    Question("find_symbol", {"name": "weigh_heavy"}, "post/scales.py"),
)


def module(number: int) -> str:
    """A module of many small functions, another one for each number."""
    draw = random.Random(number)
    names = [f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{number}_{n}" for n in range(20)]
    return "\n\n".join(f"def {name}(order):\n    return order + {number}" for name in names) + "\n"


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree of some hundred files with a complete index."""
    files = {f"post/module{number}.py": module(number) for number in range(FILES)}
    files["post/scales.py"] = (
        'def weigh_heavy(parcel):\n    """Weigh a heavy parcel."""\n    return parcel.kilos\n'
    )
    folder = git_commit(tmp_path_factory.mktemp("office"), files)
    make_index(folder, folder.parent / "settings")
    return folder


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.tool)
def test_fresh_processes_that_are_asked_at_once_answer_as_one_whose_index_is_open(
    office: Path, question: Question
) -> None:
    """In CI five for each of four tools: 20 answers of 20 (#21)."""
    settings = office.parent / "settings"
    warm = by_open_index(office, question, first_question.environment(settings))
    assert question.file in warm.paths
    for door in ("lsp", "mcp", "cli", "lsp", "mcp")[: 5 if CI else 3]:
        answer = run(DOORS[door], office, question, warm, settings)
        assert answer.problem == "", door
