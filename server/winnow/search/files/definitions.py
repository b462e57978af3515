"""Find the lines of definitions to read: of a symbol by its name, and of an outline of a file."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from winnow.errors import IndexUnavailable, InvalidParams, NotFound
from winnow.index.builder.unsaved import UNSAVED_SECONDS
from winnow.index.snapshot import Snapshot
from winnow.search.code.definitions import read_symbols
from winnow.search.symbols.navigation import spellings
from winnow.search.symbols.requests import sources_of
from winnow.search.symbols.search import find_symbols, name_meant
from winnow.symbols.language import language_of
from winnow.text.lines import SourceTexts
from winnow.text.paths import locate
from winnow.text.reading import LineRange
from winnow.text.scope import Filters
from winnow.types import Progress
from winnow.workspace import EngineWorkspace

# Definitions to choose from, and other ones that a warning names.
MOST, NAMED = 20, 3


class NamedDefinition(NamedTuple):
    """A definition with its file and lines, and a warning if there are others of its name."""

    symbol: str
    path: str
    lines: LineRange
    others: Sequence[str]


async def definition_named(
    workspace: EngineWorkspace, name: str, progress: Progress, file: str = ""
) -> NamedDefinition:
    """Return the best definition of exactly this name, in a ``file`` if it is given.

    Raises NotFound; without a ``file``, with the closest name of a symbol if there is one.
    """
    scope = workspace.scope(Filters(path=file))
    try:
        for parts in spellings(name):
            dotted = ".".join(parts)
            search = await find_symbols(
                *(workspace, scope, dotted, progress), exact=True, max_results=MOST
            )
            if search.symbols():
                break
        suggestion = None
        if not (search.symbols() or file) and language_of(name) is None:
            suggestion = await name_meant(workspace, name, progress)
    except IndexUnavailable:
        raise NotFound(name) from None
    if suggestion is not None:
        raise NotFound(name, *suggestion)
    if not search.symbols():
        raise NotFound(name, "No indexed file defines a symbol of this name")
    best, *others = search.symbols()
    places = ", ".join(f"{other.path}:{other.line}" for other in others[:NAMED])
    count = max(search.found.total, len(search.symbols())) - 1
    warning = f"{count} other definition{'s' * (count > 1)} of {name}, such as {places}"
    path = os.path.join(best.root or str(scope.root), best.path)
    lines = LineRange(best.line, best.end_line)
    return NamedDefinition(best.qualified_name, path, lines, [warning] * bool(others))


async def outline_lines(workspace: EngineWorkspace, path: str) -> list[LineRange]:
    """Return the lines on which the definitions of a file begin, and the extensions of types that
    contain them. Begins no index.

    Raises InvalidParams if none are known, NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    roots = workspace.search_roots()
    located = locate(path, roots, tuple(workspace.buffers))
    scope = workspace.scope(Filters())
    shown = scope.prefix(located.place) + located.below
    lines_in = functools.partial(_outline_in, sources_of(workspace))
    seconds, began, is_late = workspace.config.limits.search_seconds, time.monotonic(), True
    found: Mapping[str, Collection[int]] = {}
    with workspace.index.beginning_none():
        # The first worker may take longer to start than a search waits for it.
        while not found and is_late and time.monotonic() - began < seconds:
            asked = time.monotonic()
            found = await read_symbols(workspace, scope, [shown], lines_in)
            is_late = time.monotonic() - asked >= UNSAVED_SECONDS
    if not found:
        why = f"they were not read in {seconds:g} s" if is_late else "it seems to have none"
        if not workspace.config.index.enabled:
            why = "the index is switched off"
        problem = f"the definitions in this file are unknown: {why}; read its lines"
        raise InvalidParams("outline", problem)
    return [LineRange(line + 1, line + 1) for line in found[shown]]


def _outline_in(sources: SourceTexts, view: Snapshot, path: str) -> Collection[int]:
    definitions = view.definitions_in(path)
    lines = {each.line for each in definitions}
    source, table = sources.read(path), view.scope_table(path)
    if source is not None and table is not None:
        # A method that is declared outside of its class is such a part itself.
        begun = {each.start for each in definitions}
        parts = {scope.start for scope in table.scopes if scope.kind == "part"}
        lines.update(map(source.line_at, parts - begun))
    return lines
