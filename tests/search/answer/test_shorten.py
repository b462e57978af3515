"""Answers that are shortened until they fit a number of tokens."""

from __future__ import annotations

import pytest

from winnow.search.answer.shorten import estimated_tokens, shorten
from winnow.types import Answer, Completeness, Skipped


def answer(count: int) -> Answer:
    completeness = Completeness(complete=True, reasons=[], skipped=Skipped(), timed_out=False)
    return Answer(
        root="/" + "x" * 100 * count,
        total_found=4,
        returned=count,
        truncated=count < 4,
        completeness=completeness,
        warnings=["of the search"],
    )


STEPS = [lambda count=count: answer(count) for count in (3, 2, 1)]


@pytest.mark.parametrize(("tokens", "returned"), [(0, 4), (1_000, 4), (170, 3), (130, 2)])
def test_the_first_step_that_fits_is_the_answer(tokens: int, returned: int) -> None:
    result = shorten(answer(4), tokens, STEPS)
    assert (result.returned, result.warnings) == (returned, ["of the search"])
    assert not tokens or estimated_tokens(result) <= tokens


def test_the_shortest_answer_warns_that_it_is_too_long() -> None:
    needed = estimated_tokens(answer(1))
    assert shorten(answer(4), 10, STEPS).warnings == [
        "of the search",
        f"there is no shorter answer: it has about {needed} tokens",
    ]
    assert shorten(answer(4), 10, []).returned == 4
