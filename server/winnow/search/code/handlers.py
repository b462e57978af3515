"""Find the code that serves an HTTP request: the lines that declare its route, or at least name its
path; and in frameworks where the path of a file is its route (Astro, Next.js, Nuxt, Remix,
SvelteKit), the files."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec

from winnow.search.answer.hits import CurrentTexts, HitList
from winnow.search.code.definitions import hit_of_line
from winnow.search.code.message_files import ASIDE, repeating_kinds
from winnow.search.code.ranked_text import files_with
from winnow.search.code.routes import (
    ANY_METHOD,
    Request,
    declares,
    is_alone,
    requests_in,
    routes_of,
)
from winnow.search.grep.prefilter import IndexedFiles, known_files
from winnow.text.scope import Scope
from winnow.types import COMPLETE, Hit, Progress
from winnow.workspace import EngineWorkspace

# The best files that may declare a route; more are about something else.
MOST_FILES = 200
# A declaration is at the beginning of a line.
LINE_CHARACTERS = 1_000
# The places of each request in a report.
MOST_OF_REQUEST = 2
WHY = "its path is the route"
_FILE = re.compile(rf"(.+?)(?:\.({ANY_METHOD}))?\.(?:[cm]?[jt]sx?|vue|svelte|astro)")
# The folders that contain the routes. In `app`, these files serve the path of their folder.
_APP, _ROOTS = "app", frozenset(("app", "pages", "routes", "server"))
_IN_APP = frozenset(("page", "route"))
# Names for the path of their folder, in the other ones.
_INDEX = re.compile(r"_?index|\+(?:page|server)(?:\.server)?")
# Folders that are not part of the path: `(group)`, `@slot`, `_layout`.
_OUTSIDE_PATH = re.compile(r"\(.*\)|@.*|_.*")
# `[...rest]`, `[[...rest]]`, `$`; `[id]`, `$id`.
_REST = re.compile(r"\[{1,2}\.\.\..*|\$")
_PARAMETER = re.compile(r"\[.*|\$.+")
_EXPORT = r"(?m)^export\s+(?:async\s+)?(?:default\b|(?:const|function)\s+{}\b)"


# --- declarations --------------------------------------------------------------------------


async def find_declarations(
    workspace: EngineWorkspace, scope: Scope, pattern: str, progress: Progress
) -> HitList:
    """Return the files that declare a route with this regular expression of
    :func:`winnow.search.code.routes.routes_of`, and behind them those that call it; nothing if no
    file declares it. Raises SearchTimedOut."""
    found, declaring, calling = await _found_declarations(workspace, scope, pattern, progress)
    least = min((hit.score for hit in declaring), default=0)
    last = [msgspec.structs.replace(hit, score=min(hit.score, least)) for hit in calling]
    hits = [*declaring, *last] if declaring else []
    return msgspec.structs.replace(found, hits=hits, total=len(hits))


async def route_hits(
    workspace: EngineWorkspace, scope: Scope, report: str, progress: Progress
) -> list[Hit]:
    """Return the lines that declare the routes of the requests in a report, and the files whose
    path is such a route. Raises SearchTimedOut."""
    hits: list[Hit] = []
    for request in requests_in(report):
        for pattern in routes_of(request)[:-1]:
            _, declaring, _ = await _found_declarations(workspace, scope, pattern, progress)
            if declaring:
                hits += _lines(declaring, f"declares the route of {request.path}")
                break
        else:
            served = await find_serving(workspace, scope, request, progress)
            hits += _lines(served.hits, WHY)
    return hits


def _lines(hits: Sequence[Hit], why: str) -> list[Hit]:
    """Return the first lines of the first hits as passages."""
    return [
        hit_of_line(hit.path, line, hit.score, why)
        for hit in hits[:MOST_OF_REQUEST]
        for line in [*hit.marks][:1]
    ]


async def find_mentions(
    workspace: EngineWorkspace, scope: Scope, pattern: str, progress: Progress
) -> HitList:
    """Return the files that name the path of a route that nothing declares. Raises
    SearchTimedOut."""
    found = await files_with(workspace, scope, pattern, progress, literal=False)
    warning = "no declaration of this route was found, only code that names its path"
    return msgspec.structs.replace(found, warnings=[*found.warnings, warning])


async def _found_declarations(
    workspace: EngineWorkspace, scope: Scope, pattern: str, progress: Progress
) -> tuple[HitList, list[Hit], list[Hit]]:
    found = await files_with(workspace, scope, pattern, progress, literal=False)
    texts = CurrentTexts(scope, workspace.buffers)
    files = found.hits[:MOST_FILES]
    return found, *await asyncio.to_thread(_declarations, texts, scope, files, pattern)


def _declarations(
    texts: CurrentTexts, scope: Scope, hits: Sequence[Hit], pattern: str
) -> tuple[list[Hit], list[Hit]]:
    """Return the hits that declare a route, with the lines that do so, and those that call it."""
    declaring: list[Hit] = []
    calling: list[Hit] = []
    for hit in hits:
        lines = texts.lines(hit.path) or ()
        places = {
            number: (lines[number - 2][-LINE_CHARACTERS:] if number > 1 else "", line)
            for number in hit.marks
            if number <= len(lines) and (line := lines[number - 1][:LINE_CHARACTERS])
        }
        # A test calls routes with functions like those that declare them, and documents name them.
        is_aside = not ASIDE.isdisjoint(repeating_kinds(scope.locate(hit.path)[1]))
        declared = [at for at in places if not is_aside and declares(pattern, *places[at])]
        named = [at for at, (_, line) in places.items() if not is_alone(line)]
        if shown := declared or named:
            marks = {at: hit.marks[at] for at in shown}
            found = declaring if declared else calling
            found.append(msgspec.structs.replace(hit, marks=marks, matches=len(marks)))
    return declaring, calling


# --- files whose path is the route ---------------------------------------------------------


async def find_serving(
    workspace: EngineWorkspace, scope: Scope, request: Request, progress: Progress
) -> HitList:
    """Return the files that serve a request, those whose path has more of its names first. Raises
    InvalidParams for an unknown file type."""
    progress(f"Searching files that serve {request.path[:60]}")
    known = await known_files(workspace, scope)
    texts = CurrentTexts(scope, workspace.buffers)
    hits = await asyncio.to_thread(_hits, texts, scope, known, request)
    return HitList(scope, hits, len(hits), COMPLETE, warnings=scope.warnings)


def _hits(texts: CurrentTexts, scope: Scope, known: IndexedFiles, request: Request) -> list[Hit]:
    ranked = sorted(
        (rank, path)
        for path in known.paths
        if (rank := _rank(request, scope.locate(path)[1])) is not None and known.covers(path)
    )
    exported = re.compile(_EXPORT.format(f"(?:{request.method})"), re.I)
    return [
        Hit(path, "match", round(1 - at / len(ranked), 4), WHY, matches=1, marks={line: 1.0})
        for at, (_, path) in enumerate(ranked)
        if (line := _line(texts.data(path), exported))
    ]


def _line(text: bytes | None, exported: re.Pattern[str]) -> int:
    """Return the line that serves the request, from 1; 0 for a file that can't be read."""
    if text is None:
        return 0
    found = exported.search(source := text.decode("utf-8", "replace"))
    return source.count("\n", 0, found.start()) + 1 if found else 1


def _rank(request: Request, path: str) -> tuple[int, ...] | None:
    """Return how well the path of a file, relative to its root, is that of a request, lower is
    better; None if it is another path."""
    *folders, name = path.split("/")
    found = _FILE.fullmatch(name)
    if found is None or _ROOTS.isdisjoint(folders):
        return None
    if found[2] and not re.fullmatch(request.method, found[2], re.I):
        return None
    wanted = request.path.strip("/").split("/")
    ranks = (
        _match(wanted, route)
        for at, folder in enumerate(folders)
        if folder in _ROOTS and (route := _route(folders[at:], found[1])) is not None
    )
    return min((rank for rank in ranks if rank is not None), default=None)


def _route(folders: Sequence[str], name: str) -> list[str] | None:
    """Return the parts of the route of a file, by the folders from that of the routes on; None if
    it has none."""
    root, *parts = folders
    if root == _APP:
        if name not in _IN_APP:
            return None
    elif not _INDEX.fullmatch(name):
        # `users.$id`, but not the dots of `[...rest]`.
        parts += [name] if name.startswith("[") else name.split(".")
    return [part for part in parts if not _OUTSIDE_PATH.fullmatch(part)]


def _match(wanted: Sequence[str], route: Sequence[str]) -> tuple[int, ...] | None:
    """Return 0 for each part of a route that is a name of the wanted path, 1 for a parameter, and 2
    for a rest; None if the route has another path."""
    rank: list[int] = []
    for at, part in enumerate(route):
        if _REST.fullmatch(part):
            return (*rank, 2) if at == len(route) - 1 else None
        if at == len(wanted):
            return None
        if part != wanted[at] and not _PARAMETER.fullmatch(part):
            return None
        rank.append(int(part != wanted[at]))
    return tuple(rank) if len(route) == len(wanted) else None
