"""Find the code behind error messages and stack traces.

The frames of a trace are places in files, perhaps of another machine and another version. The
places that raise a message are found by its words. Semantic search answers with both first.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from winnow.index.store.file_record import may_have_symbols
from winnow.ranking.query.errors import ErrorMessage
from winnow.ranking.query.frames import Frame
from winnow.ranking.query.logs import log_entry
from winnow.ranking.query.parts import QueryParts
from winnow.ranking.semantic.path_index import KINDS
from winnow.search.answer.hits import CurrentTexts
from winnow.search.code.files import EQUAL_NAMES
from winnow.search.code.message_files import (
    files_with_terms,
    indexed_files_with,
    knows_texts,
    matched_texts,
)
from winnow.search.code.messages import END, MatchedText, Site, search_terms, sites_in
from winnow.search.grep.prefilter import IndexedFiles, indexed_files
from winnow.search.shared.scope import shared_symbols
from winnow.search.symbols.search import find_symbols
from winnow.symbols.file_symbols import CONTAINERS, Definition
from winnow.text.buffers import unsaved_overlay
from winnow.text.listing import list_files
from winnow.text.paths import shared_ending
from winnow.text.scope import Scope
from winnow.types import Hit, HitKind, Progress, no_progress
from winnow.workspace import EngineWorkspace

# Frames further up are the program's start, or a framework.
MOST_FRAMES = 10
MOST_MESSAGES = 3
MOST_SITES = 5
# A frame of another machine may be in one of this many files.
MOST_EQUAL = 3
# The factor for files that repeat messages: tests, documentation, translations, generated files.
REPEATING = 0.5
# A message that is not reported as an error must be mostly text of the source.
PROBABLE_SHARE = 0.7
# Such a message is looked up in the index, by its most telling terms.
PROBABLE_TERMS, PROBABLE_FILES = 6, 50
# A text that is no message either, such as a label, may be a string of the source. It is looked up
# if that takes little: in the index, and in few files. Trigrams name more files than have the text.
LABEL_WORDS = range(2, 13)
LABEL_CANDIDATES, LABEL_FILES = 200, 25
# Lines to show around a frame outside of a function.
AROUND = 5
# More definitions with the line of a frame are unlikely; the mark of that line outweighs words.
MARK = 100.0

# What messages say, and questions seldom do.
_FAILURE = re.compile(
    r"\b(?:not|cannot|\w+n't|invalid|failed|must|unable|missing|(?:un)?expected|required|unknown|"
    r"already|denied|refused|undefined|no such|too (?:many|large|long|few)|out of|illegal|bad|"
    r"unsupported|requires?|malformed|exceed(?:s|ed)|immutable|read-only|timed out|aborted|"
    r"rejected|unreachable|unavailable)\b",
    re.I,
)
# A value: a number, or in brackets or quotes, but not at the beginning, where people put a topic.
_FILLED = re.compile(
    r"(?<= )(?:#?\d+\b|[A-Z]\w*#\w+|"
    r"\[[^\[\]]+\]|\([^()]+\)|\{[^{}]+\}|\"[^\"]+\"|'[^']+'(?!\w))"
)
# What clients print before a message of a server.
_LABEL = re.compile(r"^[(\[](?:error|err|fatal|warning)[)\]]:? ", re.I)
_ASKS = re.compile(r"(?:how|what|where|when|which|who|why)\b", re.I)
# "Is the file open?", but also "can call this only once" and "no such name; did you mean …?"
_MAY_ASK = re.compile(r"(?:is|are|does|do|can|should)\b(?!'t| not)|.*\?$", re.I)
_VERSION = re.compile(r"@v?\d[\w.+-]*$|-v?\d+(?:\.\d+)+[\w.+-]*$")
_SEPARATOR = re.compile(r"::|\.")
_LAST_NAME = re.compile(r"[\w$?!]+")


class _Place(NamedTuple):
    """A frame in a file of the workspace; ``at`` is its place in the trace, from 1. It is not
    ``sure`` if only the name of the file is equal, and its folder is unknown, or if it can be in
    other files as well. A compiler, or a person, names a place that is not ``is_in_trace``."""

    at: int
    frame: Frame
    path: str
    sure: bool
    is_in_trace: bool


class _Message(NamedTuple):
    """A message of a query, and the least share of it that the source must have, unless a string
    of the source makes it or a part between colons. If it ``is_label``, a string that is no test's
    must be all of it."""

    error: ErrorMessage
    least: float = 0.0
    is_label: bool = False

    @property
    def terms(self) -> Sequence[str]:
        """Texts to search for, of which the source has some."""
        return [self.error.text.rstrip(END)] if self.is_label else search_terms(self.error.text)


async def error_hits(
    workspace: EngineWorkspace, scope: Scope, parts: QueryParts, progress: Progress
) -> list[Hit]:
    """Return the places that raise the errors of a query, and the frames of its stack traces."""
    places = await _places(workspace, scope, parts.frames[:MOST_FRAMES]) if parts.frames else []
    called = await _called(workspace, scope, parts) if parts.calls else []
    sites = await _sites(workspace, scope, parts, progress)
    paths = {place.path for place in places} | {site.path for site in sites}
    if not paths:
        return _scored(called)
    known = await _definitions(workspace, scope, paths)
    frames = [_frame_hit(place, known[place.path]) for place in places if place.sure] + called
    unsure = [_frame_hit(place, known[place.path]) for place in places if not place.sure]
    raised = [_site_hit(site, known[site.path]) for site in sites]
    # The frame that has the message is the place; otherwise the deepest frame is nearest to it.
    in_frame = [hit for hit in raised if any(_contains(frame, hit) for frame in frames)]
    others = [hit for hit in raised if hit not in in_frame]
    ordered = [*in_frame, *frames[:1], *others, *frames[1:], *unsure]
    return _scored(ordered)


def _scored(hits: Sequence[Hit]) -> list[Hit]:
    return [
        msgspec.structs.replace(hit, score=round(1 - place / 1000, 4))
        for place, hit in enumerate(_without_repeats(hits))
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
        indexed = await indexed_files(workspace, ripgrep, scope)
        if indexed is None:
            with unsaved_overlay(workspace.buffers, scope) as overlay:
                listing = await list_files(ripgrep, scope, overlay)
            indexed = IndexedFiles(listing.paths, lambda path: True)
    names = {frame.path.rpartition("/")[2] for frame in frames}
    by_name: dict[str, list[str]] = {}
    for path in indexed.paths:
        name = path.rpartition("/")[2]
        if name in names and indexed.covers(path):
            by_name.setdefault(name, []).append(path)
    found = []
    for at, frame in enumerate(frames, 1):
        known = _best_paths(scope, frame, by_name.get(frame.path.rpartition("/")[2], ()))
        for path in known if len(known) <= MOST_EQUAL else ():
            is_named = "/" in frame.path.removeprefix("./") or "/" not in scope.locate(path)[1]
            is_in_trace = len(frames) > 1 or bool(frame.function)
            found.append(_Place(at, frame, path, is_named and len(known) == 1, is_in_trace))
    return found


def _best_paths(scope: Scope, frame: Frame, paths: Sequence[str]) -> list[str]:
    """Return the files that a frame can mean: those with the most equal names at the end of their
    path."""
    wanted = _names(frame.path)
    counts = {}
    for path in paths:
        root, below = scope.locate(path)
        names = _names(f"{root.as_posix()}/{below}")
        equal = shared_ending(wanted, names)
        is_whole = equal == len(wanted) or equal >= below.count("/") + 1
        if equal >= EQUAL_NAMES or is_whole:
            counts[path] = equal
    return [path for path in counts if counts[path] == max(counts.values())]


def _names(path: str) -> list[str]:
    """Return the names of a path, without versions of packages."""
    return [_VERSION.sub("", name) for name in path.split("/") if name not in ("", ".", "..")]


def _frame_hit(place: _Place, definitions: Sequence[Definition]) -> Hit:
    frame = place.frame
    # A closure, `{closure}` or `{{closure}}`, has no name.
    names = [] if frame.function.endswith("}") else _LAST_NAME.findall(frame.function)
    name = names[-1] if names else ""
    function = _enclosing(definitions, frame.line)
    if name and (function is None or function.name != name):
        # Another version of the file: the function tells more than the line.
        named = [definition for definition in definitions if definition.name == name]
        function = min(named, key=lambda d: abs(d.line + 1 - frame.line), default=function)
    why = f"frame {place.at} of the stack trace" if place.is_in_trace else "the line in the query"
    if frame.function:
        why = f"{why}: `{frame.function}`"
    kind: HitKind = "passage" if function is None else "definition"
    first, last = max(1, frame.line - AROUND), frame.line + AROUND
    if function is not None and function.kind not in CONTAINERS:
        first, last = function.line + 1, function.end_line + 1
    symbol = function.qualified_name if function is not None else None
    best = frame.line if first <= frame.line <= last else None
    marks = {frame.line: MARK} if best else {}
    return Hit(place.path, kind, 0.0, why, first, last, symbol, marks=marks, best=best)


async def _called(workspace: EngineWorkspace, scope: Scope, parts: QueryParts) -> list[Hit]:
    """Return the definitions of functions in frames without a place. Needs the index."""
    if not workspace.index.state().knows_all:
        return []
    found = []
    for at, call in enumerate(parts.calls[:MOST_FRAMES], len(parts.frames) + 1):
        # Packages and crates need not be folders.
        for name in dict.fromkeys((call, ".".join(_SEPARATOR.split(call)[-2:]))):
            search = await find_symbols(
                workspace, scope, name, no_progress, exact=True, max_results=1
            )
            for path, symbol in search.located():
                why = f"frame {at} of the stack trace: `{call}`"
                lines = symbol.line, symbol.end_line
                found.append(Hit(path, "definition", 0.0, why, *lines, symbol.qualified_name))
            if search.found.symbols:
                break
    return found


def _enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """Return the innermost definition that contains a line, from 1."""
    around = [d for d in definitions if d.line + 1 <= line <= d.end_line + 1]
    return min(around, key=lambda d: d.end_line - d.line, default=None)


async def _definitions(
    workspace: EngineWorkspace, scope: Scope, paths: set[str]
) -> Mapping[str, Sequence[Definition]]:
    """Return the definitions of files. Those that the index lacks are parsed now."""
    requested: Sequence[str] = ()
    if workspace.config.index.enabled:
        requested = [scope.absolute(path) for path in paths if may_have_symbols(path)]
    snapshot = workspace.index.snapshot(
        workspace.buffers, 0, requested, further=shared_symbols(scope)
    )
    async with snapshot as (view, _):

        def read() -> dict[str, Sequence[Definition]]:
            return {path: view.definitions_in(scope.absolute(path)) for path in paths}

        return await view.read(read)


# --- messages ------------------------------------------------------------------------------


async def _sites(
    workspace: EngineWorkspace, scope: Scope, parts: QueryParts, progress: Progress
) -> list[Site]:
    """Return the places that make the messages of a query, those of the first message first."""
    messages = list(_messages(parts))
    if not messages:
        return []
    async with workspace.search_slots:
        files = await _files(workspace, scope, messages, progress)
        texts = CurrentTexts(scope, workspace.buffers)
        width = workspace.config.limits.line_characters

        def best_sites() -> list[Site]:
            return [
                site
                for message in messages
                for site in _best_sites(
                    message, matched_texts(texts, files, message.terms, _weight, width)
                )
            ]

        return await asyncio.to_thread(best_sites)


async def _files(
    workspace: EngineWorkspace, scope: Scope, messages: Sequence[_Message], progress: Progress
) -> Mapping[str, Set[str]]:
    """Return the files that may have terms of some messages, with these terms, by path."""
    found: dict[str, set[str]] = {}

    def add(files: Mapping[str, Set[str]]) -> None:
        for path, terms in files.items():
            found.setdefault(path, set()).update(terms)

    is_indexed = knows_texts(workspace, scope)
    searched: dict[str, None] = {}
    for message in messages:
        if message.is_label:
            if is_indexed:
                files = await indexed_files_with(
                    workspace, scope, message.terms, LABEL_CANDIDATES, _weight
                )
                code = {path: files[path] for path in files if not _repeats(path)}
                is_rare = len(files) < LABEL_CANDIDATES and len(code) <= LABEL_FILES
                add(code if is_rare else {})
        elif is_indexed and message.least:
            terms = message.terms[:PROBABLE_TERMS]
            add(await indexed_files_with(workspace, scope, terms, PROBABLE_FILES, _weight))
        else:
            searched |= dict.fromkeys(message.terms)
    if searched:
        progress("Searching for the error message")
        add(await files_with_terms(workspace, scope, [*searched]))
    return found


def _best_sites(message: _Message, texts: Iterable[MatchedText]) -> list[Site]:
    """Return the best places that make a message."""
    error = message.error
    sites = [site for text in texts for site in sites_in(text, error.text, error.kind)]
    repeating = {path for path in {site.path for site in sites} if _repeats(path)}
    if message.is_label:
        sites = [site for site in sites if site.makes == "whole" and site.path not in repeating]
    scores = {site: site.score * (REPEATING if site.path in repeating else 1.0) for site in sites}
    # What repeats a message comes after the code that makes it.
    last = repeating if any(site.makes and site.path not in repeating for site in sites) else ()
    best = sorted(
        (site for site in sites if site.makes or site.score >= message.least),
        key=lambda site: (site.path in last, -scores[site], site.path, site.first),
    )
    return [site for site in best[:MOST_SITES] if site.score >= scores[best[0]] / 2]


def _messages(parts: QueryParts) -> Iterator[_Message]:
    """Yield the messages of a query."""
    for error in parts.errors[:MOST_MESSAGES]:
        yield _Message(error)
    if parts.errors:
        return
    for text in _logged(parts):
        yield _Message(ErrorMessage(text), PROBABLE_SHARE)
    for text in (_LABEL.sub("", parts.title), *parts.quotes[:MOST_MESSAGES]):
        if _ASKS.match(text):
            continue
        fails = _FAILURE.search(text)
        if fails and not _MAY_ASK.match(text):
            yield _Message(ErrorMessage(text), PROBABLE_SHARE)
        elif fails or _FILLED.search(text):
            yield _Message(ErrorMessage(text), math.inf)
        elif len(text.split()) in LABEL_WORDS:
            yield _Message(ErrorMessage(text), is_label=True)


def _logged(parts: QueryParts) -> Iterator[str]:
    """Yield the messages of the first entries of a log."""
    lines = (line for log in parts.logs for line in log.splitlines())
    for entry in map(log_entry, itertools.islice(lines, MOST_MESSAGES)):
        if entry is not None:
            yield entry.message


def _weight(path: str) -> float:
    return REPEATING if _repeats(path) else 1.0


def _repeats(path: str) -> bool:
    return any(pattern.search(path) for kind, pattern, _ in KINDS if kind != "side")


def _site_hit(site: Site, definitions: Sequence[Definition]) -> Hit:
    function = _enclosing(definitions, site.first)
    if _repeats(site.path):
        why = "repeats this message"
    else:
        verb = "logs" if site.logs else "raises" if site.raises else "has"
        why = f"{verb} this message"
    marks = dict.fromkeys(range(site.first, site.last + 1), MARK)
    symbol = function.qualified_name if function is not None else None
    return Hit(site.path, "passage", 0.0, why, site.first, site.last, symbol, marks=marks)
