"""What searches find, held against the files as they are now: hits, pages of them, their lines.

A hit comes from ripgrep, from a list of files, or from an index. Before it is answered its file is
read, as the editor or the disk has it, so that no file appears that is gone, and no line that is
not there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from winnow.search.answer import cursor
from winnow.search.answer.completeness import fractions
from winnow.search.answer.shorten import shorten
from winnow.search.answer.snippets import FEW_LINES, LINES, Excerpt, Wanted
from winnow.text.lines import SourceTexts
from winnow.text.paths import PathResolver
from winnow.text.scope import Scope
from winnow.types import Answer, Completeness, Hit, PageParams

# Of a larger file, no lines are shown.
MOST_BYTES = 8 * 1024 * 1024
# Pages end here: what follows is no better than what is found by another query.
MOST_HITS = 1_000
# One says that there are more; others stand in for those whose files are gone.
SPARE_HITS = 10

R = TypeVar("R", bound=Answer)


class HitList(Struct, frozen=True):
    """Hits in a scope, the best first; ``total`` is how many there are in all, or at least, if not
    all were ``seen``; ``words`` are those that tell which lines to show, with their weights."""

    scope: Scope
    hits: Sequence[Hit]
    total: int
    completeness: Completeness
    words: Mapping[str, float] = {}
    warnings: Sequence[str] = ()
    all_seen: bool = True


class CurrentHit(Struct, frozen=True):
    """A hit as it is answered: its lines now, and the most telling of them. ``at`` is its place
    among the hits."""

    at: int
    hit: Hit
    first: int | None
    last: int | None
    passage: Excerpt | None = None

    def snippet(self, most: int) -> tuple[str | None, int | None]:
        """The most telling lines, so many at most, and the number of the first of them if that is
        another than the place's."""
        snippet = self.passage.snippet(most) if self.passage is not None and most else None
        if snippet is None:
            return None, None
        return snippet.text, snippet.first if snippet.first != self.first else None


class CurrentTexts:
    """The lines of files, as the editor or the disk has them, for one request."""

    def __init__(self, scope: Scope, buffers: Mapping[Path, str]) -> None:
        self._scope = scope
        self._resolved = PathResolver()
        # The client may spell a folder in another way.
        spelled = {Path(self._resolved.named(str(path))): text for path, text in buffers.items()}
        self._sources = SourceTexts(scope.roots, spelled, MOST_BYTES, self._resolved)
        self._open = spelled.keys()

    def is_there(self, path: str) -> bool:
        """Whether there is such a file, or a document that is to become one."""
        real = self._real(path)
        return os.path.isfile(real) or Path(real) in self._open

    def lines(self, path: str, last: int | None = None) -> list[str] | None:
        """The lines of a file without their ends, perhaps up to the ``last`` one that is wanted;
        None for one that is too large, or no text."""
        source = self._sources.read(self._real(path))
        if source is None:
            return None
        # Decoded in one go: of a passage far down in a file, most lines are before it.
        text = source.data.decode("utf-8", "replace")
        lines = text.split("\n", -1 if last is None else last)[:last]
        if lines and not lines[-1] and (last is None or len(lines) < last):
            del lines[-1]
        return [line.removesuffix("\r") for line in lines] if "\r" in text else lines

    def _real(self, path: str) -> str:
        return self._resolved.named(self._scope.absolute(path))


def places_of(texts: CurrentTexts, found: HitList, first: int, size: int) -> list[CurrentHit]:
    """So many hits from the place ``first`` on, as they are now, without those that are gone. Reads
    files."""
    wanted = Wanted(found.words)
    places: list[CurrentHit] = []
    for at, hit in enumerate(found.hits[first:], first):
        if len(places) == size:
            break
        if place := _place(texts, at, hit, wanted):
            places.append(place)
    return places


def _place(texts: CurrentTexts, at: int, hit: Hit, wanted: Wanted) -> CurrentHit | None:
    if hit.kind == "file":
        return CurrentHit(at, hit, hit.first, hit.last) if texts.is_there(hit.path) else None
    lines = texts.lines(hit.path, hit.last)
    if lines is None:
        if not texts.is_there(hit.path):
            return None
        line = min(hit.marks, default=None)
        return CurrentHit(at, hit, hit.first or line, hit.last or line)
    if hit.first is not None and hit.first > len(lines):
        return None
    first, last = hit.first or 1, hit.last or len(lines)
    passage = Excerpt(lines, first, last, wanted, hit.marks, head=hit.first is not None)
    if hit.kind == "match" and wanted.words and not passage.says_something:
        return None  # the text was there a moment ago
    if hit.first is not None:
        return CurrentHit(at, hit, hit.first, passage.last, passage)
    whole = passage.snippet(LINES) if passage.says_something else None
    if whole is None:
        return CurrentHit(at, hit, None, None)
    return CurrentHit(at, hit, whole.first, whole.first + whole.text.count("\n"), passage)


# --- pages ---------------------------------------------------------------------------------


def wanted_hits(params: PageParams, size: int) -> int:
    """How many hits are needed for the page behind the cursor, and to know whether there are more.
    Raises InvalidParams for a cursor that is damaged or belongs to other params."""
    position = cursor.decode(params, int)
    before = min(max(0, position[0]), MOST_HITS) if position else 0
    return before + size + SPARE_HITS


def page_start(params: PageParams, found: HitList) -> tuple[int, bool]:
    """The place of the first hit of the page, and whether those before have changed since."""
    return cursor.resume(
        params, int, lambda at: max(0, min(at, len(found.hits))), lambda count: _stamp(found, count)
    )


def paged(
    params: PageParams,
    found: HitList,
    places: Sequence[CurrentHit],
    make: Callable[[int, int, bool, str | None], R],
) -> R:
    """The answer with these places, in at most ``max_tokens``.

    ``make`` makes it of how many places, how many lines of each at most, whether it is truncated,
    and the cursor.
    """

    def answer(count: int, most: int) -> R:
        end = places[count - 1].at + 1 if count else len(found.hits)
        more = end < min(len(found.hits), MOST_HITS)
        position = cursor.encode(params, end, _stamp(found, end)) if more else None
        return make(count, most, more or most < LINES, position)

    steps = [lambda most=most: answer(len(places), most) for most in (FEW_LINES, 0)]
    steps += [lambda count=count: answer(count, 0) for count in fractions(len(places))[1:]]
    return shorten(answer(len(places), LINES), params.max_tokens, steps if places else [])


def _stamp(found: HitList, count: int) -> bytes:
    return cursor.stamp_of([(hit.path, hit.first) for hit in found.hits[:count]])
