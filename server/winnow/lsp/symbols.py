"""workspace/symbol: the symbols of all files that match what somebody types."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcServerNotInitialized

from winnow.errors import NoWorkspace, SearchError
from winnow.lsp.progress import Reporter

if TYPE_CHECKING:
    from winnow.lsp.server import WinnowServer
    from winnow.symbols.find import Found, Symbol
    from winnow.workspace import Workspace

REQUEST_FAILED = -32803
# As many as a list can show; further letters bring up others.
LIMIT = 200
FIRST = 20
ROUNDS = 3
SYMBOL_KINDS = {
    "module": 2, "namespace": 3, "class": 5, "method": 6, "property": 7, "field": 8,
    "constructor": 9, "enum": 10, "interface": 11, "trait": 11, "function": 12, "variable": 13,
    "constant": 14, "section": 15, "object": 19, "enum_member": 22, "struct": 23, "union": 23,
    "event": 24, "operator": 25, "type": 26, "macro": 14,
}  # fmt: skip
VARIABLE = 13
# Where a definition keeps its column in each encoding.
_COLUMNS = {"utf-8": 0, "utf-32": 1, "utf-16": 2}

Plain = dict[str, Any]


async def workspace_symbols(
    server: WinnowServer, params: types.WorkspaceSymbolParams
) -> list[Plain]:
    """The symbols, the best first; in two portions for a client that takes partial results."""
    from winnow.index.index import again_if_damaged

    workspace = server.searching
    if workspace is None:
        raise JsonRpcServerNotInitialized("initialize first")
    workspace.buffers = server.protocol.documents.texts()
    encoding = server.position_encoding
    with Reporter(server, params.work_done_token, None, "Symbols") as progress:
        try:
            found = await again_if_damaged(_found)(workspace, params.query, progress)
        except NoWorkspace:
            return []
        except SearchError as error:
            raise JsonRpcException(error.message, REQUEST_FAILED, error.data) from None
    symbols = [_spelled(symbol, encoding) for symbol in found.symbols]
    if params.partial_result_token is None:
        return symbols
    for portion in (symbols[:FIRST], symbols[FIRST:]):
        if portion:
            value = {"token": params.partial_result_token, "value": portion}
            server.protocol.tell("$/progress", value)
    return []


async def _found(workspace: Workspace, query: str, progress: Reporter) -> Found:
    """What matches, in files as they are now."""
    from winnow.symbol_search import find_symbols, search_symbols
    from winnow.types.find_symbol import FindSymbolParams

    cold = FindSymbolParams(name=query, max_results=LIMIT) if query.strip() else None
    if cold and not workspace.index.state().knows_all:
        # Has the files read first that may define it.
        await find_symbols(workspace, cold, progress)
        cold = None
    opened = [path.as_posix() for path in workspace.buffers]
    read: set[str] = set()
    for _ in range(ROUNDS):
        async with workspace.index.snapshot(workspace.buffers) as (view, state):
            found = await view.read(
                search_symbols, view, workspace.names, query, limit=LIMIT, open_files=opened
            )
            changed = set(view.changed({symbol.file.path for symbol in found.symbols}))
        if cold and not state.knows_all:  # its store has been deleted
            await find_symbols(workspace, cold, progress)
            cold = None
        # A file that has just been written counts as changed once more.
        elif changed := changed - read:
            await _take(workspace, changed)
            read |= changed
        else:
            break
    return found


async def _take(workspace: Workspace, paths: Iterable[str]) -> None:
    async with contextlib.aclosing(workspace.index.facts_for(paths, 1.0)) as taken:
        async for _ in taken:
            pass


def _spelled(symbol: Symbol, encoding: str) -> Plain:
    definition = symbol.definition
    column = definition.columns[_COLUMNS[encoding]]
    name = definition.name
    size = len(name) if name.isascii() or encoding == "utf-32" else _units(name, encoding)
    found: Plain = {
        "name": symbol.name,
        "kind": SYMBOL_KINDS.get(definition.kind, VARIABLE),
        "location": {
            "uri": Path(symbol.file.path).as_uri(),
            "range": {
                "start": {"line": definition.line, "character": column},
                "end": {"line": definition.line, "character": column + size},
            },
        },
    }
    if definition.container:
        found["containerName"] = definition.container
    return found


def _units(text: str, encoding: str) -> int:
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
