"""find_symbol and workspace/symbol: definitions that a name, or a part of one, stands for.

:mod:`winnow.symbols.search.find` finds them in what the index knows. Here a request becomes a
search, and what was found an answer. Where the index does not know all files yet, ripgrep lists
those that hold the name, and these are read first.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from winnow.index.snapshot import Snapshot
from winnow.index.store.file_record import may_have_symbols
from winnow.index.symbol_names import NameTables
from winnow.index.workspace_index import CATCH_UP_SECONDS
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions
from winnow.search.answer.shorten import shorten
from winnow.search.index.background import open_index
from winnow.search.index.retry import again_if_damaged
from winnow.search.index.state import left_out_in_words, left_out_of, state_in_words
from winnow.storage.paths import shown_path
from winnow.symbols.language import generic_languages
from winnow.symbols.search.find import Finder, Symbol, SymbolMatches
from winnow.symbols.search.query import KINDS, SymbolQuery, parse
from winnow.symbols.view import File
from winnow.text.definition_patterns import (
    DefinitionPattern,
    all_files,
    definition_patterns,
    files_with,
)
from winnow.text.paths import held_by
from winnow.text.ripgrep import Ripgrep
from winnow.text.scope import Scope, search_scope, shown_below
from winnow.text.selection import file_type_globs
from winnow.types import Completeness, IndexState, Progress, SearchParams, Skipped
from winnow.types.find_symbol import (
    FindSymbolParams,
    FindSymbolPartial,
    FindSymbolResult,
    FoundSymbol,
)
from winnow.workspace import Workspace

# Of a query that matches a great deal, what is found in this time is answered.
SEARCH_SECONDS = 2.0
# Without an index, files are read for so long, for less if something has exactly the name, and at
# most so many; what is found in the first ones is sent at once.
COLD_SECONDS = 4.0
ENOUGH_SECONDS = 1.0
COLD_FILES = 1_500
COLD_LISTED = 300
FIRST_FILES = 24
# For how long a search waits for a small tree's index to become complete.
SMALL_SECONDS = 2.0
# Pages end here: what follows is no better than what is found by another query.
MOST = 10_000
# An index that was asked before a file changed is asked again. While somebody types, such files are
# waited for so long: the next letter asks anew.
ROUNDS = 3
TYPING_SECONDS = 1.0


def search_symbols(
    view: Snapshot,
    tables: NameTables,
    text: str,
    *,
    limit: int,
    seconds: float = SEARCH_SECONDS,
    open_files: Sequence[str] = (),
) -> SymbolMatches:
    """The best symbols for what somebody types, as quickly as they can be found; see
    :mod:`winnow.symbols.search.query`. An empty text lists some of ``open_files`` first. Blocks."""
    finder = Finder(view, view.names(tables), parse(text), limit=limit, seconds=seconds, prune=True)
    return finder.find(open_files)


@again_if_damaged
async def find_symbols(
    workspace: Workspace, params: FindSymbolParams, progress: Progress
) -> FindSymbolResult:
    """The definitions that the params ask for.

    Raises InvalidParams for a bad glob, file type or cursor, and what a scope may raise.
    """
    scope = workspace.scope(_as_search(params))
    await open_index(workspace, progress)
    async with workspace.search_slots:
        progress(f"Looking for symbols: {params.name[:60]}")
        ripgrep = workspace.run_ripgrep()
        types = await file_type_globs(ripgrep, scope.root, params.file_types)
        search = _Search(workspace, params, scope, ripgrep, types)
        await search.run(progress)
        more = await search.with_short_deadline() if not search.found.total else []
    return _answer(search, more, progress)


@again_if_damaged
async def typed_symbols(
    workspace: Workspace, text: str, limit: int, progress: Progress
) -> Sequence[Symbol]:
    """The best symbols for what somebody types in an editor, in files as they are now."""
    await open_index(workspace, progress)
    opened = _absolute(workspace.buffers)
    found: Sequence[Symbol] = ()

    async def read_candidates() -> None:
        await find_symbols(workspace, FindSymbolParams(name=text, max_results=limit), progress)

    def find(view: Snapshot) -> tuple[Sequence[Symbol], list[str]]:
        symbols = search_symbols(
            view, workspace.names, text, limit=limit, open_files=opened
        ).symbols
        return symbols, view.changed({symbol.file.path for symbol in symbols})

    async def look() -> tuple[list[str], IndexState]:
        nonlocal found
        async with workspace.index.snapshot(workspace.buffers) as (view, state):
            found, changed = await view.read(find, view)
        return changed, state

    prepare = read_candidates if text.strip() else None
    if prepare and not workspace.index.state().knows_all:
        await prepare()
        prepare = None
    await settled(workspace, look, prepare, TYPING_SECONDS)
    return found


async def settled(
    workspace: Workspace,
    look: Callable[[], Awaitable[tuple[Collection[str], IndexState]]],
    prepare: Callable[[], Awaitable[None]] | None,
    seconds: float,
) -> bool:
    """Look until all files in which something was found are known as they are; whether they are.

    ``prepare`` comes first where the index does not know all files after all: its store has been
    deleted, and what was found is what a new one has.
    """
    read: set[str] = set()
    for _ in range(ROUNDS):
        found_in, state = await look()
        # A file that has just been written counts as changed once more.
        changed = set(found_in) - read
        if prepare and not state.knows_all:
            await prepare()
            prepare = None
        elif changed:
            read |= await _read(workspace, changed, seconds)
        else:
            return True
    return False


async def _read(workspace: Workspace, paths: Collection[str], seconds: float) -> set[str]:
    """Bring files in the index up to date; gives those for which there was time."""
    read: set[str] = set()
    if paths and seconds > 0:
        async with contextlib.aclosing(workspace.index.index_files(paths, seconds)) as portions:
            async for some in portions:
                read.update(some)
    return read


@dataclass
class _Search:
    """A request while it is answered."""

    workspace: Workspace
    params: FindSymbolParams
    scope: Scope
    ripgrep: Ripgrep
    types: Sequence[re.Pattern[str]]

    def __post_init__(self) -> None:
        self.query = _query(self.params)
        self.state: IndexState | None = None
        self.found = SymbolMatches([], 0, True)
        self.passed = 0  # results before the page
        self.changed = False
        self.exact: list[Symbol] = []  # as far as the index did not know them
        self.sent: list[FoundSymbol] = []
        self.reasons: list[str] = []

    # --- the search ------------------------------------------------------------------------

    async def run(self, progress: Progress) -> None:
        """Find the page; read files first that the index lacks, or that have changed."""
        patience = CATCH_UP_SECONDS
        read: list[str] = []

        async def read_candidates() -> None:
            read.append(await self._read_candidates(progress))

        async def look() -> tuple[list[str], IndexState]:
            return await self._look_up(self.query, patience)

        prepare: Callable[[], Awaitable[None]] | None = read_candidates
        if not self.workspace.index.state().knows_all:
            # Of a small tree, the index is complete before the files are read.
            await self._look_up(self.query, 0)
            await read_candidates()
            prepare, patience = None, SMALL_SECONDS
        if not await settled(self.workspace, look, prepare, SEARCH_SECONDS):
            self.reasons.append("files were changing while they were searched")
        if not (self.state and self.state.knows_all):
            self.reasons[:0] = read

    async def _look_up(
        self, query: SymbolQuery, patience: float = CATCH_UP_SECONDS
    ) -> tuple[list[str], IndexState]:
        """Ask the index; gives those files of the page that are not as they were when they came
        into the index, and its state."""
        workspace = self.workspace
        async with workspace.index.snapshot(workspace.buffers, patience) as (view, state):
            self.state = state
            return await view.read(self._find, view, query), state

    def _find(self, view: Snapshot, query: SymbolQuery) -> list[str]:
        self.found, first, self.changed = self._found_in(view, query)
        self.passed = first
        page = self.found.symbols[first : first + self.params.max_results]
        return view.changed({symbol.file.path for symbol in page})

    def _found_in(self, view: Snapshot, query: SymbolQuery) -> tuple[SymbolMatches, int, bool]:
        position = cursor.decode(self.params, int)
        wanted = min(max(0, position[0]) if position else 0, MOST) + self.params.max_results
        finder = Finder(
            view,
            view.names(self.workspace.names),
            query,
            accepts=self._accepts if self._is_narrowed else None,
            only=self._only(),
            limit=wanted,
            seconds=SEARCH_SECONDS,
            exact=self.params.exact,
        )
        found = finder.find(_absolute(self.workspace.buffers))
        first, changed = cursor.resume(
            self.params,
            int,
            lambda number: max(0, min(number, len(found.symbols))),
            lambda count: _stamp(found, count),
        )
        return found, first, changed

    def stamp(self, count: int) -> bytes:
        """A stamp of the first results."""
        return _stamp(self.found, count)

    # --- scope -----------------------------------------------------------------------------

    @property
    def _is_narrowed(self) -> bool:
        params = self.params
        return bool(params.path or params.include or params.exclude or params.file_types)

    def _accepts(self, file: File) -> bool:
        located = self.located(file.path)
        if located is None:
            return False
        return self._covers(*located)

    def _covers(self, place: int, below: str) -> bool:
        return self.scope.within_paths(place, below) and self.scope.covers_named(
            self.scope.prefix(place) + below, self.types
        )

    def _only(self) -> list[str] | None:
        """The file that was asked for, if it is one."""
        file = self.scope.root / self.scope.paths[0]
        return [file.as_posix()] if self.params.path and not file.is_dir() else None

    def located(self, path: str) -> tuple[int, str] | None:
        """The number of the root that holds a file, and the path below it."""
        return held_by(path, [root.as_posix() for root in self.scope.roots])

    # --- without an index ------------------------------------------------------------------

    async def _read_candidates(self, progress: Progress) -> str:
        """Have the index read the files that may define what is asked for, the likeliest first.
        Gives a sentence that says what was read."""
        started = asyncio.get_running_loop().time()
        self._until = min(started + COLD_SECONDS, self.ripgrep.deadline)
        read: set[str] = set()
        whole = True
        for look in self._looks():
            paths = [path for path in await self._candidates(look) if path not in read]
            room = COLD_FILES - len(read)
            for some in filter(None, (paths[:FIRST_FILES], paths[FIRST_FILES:room])):
                progress(f"Reading {len(some)} files")
                left = self._until - asyncio.get_running_loop().time()
                read |= await _read(self.workspace, some, left)
                if not self.exact:
                    await self._take_exact(progress)
                if self.exact:  # the rest is a bonus
                    self._until = min(self._until, started + ENOUGH_SECONDS)
            whole = read.issuperset(paths)
            if not whole or asyncio.get_running_loop().time() > self._until:
                whole = False
                break
        known = state_in_words(self.workspace.index, self.workspace.index.state())
        if not self.query.terms:
            return f"{known}; {len(read)} files were read"
        which = "all" if whole else "some"
        return f"{known}; {which} files with the name or its letters were read ({len(read)})"

    def _looks(self) -> list[DefinitionPattern | None]:
        """Ways to list files for the query; None is all files."""
        if not self.query.terms:
            return [None]
        names = []
        for term in self.query.terms:
            names += [*([term.text] if term.text else []), *term.qualifiers[-1:]]
        ways = [definition_patterns(name, self.params.exact) for name in dict.fromkeys(names)]
        # The first way for each name, then the second, …
        return [way[n] for n in range(max(map(len, ways))) for way in ways if n < len(way)]

    async def _candidates(self, look: DefinitionPattern | None) -> list[str]:
        scope = self.scope
        listing = files_with(self.ripgrep, scope, look) if look else all_files(self.ripgrep, scope)
        found: list[str] = []
        async with contextlib.aclosing(listing) as paths:
            async for path in paths:
                if may_have_symbols(path):
                    found.append(scope.absolute(path))
                if look is None and len(found) == COLD_LISTED:
                    break
        return sorted(found, key=lambda path: (path.count("/"), path)) if look is None else found

    async def _take_exact(self, progress: Progress) -> None:
        """See whether something has exactly the name, and send it: nothing that is found later
        comes before it."""
        await self._look_up(self.query)
        self.exact = [symbol for symbol in self.found.symbols if symbol.exact]
        paged = self.params.max_tokens or self.params.cursor
        if self.exact and progress.streaming and not paged:
            self.sent = self.shown(self.exact[: self.params.max_results])
            progress(f"{len(self.sent)} symbols", partial=FindSymbolPartial(symbols=self.sent))
            await progress.drain()

    # --- nothing found ---------------------------------------------------------------------

    async def with_short_deadline(self) -> list[str]:
        """Nothing was found: say what would be without the filters."""
        asked, notes = self.query, []
        if asked.kinds is not None:
            await self._look_up(msgspec.structs.replace(asked, kinds=None))
            if total := self.found.total:
                kinds = sorted({one.definition.kind for one in self.found.symbols})
                notes.append(
                    f"0 symbols of this kind; {total} of others ({', '.join(kinds)}):"
                    " leave out `kind`"
                )
        if not notes and self._is_narrowed:
            narrow, self.scope = (
                self.scope,
                search_scope(
                    self.workspace.folders, SearchParams(), roots=self.workspace.search_roots()
                ),
            )
            params, self.params = self.params, FindSymbolParams(name=self.params.name)
            await self._look_up(msgspec.structs.replace(asked, paths=()))
            self.scope, self.params = narrow, params
            if total := self.found.total:
                notes.append(
                    f"0 symbols here; {total} in the rest of the workspace, the best in"
                    f" {self.shown(self.found.symbols[:1])[0].path}"
                )
        self.found = SymbolMatches([], 0, True)
        if self.state and self.state.knows_all:
            left_out = await left_out_of(self.workspace, self.scope, self._covers)
            # What has no room is said in any case.
            reasons, warnings = left_out_in_words(
                msgspec.structs.replace(left_out, size_limit=None)
            )
            self.reasons += reasons
            notes += warnings
        return notes

    # --- the answer ------------------------------------------------------------------------

    def shown(self, symbols: Iterable[Symbol]) -> list[FoundSymbol]:
        return [shown for symbol in symbols if (shown := self._shown(symbol))]

    def _shown(self, symbol: Symbol) -> FoundSymbol | None:
        located = self.located(symbol.file.path)
        if located is None:
            return None
        place, below = located
        roots = self.scope.roots
        at = shown_below(roots[place], below, several=len(roots) > 1)
        definition = symbol.definition
        return FoundSymbol(
            name=definition.name,
            qualified_name=definition.qualified_name,
            kind=definition.kind,
            path=at.path,
            line=definition.line + 1,
            column=definition.columns[1] + 1,
            end_line=definition.end_line + 1,
            score=round(symbol.score, 3),
            container=definition.container or None,
            signature=definition.signature or None,
            doc=definition.doc or None,
            private=not definition.exported,
            place=symbol.category,
            generic=symbol.file.language in generic_languages(),
            root=at.root,
            uri=at.uri,
        )


def _as_search(params: FindSymbolParams) -> SearchParams:
    return SearchParams(
        path=params.path,
        include=params.include,
        exclude=params.exclude,
        file_types=params.file_types,
    )


def _query(params: FindSymbolParams) -> SymbolQuery:
    """The query, with the kind that the params name beside it."""
    query = parse(params.name)
    if params.kind == "any":
        return query
    kinds = KINDS[params.kind]
    return msgspec.structs.replace(
        query, kinds=kinds if query.kinds is None else kinds & query.kinds
    )


def _stamp(found: SymbolMatches, count: int) -> bytes:
    symbols = found.symbols[:count]
    return cursor.stamp_of(
        [(one.file.path, one.definition.at, one.definition.name) for one in symbols]
    )


def _absolute(buffers: Mapping[Path, str]) -> list[str]:
    return [path.as_posix() for path in buffers]


def _answer(search: _Search, more: Sequence[str], progress: Progress) -> FindSymbolResult:
    """The page, in at most ``max_tokens``; streamed, if somebody takes it so."""
    params, found = search.params, search.found
    page = found.symbols[search.passed : search.passed + params.max_results]
    symbols = search.shown(page)
    completeness = _completeness(search)
    warnings = [*search.scope.warnings, *more]
    if search.query.unknown:
        warnings.append(
            f"no kind is called {', '.join(search.query.unknown)}; kinds are {', '.join(KINDS)}"
        )

    def page_of(count: int, short: Callable[[FoundSymbol], FoundSymbol]) -> FindSymbolResult:
        end = search.passed + count
        more_behind = end < max(found.total, len(found.symbols))
        return FindSymbolResult(
            root=shown_path(str(search.scope.root))[0],
            symbols=[short(symbol) for symbol in symbols[:count]],
            total_found=found.total,
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=more_behind or (short is not _whole and count > 0),
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, end, search.stamp(end)) if more_behind else None,
        )

    steps = [functools.partial(page_of, len(symbols), one) for one in (_without_doc, _bare)]
    steps += [functools.partial(page_of, count, _bare) for count in fractions(len(symbols))[1:]]
    result = shorten(page_of(len(symbols), _whole), params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and result.symbols:
        rest = [symbol for symbol in result.symbols if symbol not in search.sent]
        if rest:
            progress(f"{result.returned} symbols", partial=FindSymbolPartial(symbols=rest))
        return msgspec.structs.replace(result, symbols=[])
    return result


def _completeness(search: _Search) -> Completeness:
    reasons = list(search.reasons)
    if search.found.timed_out:
        reasons.append(f"stopped after {SEARCH_SECONDS:g} seconds: not every name was looked up")
    if search.changed:
        reasons.append(CHANGED)
    state = search.state
    if state is not None and state.state == "stale":
        reasons.append("some files have changed, and are being read anew")
    if state is not None and state.knows_all:
        lacking = search.workspace.index.problem_messages()
        reasons += [f"the index lacks something: {one}" for one in lacking]
    return Completeness(
        complete=not reasons,
        reasons=reasons,
        skipped=Skipped(),
        timed_out=search.found.timed_out,
        index=state,
    )


def _whole(symbol: FoundSymbol) -> FoundSymbol:
    return symbol


def _without_doc(symbol: FoundSymbol) -> FoundSymbol:
    return msgspec.structs.replace(symbol, doc=None)


def _bare(symbol: FoundSymbol) -> FoundSymbol:
    return msgspec.structs.replace(symbol, doc=None, signature=None)
