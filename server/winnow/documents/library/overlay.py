"""Documents that a search of files sees as files with their texts."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from winnow.documents.library.locations import TextMap
from winnow.types import Candidate


class DocumentOverlay(Struct, frozen=True):
    """Documents that are laid out: the format and the map of each text, by its path. ``pending``
    counts those that were not read yet, ``unreadable`` those that cannot be."""

    documents: Mapping[str, TextMap] = {}
    pending: int = 0
    unreadable: int = 0

    def numbered(self, candidate: Candidate) -> Candidate:
        """A candidate whose lines have the numbers of the text as a reader sees it."""
        text_map = self.documents.get(candidate.path)
        if text_map is None:
            return candidate
        shown = text_map.shown_line
        return msgspec.structs.replace(
            candidate,
            lines={shown(number): line for number, line in candidate.lines.items()},
            hits={term: tuple(map(shown, lines)) for term, lines in candidate.hits.items()},
        )
