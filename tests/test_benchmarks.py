"""The benchmark page reports failed and skipped parts, and does not identify the machine."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

import page  # noqa: E402
from page import PAGE, PARTS, Part, page_with, tables, tables_of  # noqa: E402
from questions import Question, Repository, ndcg  # noqa: E402
from token_cost import drawn, end_of_right  # noqa: E402


def script(folder: Path, text: str) -> str:
    file = folder / "script.py"
    file.write_text(text)
    return str(file)


@pytest.mark.process
def test_a_part_has_its_table_and_command_without_paths(tmp_path: Path) -> None:
    print_row = "import sys; print('a row', sys.argv[1]); print('in', sys.argv[1] + '/more')"
    command = script(tmp_path, print_row) + " {corpora}"
    text, good = tables("one", Part("One", [command], "It shows."), {"corpora": str(tmp_path)})
    assert good
    assert text.startswith("`python benchmarks/")
    assert "```text\na row …\nin …/more\n```\n" in text
    assert "script.py CORPORA`" in text
    assert str(tmp_path) not in text


@pytest.mark.process
def test_a_failed_part_is_reported_with_its_output(tmp_path: Path) -> None:
    failing = "import sys; print('half a table'); print('why'); sys.exit('no such thing')"
    text, good = tables("one", Part("One", [script(tmp_path, failing)], "It shows."), {})
    assert not good
    assert "```text\nhalf a table\nwhy\n```\n" in text
    assert text.endswith("**It failed or exceeded a limit**: exit code 1: no such thing\n")


def test_a_part_without_a_required_option_is_skipped() -> None:
    text, good = tables("one", Part("One", ["one.py --truth {symbol_truth}"], "It shows."), {})
    assert good
    assert "Skipped: `benchmarks/run one` needs `--symbol-truth`." in text


def test_parts_that_are_not_run_stay_and_parts_never_run_are_listed() -> None:
    parts = {name: Part(name.title(), [f"{name}.py"], f"Of {name}.") for name in "abc"}
    table = "new\n\n```text\n## not a title\n```"
    first = page_with("", "Peers: none.", {"b": table}, parts)
    parts["b"] = Part("B", ["b.py"], "In other words.")
    second = page_with(first, "Peers: some.", {"a": "later"}, parts)
    assert tables_of(second, parts) == {
        "A": "later",
        "B": table,
        "C": "Not run yet: `benchmarks/run c`",
    }
    assert "## B\n\nIn other words.\n\nnew\n" in second
    assert "Peers: some." in second
    assert "Peers: none." not in second


def test_a_skipped_part_keeps_the_table_of_an_earlier_run() -> None:
    parts = {"a": Part("A", ["a.py {truth}"], "Of a.")}
    table, skipped = "`python benchmarks/a.py` (then):", "Skipped: it needs something."
    assert tables_of(page_with("", "", {"a": skipped}, parts), parts)["A"] == skipped
    earlier = page_with("", "", {"a": table}, parts)
    assert tables_of(page_with(earlier, "", {"a": skipped}, parts), parts)["A"] == table


@pytest.mark.process
def test_a_peer_that_is_not_installed_is_reported_as_missing() -> None:
    peers = {"python": [sys.executable, "--version"], "nonsense": ["no-such-program", "--version"]}
    versions = page.versions(peers)
    assert re.fullmatch(r"Peers: python 3\.\d+\.\d+\S*, nonsense \(missing\)\.", versions)


@pytest.mark.parametrize("name", PARTS)
def test_each_part_has_its_script_and_its_section(name: str) -> None:
    for command in PARTS[name].commands:
        assert (ROOT / "benchmarks" / command.split()[0]).is_file()
    assert PARTS[name].title in tables_of(PAGE.read_text("utf-8"), PARTS)


def test_the_page_contains_no_paths_of_a_machine() -> None:
    text = PAGE.read_text("utf-8")
    assert not re.search(r"(?<![\w.…])/(?:root|home|tmp|Users|work|var)/", text)


@pytest.mark.process
def test_the_parts_can_be_listed_without_installing_anything() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/page.py"), "--list"],
        capture_output=True,
        text=True,
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(PARTS)
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks/page.py"), "nonsense"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "unknown part: nonsense" in done.stderr


def test_an_answer_is_read_up_to_the_end_of_the_first_correct_files_entry() -> None:
    question = Question("q", "semantic", [{"path": "src/b.py"}])
    entries = ["a.py:1-3  A  why\n1\tsee b.py:7\n", "b.py:7-9  B  why\n7\tdef b():\n"]
    notes = "\n[2 of 9 passages]"
    text = "".join(entries) + "a.py:9\n" + notes
    assert end_of_right(text, ["a.py", "b.py", "a.py"], question) == len("".join(entries))
    assert end_of_right("".join(entries) + notes, ["a.py", "b.py"], question) == len(
        "".join(entries) + notes
    )
    assert end_of_right(text, ["a.py"], question) is None
    # Keyword search names files by their absolute paths.
    absolute = "/r/a.py: reason\n/r/b.py: reason"
    assert end_of_right(absolute, ["a.py", "b.py"], question) == len(absolute)


def test_questions_are_chosen_from_all_repositories_in_turn() -> None:
    def repository(name: str, count: int) -> Repository:
        questions = [Question(f"{name}{n}", "semantic", []) for n in range(count)]
        return Repository(name, "python", Path(name), questions, {})

    repositories = [repository("a", 1), repository("b", 5), repository("c", 5)]
    counts = {chosen.name: len(questions) for chosen, questions in drawn(repositories, 7, 1)}
    assert counts == {"a": 1, "b": 3, "c": 3}
    assert drawn(repositories, 7, 1) == drawn(repositories, 7, 1)


def test_ndcg_counts_each_target_once_and_requires_its_lines() -> None:
    targets: list[dict[str, Any]] = [
        {"path": "src/a.py"},
        {"path": "src/b.py", "start_line": 10, "end_line": 20},
    ]
    a: dict[str, Any] = {"path": "a.py"}
    b: dict[str, Any] = {"path": "b.py", "line": 15, "end_line": 30}
    assert ndcg([a, b], targets) == 1
    assert ndcg([b, a], targets) == 1
    assert ndcg([a, a], targets) == ndcg([a], targets) < 1
    assert ndcg([a, {**b, "line": 21}], targets) == ndcg([a], targets)
    assert ndcg([], targets) == 0
    assert ndcg([{"path": "other_a.py"}], targets) == 0
