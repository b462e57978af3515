"""`workspace/symbol`: find symbols by name as the user types."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from winnow.errors import NoWorkspace
from winnow.frontends.lsp.progress import Reporter
from winnow.frontends.lsp.protocol import search_errors
from winnow.text.ignore_files import with_restarts

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer
    from winnow.search.symbols.search import TypedSymbol

# As many as a list can show; typing more letters finds others.
LIMIT = 200
QUERY_CHARACTERS = 10_000  # no symbol has a longer name
FIRST = 20
SYMBOL_KINDS = {
    "module": 2, "namespace": 3, "class": 5, "method": 6, "property": 7, "field": 8,
    "constructor": 9, "enum": 10, "interface": 11, "trait": 11, "function": 12, "variable": 13,
    "constant": 14, "section": 15, "object": 19, "enum_member": 22, "struct": 23, "union": 23,
    "event": 24, "operator": 25, "type": 26, "macro": 14,
}  # fmt: skip
VARIABLE = 13
# The index of a definition's column in each encoding.
_COLUMNS = {"utf-8": 0, "utf-32": 1, "utf-16": 2}

Plain = dict[str, Any]


async def workspace_symbols(
    server: WinnowServer, params: types.WorkspaceSymbolParams
) -> list[Plain]:
    """Return the symbols, best first, or send them as two partial results if requested."""
    # Not needed to start a server.
    from winnow.search.symbols.search import typed_symbols

    workspace = server.opened()
    if len(params.query) > QUERY_CHARACTERS:
        return []
    encoding = server.position_encoding
    with search_errors(), Reporter(server, params.work_done_token, None, "Symbols") as progress:
        try:
            found = await with_restarts(
                lambda: typed_symbols(workspace, params.query, LIMIT, progress)
            )
        except NoWorkspace:
            return []
        if found.lacks:
            progress.note(f"Symbols may be missing: {found.lacks}")
    symbols = [_spelled(symbol, encoding) for symbol in found.symbols]
    if params.partial_result_token is None:
        return symbols
    for portion in (symbols[:FIRST], symbols[FIRST:]):
        if portion:
            value = {"token": params.partial_result_token, "value": portion}
            server.protocol.tell("$/progress", value)
    return []


def _spelled(symbol: TypedSymbol, encoding: str) -> Plain:
    column = symbol.columns[_COLUMNS[encoding]]
    name = symbol.name.partition("\n")[0]
    size = len(name) if name.isascii() or encoding == "utf-32" else _units(name, encoding)
    found: Plain = {
        "name": symbol.shown,
        "kind": SYMBOL_KINDS.get(symbol.kind, VARIABLE),
        "location": {
            "uri": Path(symbol.path).as_uri(),
            "range": {
                "start": {"line": symbol.line, "character": column},
                "end": {"line": symbol.line, "character": column + size},
            },
        },
    }
    if symbol.container:
        found["containerName"] = symbol.container
    return found


def _units(text: str, encoding: str) -> int:
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
