"""Find the definitions of files, also without an index, so that results are definitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

from winnow.errors import IndexUnavailable
from winnow.index.snapshot import Snapshot
from winnow.index.store.file_record import may_have_symbols
from winnow.search.shared.scope import shared_symbols
from winnow.symbols.file_symbols import Definition
from winnow.text.scope import Scope
from winnow.types import Hit
from winnow.workspace import EngineWorkspace

# A marked line is shown, whatever words other lines have.
MARK = 100.0

Found = TypeVar("Found", bound=Collection[object])


async def definitions_of(
    workspace: EngineWorkspace, scope: Scope, paths: Sequence[str]
) -> Mapping[str, Sequence[Definition]]:
    """Return the definitions of files, by their paths in the scope."""
    return await read_symbols(workspace, scope, paths, Snapshot.definitions_in)


async def read_symbols(
    workspace: EngineWorkspace,
    scope: Scope,
    paths: Sequence[str],
    read: Callable[[Snapshot, str], Found],
) -> Mapping[str, Found]:
    """Return the results of ``read`` for files, by their paths in the scope, except empty ones: of
    a file whose text alone is indexed, the symbols are unknown.

    Workers parse the files now, before the files of an index that is being built, and nothing is
    written. After two seconds, the files that are not parsed yet are left out. If the index is
    switched off, only the symbols of a cluster's files are known.
    """
    requested = {scope.absolute(path): path for path in paths if may_have_symbols(path)}
    parsed = requested if workspace.config.index.enabled else ()
    further = shared_symbols(scope)
    if not (parsed or further):
        return {}
    snapshot = workspace.index.snapshot(workspace.buffers, 0, parsed, further=further)
    try:
        async with snapshot as (view, _):
            return await view.read(_read_each, view, requested, read)
    except IndexUnavailable:
        return {}


def _read_each(
    view: Snapshot, requested: Mapping[str, str], read: Callable[[Snapshot, str], Found]
) -> dict[str, Found]:
    return {path: found for full, path in requested.items() if (found := read(view, full))}


def hit_of_line(path: str, line: int, score: float, why: str, symbol: str | None = None) -> Hit:
    """Return a line, from 1, as a hit; ``symbol`` is the definition around it."""
    return Hit(path, "passage", score, why, line, line, symbol, marks={line: MARK})


def name_around(definitions: Sequence[Definition], line: int) -> str | None:
    """Return the qualified name of the innermost definition that contains a line, from 1."""
    around = enclosing(definitions, line)
    return around.qualified_name if around is not None else None


def enclosing(definitions: Sequence[Definition], line: int) -> Definition | None:
    """Return the innermost definition that contains a line, from 1."""
    around = [d for d in definitions if d.line + 1 <= line <= d.end_line + 1]
    return min(around, key=lambda d: d.end_line - d.line, default=None)
