"""Which messages are errors, and of whom."""

from __future__ import annotations

import pytest

from winnow.ranking.query.errors import is_of_runtime


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("'Pot' object has no attribute 'lid'", True),
        ("fill() takes 1 positional argument but 2 were given", True),
        ("fill() takes from 1 to 2 positional arguments but 3 were given", True),
        ("pot.fill() takes either a lid or a spout, not both", False),
        ("cannot fill a pot without a lid", False),
    ],
)
def test_messages_of_the_runtime_are_recognized(message: str, expected: bool) -> None:
    assert is_of_runtime(message) is expected
