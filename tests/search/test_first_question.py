"""The first question to a new process, with an index on disk, through every front end; see #21."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import CI, git_commit

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import first_question  # noqa: E402
from first_question import (  # noqa: E402
    FRONT_ENDS,
    Answer,
    Question,
    by_open_index,
    make_index,
    run,
)

pytestmark = [pytest.mark.wire, pytest.mark.slow]

# A search stops waiting for a slow index. A busy machine needs longer: here, a minute.
PATIENT = """
import sys
from winnow.frontends.cli import main
from winnow.search.index import background
from winnow.search.keyword import index_results
background.OPEN_SECONDS = index_results.SECONDS = 60.0
index_results.ALONE_SECONDS = 60.0
sys.exit(main.main(sys.argv[1:]))
"""
FILES = 300
WORDS = "parcel letter stamp postage scale weight route depot clerk counter label customs".split()
ABOUT = "where are heavy parcels weighed"
QUESTIONS = (
    Question(
        "keyword_search",
        # All files contain each of the terms: ripgrep alone would reject them as too broad.
        {"query": ABOUT, "search_terms": ["def", "return"], "broad_terms": "shrink"},
        "post/scales.py",
    ),
    Question("semantic_search", {"query": ABOUT}, "post/scales.py"),
    Question("code_search", {"query": ABOUT, "limit": 20}, "post/scales.py"),
    Question("find_symbol", {"name": "weigh_heavy"}, "post/scales.py"),
)


def module(number: int) -> str:
    """Return a module of many small functions that depend on the number."""
    draw = random.Random(number)
    names = [f"{draw.choice(WORDS)}_{draw.choice(WORDS)}_{number}_{n}" for n in range(20)]
    return "\n\n".join(f"def {name}(order):\n    return order + {number}" for name in names) + "\n"


@pytest.fixture(scope="module", autouse=True)
def patient_programs_of_one_user() -> Iterator[None]:
    """Share one state folder: its secret decides whether a process trusts an index."""
    of_user = first_question.environment

    def environment(settings: Path) -> dict[str, str]:
        return {**of_user(settings), "XDG_STATE_HOME": str(settings.parent / "state")}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(first_question, "environment", environment)
        patch.setattr(first_question, "WINNOW", [sys.executable, "-c", PATIENT])
        yield


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a tree of a few hundred files with a complete index."""
    files = {f"post/module{number}.py": module(number) for number in range(FILES)}
    files["post/scales.py"] = (
        'def weigh_heavy(parcel):\n    """Weigh a heavy parcel."""\n    return parcel.kilos\n'
    )
    folder = git_commit(tmp_path_factory.mktemp("office"), files)
    make_index(folder, folder.parent / "settings")
    return folder


@pytest.fixture(scope="module")
def warm(office: Path) -> dict[str, Answer]:
    """Return the answers of a server whose index is open."""
    environment = first_question.environment(office.parent / "settings")
    answers = by_open_index(office, QUESTIONS, environment)
    return {question.tool: answer for question, answer in zip(QUESTIONS, answers, strict=True)}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.tool)
def test_new_processes_answer_like_a_server_with_an_open_index(
    office: Path, warm: dict[str, Answer], question: Question
) -> None:
    """In CI, five processes for each of four tools: 20 of 20 answers are correct (#21)."""
    expected = warm[question.tool]
    assert question.file in expected.paths
    for front_end in ("lsp", "mcp", "cli", "lsp", "mcp")[: 5 if CI else 3]:
        answer = run(FRONT_ENDS[front_end], office, question, expected, office.parent / "settings")
        assert answer.problem == "", front_end
