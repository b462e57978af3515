"""Find where the programs of a workspace start: functions and files with the usual names."""

from __future__ import annotations

import re

import msgspec

from winnow.errors import IndexUnavailable
from winnow.ranking.semantic.path_index import KINDS
from winnow.search.answer.completeness import incomplete
from winnow.search.answer.hits import HitList
from winnow.search.code.orientation import MAIN
from winnow.search.grep.prefilter import known_files
from winnow.search.symbols.search import find_symbols
from winnow.text.scope import Scope
from winnow.types import Completeness, Hit, Progress
from winnow.workspace import EngineWorkspace

WHY = "may start a program"
MOST_FUNCTIONS = 200
# Files whose code runs, by name; and others that do so if they are near the top of a tree.
_STARTING = re.compile(
    r"(?:^|/)(?:main\.(?:[cm]?[jt]sx?|dart|lua|php|py|rb|swift)|__main__\.py|manage\.py"
    r"|Program\.(?:cs|fs|vb))$"
)
_NEAR_TOP = re.compile(
    r"^(?:[^/]+/){0,2}(?:(?:app|cli|index|server)\.(?:[cm]?[jt]sx?|php|py|rb)|config\.ru|artisan)$"
)
# Programs that belong to a build, or write code.
_TOOL = re.compile(
    r"(?:^|/)(?:build\.rs$|gen\w*\.\w+$|(?:gen[^/]*|scripts?|tools?|xtask|internal|eng)/)"
)


async def find_entry_points(
    workspace: EngineWorkspace, scope: Scope, progress: Progress
) -> HitList:
    """Return the functions and files that may start a program, first those of the project itself
    that are near the top of its tree. Raises InvalidParams for an unknown file type."""
    hits, completeness = await _functions(workspace, scope, progress)
    found = {hit.path for hit in hits}
    known = await known_files(workspace, scope)
    hits += [
        Hit(path, "file", 0.0, WHY)
        for path in known.paths
        if path not in found and _starts(scope.locate(path)[1]) and known.covers(path)
    ]
    hits.sort(key=lambda hit: (*_order(scope.locate(hit.path)[1]), hit.path, hit.first or 0))
    scored = [
        msgspec.structs.replace(hit, score=round(1 - place / len(hits), 4))
        for place, hit in enumerate(hits)
    ]
    return HitList(scope, scored, len(hits), completeness, warnings=scope.warnings)


async def _functions(
    workspace: EngineWorkspace, scope: Scope, progress: Progress
) -> tuple[list[Hit], Completeness]:
    """Return the functions with which programs start, and why some may be missing."""
    try:
        search = await find_symbols(
            *(workspace, scope, MAIN, progress),
            exact=True,
            kind="function",
            max_results=MOST_FUNCTIONS,
        )
    except IndexUnavailable as error:
        return [], incomplete(error.message)
    hits = [
        Hit(path, "definition", 0.0, WHY, symbol.line, symbol.end_line, symbol.qualified_name)
        for path, symbol in search.located()
    ]
    return hits, search.completeness()


def _starts(below: str) -> bool:
    return bool(_STARTING.search(below) or _NEAR_TOP.search(below))


def _order(below: str) -> tuple[bool, bool, int]:
    """Return a sort key: tests, examples and the like last, then tools, then by depth."""
    is_aside = any(pattern.search(below) for _, pattern, _ in KINDS)
    return is_aside, bool(_TOOL.search(below)), below.count("/")
