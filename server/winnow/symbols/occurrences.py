"""Occurrences: every identifier of a file, with what it is for and what stands before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

    from winnow.symbols.extract import Extraction


class Chains:
    def __init__(self, source: bytes) -> None:
        self.receivers = [""]


def find_occurrences(extraction: Extraction, query: tree_sitter.Query) -> dict[str, bytes]:
    return {}
