"""The interface of secret detectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class SecretMatch(NamedTuple):
    """The byte offsets of a secret value in a text, and the rule that found it."""

    start: int
    end: int
    rule: str


# Gets a UTF-8 text; offsets are at character boundaries.
Detector = Callable[[bytes], Iterable[SecretMatch]]
