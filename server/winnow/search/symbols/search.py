"""Find definitions by name, or by a part of one.

:mod:`winnow.symbols.search.find` finds them in the index. While the index is incomplete, ripgrep
lists the files that contain the name, and the index reads these first.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import difflib
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec

from winnow.index.snapshot import Snapshot
from winnow.index.store.file_record import may_have_symbols
from winnow.index.symbol_names import NameTables
from winnow.index.workspace_index import CATCH_UP_SECONDS
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged, index_files, retry_until_current
from winnow.search.index.state import (
    left_out_in_words,
    left_out_of,
    nothing_indexed,
    path_not_indexed,
    state_in_words,
)
from winnow.search.shared.scope import shared_symbols
from winnow.search.symbols.navigation import parts_of
from winnow.search.symbols.rows import FoundSymbol
from winnow.search.symbols.unread import unread_files, unread_in_words
from winnow.symbols.language import generic_languages
from winnow.symbols.search.find import Finder, Symbol, SymbolMatches
from winnow.symbols.search.match import PART
from winnow.symbols.search.query import KINDS, SymbolQuery, parse
from winnow.symbols.view import File
from winnow.text.definition_patterns import (
    DefinitionPattern,
    all_files,
    definition_patterns,
    files_with,
)
from winnow.text.lines import SourceTexts
from winnow.text.paths import containing_root
from winnow.text.plural import counted
from winnow.text.ripgrep import Ripgrep
from winnow.text.sanitize import on_one_line
from winnow.text.scope import Filters, Scope
from winnow.text.selection import file_type_globs
from winnow.types import Completeness, IndexState, PageParams, Progress, Skipped
from winnow.workspace import EngineWorkspace

# Time limit for a query that matches many names; the results so far are returned.
SEARCH_SECONDS = 2.0
# Without an index, read files for this long, less once an exact match is known, and at most this
# many; results from the first files are sent at once.
COLD_SECONDS = 4.0
ENOUGH_SECONDS = 1.0
COLD_FILES = 1_500
COLD_LISTED = 300
FIRST_FILES = 24
# How long a search waits for the index of a small tree to become complete.
SMALL_SECONDS = 2.0
# The similarity of a name to the one that was meant: two of ten letters may differ.
MISSPELLED = 0.8
# Pages end here: another query is the better way to find what follows.
MOST = 10_000
# Shorter names are parts of too many words.
LEAST_LETTERS = 3
# While the user types, wait this long for changed files: the next letter searches again.
TYPING_SECONDS = 1.0
# Maximum number of results of the search without filters, after one that found nothing.
UNFILTERED_RESULTS = 20

SendSymbols = Callable[[list[FoundSymbol]], Awaitable[None]]


def search_symbols(
    view: Snapshot,
    tables: NameTables,
    text: str,
    *,
    limit: int,
    open_files: Sequence[str] = (),
) -> SymbolMatches:
    """Return the best symbols for what a user types, as fast as possible; see
    :mod:`winnow.symbols.search.query`. An empty text lists some of ``open_files`` first. Blocks."""
    names, query = view.names(tables), parse(text)
    finder = Finder(view, names, query, limit=limit, seconds=SEARCH_SECONDS, prune=True)
    return finder.find(open_files)


@again_if_damaged
async def find_symbols(
    workspace: EngineWorkspace,
    scope: Scope,
    text: str,
    progress: Progress,
    *,
    kind: str = "any",
    exact: bool = False,
    max_results: int,
    page: PageParams = PageParams(),  # noqa: B008 - frozen
    send: SendSymbols | None = None,
) -> SymbolSearch:
    """Find the definitions on a page, and return the finished search.

    ``text`` is a query, see :mod:`winnow.symbols.search.query`; ``kind`` restricts its kinds to one
    of `KINDS`, or is "any". ``send`` gets the exact matches as soon as no better match is possible.
    Raises InvalidParams for an unknown file type or a bad cursor.
    """
    query = parse(text)
    if kind != "any":
        kinds = KINDS[kind] if query.kinds is None else KINDS[kind] & query.kinds
        query = msgspec.structs.replace(query, kinds=kinds)
    await open_index(workspace, progress)
    async with workspace.search_slots:
        types: Sequence[re.Pattern[str]] = ()
        if scope.filters.file_types:
            ripgrep = workspace.run_ripgrep()
            types = await file_type_globs(ripgrep, scope.root, scope.filters.file_types)
        search = SymbolSearch(workspace, scope, query, types, exact, max_results, page, send)
        await search.run(progress)
        if not search.found.total:
            await search.explain_nothing()
    if query.unknown:
        unknown = ", ".join(query.unknown)
        search.warnings.append(f"unknown kind {unknown}; the kinds are {', '.join(KINDS)}")
    return search


async def name_meant(
    workspace: EngineWorkspace, name: str, progress: Progress
) -> tuple[str, str] | None:
    """Return a sentence with the name of a symbol that is most similar to one that no symbol has,
    and that name, or "" if it is not clear that it was meant; None if there is none. A name that
    has only the letters in their order is not similar."""
    parts = parts_of(name)
    scope = workspace.scope(Filters())
    found = await find_symbols(workspace, scope, ".".join(parts), progress, max_results=1)
    for symbol in found.symbols():
        similar = f"the {symbol.kind} {symbol.qualified_name!r}"
        if _is_misspelled(parts[-1] if parts else name, symbol.name):
            return f"Did you mean {similar}?", symbol.qualified_name
        if symbol.score >= PART:
            return f"The most similar name is that of {similar}", ""
    return None


def _is_misspelled(name: str, meant: str) -> bool:
    """Return True if two names differ in case and underscores, or in few letters."""
    folded = (name.replace("_", "").lower(), meant.replace("_", "").lower())
    return difflib.SequenceMatcher(None, *folded).ratio() >= MISSPELLED


class TypedSymbol(NamedTuple):
    """A definition for an editor: ``shown`` is the name that the query named, see :class:`Symbol`,
    and ``columns`` are those of ``name`` in bytes, code points and UTF-16."""

    shown: str
    name: str
    kind: str
    container: str
    path: str
    line: int
    columns: tuple[int, int, int]


class TypedSymbols(NamedTuple):
    """Definitions for an editor, best first, and why some may be missing, or ""."""

    symbols: list[TypedSymbol]
    lacks: str


@again_if_damaged
async def typed_symbols(
    workspace: EngineWorkspace, text: str, limit: int, progress: Progress
) -> TypedSymbols:
    """Return the best symbols for what a user types in an editor, from current files."""
    await open_index(workspace, progress)
    opened = _absolute(workspace.buffers)
    found: Sequence[Symbol] = ()
    lacks = ""

    async def read_candidates() -> None:
        scope = workspace.scope(Filters())
        await find_symbols(workspace, scope, text, progress, max_results=limit)

    def find(view: Snapshot) -> tuple[Sequence[Symbol], list[str]]:
        symbols = search_symbols(
            view, workspace.names, text, limit=limit, open_files=opened
        ).symbols
        return symbols, view.changed({symbol.file.path for symbol in symbols})

    async def search() -> tuple[list[str], IndexState]:
        nonlocal found, lacks
        async with workspace.index.snapshot(workspace.buffers) as (view, state):
            found, changed = await view.read(find, view)
        lacks = "" if state.state == "ready" else state_in_words(workspace.index, state)
        return changed, state

    prepare = read_candidates if text.strip() else None
    if prepare and not workspace.index.state().knows_all:
        await prepare()
        prepare = None
    await retry_until_current(workspace, search, prepare, TYPING_SECONDS)
    return TypedSymbols([_typed(symbol) for symbol in found], lacks)


def _typed(symbol: Symbol) -> TypedSymbol:
    found, path = symbol.definition, symbol.file.path
    shown, container = on_one_line(symbol.name), on_one_line(found.container)
    return TypedSymbol(shown, found.name, found.kind, container, path, found.line, found.columns)


@dataclass
class SymbolSearch:
    """A search for definitions.

    ``page`` are the params whose cursor it continues. ``skipped_results`` is the number of results
    before the page; ``changed`` is True if they have changed.
    """

    workspace: EngineWorkspace
    scope: Scope
    query: SymbolQuery
    types: Sequence[re.Pattern[str]]
    exact: bool
    max_results: int
    page: PageParams
    send: SendSymbols | None

    def __post_init__(self) -> None:
        self.state: IndexState | None = None
        self.found = SymbolMatches([], 0, True)
        self.skipped_results = 0
        self.changed = False
        self.warnings: list[str] = []
        self._unread: dict[str, str] = {}
        self._exact_matches: list[Symbol] = []  # while the index is incomplete
        self._reasons: list[str] = []

    # --- the search ------------------------------------------------------------------------

    async def run(self, progress: Progress) -> None:
        """Find the symbols on the page; first index missing and changed files."""
        patience = CATCH_UP_SECONDS
        read: list[str] = []

        async def read_candidates() -> None:
            read.append(await self._read_candidates(progress))

        async def search() -> tuple[list[str], IndexState]:
            return await self._search_index(patience)

        prepare: Callable[[], Awaitable[None]] | None = read_candidates
        if not self.workspace.index.state().knows_all:
            # The index of a small tree is complete before the files are read.
            await self._search_index(0)
            await read_candidates()
            prepare, patience = None, SMALL_SECONDS
        is_current = await retry_until_current(
            self.workspace, search, prepare, SEARCH_SECONDS, self._may_lack
        )
        if not is_current:
            self._reasons.append("files kept changing during the search")
        if not (self.state and self.state.knows_all):
            self._reasons[:0] = read

    def _may_lack(self, state: IndexState) -> bool:
        """Return True if files that are not indexed, or have changed, may define the name."""
        found = any(symbol.exact for symbol in self.found.symbols)
        is_named = bool(self.query.terms)
        return not state.knows_all or (state.state == "stale" and is_named and not found)

    async def _search_index(
        self, patience: float = CATCH_UP_SECONDS
    ) -> tuple[list[str], IndexState]:
        """Search the index; return the files on the page that changed after they were indexed,
        and the state of the index."""
        workspace = self.workspace
        snapshot = workspace.index.snapshot(
            workspace.buffers, patience, further=shared_symbols(self.scope)
        )
        async with snapshot as (view, state):
            self.state = state
            return await view.read(self._find, view), state

    def _find(self, view: Snapshot) -> list[str]:
        position = cursor.decode(self.page, int)
        limit = min(max(0, position[0]) if position else 0, MOST) + self.max_results
        finder = Finder(
            view,
            view.names(self.workspace.names),
            self.query,
            accepts=self._accepts if self.scope.is_filtered else None,
            only=self._only(),
            limit=limit,
            seconds=SEARCH_SECONDS,
            exact=self.exact,
            roots=[root.as_posix() for root in self.scope.roots],
        )
        self.found = found = finder.find(_absolute(self.workspace.buffers))
        if self.state and self.state.knows_all:
            self._unread = self._find_unread(view)
        self.skipped_results, self.changed = cursor.resume(
            self.page, int, lambda number: max(0, min(number, len(found.symbols))), self.stamp
        )
        return view.changed({symbol.file.path for symbol in self._page_symbols})

    def _find_unread(self, view: Snapshot) -> dict[str, str]:
        """Return the files of the scope that have a name of the query and are not indexed."""
        sources = SourceTexts(
            self.scope.roots, self.workspace.buffers, self.workspace.config.limits.parse_bytes
        )
        names = [term.text for term in self.query.terms if len(term.text) >= LEAST_LETTERS]
        unread: dict[str, str] = {}
        for name in names:
            unread |= unread_files(view, sources, name, defining=True)
        if not self.scope.is_filtered:
            return unread
        return {path: why for path, why in unread.items() if self._accepts(File(path, ""))}

    @property
    def _page_symbols(self) -> Sequence[Symbol]:
        first = self.skipped_results
        return self.found.symbols[first : first + self.max_results]

    def stamp(self, count: int) -> bytes:
        """Return a stamp of the first ``count`` results."""
        symbols = self.found.symbols[:count]
        return cursor.stamp_of(
            [(found.file.path, found.definition.at, found.definition.name) for found in symbols]
        )

    # --- scope -----------------------------------------------------------------------------

    def _accepts(self, file: File) -> bool:
        located = self._located(file.path)
        return located is not None and self.scope.selects(*located, self.types)

    def _only(self) -> list[str] | None:
        """Return the path of the scope if it is a file."""
        file = self.scope.root / self.scope.paths[0]
        if not self.scope.filters.path or file.is_dir():
            return None
        return [file.as_posix(), *shared_symbols(self.scope)]

    def _located(self, path: str) -> tuple[int, str] | None:
        """Return the number of the root that holds a file, and the path below it."""
        return containing_root(path, [root.as_posix() for root in self.scope.roots])

    # --- without an index ------------------------------------------------------------------

    async def _read_candidates(self, progress: Progress) -> str:
        """Index the files that may define the symbol, the likeliest first; return a sentence that
        says which files were read."""
        started = asyncio.get_running_loop().time()
        ripgrep = self.workspace.run_ripgrep()
        self._until = min(started + COLD_SECONDS, ripgrep.deadline)
        read: set[str] = set()
        is_complete = True
        for pattern in self._patterns():
            paths = [path for path in await self._candidates(ripgrep, pattern) if path not in read]
            room = COLD_FILES - len(read)
            for batch in filter(None, (paths[:FIRST_FILES], paths[FIRST_FILES:room])):
                progress(f"Reading {counted(len(batch), 'file', 'files')}")
                left = self._until - asyncio.get_running_loop().time()
                read |= await index_files(self.workspace, batch, left)
                if not self._exact_matches:
                    await self._find_exact_matches()
                if self._exact_matches:  # more results are optional
                    self._until = min(self._until, started + ENOUGH_SECONDS)
            if not read.issuperset(paths) or asyncio.get_running_loop().time() > self._until:
                is_complete = False
                break
        state = state_in_words(self.workspace.index, self.workspace.index.state())
        if not self.query.terms:
            return f"{state}; {counted(len(read), 'file was', 'files were')} read"
        which = "all" if is_complete else "some"
        return f"{state}; {which} files with the name or its letters were read ({len(read)})"

    def _patterns(self) -> list[DefinitionPattern | None]:
        """Return the patterns that list files for the query; None lists all files."""
        if not self.query.terms:
            return [None]
        names = []
        for term in self.query.terms:
            names += [*([term.text] if term.text else []), *term.qualifiers[-1:]]
        # While only changed files are missing, similar names are no reason to read others again.
        exact = self.exact or bool(self.state and self.state.knows_all)
        ways = [definition_patterns(name, exact) for name in dict.fromkeys(names)]
        # The first pattern of each name, then the second, …
        return [way[n] for n in range(max(map(len, ways))) for way in ways if n < len(way)]

    async def _candidates(self, ripgrep: Ripgrep, pattern: DefinitionPattern | None) -> list[str]:
        scope = self.scope
        listing = files_with(ripgrep, scope, pattern) if pattern else all_files(ripgrep, scope)
        found: list[str] = []
        shared = shared_symbols(scope)
        async with contextlib.aclosing(listing) as paths:
            async for path in paths:
                if may_have_symbols(path) and (full := scope.absolute(path)) not in shared:
                    found.append(full)
                if pattern is None and len(found) == COLD_LISTED:
                    break
        if pattern is not None:
            return found
        return sorted(found, key=lambda path: (path.count("/"), path))

    async def _find_exact_matches(self) -> None:
        """Send the exact matches, if there are some: no later result can come before them."""
        await self._search_index()
        self._exact_matches = [symbol for symbol in self.found.symbols if symbol.exact]
        if self._exact_matches and self.send:
            await self.send(self._shown(self._exact_matches[: self.max_results]))

    # --- nothing found ---------------------------------------------------------------------

    async def explain_nothing(self) -> None:
        """Add warnings about the symbols that the search would find without its filters."""
        query = self.query
        if query.kinds is not None:
            other = dataclasses.replace(self, query=msgspec.structs.replace(query, kinds=None))
            await other._search_index()
            if total := other.found.total:
                kinds = sorted({found.definition.kind for found in other.found.symbols})
                self.warnings.append(
                    f"0 symbols of this kind; {total} of other kinds ({', '.join(kinds)}):"
                    " omit `kind`"
                )
        if not self.warnings and self.scope.is_filtered:
            wider = dataclasses.replace(
                self,
                scope=self.workspace.scope(Filters()),
                query=msgspec.structs.replace(query, paths=()),
                exact=False,
                max_results=UNFILTERED_RESULTS,
                page=PageParams(),
            )
            await wider._search_index()
            if total := wider.found.total:
                best = wider._shown(wider.found.symbols[:1])[0].path
                self.warnings.append(
                    f"0 symbols in this scope; {total} in the rest of the workspace, the best in"
                    f" {best}"
                )
        if self.state and self.state.knows_all:

            def covers(place: int, below: str) -> bool:
                return self.scope.selects(place, below, self.types)

            excluded = await left_out_of(self.workspace, self.scope, covers)
            # The size limit is reported in any case.
            excluded = msgspec.structs.replace(excluded, size_limit=None)
            reasons, warnings = left_out_in_words(excluded)
            self._reasons += reasons
            self.warnings += warnings

    # --- results ---------------------------------------------------------------------------

    def symbols(self) -> list[FoundSymbol]:
        """Return the symbols on the page."""
        return self._shown(self._page_symbols)

    def located(self) -> list[tuple[str, FoundSymbol]]:
        """Return the symbols on the page with the paths of their files in the scope."""
        return list(self._rows(self._page_symbols))

    def completeness(self) -> Completeness:
        """Return why symbols may be missing."""
        reasons, state = list(self._reasons), self.state
        if self.found.timed_out:
            reasons.append(f"stopped after {SEARCH_SECONDS:g} s: not all names were searched")
        if self.changed:
            reasons.append(CHANGED)
        if state is not None and state.state == "stale":
            reasons.append("some changed files are not indexed yet")
        if state is not None and state.knows_all:
            problems = self.workspace.index.problem_messages()
            reasons += [f"the index is incomplete: {problem}" for problem in problems]
            reasons += nothing_indexed(self.workspace)
            reasons += path_not_indexed(self.workspace, self.scope)
            if self._unread:
                reasons.append(unread_in_words(self._unread, self._path_shown))
        return Completeness(
            complete=not reasons,
            reasons=reasons,
            skipped=Skipped(),
            timed_out=self.found.timed_out,
            index=state,
        )

    def _path_shown(self, path: str) -> str:
        located = self._located(path)
        return (
            self.scope.shown(self.scope.prefix(located[0]) + located[1]).path if located else path
        )

    def _shown(self, symbols: Iterable[Symbol]) -> list[FoundSymbol]:
        return [row for _, row in self._rows(symbols)]

    def _rows(self, symbols: Iterable[Symbol]) -> Iterator[tuple[str, FoundSymbol]]:
        for found in symbols:
            if located := self._located(found.file.path):
                place, below = located
                path, definition = self.scope.prefix(place) + below, found.definition
                at = self.scope.shown(path)
                yield (
                    path,
                    FoundSymbol(
                        name=on_one_line(definition.name),
                        qualified_name=on_one_line(definition.qualified_name),
                        kind=definition.kind,
                        line=definition.line + 1,
                        column=definition.columns[1] + 1,
                        end_line=definition.end_line + 1,
                        score=round(found.score, 3),
                        container=on_one_line(definition.container) or None,
                        signature=definition.signature or None,
                        doc=definition.doc or None,
                        private=not definition.exported,
                        place=found.category,
                        generic=found.file.language in generic_languages(),
                        **msgspec.structs.asdict(at),
                    ),
                )


def _absolute(buffers: Mapping[Path, str]) -> list[str]:
    return [path.as_posix() for path in buffers]
