"""Find the definitions of the members that the title of a report names: `Session.send raises`.

The ranker finds their files. The best passage there is about all words of the report, and often
another function.
"""

from __future__ import annotations

import re

from winnow.errors import IndexUnavailable
from winnow.search.code.ranked_text import is_aside
from winnow.search.symbols.search import find_symbols
from winnow.symbols.language import language_of
from winnow.text.scope import Scope
from winnow.types import Hit, no_progress
from winnow.workspace import EngineWorkspace

# A type and its member; not a class within a module, which may only tell what the report is about.
_MEMBER = re.compile(
    r"(?<![\w$./\\#:-])[A-Z]\w{0,60}(?:(?:\.|::|#)\w{1,60}){0,4}(?:\.|::|#)[a-z_]\w{1,60}(?![\w/\\-])"
)
# More names in a title are an enumeration, and more definitions of a name are not told apart.
MOST_NAMES = 2
MOST_DEFINITIONS = 3


async def member_hits(workspace: EngineWorkspace, scope: Scope, title: str) -> list[Hit]:
    """Return the definitions of the members in a title, if the index is complete and has few."""
    names = dict.fromkeys(found[0] for found in _MEMBER.finditer(title))
    hits: list[Hit] = []
    members = [name for name in names if language_of(name) is None]
    for place, name in enumerate(members[:MOST_NAMES]):
        if not workspace.index.state().knows_all:
            break
        try:
            search = await find_symbols(
                *(workspace, scope, name, no_progress),
                exact=True,
                max_results=MOST_DEFINITIONS + 1,
            )
        except IndexUnavailable:
            break
        located = [found for found in search.located() if not is_aside(found[0])]
        if len(located) <= MOST_DEFINITIONS:
            hits += (
                Hit(
                    *(path, "passage", 1 - place / 1000, f"defines {name}"),
                    first=symbol.line,
                    last=symbol.end_line,
                    symbol=symbol.qualified_name,
                )
                for path, symbol in located
            )
    return hits
