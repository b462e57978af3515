"""Sizes and dropped terms, compared with ripgrep's output and the original design."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import RIPGREP
from winnow.search.keyword import budget
from winnow.text.ripgrep import Line

RG = RIPGREP


def line(text: str, *ranges: tuple[int, int]) -> Line:
    return Line(text, len(text.encode()) + 1, ranges)


def output_size(files: budget.Files) -> int:
    """Return the size of ripgrep's plain output for these lines, in bytes."""
    return max(
        0, sum(budget.file_size(path, lines) for path, lines in files.items()) - budget.SEPARATOR
    )


def plain_size(folder: Path, *terms: str) -> int:
    """Return the length of ripgrep's plain output, which the original design measures."""
    patterns = [part for term in terms for part in ("-e", term)]
    done = subprocess.run(
        [RG, "--no-config", "-C", "10", "-i", "--line-number", "--with-filename", *patterns],
        cwd=folder,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return len(done.stdout)


FILES = st.dictionaries(
    st.sampled_from(["a.txt", "b/c.txt", "ü.txt"]),
    st.dictionaries(st.integers(1, 120), st.sampled_from(["x", "needle", "ÄÖ"]), min_size=1).map(
        lambda lines: {number: line(text) for number, text in lines.items()}
    ),
)


@given(st.lists(FILES, max_size=6), st.integers(1, 3000))
def test_the_terms_that_fit_equal_those_after_dropping_from_the_end(
    found: list[dict[str, dict[int, Line]]], limit: int
) -> None:
    count = len(found)
    while count and output_size(budget.union_of(found[:count])) >= limit:
        count -= 1
    assert budget.terms_that_fit(found, limit) == count


@pytest.mark.process
def test_size_is_that_of_ripgreps_plain_output(tmp_path: Path) -> None:
    text = "\n".join(f"line {n}" + " needle" * (n in (1, 5, 40, 41, 99)) for n in range(1, 101))
    (tmp_path / "one.txt").write_text(text)
    (tmp_path / "two.txt").write_text("only a needle")
    lines: dict[int, Line] = {}
    for number, content in enumerate(text.split("\n"), 1):
        if any(abs(number - match) <= 10 for match in (1, 5, 40, 41, 99)):
            lines[number] = line(content)
    files = {"one.txt": lines, "two.txt": {1: line("only a needle")}}
    assert output_size(files) == plain_size(tmp_path, "needle")


def test_a_line_that_matches_for_two_terms_keeps_both_matches() -> None:
    into = {1: line("context"), 2: line("a and b", (0, 1)), 3: line("only a", (5, 6))}
    budget.merge(into, {1: line("context", (0, 7)), 2: line("a and b", (6, 7)), 3: line("only a")})
    assert into == {
        1: line("context", (0, 7)),
        2: line("a and b", (0, 1), (6, 7)),
        3: line("only a", (5, 6)),
    }


def test_a_long_line_keeps_the_first_of_two_cuts() -> None:
    first = Line("a...", 5, ((0, 1),), start=0, cut=True)
    later = Line("...b", 5, ((90, 91),), start=88, cut=True)
    into = {1: first}
    budget.merge(into, {1: later})
    assert into == {1: first}


def test_a_group_in_the_first_lines_of_a_file_costs_as_much_as_others() -> None:
    sizes = [budget.file_size("a", {number: line("x")}) for number in range(1, 10)]
    assert sizes == [len("a:1:x\n--\n")] * 9


def test_output_as_large_as_the_limit_does_not_fit() -> None:
    found = [{"a": {1: line("x")}}, {"b": {1: line("y")}}]
    one, both = len("a:1:x\n"), len("a:1:x\n--\nb:1:y\n")
    fit = {limit: budget.terms_that_fit(found, limit) for limit in (one, one + 1, both, both + 1)}
    assert fit == {one: 0, one + 1: 1, both: 1, both + 1: 2}


def test_nothing_costs_nothing() -> None:
    assert output_size({}) == 0
    assert budget.terms_that_fit([{}, {}], 1) == 2
