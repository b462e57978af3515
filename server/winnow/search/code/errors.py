"""Find the code behind error messages and stack traces.

The frames of a trace are places in files, perhaps of another machine and another version. The
places that raise a message are found by its words. Semantic search answers with both first.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from winnow.errors import SearchTimedOut, TermsTooBroad
from winnow.ranking.candidates import Candidate
from winnow.ranking.query.errors import ErrorMessage
from winnow.ranking.query.frames import Frame
from winnow.ranking.query.parts import QueryParts
from winnow.ranking.semantic.path_index import KINDS
from winnow.search.code.messages import Site, search_terms, sites_in
from winnow.search.keyword.search import KeywordRequest, find
from winnow.search.shared.scope import shared_symbols
from winnow.symbols.file_symbols import Definition
from winnow.text.buffers import unsaved_overlay
from winnow.text.listing import list_files
from winnow.text.paths import shared_ending
from winnow.text.ripgrep import escaped
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

# Frames further up are the program's start, or a framework.
MOST_FRAMES = 10
MOST_MESSAGES = 3
MOST_SITES = 5
# A frame of another machine needs this many equal folders and names at the end of its path.
EQUAL_NAMES = 2
# The factor for files that repeat messages: tests, documentation, translations, generated files.
REPEATING = 0.5
# A message that is not reported as an error must be mostly text of the source.
PROBABLE_SHARE = 0.7
# Lines to show around a frame outside of a function.
AROUND = 5
# More definitions with the line of a frame are unlikely; the mark of that line outweighs words.
MARK = 100.0

# What messages say, and questions seldom do.
_FAILURE = re.compile(
    r"\b(?:not|cannot|\w+n't|invalid|failed|must|unable|missing|(?:un)?expected|required|unknown|"
    r"already|denied|refused|undefined|no such|too (?:many|large|long|few)|out of|illegal|bad|"
    r"unsupported|requires?|malformed|exceeded)\b",
    re.I,
)
_ASKS = re.compile(r"(?:how|what|where|when|which|who|why|is|are|does|do|can|should)\b|.*\?$", re.I)
_VERSION = re.compile(r"@v?\d[\w.+-]*$|-v?\d+(?:\.\d+)+[\w.+-]*$")
_LAST_NAME = re.compile(r"[\w$?!]+")


class _Place(NamedTuple):
    """A frame in a file of the workspace; ``at`` is its place in the trace, from 1. It is not
    ``sure`` if only the name of the file is equal, and its folder is unknown."""

    at: int
    frame: Frame
    path: str
    sure: bool


async def error_hits(
    workspace: EngineWorkspace, scope: Scope, parts: QueryParts, progress: Progress
) -> list[Hit]:
    """Return the places that raise the errors of a query, and the frames of its stack traces."""
    places = await _places(workspace, scope, parts.frames[:MOST_FRAMES]) if parts.frames else []
    sites = await _sites(workspace, scope, parts, progress)
    paths = {place.path for place in places} | {site.path for site in sites}
    if not paths:
        return []
    known = await _definitions(workspace, scope, paths)
    frames = [_frame_hit(place, known[place.path]) for place in places if place.sure]
    unsure = [_frame_hit(place, known[place.path]) for place in places if not place.sure]
    raised = [_site_hit(site, known[site.path]) for site in sites]
    # The frame that has the message is the place; otherwise the deepest frame is nearest to it.
    in_frame = [hit for hit in raised if any(_contains(frame, hit) for frame in frames)]
    others = [hit for hit in raised if hit not in in_frame]
    ordered = [*in_frame, *frames[:1], *others, *frames[1:], *unsure]
    return [
        msgspec.structs.replace(hit, score=round(1 - place / 1000, 4))
        for place, hit in enumerate(_without_repeats(ordered))
    ]


def _contains(frame: Hit, hit: Hit) -> bool:
    return (
        frame.path == hit.path
        and frame.first is not None
        and frame.last is not None
        and hit.first is not None
        and frame.first <= hit.first <= frame.last
    )


def _without_repeats(hits: Sequence[Hit]) -> Iterator[Hit]:
    """Yield the hits without frames that only repeat a place, as a recursion has them."""
    seen: set[tuple[str, int | None]] = set()
    for hit in hits:
        if (hit.path, hit.first) not in seen:
            seen.add((hit.path, hit.first))
            yield hit


# --- frames --------------------------------------------------------------------------------


async def _places(
    workspace: EngineWorkspace, scope: Scope, frames: Sequence[Frame]
) -> list[_Place]:
    """Return the frames in files of the scope, in order."""
    async with workspace.search_slots:
        ripgrep = workspace.run_ripgrep()
        with unsaved_overlay(workspace.buffers, scope) as overlay:
            listing = await list_files(ripgrep, scope, overlay)
    names = {frame.path.rpartition("/")[2] for frame in frames}
    by_name: dict[str, list[str]] = {}
    for path in listing.paths:
        name = path.rpartition("/")[2]
        if name in names:
            by_name.setdefault(name, []).append(path)
    found = []
    for at, frame in enumerate(frames, 1):
        known = _best_path(scope, frame, by_name.get(frame.path.rpartition("/")[2], ()))
        if known is not None:
            sure = "/" in frame.path.removeprefix("./") or "/" not in scope.locate(known)[1]
            found.append(_Place(at, frame, known, sure))
    return found


def _best_path(scope: Scope, frame: Frame, paths: Sequence[str]) -> str | None:
    """Return the file that a frame means: the one with the most equal names at the end of its
    path. None if there is none, or several."""
    wanted = _names(frame.path)
    counts = {}
    for path in paths:
        root, below = scope.locate(path)
        names = _names(f"{root.as_posix()}/{below}")
        equal = shared_ending(wanted, names)
        is_whole = equal == len(wanted) or equal >= below.count("/") + 1
        if equal >= EQUAL_NAMES or is_whole:
            counts[path] = equal
    best = [path for path in counts if counts[path] == max(counts.values())]
    return best[0] if len(best) == 1 else None


def _names(path: str) -> list[str]:
    """Return the names of a path, without versions of packages."""
    return [_VERSION.sub("", name) for name in path.split("/") if name not in ("", ".", "..")]


def _frame_hit(place: _Place, definitions: Sequence[Definition]) -> Hit:
    frame = place.frame
    name = next(reversed(_LAST_NAME.findall(frame.function)), "")
    function = _enclosing(definitions, frame.line)
    if name and (function is None or function.name != name):
        # Another version of the file: the function tells more than the line.
        named = [definition for definition in definitions if definition.name == name]
        function = min(named, key=lambda d: abs(d.line + 1 - frame.line), default=function)
    why = f"frame {place.at} of the stack trace"
    if frame.function:
        why = f"{why}: `{frame.function}`"
    if function is None:
        first, last = max(1, frame.line - AROUND), frame.line + AROUND
        return Hit(place.path, "passage", 0.0, why, first, last, marks={frame.line: MARK})
    first, last = function.line + 1, function.end_line + 1
    marks = {frame.line: MARK} if first <= frame.line <= last else {}
    return Hit(
        place.path, "definition", 0.0, why, first, last, function.qualified_name, marks=marks
    )


def _enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """Return the innermost definition that contains a line, from 1."""
    around = [d for d in definitions if d.line + 1 <= line <= d.end_line + 1]
    return min(around, key=lambda d: d.end_line - d.line, default=None)


async def _definitions(
    workspace: EngineWorkspace, scope: Scope, paths: set[str]
) -> Mapping[str, Sequence[Definition]]:
    """Return the definitions of files in the index; none of those that it lacks."""
    snapshot = workspace.index.snapshot(workspace.buffers, 0, further=shared_symbols(scope))
    async with snapshot as (view, _):

        def read() -> dict[str, Sequence[Definition]]:
            return {path: view.definitions_in(scope.absolute(path)) for path in paths}

        return await view.read(read)


# --- messages ------------------------------------------------------------------------------


async def _sites(
    workspace: EngineWorkspace, scope: Scope, parts: QueryParts, progress: Progress
) -> list[Site]:
    """Return the places that make the messages of a query, those of the first message first."""
    found: list[Site] = []
    for error, least in _messages(parts):
        terms = list(map(escaped, search_terms(error.text)))
        if not terms:
            continue
        candidates = await _candidates(workspace, scope, error.text, terms, progress)
        sites = await asyncio.to_thread(_all_sites, candidates, error)
        scores = {site: site.score * (REPEATING if _repeats(site.path) else 1.0) for site in sites}
        best = sorted(
            (site for site in sites if site.score >= least),
            key=lambda site: (-scores[site], site.path, site.first),
        )
        found += [site for site in best[:MOST_SITES] if site.score >= scores[best[0]] / 2]
    return found


async def _candidates(
    workspace: EngineWorkspace, scope: Scope, text: str, terms: Sequence[str], progress: Progress
) -> Sequence[Candidate]:
    """Return the files with any of the terms, without those of terms that are too broad."""
    # One pattern needs one process; if it has too many matches, each term has a limit of its own.
    for attempt in (["|".join(terms)], terms):
        request = KeywordRequest(workspace, scope, text, attempt, progress)
        async with workspace.search_slots:
            with contextlib.suppress(TermsTooBroad, SearchTimedOut):
                return (await find(request)).candidates
    return ()


def _all_sites(candidates: Sequence[Candidate], error: ErrorMessage) -> list[Site]:
    return [
        site for candidate in candidates for site in sites_in(candidate, error.text, error.kind)
    ]


def _messages(parts: QueryParts) -> Iterator[tuple[ErrorMessage, float]]:
    """Yield the messages of a query, with the share of each that the source must have."""
    for error in parts.errors[:MOST_MESSAGES]:
        yield error, 0.0
    if parts.errors:
        return
    for text in (parts.title, *parts.quotes[:MOST_MESSAGES]):
        if _FAILURE.search(text) and not _ASKS.match(text):
            yield ErrorMessage(text), PROBABLE_SHARE


def _repeats(path: str) -> bool:
    return any(pattern.search(path) for kind, pattern, _ in KINDS if kind != "side")


def _site_hit(site: Site, definitions: Sequence[Definition]) -> Hit:
    function = _enclosing(definitions, site.first)
    if _repeats(site.path):
        why = "repeats this message"
    else:
        why = "raises this message" if site.raises else "has this message"
    marks = dict.fromkeys(range(site.first, site.last + 1), MARK)
    symbol = function.qualified_name if function is not None else None
    return Hit(site.path, "passage", 0.0, why, site.first, site.last, symbol, marks=marks)
