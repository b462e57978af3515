"""Find where code declares the route of an HTTP request, or at least names its path."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from winnow.search.answer.hits import CurrentTexts, HitList
from winnow.search.code.ranked_text import files_with
from winnow.search.code.routes import declares, is_alone
from winnow.symbols.search.weight import category_of
from winnow.text.scope import Scope
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

# The best files that may declare a route; more are about something else.
MOST_FILES = 200
# A declaration is at the beginning of a line.
LINE_CHARACTERS = 1_000


async def find_declarations(
    workspace: EngineWorkspace, scope: Scope, pattern: str, progress: Progress
) -> HitList:
    """Return the files that declare a route with this regular expression of
    :func:`winnow.search.code.routes.routes_of`, and behind them those that call it; nothing if no
    file declares it. Raises SearchTimedOut."""
    found = await files_with(workspace, scope, pattern, progress, literal=False)
    texts = CurrentTexts(scope, workspace.buffers)
    hits = await asyncio.to_thread(
        _declarations_first, texts, scope, found.hits[:MOST_FILES], pattern
    )
    return msgspec.structs.replace(found, hits=hits, total=len(hits))


async def find_mentions(
    workspace: EngineWorkspace, scope: Scope, pattern: str, progress: Progress
) -> HitList:
    """Return the files that name the path of a route that nothing declares. Raises
    SearchTimedOut."""
    found = await files_with(workspace, scope, pattern, progress, literal=False)
    warning = "no declaration of this route was found, only code that names its path"
    return msgspec.structs.replace(found, warnings=[*found.warnings, warning])


def _declarations_first(
    texts: CurrentTexts, scope: Scope, hits: Sequence[Hit], pattern: str
) -> list[Hit]:
    """Return the hits that declare a route, with the lines that do so, then those that call it;
    nothing if none declares it."""
    declaring: list[Hit] = []
    calling: list[Hit] = []
    for hit in hits:
        lines = texts.lines(hit.path) or ()
        places = {
            number: (lines[number - 2][-LINE_CHARACTERS:] if number > 1 else "", line)
            for number in hit.marks
            if number <= len(lines) and (line := lines[number - 1][:LINE_CHARACTERS])
        }
        # A test calls routes with functions like those that declare them.
        is_test = category_of(scope.locate(hit.path)[1]) == "test"
        declared = [at for at in places if not is_test and declares(pattern, *places[at])]
        named = [at for at, (_, line) in places.items() if not is_alone(line)]
        if shown := declared or named:
            marks = {at: hit.marks[at] for at in shown}
            found = declaring if declared else calling
            found.append(msgspec.structs.replace(hit, marks=marks, matches=len(marks)))
    if not declaring:
        return []
    least = min(hit.score for hit in declaring)
    last = [msgspec.structs.replace(hit, score=min(hit.score, least)) for hit in calling]
    return [*declaring, *last]
