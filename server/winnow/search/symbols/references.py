"""Find the references of a symbol, with the kind and the certainty of each."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from winnow.config.globs import InvalidGlob, glob_regex
from winnow.errors import InvalidParams, NoSymbol, NotFound, PathOutsideWorkspace
from winnow.index.snapshot import Overlay
from winnow.index.store.file_record import may_have_symbols
from winnow.search.index.background import open_index
from winnow.search.index.begin import begin_index
from winnow.search.shared.opened import opened_scope
from winnow.search.shared.scope import SharedScope, shared_roots, with_shared
from winnow.search.shared.wanted import Wanted
from winnow.search.symbols.navigation import Navigation, SymbolAtPosition, SymbolUse, parts_of
from winnow.search.symbols.requests import (
    Prerequisites,
    absolute,
    completeness_of,
    sources_of,
    with_symbols,
)
from winnow.search.symbols.rows import FoundReference, ReferencedSymbol, ReferenceKind
from winnow.search.symbols.search import name_meant
from winnow.search.symbols.unread import unread_in_words
from winnow.search.symbols.unsearched import symbol_name, unsearched_warnings
from winnow.symbols.resolve.places import FUNCTIONS, NamePlace, function_around
from winnow.symbols.view import File
from winnow.text.lines import SourceTexts
from winnow.text.paths import column_of, containing_root, locate, place_of
from winnow.text.plural import counted
from winnow.text.ripgrep import TextPattern
from winnow.text.scope import Filters, Scope
from winnow.types import Completeness, InRepository, Progress
from winnow.workspace import EngineWorkspace

TEXT_CHARACTERS = 300
OTHERS_NAMED = 5
# More definitions of a name are those of a convention, such as `main`.
MOST_DEFINITIONS = 100
# Texts of a cluster are parsed in this time.
PARSE_SECONDS = 2.0
_TIERS = {"certain": 0, "likely": 1, "possible": 2}


class SymbolSelector(msgspec.Struct, frozen=True):
    """The symbol that a caller means: by ``path``, ``line`` and ``column`` (0 if absent), or by
    ``name``."""

    path: str = ""
    line: int = 0
    column: int = 0
    name: str = ""


class ReferenceFilter(msgspec.Struct, frozen=True):
    """The references to return: all kinds if ``kinds`` is empty, files by glob patterns.

    With ``callees``, the definitions of the functions that the symbol calls, in the order of files.
    """

    callees: bool = False
    kinds: Sequence[ReferenceKind] = ()
    definitions: bool = True
    certain_only: bool = False
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()


class References(msgspec.Struct, frozen=True):
    """The references of a symbol: certain ones first, then those that are not in tests, examples or
    code of others, by path and line."""

    roots: Sequence[Path]
    symbol: ReferencedSymbol | None
    references: list[FoundReference]
    completeness: Completeness
    warnings: list[str]


class _Resolved(msgspec.Struct, frozen=True):
    """The selected symbols with their uses; ``more`` is the number of further symbols with the
    name, whose uses were not searched, ``unread`` the files that :meth:`Navigation.unread`
    returns, ``kindless`` the symbols' languages in which kinds are not known, ``namesakes`` other
    definitions of the name, to which possible uses may belong, ``omitted`` the numbers of uses of
    kinds that were not requested, ``overridden`` what :meth:`Navigation.overridden` returns."""

    symbols: list[SymbolAtPosition]
    more: int
    references: list[FoundReference]
    undecided: int
    unread: dict[str, str]
    kindless: Sequence[str] = ()
    namesakes: Sequence[NamePlace] = ()
    omitted: Mapping[str, int] = {}
    overridden: Sequence[NamePlace] = ()


async def find_references(
    workspace: EngineWorkspace,
    selector: SymbolSelector,
    filters: ReferenceFilter,
    progress: Progress,
    repositories: Sequence[str] = (),
) -> References:
    """Return the references of a symbol, with ``repositories`` also in texts of a cluster.

    Raises InvalidParams, NoSymbol, NoWorkspace, NotFound and PathOutsideWorkspace.
    """
    if not selector.path and place_of(selector.name):
        selector = msgspec.structs.replace(selector, path=selector.name, name="")
    if selector.line and not selector.path:
        raise InvalidParams("path", "required with `line`: pass both, or `name` alone")
    roots = workspace.search_roots()
    if not selector.path and _is_file(selector.name, roots):
        place = f"{selector.name}:12"
        raise InvalidParams("name", f"it is a file: pass a place in it, such as {place!r}")
    located = locate(selector.path, roots, tuple(workspace.buffers)) if selector.path else None
    if located and located.lines and not selector.line:
        line, column = located.lines[0], selector.column or column_of(selector.path)
        selector = msgspec.structs.replace(selector, line=line, column=column)
    if not selector.name and not selector.line:
        raise InvalidParams("name", "pass a name or a place, such as 'src/a.py:12'")
    paths = [absolute(roots, located)] if located else []
    names = parts_of(selector.name)[-1:]
    if not selector.name:
        names = await asyncio.to_thread(_names_at, sources_of(workspace), paths[0], selector)
    words = [TextPattern(name, literal=True) for name in names]
    wanted = Wanted(" ".join(names), words, must_match=True)
    async with opened_scope(workspace, Filters(), repositories, wanted) as scope:
        needed = Prerequisites(names, paths)
        return await _references(workspace, scope, selector, filters, needed, progress)


def _is_file(name: str, roots: Sequence[Path]) -> bool:
    """Return True if the name of a symbol is the path of a file. Its extension is no symbol."""
    with contextlib.suppress(NotFound, PathOutsideWorkspace):
        return "." in name and os.path.isfile(locate(name, roots).real)
    return False


async def _references(
    workspace: EngineWorkspace,
    scope: Scope,
    selector: SymbolSelector,
    filters: ReferenceFilter,
    needed: Prerequisites,
    progress: Progress,
) -> References:
    further, unparsed = await parsed_texts(workspace, scope, progress)

    def work(navigation: Navigation) -> _Resolved:
        return _resolve(navigation, scope, selector, filters, needed.paths)

    await begin_index(workspace, progress)
    progress("Finding references")
    try:
        async with workspace.search_slots:
            answer = await with_symbols(
                *(workspace, needed, work, progress),
                further=further,
                further_roots=shared_roots(scope),
            )
    except NoSymbol as error:
        error = await _with_problem(workspace, scope, needed, error, unparsed)
        raise await _with_suggestion(workspace, selector, error, progress) from None
    shown, resolved = _Shown(answer.navigation, scope), answer.result
    reasons = [*_reasons(selector, resolved, shown), *unparsed_reasons(unparsed)]
    completeness = completeness_of(workspace, answer, reasons)
    definitions = [] if resolved.symbols[0].external else resolved.symbols[0].places
    definitions = sorted(definitions, key=lambda place: not _is_at(place, selector, needed.paths))
    unsearched: list[str] = []
    if not filters.callees:
        name = symbol_name(resolved.symbols)
        unsearched = await unsearched_warnings(workspace, scope, name, _selector(filters))
    warnings = [*_warnings(selector, resolved, shown), *unsearched]
    return References(
        scope.roots,
        next((row for place in definitions if (row := shown.symbol(place))), None),
        resolved.references,
        with_shared(completeness, scope),
        [*warnings, *workspace.ignore_warnings(scope.roots)],
    )


def _resolve(
    navigation: Navigation,
    scope: Scope,
    selector: SymbolSelector,
    filters: ReferenceFilter,
    paths: Sequence[str],
) -> _Resolved:
    """Return the selected symbols with their uses, in the order of the answer."""
    shown, accepts = _Shown(navigation, scope), _accepts(filters, scope.roots)
    symbols, more = _symbols(navigation, selector, paths, shown)

    def rank(use: SymbolUse) -> tuple[object, ...]:
        return (_TIERS[use.tier], navigation.is_aside(use.path, use.at), use.path, use.at)

    search = _callees if filters.callees else Navigation.references_of_any
    kinds = frozenset(() if filters.callees else filters.kinds)
    omitted: Counter[str] = Counter()
    uses = []
    for use in filter(accepts, search(navigation, symbols)):
        if not kinds or use.kind in kinds:
            uses.append(use)
        elif use.kind != "definition":
            omitted[use.kind] += 1
    uses.sort(key=rank)
    return _Resolved(
        symbols,
        more,
        [shown.reference(use) for use in uses],
        navigation.undecided,
        navigation.unread(symbols[0].name, symbols[0].path),
        navigation.kindless(symbols) if filters.kinds and not filters.callees else [],
        navigation.namesakes(symbols),
        omitted,
        [] if filters.callees else navigation.overridden(symbols),
    )


def _reasons(selector: SymbolSelector, resolved: _Resolved, shown: _Shown) -> Iterator[str]:
    """Yield why references may be missing."""
    yield from unsearched_reasons(selector.name, resolved.more)
    if resolved.unread:
        yield unread_in_words(resolved.unread, shown.in_words)
    if resolved.kindless:
        names = ", ".join(resolved.kindless)
        yield f"the kinds of uses in {names} are guesses: a filter by kinds may miss some"


async def parsed_texts(
    workspace: EngineWorkspace, scope: Scope, progress: Progress
) -> tuple[Overlay, int]:
    """Return the symbols of a cluster's files, with the occurrences of names, which it does not
    have; and the number of files that were not parsed in time."""
    if not isinstance(scope, SharedScope) or not scope.texts:
        return {}, 0

    sources = sources_of(workspace, shared_roots(scope))

    def read() -> dict[str, bytes]:
        files = ((path, sources.read(path)) for path in scope.texts if may_have_symbols(path))
        return {path: source.data for path, source in files if source is not None}

    await open_index(workspace, progress)
    texts = await asyncio.to_thread(read)
    found = await workspace.index.symbols_of(texts, PARSE_SECONDS)
    return found, len(texts) - len(found)


def unparsed_reasons(count: int) -> list[str]:
    """Return why an answer may be incomplete because of texts that :func:`parsed_texts` lacks."""
    if not count:
        return []
    texts = counted(count, "text was", "texts were")
    return [f"repositories: {texts} not parsed in {PARSE_SECONDS:g} seconds"]


def unsearched_reasons(name: str, count: int) -> list[str]:
    """Return why the uses of a name are incomplete if it has too many definitions."""
    if not count:
        return []
    definitions = counted(count, "further definition", "further definitions")
    return [f"the uses of {definitions} of {name} were not searched"]


def _names_at(sources: SourceTexts, path: str, selector: SymbolSelector) -> list[str]:
    """Return the name at the column, or all names on the line."""
    source = sources.read(path)
    if source is None:
        return []
    words = source.words(selector.line - 1)
    if selector.column:
        at = source.offset(selector.line - 1, selector.column - 1, "utf-32")
        found = source.word_at(at) if at is not None else None
        words = [found] if found else []
    return list(dict.fromkeys(name for _, name in words))


async def _with_problem(
    workspace: EngineWorkspace,
    scope: Scope,
    needed: Prerequisites,
    error: NoSymbol,
    unparsed: int,
) -> NoSymbol:
    """Return the error, with the reason why the named file is not indexed or what a cluster lacks,
    if there is one."""
    problems = await workspace.index.problems()
    for path in needed.paths:
        if path in problems:
            shown = error.data["path"]
            return NoSymbol(f"The symbols of {shown} are unknown: {problems[path]}", shown)
    of_cluster = scope.reasons if isinstance(scope, SharedScope) else []
    if reasons := "; ".join([*of_cluster, *unparsed_reasons(unparsed)]):
        return NoSymbol(f"{error.message} ({reasons})", error.data["path"])
    return error


async def _with_suggestion(
    workspace: EngineWorkspace, selector: SymbolSelector, error: NoSymbol, progress: Progress
) -> NoSymbol:
    """Return the error; if only a name was given, with the most similar name of a symbol."""
    if selector.path or not selector.name.strip(".:#"):
        return error
    suggestion = await name_meant(workspace, selector.name, progress)
    if suggestion is None:
        return error
    question, meant = suggestion
    return NoSymbol(f"{error.message}. {question}", meant=meant)


# --- the symbol ----------------------------------------------------------------------------


def _accepts(filters: ReferenceFilter, roots: Sequence[Path]) -> Callable[[SymbolUse], bool]:
    selects = _selector(filters)

    def accepts(use: SymbolUse) -> bool:
        if use.kind == "definition" and not (filters.definitions or filters.callees):
            return False
        if filters.certain_only and use.tier != "certain":
            return False
        return selects(0, _below(roots, use.path)[1])

    return accepts


def _selector(filters: ReferenceFilter) -> Callable[[int, str], bool]:
    """Return a function that applies the glob patterns to a path below a root."""
    include, exclude = _globs("include", filters.include), _globs("exclude", filters.exclude)

    def selects(root: int, below: str) -> bool:
        is_included = not include or any(pattern.fullmatch(below) for pattern in include)
        return is_included and not any(pattern.fullmatch(below) for pattern in exclude)

    return selects


def _callees(navigation: Navigation, symbols: Sequence[SymbolAtPosition]) -> Iterable[SymbolUse]:
    """Return the definitions of the functions that symbols call."""
    places = [called.place for symbol in symbols for called in navigation.callees(symbol)]
    found = (SymbolUse(each.path, each.at, each.name, "definition", "certain") for each in places)
    return dict.fromkeys(found)


def _globs(field: str, patterns: Sequence[str]) -> list[re.Pattern[str]]:
    try:
        return [glob_regex(pattern) for pattern in patterns]
    except InvalidGlob as error:
        raise InvalidParams(field, str(error)) from None


def _symbols(
    navigation: Navigation, selector: SymbolSelector, paths: Sequence[str], shown: _Shown
) -> tuple[list[SymbolAtPosition], int]:
    """Return the selected symbols, several if they have the name, and the number of those that are
    too many. Raises NoSymbol."""
    if selector.line and paths:
        return [_symbol_at(navigation, selector, paths[0], selector.line - 1)], 0
    found = everywhere = navigation.named(selector.name)
    if paths:
        found = [
            (file, definition)
            for file, definition in found
            if f"{file.path}/".startswith(f"{paths[0]}/")
        ]
    # A prototype and its definition are one symbol.
    distinct = [each for each in found if not each[1].declared] or found[:1]
    if not distinct:
        unread = navigation.unread((parts_of(selector.name) or [selector.name])[-1])
        reason = f", and {unread_in_words(unread, shown.in_words)}" if unread else ""
        if everywhere:
            file, definition = everywhere[0]
            raise NoSymbol(
                f"{selector.path!r} has no definition of {selector.name!r}{reason}:"
                f" {shown.in_words(file.path)}:{definition.line + 1} has one. `path` is the file"
                " that defines it, not where its uses are searched",
                selector.path,
            )
        raise NoSymbol(
            f"No indexed file defines {selector.name!r}{reason}: pass the place of a use as `name`,"
            " such as 'src/a.py:12', or search with `grep`",
            selector.path,
        )
    symbols: list[SymbolAtPosition] = []
    same: set[tuple[str, int]] = set()
    for file, definition in distinct[:MOST_DEFINITIONS]:
        if (file.path, definition.at) in same:
            continue
        symbol = navigation.of_definition(file, definition)
        places = {(place.path, place.at) for place in symbol.places}
        if not symbols or not places <= same:  # not an import of another one
            symbols.append(symbol)
        same |= places
    return symbols, len(distinct[MOST_DEFINITIONS:])


def _symbol_at(
    navigation: Navigation, selector: SymbolSelector, path: str, line: int
) -> SymbolAtPosition:
    source = navigation.sources.read(path)
    if source is None:
        raise NoSymbol(f"{selector.path} is not a readable text file", selector.path)
    start = source.offset(line, max(selector.column, 1) - 1, "utf-32")
    if start is None:
        raise NoSymbol(f"{selector.path} has no line {selector.line}", selector.path)
    symbols = navigation.symbols_on(path, line)
    symbol = None
    if selector.column:
        symbol = navigation.at(path, start)
    elif selector.name:
        parts = parts_of(selector.name)
        place = source.find(line, parts[-1]) if parts else None
        symbol = navigation.at(path, place) if place is not None else None
    else:
        definitions = navigation.view.definitions_in(path)
        defined = [definition for definition in definitions if definition.line == line]
        if defined:
            symbol = navigation.of_definition(File(path, ""), defined[0])
        elif len(symbols) == 1:
            symbol = navigation.named_at(path, *symbols[0])
    if symbol is None:
        where = f"line {selector.line}" + f", column {selector.column}" * bool(selector.column)
        names = ", ".join(dict.fromkeys(name for _, name in symbols)) or "another line"
        raise NoSymbol(
            f"No symbol at {where} of {selector.path}: pass its place with the column, such as"
            f" 'src/a.py:12:5', or the name of one of {names}",
            selector.path,
        )
    return symbol


# --- the answer ----------------------------------------------------------------------------


def _below(roots: Sequence[Path], path: str) -> tuple[Path, str]:
    """Return the root of an indexed file, and the path below it."""
    held = containing_root(path, [root.as_posix() for root in roots])
    if held is None:  # in a folder that was added during the request
        return roots[0], os.path.relpath(path, roots[0]).replace(os.sep, "/")
    return roots[held[0]], held[1]


class _Shown:
    """Makes rows and messages about places in files."""

    def __init__(self, navigation: Navigation, scope: Scope) -> None:
        self._navigation = navigation
        self._scope = scope

    def path(self, path: str) -> InRepository:
        root, below = _below(self._scope.roots, path)
        return self._scope.shown(self._scope.prefix(self._scope.roots.index(root)) + below)

    def in_words(self, path: str) -> str:
        """Return a path for a sentence, with its root if there are several."""
        found = self.path(path)
        if found.repository:
            return f"{found.repository}:{found.path}"
        return f"{found.root}/{found.path}" if found.root else found.path

    def place(self, place: NamePlace) -> str:
        """Return a place for a sentence."""
        source = self._navigation.sources.read(place.path)
        line = f":{source.line_at(place.at) + 1}" if source else ""
        return self.in_words(place.path) + line

    def reference(self, use: SymbolUse) -> FoundReference:
        source = self._navigation.sources.read(use.path)
        assert source is not None
        number = source.line_at(use.at)
        column = source.column(use.at, "utf-32") + 1
        text = source.line(number).strip()
        if len(text) > TEXT_CHARACTERS:
            text = text[: TEXT_CHARACTERS - 1] + "…"
        around = function_around(self._navigation.view, use.path, use.at)
        at = self.path(use.path)
        return FoundReference(
            line=number + 1,
            column=column,
            end_column=column + len(use.name),
            kind=use.kind,
            confidence="certain" if use.tier == "certain" else "possible",
            text=text,
            within=around.qualified_name if around and around.at != use.at else "",
            **msgspec.structs.asdict(at),
        )

    def symbol(self, place: NamePlace) -> ReferencedSymbol | None:
        source = self._navigation.sources.read(place.path)
        if source is None:
            return None
        definition, at = place.definition, self.path(place.path)
        return ReferencedSymbol(
            name=place.name,
            qualified_name=definition.qualified_name if definition else place.name,
            kind=definition.kind if definition else "variable" if place.name else "module",
            line=source.line_at(place.at) + 1,
            column=source.column(place.at, "utf-32") + 1,
            signature=definition.signature if definition else "",
            **msgspec.structs.asdict(at),
        )


def _is_at(place: NamePlace, selector: SymbolSelector, paths: Sequence[str]) -> bool:
    """Return True for the definition on the line of the selector: the first of overloads may not
    be that."""
    definition = place.definition
    return definition is not None and [place.path] == paths and definition.line + 1 == selector.line


def override_in_words(what: str, overridden: str) -> str:
    """Return that a symbol overrides others, by their places."""
    return f"{what} overrides the one at {overridden}, whose uses may call it and are not included"


def _warnings(selector: SymbolSelector, found: _Resolved, shown: _Shown) -> list[str]:
    warnings, (symbol, *others) = [], found.symbols
    if found.omitted:  # callers may pass a function on, or call a method of it
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.omitted.items()))
        warnings.append(f"uses of other kinds, omitted by `kinds`: {kinds}")
    if symbol.guessed:
        warnings.append(
            f"the type that {symbol.name!r} is a member of is unknown: these are the uses of all"
            " members with that name"
        )
    if symbol.external and not found.unread:
        warnings.append(f"{symbol.name!r} is defined outside of the workspace, or nowhere")
    if found.undecided:
        uses = counted(found.undecided, "more use", "more uses")
        have = "has a receiver" if found.undecided == 1 else "have receivers"
        warnings.append(
            f"{uses} of the name {symbol.name!r} {have} of unknown type, and other classes define"
            " it, too: use grep to see them"
        )
    possible = sum(use.confidence == "possible" for use in found.references)
    if possible and found.namesakes and not symbol.guessed:
        named = ", ".join(map(shown.place, found.namesakes[:OTHERS_NAMED]))
        more = len(found.namesakes) - OTHERS_NAMED
        warnings.append(
            f"possible uses may be those of {symbol.name!r} at {named}"
            + (f" and {more} other places" if more > 0 else "")
        )
    if found.overridden:
        named = ", ".join(map(shown.place, found.overridden[:OTHERS_NAMED]))
        warnings.append(override_in_words(repr(symbol.name), named))
    overloads = [
        place
        for place in symbol.places
        if place.definition and place.definition.kind in FUNCTIONS and not place.definition.declared
    ]
    if len(overloads) > 1:
        lines = ", ".join(map(shown.place, overloads[:OTHERS_NAMED]))
        warnings.append(f"the overloads of {symbol.name!r} are one symbol here: {lines}")
    own = {(place.path, place.at) for place in symbol.places}
    elsewhere = {
        (place.path, place.at): place
        for other in others
        for place in other.places[:1]
        if (place.path, place.at) not in own  # the constructor of a class leads to the class
    }
    if elsewhere:
        places = [*map(shown.place, [*elsewhere.values()][:OTHERS_NAMED])]
        more = len(elsewhere) - len(places)
        warnings.append(
            f"{selector.name!r} is also defined at {', '.join(places)}"
            + (f" and {more} other places" if more else "")
            + ": all are included; for one, pass its place, such as 'src/a.py:12'"
        )
    return warnings
