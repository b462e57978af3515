"""The files that rankers order, with the evidence for each."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from winnow.text.ripgrep import Line
from winnow.types import Hit


class Candidate(Struct, frozen=True):
    """A file to rank, with the matching lines.

    `counts` has the number of matching lines per term, `lines` these lines and their context,
    `hits` the numbers of the matching lines per term. A broad term that was reduced to a list of
    files has a count and no lines. A file that only the index found has the `lines` of its passage.
    `best` is the passage that the local ranker chose.
    """

    path: str
    lines: Mapping[int, Line]
    hits: Mapping[str, tuple[int, ...]]
    counts: Mapping[str, int]
    best: Hit | None = None

    @property
    def is_only_indexed(self) -> bool:
        """True if no term matches: only the index found the file."""
        return not self.counts


class Ranked(Struct, frozen=True):
    """A candidate that a ranker chose, and the lines it points at."""

    candidate: Candidate
    reason: str
    score: float | None = None
    first: int | None = None
    last: int | None = None
