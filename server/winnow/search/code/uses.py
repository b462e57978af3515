"""Answer a question about the uses of a name with the places that use it.

A place is a function with its uses, or a line outside of functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from winnow.errors import IndexUnavailable, NoSymbol, SearchTimedOut
from winnow.index.postings.terms import without_convention
from winnow.search.answer.completeness import incomplete
from winnow.search.answer.hits import MOST_HITS, HitList
from winnow.search.code.definitions import MARK, enclosing
from winnow.search.code.relations import Relation, RelationKind, is_named_after
from winnow.search.index.state import path_not_indexed
from winnow.search.shared.scope import shared_roots
from winnow.search.symbols.navigation import (
    Kind,
    Navigation,
    SymbolUse,
    parts_of,
)
from winnow.search.symbols.references import (
    MOST_DEFINITIONS,
    override_in_words,
    parsed_texts,
    unparsed_reasons,
    unsearched_reasons,
)
from winnow.search.symbols.requests import (
    Prerequisites,
    completeness_of,
    with_symbols,
)
from winnow.search.symbols.unsearched import unsearched_warnings
from winnow.symbols.file_symbols import CLASSES, Definition
from winnow.symbols.resolve.places import NamePlace, function_around
from winnow.symbols.view import File
from winnow.text.paths import containing_root
from winnow.text.plural import counted
from winnow.text.scope import Scope
from winnow.text.selection import file_type_globs
from winnow.types import Hit, Progress
from winnow.workspace import EngineWorkspace

# The reason of a place, by the kind of its uses. Of several kinds in one place, the first counts.
_REASONS: dict[Kind, str] = {
    "call": "calls",
    "write": "sets",
    "read": "uses",
    "type": "uses",
    "import": "imports",
}
# The uses that answer a question. A function that is passed on is called elsewhere.
_ANSWERS: dict[RelationKind, Sequence[Kind]] = {
    "calls": ("call", "read"),
    "uses": ("call", "write", "read", "type", "import"),
    "tests": ("call", "write", "read", "type"),
    "writes": ("write",),
    "imports": ("import",),
}
_TIERS = ("certain", "likely", "possible")
_NOTHING: dict[RelationKind, str] = {
    "calls": "nothing calls",
    "uses": "nothing uses",
    "tests": "no test uses",
    "writes": "nothing sets",
    "imports": "nothing imports",
    "subclasses": "nothing derives from",
    "callees": "nothing is called by",
}
_MODULES = ("module", "namespace")
# The kinds that others can derive from: in Elixir, a behaviour is a module.
_BASES = CLASSES | {"module"}
# Lines before and after a use outside of functions.
_AROUND = 3


class _Place(NamedTuple):
    """A place in a file by its absolute path; ``best`` is the line that matters. Places are in
    the order of ``rank``, then of files."""

    rank: tuple[int, ...]
    path: str
    first: int
    last: int
    best: int
    symbol: str | None
    why: str


async def find_related(
    workspace: EngineWorkspace, scope: Scope, relation: Relation, progress: Progress
) -> HitList:
    """Return the places that answer a question about the uses of a name: first those outside of
    tests that are certain. If no file defines the name, or none uses it, a warning says so."""
    types = await file_type_globs(workspace.run_ripgrep(), scope.root, scope.filters.file_types)
    selects, roots = scope.selector(types), [root.as_posix() for root in scope.roots]

    def work(
        navigation: Navigation,
    ) -> tuple[set[_Place], int, Definition, RelationKind, list[NamePlace]]:
        # In Ruby, the question mark may belong to the name.
        found = navigation.named(relation.name) or navigation.named(f"{relation.name}?")
        named = [each for each in found if not each[1].declared]
        if relation.is_module:
            named = [each for each in named if each[1].kind in _MODULES]
        if not named:
            raise NoSymbol(f"nothing is defined with the name {relation.name}")
        kind, searched = relation.kind, named[:MOST_DEFINITIONS]
        places = set(_related(navigation, kind, searched))
        if kind == "subclasses" and not places and not _has_class(named):
            kind = "uses"
            places = set(_related(navigation, kind, searched))
        overridden: list[NamePlace] = []
        if kind in ("calls", "uses"):
            symbols = [navigation.of_definition(*each) for each in searched]
            overridden = navigation.overridden(symbols)
        return places, len(named[MOST_DEFINITIONS:]), named[0][1], kind, overridden

    progress(f"Finding uses: {relation.name[:60]}")
    needed = Prerequisites(parts_of(relation.name)[-1:])
    further, unparsed = await parsed_texts(workspace, scope, progress)
    try:
        async with workspace.search_slots:
            answer = await with_symbols(
                *(workspace, needed, work, progress),
                further=further,
                further_roots=shared_roots(scope),
            )
    except (IndexUnavailable, NoSymbol, SearchTimedOut) as error:
        return HitList(scope, [], 0, incomplete(error.message, *unparsed_reasons(unparsed)))
    warnings = _warnings(answer.navigation)
    places, unsearched, definition, kind, overridden = answer.result
    hits: list[Hit] = []
    for place in sorted(places):
        located = containing_root(place.path, roots)
        if located is not None and selects(*located):
            path = scope.prefix(located[0]) + located[1]
            score = round(1 - len(hits) / max(MOST_HITS, len(places)), 4)
            lines = place.first, place.last, place.symbol
            marks = {place.best: MARK}
            hits.append(
                Hit(path, "passage", score, place.why, *lines, marks=marks, best=place.best)
            )
    for above in overridden[:1]:
        if above.definition and (located := containing_root(above.path, roots)):
            at = f"{scope.prefix(located[0])}{located[1]}:{above.definition.line + 1}"
            warnings.append(override_in_words("it", at))
    if kind not in ("imports", "callees"):
        warnings += await unsearched_warnings(workspace, scope, definition.name, selects)
    if not hits:
        warnings.insert(0, f"{_NOTHING[kind]} {relation.name}")
    elif kind != relation.kind:
        warnings.insert(0, f"what derives from a {definition.kind} is unknown: these are its uses")
    reasons = [*unsearched_reasons(relation.name, unsearched), *unparsed_reasons(unparsed)]
    reasons += path_not_indexed(workspace, scope)
    completeness = completeness_of(workspace, answer, reasons)
    warnings = [*scope.warnings, *warnings]
    return HitList(scope, hits[:MOST_HITS], len(hits), completeness, warnings=warnings)


def _has_class(named: Sequence[tuple[File, Definition]]) -> bool:
    return any(definition.kind in CLASSES for _, definition in named)


def _related(
    navigation: Navigation, kind: RelationKind, named: Sequence[tuple[File, Definition]]
) -> Iterator[_Place]:
    if kind == "subclasses":
        for file, definition in named:
            if definition.kind in _BASES:
                derived = navigation.subclasses(file, definition)
                for place in derived:
                    yield from _defined(navigation, place, f"derives from `{definition.name}`")
                known = {(place.path, place.at) for place in derived}
                for place in navigation.satisfying(file, definition):
                    if (place.path, place.at) not in known:
                        why = f"has the methods of `{definition.name}`"
                        yield from _defined(navigation, place, why)
    elif kind == "callees":
        for file, definition in named:
            for called in navigation.callees(navigation.of_definition(file, definition)):
                yield from _defined(navigation, called.place, f"called by `{definition.name}`")
    else:
        yield from _using_places(navigation, kind, named)


def _using_places(
    navigation: Navigation, kind: RelationKind, named: Sequence[tuple[File, Definition]]
) -> Iterator[_Place]:
    """Yield the functions and lines with uses of some kinds."""
    symbols = [navigation.of_definition(file, definition) for file, definition in named]
    found_uses = navigation.references_of_any(symbols)
    uses = [use for use in found_uses if use.kind in _ANSWERS[kind]]
    if kind == "tests":
        uses = [use for use in uses if navigation.is_in_test(use.path, use.at)]
    used = {use.path for use in uses if use.kind != "import"}
    groups: dict[tuple[str, int], tuple[Definition | None, list[SymbolUse]]] = {}
    outside: dict[str, list[SymbolUse]] = {}
    for use in uses:
        if use.kind != "import" or use.path not in used:
            function = function_around(navigation.view, use.path, use.at)
            if function is None:
                outside.setdefault(use.path, []).append(use)
            else:
                groups.setdefault((use.path, function.at), (function, []))[1].append(use)
    found = [*groups.values()]
    for path, others in outside.items():
        found += [(None, near) for near in _near_each_other(navigation, path, others)]
    for function, group in found:
        for place in _using(navigation, function, group):
            first = -_named_after(place, named[0][1]) if kind == "tests" else 0
            yield place._replace(rank=(first, *place.rank))


def _named_after(place: _Place, tested: Definition) -> int:
    """Return how clearly the names of a test and its file say that it tests a definition."""
    parts = tested.qualified_name.split(".")
    is_file_of = any(is_named_after(place.path, part) for part in parts)
    test = without_convention(place.symbol or "")
    return 2 * is_file_of + (without_convention(parts[-1]) in test)


def _near_each_other(
    navigation: Navigation, path: str, uses: Sequence[SymbolUse]
) -> Iterator[list[SymbolUse]]:
    """Yield groups of the uses in a file whose shown lines would overlap."""
    source = navigation.sources.read(path)
    if source is None:
        return
    group: list[SymbolUse] = []
    for use in sorted(uses, key=lambda use: use.at):
        if group and source.line_at(use.at) - source.line_at(group[-1].at) > 2 * _AROUND:
            yield group
            group = []
        group.append(use)
    yield group


def _defined(navigation: Navigation, place: NamePlace, why: str) -> Iterator[_Place]:
    """Yield the place of a definition."""
    definition = place.definition
    if definition is not None:
        lines = definition.line + 1, definition.end_line + 1, definition.line + 1
        rank = (navigation.is_aside(place.path, place.at),)
        yield _Place(rank, place.path, *lines, definition.qualified_name, why)


def _using(
    navigation: Navigation, function: Definition | None, uses: Sequence[SymbolUse]
) -> Iterator[_Place]:
    """Yield the place of uses in one function, or near each other outside of functions."""
    kinds = list(_REASONS)
    use = min(uses, key=lambda use: (kinds.index(use.kind), _TIERS.index(use.tier), use.at))
    source = navigation.sources.read(use.path)
    if source is None:
        return
    best = source.line_at(use.at) + 1
    around = function or enclosing(navigation.view.definitions_in(use.path), best)
    if function is not None:
        first, last = function.line + 1, function.end_line + 1
    else:
        lines = [source.line_at(use.at) + 1 for use in uses]
        first, last = max(1, min(lines) - _AROUND), max(lines) + _AROUND
    verb = _REASONS[use.kind]
    if use.tier == "possible":
        verb = f"may {verb.removesuffix('s')}"
    why = f"{verb} `{use.name}`" + (f" {len(uses)} times" if len(uses) > 1 else "")
    is_first = use.kind in ("call", "write")
    rank = (navigation.is_aside(use.path, use.at), _TIERS.index(use.tier), not is_first)
    yield _Place(rank, use.path, first, last, best, around.qualified_name if around else None, why)


def _warnings(navigation: Navigation) -> list[str]:
    undecided = navigation.undecided
    if not undecided:
        return []
    more = counted(undecided, "more use of the name has", "more uses of the name have")
    return [f"{more} a receiver of unknown type: `grep` finds them"]
