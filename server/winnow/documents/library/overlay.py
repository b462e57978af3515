"""Extracted documents that a file search treats as text files."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from winnow.documents.library.locations import TextMap
from winnow.types import Candidate


class DocumentOverlay(Struct, frozen=True):
    """Extracted documents that are placed in the search tree: the map of each text by path.

    ``pending`` counts the documents that were not read yet, ``unreadable`` those that cannot be
    read.
    """

    documents: Mapping[str, TextMap] = {}
    pending: int = 0
    unreadable: int = 0

    def numbered(self, candidate: Candidate) -> Candidate:
        """Return a candidate with the line numbers of the preview."""
        text_map = self.documents.get(candidate.path)
        if text_map is None:
            return candidate
        shown = text_map.shown_line
        return msgspec.structs.replace(
            candidate,
            lines={shown(number): line for number, line in candidate.lines.items()},
            hits={term: tuple(map(shown, lines)) for term, lines in candidate.hits.items()},
        )
