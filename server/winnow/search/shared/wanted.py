"""The texts of a search cluster that a search wants."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from winnow.text.ripgrep import TextPattern


class Wanted(Struct, frozen=True):
    """A query, patterns of lines, and parts of names of definitions to find. A text without such a
    line is no answer if it ``must_match``."""

    query: str
    patterns: Sequence[TextPattern] = ()
    names: Sequence[str] = ()
    must_match: bool = False
