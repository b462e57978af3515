"""Check hits against the current files, and page them.

A hit comes from ripgrep, from a list of files, or from an index. Its file is read again before it
is returned, so that no answer has a file or a line that no longer exists.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct, field

from winnow.search.answer import cursor
from winnow.search.answer.completeness import fractions
from winnow.search.answer.places import place_in, reason
from winnow.search.answer.shorten import shorten
from winnow.search.answer.snippets import FEWER_LINES, LINES, Excerpt, Wanted
from winnow.text.lines import SourceTexts, start_of_line
from winnow.text.paths import PathResolver
from winnow.text.scope import Scope
from winnow.types import Answer, Completeness, DefinedHere, Hit, PageParams, Result

# No lines of larger files are shown.
MOST_BYTES = 8 * 1024 * 1024
# Pages end here: another query is the better way to find what follows.
MOST_HITS = 1_000
# Extra hits: to know whether there are more, and to replace those whose files are gone.
SPARE_HITS = 10

R = TypeVar("R", bound=Answer)


# Who ranked: words of the index, words and embeddings, or words in all files.
Engine = Literal["lexical", "lexical+embeddings", "text"]


class SearchFallback(Result, frozen=True, kw_only=True):
    """The search that replaced the requested search, and why."""

    wanted: Annotated[str, Meta(description="The requested search.")] = field(name="from")
    used: Annotated[str, Meta(description="The search that was used instead.")] = field(name="to")
    reason: Annotated[str, Meta(description="The reason, in a sentence.")]
    partly: Annotated[
        bool,
        Meta(description="True if this concerns only files that are not in the index yet."),
    ] = False


class HitList(Struct, frozen=True):
    """Hits in a scope, best first.

    ``total`` is their number, or a lower bound unless ``all_seen``. ``words`` with their weights
    select the lines to show. ``unknown_words`` of the query are in no text, if they are many.
    """

    scope: Scope
    hits: Sequence[Hit]
    total: int
    completeness: Completeness
    words: Mapping[str, float] = {}
    warnings: Sequence[str] = ()
    all_seen: bool = True
    unknown_words: Sequence[str] = ()


class CurrentHit(Struct, frozen=True):
    """A hit with its current lines; ``at`` is its index among the hits. ``best`` is the most
    telling of the lines."""

    at: int
    hit: Hit
    first: int | None
    last: int | None
    passage: Excerpt | None = None
    best: int | None = None
    symbol: str | None = None
    why: str = ""

    def snippet(self, most: int) -> tuple[str | None, int | None]:
        """Return the best lines, at most ``most``, and the number of the first if it is not that
        of the hit."""
        snippet = self.passage.snippet(most) if self.passage is not None and most else None
        if snippet is None:
            return None, None
        return snippet.text, snippet.first if snippet.first != self.first else None


class CurrentTexts:
    """The current lines of files, from the editor or the disk, for one request."""

    def __init__(self, scope: Scope, buffers: Mapping[Path, str]) -> None:
        self._scope = scope
        self._resolved = PathResolver()
        # The client may spell folders differently.
        spelled = {Path(self._resolved.named(str(path))): text for path, text in buffers.items()}
        self._sources = SourceTexts(scope.roots, spelled, MOST_BYTES, self._resolved)
        self._open = spelled.keys()

    def is_there(self, path: str) -> bool:
        """Return True if the file exists, or is an open document."""
        real = self._real(path)
        return os.path.isfile(real) or Path(real) in self._open

    def lines(self, path: str, last: int | None = None, first: int = 1) -> list[str] | None:
        """Return the lines of a file, up to line ``last``; None if it is too large or not text.
        Those before line ``first`` are not read: they are empty."""
        source = self._sources.read(self._real(path))
        if source is None:
            return None
        start = start_of_line(source.data, first)
        if start is None:
            return []
        text = source.data[start:].decode("utf-8", "replace")
        count = None if last is None else max(0, last - first + 1)
        lines = text.split("\n", -1 if count is None else count)[:count]
        if lines and not lines[-1] and (count is None or len(lines) < count):
            del lines[-1]
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        return [""] * (first - 1) + lines

    def data(self, path: str) -> bytes | None:
        """Return the text of a file in UTF-8; None if it is too large or not text."""
        source = self._sources.read(self._real(path))
        return None if source is None else source.data

    def _real(self, path: str) -> str:
        return self._resolved.named(self._scope.absolute(path))


def current_hits(texts: CurrentTexts, found: HitList, first: int, size: int) -> list[CurrentHit]:
    """Return ``size`` hits from index ``first`` that still exist, with their lines. Reads files."""
    wanted = Wanted(found.words)
    current: list[CurrentHit] = []
    for at, hit in enumerate(found.hits[first:], first):
        if len(current) == size:
            break
        if shown := _current_hit(texts, at, hit, wanted):
            current.append(shown)
    return current


def _current_hit(texts: CurrentTexts, at: int, hit: Hit, wanted: Wanted) -> CurrentHit | None:
    def current(
        first: int | None, last: int | None, passage: Excerpt | None = None, best: int | None = None
    ) -> CurrentHit:
        return CurrentHit(at, hit, first, last, passage, best, hit.symbol, hit.why)

    if hit.kind == "file":
        return current(hit.first, hit.last) if texts.is_there(hit.path) else None
    lines = texts.lines(hit.path, hit.last, hit.first or 1)
    if lines is None:
        if not texts.is_there(hit.path):
            return None
        line = min(hit.marks, default=None)
        return current(hit.first or line, hit.last or line)
    if hit.first is not None and hit.first > len(lines):
        return None
    first, last = hit.first or 1, hit.last or len(lines)
    passage = Excerpt(lines, first, last, wanted, hit.marks, head=hit.first is not None)
    if hit.kind == "match" and wanted.words and not passage.is_relevant:
        return None  # the text has just been removed
    if hit.definitions is not None:
        return _current_place(lines, passage, at, hit, hit.definitions, wanted)
    if hit.first is not None:
        best = hit.best
        if best is None and hit.kind == "passage" and hit.symbol is None:
            best = passage.best_line()
        if best is None and not passage.is_relevant:
            return current(hit.first, passage.last, passage, min(hit.first, passage.last))
        best = min(hit.first if best is None else best, passage.last)
        passage = _with_best(passage, best)
        return current(hit.first, passage.last, passage, best)
    best = passage.best_line()
    if best is None:
        return current(None, None)
    passage = passage.part(first, last, best)
    snippet = passage.snippet(LINES)
    assert snippet is not None
    end = snippet.first + snippet.text.count("\n")
    return current(snippet.first, end, passage, best)


def _with_best(passage: Excerpt, line: int) -> Excerpt:
    """Return the passage with a snippet that has the best line, because editors show that line."""
    return passage.part(passage.first, passage.last, line)


def _current_place(
    lines: Sequence[str],
    passage: Excerpt,
    at: int,
    hit: Hit,
    definitions: Sequence[DefinedHere],
    wanted: Wanted,
) -> CurrentHit:
    """Return the best place in a passage of the index; all of it if no line is relevant."""
    place = place_in(lines, passage, definitions, wanted)
    if place is None:
        first = definitions[0] if definitions else None
        symbol = first.name if first else None
        line = first.line if first and passage.first <= first.line <= passage.last else hit.first
        if line is not None:
            passage = _with_best(passage, line)
        return CurrentHit(at, hit, hit.first, passage.last, passage, line, symbol, hit.why)
    part = passage.part(place.first, place.last, place.line)
    why = reason([*place.reasons, *hit.about])
    return CurrentHit(at, hit, place.first, place.last, part, place.line, place.symbol, why)


# --- pages ---------------------------------------------------------------------------------


def wanted_hits(params: PageParams, size: int) -> int:
    """Return the number of hits to find for a page of this size after the cursor.

    Raises InvalidParams for a cursor that is damaged or belongs to other params.
    """
    position = cursor.decode(params, int)
    before = min(max(0, position[0]), MOST_HITS) if position else 0
    return before + size + SPARE_HITS


def page_start(params: PageParams, found: HitList) -> tuple[int, bool]:
    """Return the index of the first hit of the page, and whether earlier hits have changed."""
    return cursor.resume(
        params, int, lambda at: max(0, min(at, len(found.hits))), lambda count: _stamp(found, count)
    )


def paged(
    params: PageParams,
    found: HitList,
    hits: Sequence[CurrentHit],
    make: Callable[[int, int, bool, str | None], R],
    seen: int | None = None,
) -> R:
    """Return the answer with these hits, shortened to ``max_tokens``.

    If a language model has chosen the hits from those before the index ``seen``, the next page
    begins there.

    ``make`` gets the number of hits, the maximum number of lines of each, whether the answer is
    truncated, and the cursor.
    """

    def answer(count: int, most: int) -> R:
        end = seen or (hits[count - 1].at + 1 if count else len(found.hits))
        more = end < min(len(found.hits), MOST_HITS)
        position = cursor.encode(params, end, _stamp(found, end)) if more else None
        return make(count, most, more or most < LINES, position)

    steps = [lambda most=most: answer(len(hits), most) for most in (*FEWER_LINES, 0)]
    steps += [lambda count=count: answer(count, 0) for count in fractions(len(hits))[1:]]
    return shorten(answer(len(hits), LINES), params.max_tokens, steps if hits else [])


def _stamp(found: HitList, count: int) -> bytes:
    return cursor.stamp_of([(hit.path, hit.first) for hit in found.hits[:count]])
