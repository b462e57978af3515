"""The sizes up to which files are indexed. A separate module, because settings must not load the
database."""

from __future__ import annotations

from typing import NamedTuple


class SizeLimits(NamedTuple):
    """The largest file whose text is read, and the largest that is parsed, in bytes."""

    read: int
    parsed: int
