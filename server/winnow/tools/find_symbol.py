"""find_symbol: definitions by their names."""

from __future__ import annotations

from winnow.errors import SEARCHING, IndexUnavailable
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.find_symbol import (
    FindSymbolParams,
    FindSymbolPartial,
    FindSymbolResult,
    FoundSymbol,
)
from winnow.workspace import Workspace


def text(result: FindSymbolResult, style: Style, folder: str) -> str:
    """One line a symbol: path as seen from ``folder``, line, kind, qualified name, signature; then
    what was left out."""
    return _rendered(result, style, folder)


def plain(result: FindSymbolResult) -> str:
    """The same without colours, with paths as the result has them."""
    return _rendered(result, FOR_AGENTS, None)


def _line(symbol: FoundSymbol, path: str, style: Style) -> str:
    place = style.path(path) + style.dim(f":{symbol.line}:")
    name = style.match(printable(symbol.qualified_name))
    signature = f" — {printable(symbol.signature)}" if symbol.signature else ""
    return f"{place} {symbol.kind} {name}{style.dim(signature)}"


def _rendered(result: FindSymbolResult, style: Style, folder: str | None) -> str:
    lines = [_line(one, seen_path(one, result.root, folder), style) for one in result.symbols]
    least = "at least " * result.total_is_lower_bound
    summary = f"{result.returned} of {least}{result.total_found} symbols"
    return "\n".join([*lines, *[""] * bool(lines), *notes_of(result, summary, style)])


@tool(
    plain=plain,
    text=text,
    positional=("path",),
    example={"name": "loadpl"},
    raises=(*SEARCHING, IndexUnavailable),
    partial=FindSymbolPartial,
    learn=searches(lambda params, result: params.name, lambda result: result.symbols),
    of_open_documents=True,
)
async def find_symbol(
    workspace: Workspace, params: FindSymbolParams, progress: Progress
) -> FindSymbolResult:
    """Find where functions, classes and other things are defined, by name. Returns places, signatures and docs.

    Effective use:
    - Use it before grep when you know a name, or a part of it: it answers with definitions only
    - `Client.send` finds a member, `Client.` lists all of them
    - You need not know the kind: `kind: "function"` finds methods, too, `"class"` structs
    - What has exactly the name comes first; tests, vendored and generated files come later
    - Read the definition with the answer's `path`, `line` and `end_line`
    """  # noqa: E501 - the first line is the summary
    # Not needed to start a server or to print help.
    from winnow.search.symbols.search import find_symbols

    return await find_symbols(workspace, params, progress)
