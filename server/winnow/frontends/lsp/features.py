"""The standard methods about symbols: outline, definition, references, highlights, calls.

:mod:`winnow.search.symbols.navigation` answers in a thread. Answers are plain data, because pygls
would search all of it for typed objects. LSP can't express that an answer is incomplete, so that
goes to the client's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types

from winnow.frontends.lsp.convert import path_of
from winnow.frontends.lsp.progress import Reporter
from winnow.frontends.lsp.protocol import search_errors
from winnow.frontends.lsp.symbols import SYMBOL_KINDS, VARIABLE, workspace_symbols
from winnow.text.ignore_files import with_restarts

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer
    from winnow.search.symbols.navigation import (
        FunctionCalls,
        Navigation,
        SymbolAtPosition,
        SymbolUse,
    )
    from winnow.search.symbols.outline import OutlineEntry
    from winnow.search.symbols.requests import EarlyResults, Prerequisites
    from winnow.text.lines import SourceText

# As many definitions as a peek view can show.
DEFINITIONS = 50
_FILE = 1
# Without an index, calls are searched in this many lines of a function.
LINES = 500
_CALLED = re.compile(r"([^\W\d][\w$]*)\s*\(")

T = TypeVar("T")
Plain = dict[str, Any]


def add_features(server: WinnowServer) -> None:
    """Register the methods."""

    @server.feature(types.WORKSPACE_SYMBOL, types.WorkspaceSymbolOptions(resolve_provider=True))
    async def workspace_symbol(params: types.WorkspaceSymbolParams) -> list[Plain]:
        return await workspace_symbols(server, params)

    @server.feature(types.WORKSPACE_SYMBOL_RESOLVE)
    async def resolve(params: types.WorkspaceSymbol) -> types.WorkspaceSymbol:
        # The list already contained its range.
        return params

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(params: types.DocumentSymbolParams) -> list[Plain] | None:
        return await _Request(server, params).outline()

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[Plain] | None:
        return await _Request(server, params).at_position(_definitions)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES, types.ReferenceOptions(work_done_progress=True))
    async def references(params: types.ReferenceParams) -> list[Plain] | None:
        return await _Request(server, params).references(params.context.include_declaration)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(params: types.DocumentHighlightParams) -> list[Plain] | None:
        return await _Request(server, params).at_position(_highlights)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepare(params: types.CallHierarchyPrepareParams) -> list[Plain] | None:
        return await _Request(server, params).at_position(_functions)

    @server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
    async def incoming(params: types.CallHierarchyIncomingCallsParams) -> list[Plain] | None:
        request = _Request(server, params, params.item)
        async with request.workspace.search_slots:
            return await request.at_position(_incoming)

    @server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
    async def outgoing(params: types.CallHierarchyOutgoingCallsParams) -> list[Plain] | None:
        return await _Request(server, params, params.item).at_position(_outgoing, params.item.range)


class _Request:
    """A request about a document or a position in it."""

    def __init__(
        self, server: WinnowServer, params: Any, item: types.CallHierarchyItem | None = None
    ) -> None:
        self.server = server
        self.workspace = server.opened()
        self.quiet = Reporter(server, None, None, "")
        self.work_done = getattr(params, "work_done_token", None)
        self.partial = getattr(params, "partial_result_token", None)
        uri = item.uri if item else params.text_document.uri
        self.position: types.Position | None = (
            item.selection_range.start if item else getattr(params, "position", None)
        )
        self.encoding = server.position_encoding
        self.path = self._path(uri)

    def _path(self, uri: str) -> str | None:
        """Return the document's path in the index, or None outside the workspace."""
        from winnow.search.symbols.requests import workspace_path

        path = path_of(uri)
        return workspace_path(self.workspace, path) if path is not None else None

    # --- answers ---------------------------------------------------------------------------

    async def outline(self) -> list[Plain] | None:
        from winnow.search.symbols.outline import outline
        from winnow.search.symbols.requests import Prerequisites

        if self.path is None:
            return None
        path = self.path
        capabilities = self.server.client_capabilities.text_document
        symbols = capabilities and capabilities.document_symbol
        nested = bool(symbols and symbols.hierarchical_document_symbol_support)

        def work(navigation: Navigation) -> list[Plain] | None:
            source = navigation.sources.read(path)
            if source is None:
                return None
            entries = outline(navigation.view.definitions_in(path))
            spelled = _Spelled(navigation, self.encoding)
            return spelled.tree(source, entries) if nested else spelled.flat(path, entries)

        found = await self._ask(Prerequisites(paths=[path]), work)
        if not found and (problem := (await self.workspace.index.problems()).get(path)):
            self.quiet.note(f"No outline of {path}: {problem}")
        return found

    async def at_position(
        self,
        answer: Callable[[Navigation, _Spelled, SymbolAtPosition], list[Plain]],
        body: types.Range | None = None,
    ) -> list[Plain] | None:
        """Return the answer for the symbol at the position, or None if there is none. Also index
        the functions that the ``body`` calls first."""

        def work(navigation: Navigation) -> list[Plain] | None:
            asked = self._asked(navigation)
            if asked is None:
                return None
            return answer(navigation, _Spelled(navigation, self.encoding), asked) or None

        asking = await self._asking(body)
        return await self._ask(asking, work) if asking else None

    async def references(self, include_declaration: bool) -> list[Plain] | None:
        from winnow.search.symbols.requests import EarlyResults

        sent: set[tuple[str, int]] = set()

        def found(
            navigation: Navigation, asked: SymbolAtPosition, certain: bool
        ) -> list[tuple[SymbolUse, Plain]]:
            spelled = _Spelled(navigation, self.encoding)
            uses = [
                use
                for use in navigation.references(asked)
                if (use.tier == "certain" if certain else use.tier != "possible" or asked.guessed)
                and (include_declaration or use.kind != "definition")
                and (use.path, use.at) not in sent
            ]
            uses.sort(key=lambda use: (use.path, use.at))
            return [(use, spelled.location(use.path, use.at, use.name)) for use in uses]

        def emit(uses: list[tuple[SymbolUse, Plain]]) -> None:
            if uses:
                sent.update((use.path, use.at) for use, _ in uses)
                value = [location for _, location in uses]
                self.server.protocol.tell("$/progress", {"token": self.partial, "value": value})

        asking = await self._asking()
        if asking is None:
            return None

        def certain_found(navigation: Navigation) -> list[tuple[SymbolUse, Plain]]:
            asked = self._asked(navigation)
            return [] if asked is None else found(navigation, asked, True)

        early = EarlyResults(certain_found, emit) if self.partial is not None else None
        undecided = 0
        unread: dict[str, str] = {}

        def all_found(navigation: Navigation) -> list[tuple[SymbolUse, Plain]]:
            nonlocal undecided, unread
            undecided, unread = 0, {}
            asked = self._asked(navigation)
            if asked is None:
                return []
            uses = found(navigation, asked, False)
            undecided = navigation.undecided
            unread = navigation.unread(asked.name, asked.path)
            return uses

        with Reporter(self.server, self.work_done, None, "References") as progress:
            async with self.workspace.search_slots:
                uses = await self._ask(asking, all_found, progress, early)
            if undecided:
                progress.note(
                    f"{undecided} more uses of {asking.names[0]!r} have receivers of unknown type,"
                    " and other classes also define it"
                )
            for path, problem in unread.items():
                progress.note(f"{path} contains {asking.names[0]!r}, but is not indexed: {problem}")
        if self.partial is not None:
            emit(uses)
            return []
        return [location for _, location in uses] or None

    # --- asking ----------------------------------------------------------------------------

    async def _asking(self, body: types.Range | None = None) -> Prerequisites | None:
        """Return what must be indexed first: the document and all files with the name in it."""
        from winnow.search.symbols.requests import Prerequisites, sources_of

        if self.path is None:
            return None
        path, sources = self.path, sources_of(self.workspace)

        def asked() -> Prerequisites | None:
            source = sources.read(path)
            at = self._offset(source) if source else None
            if source is None or at is None:
                return None
            found, quoted = source.word_at(at), source.string_at(at)
            # The string of an import names a file next to this one.
            paths = [path, *(self._paths_of(quoted[1]) if quoted else ())]
            if found is None:
                return Prerequisites(paths=paths) if quoted else None
            called: list[str] = []
            if body is not None:
                for line in range(body.start.line, min(body.end.line, body.start.line + LINES) + 1):
                    called += _CALLED.findall(source.line(line))
            return Prerequisites(names=list(dict.fromkeys([found[1], *called])), paths=paths)

        return await asyncio.to_thread(asked)

    def _paths_of(self, module: str) -> list[str]:
        """Return the files that an import from a path can mean, with any extension."""
        assert self.path is not None
        if not module.startswith("."):
            return []
        from winnow.search.symbols.requests import workspace_path

        whole = Path(os.path.normpath(os.path.join(os.path.dirname(self.path), module)))
        found: list[Path] = []
        for folder, stem in ((whole.parent, whole.stem), (whole, "index")):
            # Read no folder outside the workspace.
            if workspace_path(self.workspace, folder) is None:
                continue
            with contextlib.suppress(OSError, ValueError):
                found += [one for one in folder.iterdir() if one.name.partition(".")[0] == stem]
        inside = (workspace_path(self.workspace, one) for one in found if one.is_file())
        return [path for path in inside if path is not None]

    def _offset(self, source: SourceText) -> int | None:
        if self.position is None:
            return None
        return source.offset(self.position.line, self.position.character, self.encoding)

    def _asked(self, navigation: Navigation) -> SymbolAtPosition | None:
        assert self.path is not None
        source = navigation.sources.read(self.path)
        at = self._offset(source) if source else None
        return navigation.at(self.path, at) if at is not None else None

    async def _ask(
        self,
        asking: Prerequisites,
        work: Callable[[Navigation], T],
        progress: Reporter | None = None,
        early: EarlyResults[Any] | None = None,
    ) -> T:
        from winnow.search.symbols.requests import index_reasons, with_symbols

        reporter = progress or self.quiet
        with search_errors():
            answered = await with_restarts(
                lambda: with_symbols(self.workspace, asking, work, reporter, early)
            )
        for reason in index_reasons(self.workspace, answered):
            reporter.note(reason)
        return answered.result


# --- what is answered ----------------------------------------------------------------------


class _Spelled:
    """Converts places to LSP's form."""

    def __init__(self, navigation: Navigation, encoding: str) -> None:
        self.navigation = navigation
        self.encoding = encoding

    def position(self, source: SourceText, at: int) -> Plain:
        return {"line": source.line_at(at), "character": source.column(at, self.encoding)}

    def range(self, source: SourceText, start: int, end: int) -> Plain:
        return {"start": self.position(source, start), "end": self.position(source, end)}

    def location(self, path: str, at: int, name: str) -> Plain:
        source = self.navigation.sources.read(path)
        end = at + len(name.encode())
        zero = {"line": 0, "character": 0}
        found = self.range(source, at, end) if source else {"start": zero, "end": zero}
        return {"uri": Path(path).as_uri(), "range": found}

    def tree(self, source: SourceText, entries: Iterable[OutlineEntry]) -> list[Plain]:
        """Return an outline as a tree."""
        roots: list[Plain] = []
        symbols: list[Plain] = []
        for definition, name, parent in entries:
            at = definition.at
            symbol = {
                "name": name or " ",
                "detail": definition.signature,
                "kind": SYMBOL_KINDS.get(definition.kind, VARIABLE),
                "range": self.range(source, definition.start, definition.end),
                "selectionRange": self.range(source, at, at + len(definition.name.encode())),
                "children": [],
            }
            symbols.append(symbol)
            (roots if parent is None else symbols[parent]["children"]).append(symbol)
        return roots

    def flat(self, path: str, entries: Iterable[OutlineEntry]) -> list[Plain]:
        return [
            {
                "name": definition.name or " ",
                "kind": SYMBOL_KINDS.get(definition.kind, VARIABLE),
                "location": self.location(path, definition.at, definition.name),
                **({"containerName": definition.container} if definition.container else {}),
            }
            for definition, _, _ in entries
        ]

    def item(self, call: FunctionCalls) -> Plain:
        """Return a call hierarchy item for a function, or for a file outside functions."""
        place = call.place
        location = self.location(place.path, place.at, place.name)
        source = self.navigation.sources.read(place.path)
        definition = place.definition
        whole = location["range"]
        if definition is not None and source is not None:
            whole = self.range(source, definition.start, definition.end)
        return {
            "name": place.name or Path(place.path).name,
            "kind": SYMBOL_KINDS.get(definition.kind, VARIABLE) if definition else _FILE,
            "detail": definition.container if definition else "",
            "uri": location["uri"],
            "range": whole,
            "selectionRange": location["range"],
        }


def _definitions(navigation: Navigation, spelled: _Spelled, asked: SymbolAtPosition) -> list[Plain]:
    return [spelled.location(one.path, one.at, one.name) for one in asked.places[:DEFINITIONS]]


def _highlights(navigation: Navigation, spelled: _Spelled, asked: SymbolAtPosition) -> list[Plain]:
    kinds = {"write": 3, "definition": 3, "read": 2, "call": 2}
    return [
        {
            "range": spelled.location(use.path, use.at, use.name)["range"],
            "kind": kinds.get(use.kind, 1),
        }
        for use in navigation.references(asked, asked.path)
    ]


def _functions(navigation: Navigation, spelled: _Spelled, asked: SymbolAtPosition) -> list[Plain]:
    return [spelled.item(call) for call in navigation.functions(asked)[:DEFINITIONS]]


def _incoming(navigation: Navigation, spelled: _Spelled, asked: SymbolAtPosition) -> list[Plain]:
    return list(_calls(spelled, navigation.callers(asked), "from", asked.name))


def _outgoing(navigation: Navigation, spelled: _Spelled, asked: SymbolAtPosition) -> list[Plain]:
    return list(_calls(spelled, navigation.callees(asked), "to", None))


def _calls(
    spelled: _Spelled, calls: Iterable[FunctionCalls], side: str, name: str | None
) -> Iterator[Plain]:
    for call in calls:
        yield {
            side: spelled.item(call),
            "fromRanges": [
                spelled.location(call.path, at, name or call.place.name)["range"]
                for at in call.calls
            ],
        }
