"""The expected words and locations in `documents/fixtures/`, from `truth.toml`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from winnow.documents.library.locations import TextMap, cell_at

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FIXTURES = Path(__file__).parent / "documents/fixtures"

Where = dict[str, Any]  # the parts of a location in a format, including the cell


class Planted(Struct, frozen=True):
    """A word in a document, with all its locations, in the order of the text."""

    file: str
    word: str
    places: list[Where]


def planted() -> list[Planted]:
    """Return all words of all documents."""
    found = []
    for group in _truth()["documents"]:
        for word, places in group["words"].items():
            found += [
                Planted(file, word, places if isinstance(places, list) else [places])
                for file in group["files"]
            ]
    return found


def unread() -> dict[str, str]:
    """Return the documents that cannot be read, with the start of the reason."""
    return dict(_truth()["unread"])


def missed_by_rga() -> set[tuple[str, str]]:
    """Return documents with words that ripgrep-all does not find."""
    return {
        (file, word)
        for group in _truth()["missed_by_rga"]
        for file in group["files"]
        for word in group["words"]
    }


def known_to_rga(place: Where) -> Where:
    """Return the parts of a location that ripgrep-all reports."""
    return {name: value for name, value in place.items() if name in ("page", "member")}


def _truth() -> Any:
    return tomllib.loads((FIXTURES / "truth.toml").read_text("utf-8"))


def found_places(word: str, lines: Sequence[str], known: TextMap) -> list[Where]:
    """Return the locations of a word in a text: one for each line, or for each cell in sheets."""
    found: list[Where] = []
    for number, line in enumerate(lines, 1):
        start = line.find(word)
        cells = []
        while start >= 0:
            where = _where(known, number, line[:start])
            if where not in cells:
                cells.append(where)
            start = line.find(word, start + len(word))
        found += cells
    return found


def _where(known: TextMap, number: int, before: str) -> Where:
    place = known.place_at(number)
    cell = cell_at(place, before)
    fields: Mapping[str, object] = {
        "page": place.page,
        "slide": place.slide,
        "sheet": place.sheet,
        "cell": cell,
        "section": place.section,
        "paragraph": place.paragraph,
        "member": place.member,
    }
    return {name: value for name, value in fields.items() if value is not None}
