"""Secret rules from settings.

A rule is a bounded regular expression (:data:`winnow.config.SecretRule`): it may come from the file
of an untrusted workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from winnow.privacy.secrets.detector import Detector, SecretMatch

RULE = "added-rule"
# Matches start at words only; otherwise every position of a long run would be tried.
_WORD_START = "(?<![A-Za-z0-9])"


def custom_rules(rules: Iterable[str]) -> Detector:
    """Return a detector for these rules."""
    return _detector(tuple(rules))


@lru_cache(maxsize=8)
def _detector(rules: tuple[str, ...]) -> Detector:
    patterns = [re.compile((_WORD_START + rule).encode()) for rule in rules]

    def detect(text: bytes) -> Iterator[SecretMatch]:
        for pattern in patterns:
            for match in pattern.finditer(text):
                yield SecretMatch(match.start(), match.end(), RULE)

    return detect
