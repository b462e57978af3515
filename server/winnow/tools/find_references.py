"""find_references: where a symbol is used."""

from __future__ import annotations

from winnow.errors import (
    IndexUnavailable,
    NoSymbol,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    SearchTimedOut,
)
from winnow.text.sanitize import printable
from winnow.tools.recording import searches
from winnow.tools.registry import tool
from winnow.tools.terminal import FOR_AGENTS, Placed, Style, notes_of, seen_path
from winnow.types import Progress
from winnow.types.find_references import (
    FindReferencesParams,
    FindReferencesPartial,
    FindReferencesResult,
)
from winnow.workspace import Workspace


def text(result: FindReferencesResult, style: Style, folder: str) -> str:
    """The symbol, then files, each with its uses under it; then what was left out. Paths are shown
    as seen from ``folder``."""
    return _rendered(result, style, folder)


def plain(result: FindReferencesResult) -> str:
    """The same without colours, with paths as the result has them."""
    return _rendered(result, FOR_AGENTS, None)


def _rendered(result: FindReferencesResult, style: Style, folder: str | None) -> str:
    def shown(found: Placed) -> str:
        return style.path(seen_path(found, result.root, folder))

    lines: list[str] = []
    if symbol := result.symbol:
        about = f"{symbol.kind} {symbol.qualified_name}"
        lines.append(f"{shown(symbol)}:{symbol.line}: {printable(about)}")
    at = None
    for one in result.references:
        if (one.root, one.path) != at:
            lines += [""] * bool(lines) + [shown(one)]
            at = (one.root, one.path)
        sure = "" if one.confidence == "certain" else ", possible"
        within = f" in {printable(one.within)}" if one.within else ""
        place = style.dim(f"{one.line}:{one.column} {one.kind}{within}{sure}")
        lines.append(f"{place}  {printable(one.text)}".rstrip())
    for file in result.files or []:
        lines.append(f"{shown(file)}: {file.references}")
    summary = f"{result.returned} of {result.total_found} references, {result.certain} certain"
    return "\n".join([*lines, *[""] * bool(lines), *notes_of(result, summary, style)])


@tool(
    plain=plain,
    text=text,
    positional=("name",),
    example={"name": "load_plugin"},
    raises=(
        IndexUnavailable,
        NoSymbol,
        NotFound,
        NoWorkspace,
        PathOutsideWorkspace,
        SearchTimedOut,
    ),
    partial=FindReferencesPartial,
    learn=searches(
        lambda params, result: result.symbol.name if result.symbol else params.name,
        lambda result: result.references,
    ),
)
async def find_references(
    workspace: Workspace, params: FindReferencesParams, progress: Progress
) -> FindReferencesResult:
    """Find where a symbol is used: calls, imports, types, reads and writes, without its namesakes.

    Effective use:
    - `name` alone is enough: 'send', 'Client.send'; or `path` and `line` of its definition or a use
    - Better than grep for a common name: other symbols of that name are left out
    - `kinds: ["call"]` are the callers; `within` names the function around each use
    - `confidence: "certain"` is what imports and types say; 'possible' ones are likely uses whose
      receiver is of unknown type: `certain_only` leaves them out
    - Overrides, strings, reflection and generated code may hide uses: grep for the name to be sure
    """
    # Not needed to start a server or to print help.
    from winnow.search.symbols.references import find_references as find

    return await find(workspace, params, progress)
