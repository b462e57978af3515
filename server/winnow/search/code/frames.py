"""Find the code behind the frames of stack traces and other places that a query names.

The places may be those of another machine, and of another version of the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from winnow.ranking.query.frames import Frame, sources_of
from winnow.ranking.query.parts import QueryParts
from winnow.search.code.definitions import MARK, enclosing
from winnow.search.code.files import EQUAL_NAMES
from winnow.search.grep.prefilter import known_files
from winnow.search.symbols.search import find_symbols
from winnow.symbols.file_symbols import CONTAINERS, Definition
from winnow.text.paths import shared_ending
from winnow.text.scope import Scope
from winnow.types import Hit, HitKind, no_progress
from winnow.workspace import EngineWorkspace

# Frames further up are the program's start, or a framework.
MOST_FRAMES = 10
# A frame of another machine may be in one of this many files.
MOST_EQUAL = 3
# Lines to show around a frame outside of a function.
AROUND = 5

_VERSION = re.compile(r"@v?\d[\w.+-]*$|-v?\d+(?:\.\d+)+[\w.+-]*$")
_SEPARATOR = re.compile(r"::|\.")
# Ruby's setters end with `=`.
_LAST_NAME = re.compile(r"[\w$?!]+=?")


class FramePlace(NamedTuple):
    """A frame in a file of the workspace; ``at`` is its place in the trace, from 1. It is not
    ``sure`` if only the name of the file is equal, and its folder is unknown, or if it can be in
    other files as well. A compiler, or a person, names a place that is not ``is_in_trace``. If it
    ``is_compiled``, the file is the source of the frame's file, and the line is not that of it."""

    at: int
    frame: Frame
    path: str
    sure: bool
    is_in_trace: bool
    is_compiled: bool = False


async def find_frames(
    workspace: EngineWorkspace, scope: Scope, frames: Sequence[Frame]
) -> list[FramePlace]:
    """Return the frames in files of the scope, in order."""
    indexed = await known_files(workspace, scope)
    names = {_name(path) for frame in frames for path in (frame.path, *sources_of(frame.path))}
    by_name: dict[str, list[str]] = {}
    for path in indexed.paths:
        name = _name(path)
        if name in names and indexed.covers(path):
            by_name.setdefault(name, []).append(path)
    found = []
    for at, frame in enumerate(frames, 1):
        as_written = _best_paths(scope, frame.path, by_name)
        sources = () if as_written else sources_of(frame.path)
        known = as_written or [
            path for source in sources for path in _best_paths(scope, source, by_name)
        ]
        if len(known) > MOST_EQUAL:
            # A compiler that runs in the root prints the path below it.
            known = [path for path in known if scope.locate(path)[1] == frame.path]
        for path in known[:MOST_EQUAL]:
            is_named = "/" in frame.path.removeprefix("./") or "/" not in scope.locate(path)[1]
            is_sure = is_named and len(known) == 1
            is_in_trace = len(frames) > 1 or bool(frame.function)
            found.append(FramePlace(at, frame, path, is_sure, is_in_trace, not as_written))
    return found


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _best_paths(scope: Scope, wanted: str, by_name: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the files that the path of a frame can mean: those with the most equal names at the
    end of their path."""
    parts = _names(wanted)
    counts = {}
    for path in by_name.get(_name(wanted), ()):
        root, below = scope.locate(path)
        equal = shared_ending(parts, _names(f"{root.as_posix()}/{below}"))
        is_whole = equal == len(parts) or equal >= below.count("/") + 1
        if equal >= EQUAL_NAMES or is_whole:
            counts[path] = equal
    return [path for path in counts if counts[path] == max(counts.values())]


def _names(path: str) -> list[str]:
    """Return the names of a path, without versions of packages."""
    return [_VERSION.sub("", name) for name in path.split("/") if name not in ("", ".", "..")]


def frame_hit(
    place: FramePlace, definitions: Sequence[Definition], lines: Sequence[str] = ()
) -> Hit:
    """Return a frame as a hit, with its function, from the definitions of its file and its
    lines."""
    frame = place.frame
    # A closure, `{closure}` or `{{closure}}`, has no name.
    names = [] if frame.function.endswith("}") else _LAST_NAME.findall(frame.function)
    named = [definition for definition in definitions if names[-1:] == [definition.name]]
    if place.is_compiled:
        return _source_hit(place, named)
    line = _line_now(frame, named, lines)
    # In another version of the file, the function tells more than the line.
    function = enclosing(named, line) or min(
        named, key=lambda d: abs(d.line + 1 - line), default=enclosing(definitions, line)
    )
    kind: HitKind = "passage" if function is None else "definition"
    first, last = max(1, line - AROUND), line + AROUND
    if function is not None and function.kind not in CONTAINERS:
        first, last = function.line + 1, function.end_line + 1
    symbol = function.qualified_name if function is not None else None
    best = line if first <= line <= last else None
    marks = {line: MARK} if best else {}
    return Hit(place.path, kind, 0.0, _why(place), first, last, symbol, marks=marks, best=best)


def _why(place: FramePlace) -> str:
    why = f"frame {place.at} of the stack trace" if place.is_in_trace else "the line in the query"
    return f"{why}: `{place.frame.function}`" if place.frame.function else why


def _source_hit(place: FramePlace, named: Sequence[Definition]) -> Hit:
    """Return a frame of a compiled file as a hit: its function in the source, else the file."""
    why = f"{_why(place)}, in the source of {_name(place.frame.path)}, whose lines differ"
    if not named:
        return Hit(place.path, "file", 0.0, why)
    function = named[0]
    lines = function.line + 1, function.end_line + 1
    return Hit(place.path, "definition", 0.0, why, *lines, function.qualified_name)


def _line_now(frame: Frame, named: Sequence[Definition], lines: Sequence[str]) -> int:
    """Return the line of a frame: in another version of the file, the nearest one with its code, in
    one of the functions that have its name, if there are any."""
    equal = [
        number
        for number, line in enumerate(lines, 1)
        if frame.code and line.strip() == frame.code and (not named or enclosing(named, number))
    ]
    return min(equal, key=lambda number: abs(number - frame.line), default=frame.line)


async def find_called(workspace: EngineWorkspace, scope: Scope, parts: QueryParts) -> list[Hit]:
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
