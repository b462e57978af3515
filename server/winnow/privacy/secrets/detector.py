"""What every detector of secrets answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class SecretMatch(NamedTuple):
    """The place of a secret's value in a text, as offsets in bytes, and the rule that found it."""

    start: int
    end: int
    rule: str


# Takes a text in UTF-8; offsets stand at the borders of characters.
Detector = Callable[[bytes], Iterable[SecretMatch]]
