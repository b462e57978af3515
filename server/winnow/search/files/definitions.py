"""Find the lines of definitions to read: of a symbol by its name, and of an outline of a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from winnow.errors import IndexUnavailable, InvalidParams, NotFound
from winnow.search.code.definitions import definitions_of
from winnow.search.symbols.rows import FoundSymbol
from winnow.search.symbols.search import find_symbols
from winnow.symbols.language import language_of
from winnow.text.paths import locate
from winnow.text.reading import LineRange
from winnow.text.scope import Filters
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

# Definitions to choose from, and other ones that a warning names.
MOST, NAMED = 20, 3


class NamedDefinition(NamedTuple):
    """The file and the lines of a definition, and a warning if there are others of its name."""

    path: str
    lines: LineRange
    others: Sequence[str]


async def definition_named(
    workspace: EngineWorkspace, name: str, progress: Progress
) -> NamedDefinition:
    """Return the best definition of exactly this name.

    Raises NotFound, with the closest name of a symbol if there is one.
    """
    scope = workspace.scope(Filters())
    dotted = name.replace("::", ".").replace("#", ".")
    try:
        search = await find_symbols(
            *(workspace, scope, dotted, progress), exact=True, max_results=MOST
        )
        if not search.symbols() and language_of(name) is None:
            close = await find_symbols(*(workspace, scope, dotted, progress), max_results=1)
            _suggest(name, close.symbols())
    except IndexUnavailable:
        raise NotFound(name) from None
    if not search.symbols():
        raise NotFound(name)
    best, *others = search.symbols()
    places = ", ".join(f"{other.path}:{other.line}" for other in others[:NAMED])
    count = len(others)
    warning = f"{count} other definition{'s' * (count > 1)} of {name}, such as {places}"
    path = os.path.join(best.root or str(scope.root), best.path)
    return NamedDefinition(path, LineRange(best.line, best.end_line), [warning] * bool(others))


def _suggest(name: str, symbols: Sequence[FoundSymbol]) -> None:
    """Raise NotFound with the name of the first symbol, if there is one."""
    for symbol in symbols[:1]:
        meant = symbol.qualified_name
        raise NotFound(name, f"Did you mean the {symbol.kind} {meant!r}?", meant)


async def outline_lines(workspace: EngineWorkspace, path: str) -> list[LineRange]:
    """Return the lines on which the definitions of a file begin, without those inside of functions.
    Begins no index.

    Raises InvalidParams if none are known, NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    roots = workspace.search_roots()
    located = locate(path, roots, tuple(workspace.buffers))
    scope = workspace.scope(Filters())
    shown = scope.prefix(located.place) + located.below
    with workspace.index.beginning_none():
        found = await definitions_of(workspace, scope, [shown])
    known = [each for each in found.get(shown, ()) if not each.local]
    if not known:
        raise InvalidParams("outline", "no definitions are known in this file: read its lines")
    return [LineRange(each.line + 1, each.line + 1) for each in known]
