"""Find the files that serve an HTTP request in frameworks where the path of a file is its route:
Astro, Next.js, Nuxt, Remix, SvelteKit."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from winnow.search.answer.hits import CurrentTexts, HitList
from winnow.search.code.routes import ANY_METHOD, Request
from winnow.search.grep.prefilter import IndexedFiles, known_files
from winnow.text.scope import Scope
from winnow.types import COMPLETE, Hit, Progress
from winnow.workspace import EngineWorkspace

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
