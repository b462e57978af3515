"""find_references: the uses of a symbol."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from winnow.errors import (
    IndexUnavailable,
    NoSymbol,
    NotFound,
    NoWorkspace,
    PathOutsideWorkspace,
    SearchTimedOut,
)
from winnow.search.answer import cursor
from winnow.search.answer.completeness import CHANGED, fractions, with_reasons
from winnow.search.answer.shorten import shorten
from winnow.search.symbols.rows import FoundReference, ReferencedSymbol, ReferenceKind
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, ShortTool, tool
from winnow.tools.terminal import FileRow, Style, notes_of, seen_path
from winnow.types import (
    InRepository,
    PageParams,
    Pattern,
    Progress,
    Repositories,
    Result,
    SearchAnswer,
)
from winnow.workspace import EngineWorkspace

# Fewer references than this are worth less than the number of references in each file.
FEWEST = 5
COUNTED_FILES = (30, 10, 3)


class FindReferencesParams(PageParams, frozen=True, kw_only=True):
    """A symbol, by its position or by its name, and the references to return."""

    path: Annotated[
        str,
        Meta(
            description="File that defines or uses the symbol, absolute or relative to the root."
            " Pass it with `line`, or with `name` to select one of several symbols.",
            max_length=4_000,
        ),
    ] = ""
    line: Annotated[
        int,
        Meta(description="Line of the symbol, from 1: its definition, or any use.", ge=0),
    ] = 0
    column: Annotated[
        int,
        Meta(
            description="Column of the symbol, from 1. Default: the symbol that the line defines,"
            " or `name`.",
            ge=0,
        ),
    ] = 0
    name: Annotated[
        str,
        Meta(
            description="Name of the symbol, such as 'Client.send'. Sufficient without a position;"
            " 'send' finds the uses of all symbols with that name.",
            max_length=1_000,
        ),
    ] = ""
    include_declaration: Annotated[
        bool, Meta(description="Include the definitions themselves.")
    ] = True
    kinds: Annotated[
        list[ReferenceKind],
        Meta(description="Return only uses of these kinds.", max_length=6),
    ] = []
    callees: Annotated[
        bool,
        Meta(
            description="Return the functions that the symbol calls, at their definitions, instead"
            " of its uses. Calls with a receiver of unknown type are omitted."
        ),
    ] = False
    certain_only: Annotated[
        bool,
        Meta(
            description="Return only uses that scopes, imports and declared types prove: omit"
            " members of receivers of unknown type."
        ),
    ] = False
    include: Annotated[
        list[Pattern],
        Meta(description="Return only uses in files that match a glob pattern.", max_length=100),
    ] = []
    exclude: Annotated[
        list[Pattern],
        Meta(description="Omit uses in files that match a glob pattern.", max_length=100),
    ] = []
    max_results: Annotated[
        int, Meta(description="Maximum number of references to return.", ge=1, le=10_000)
    ] = 50
    repositories: Repositories = []


class ReferencesInFile(InRepository, frozen=True, kw_only=True):
    """The number of references in a file."""

    references: Annotated[int, Meta(description="Number of references.")]


class FindReferencesResult(SearchAnswer, frozen=True, kw_only=True):
    """The references: certain ones first, then those that are not in tests, examples or code of
    others, by path and line."""

    symbol: Annotated[
        ReferencedSymbol | None,
        Meta(description="The symbol; absent if no file of the workspace defines it."),
    ] = None
    references: Annotated[
        list[FoundReference], Meta(description="The references; empty if they were streamed.")
    ]
    certain: Annotated[int, Meta(description="Number of certain references, on all pages.")]
    callees: Annotated[
        bool,
        Meta(description="True if these are the definitions of the functions that it calls."),
    ] = False
    files: Annotated[
        list[ReferencesInFile] | None,
        Meta(description="References in each file, if `max_tokens` leaves no room for more."),
    ] = None


class FindReferencesPartial(Result, frozen=True, kw_only=True):
    """Further references, which the result does not repeat."""

    references: Annotated[list[FoundReference], Meta(description="The next references.")]


# --- rendering -----------------------------------------------------------------------------


def text(result: FindReferencesResult, style: Style, folder: str | None) -> str:
    """Render the symbol, then files with their uses, then what was skipped.

    Paths are relative to ``folder``.
    """

    def shown(found: FileRow) -> str:
        return style.path(seen_path(found, result.root, folder))

    lines: list[str] = []
    if symbol := result.symbol:
        about = f"{symbol.kind} {symbol.qualified_name}"
        lines.append(f"{shown(symbol)}:{symbol.line}: {printable(about)}")
    at = None
    for use in result.references:
        if (use.repository, use.root, use.path) != at:
            lines += [""] * bool(lines) + [shown(use)]
            at = (use.repository, use.root, use.path)
        sure = "" if use.confidence == "certain" else ", possible"
        within = f" in {printable(use.within)}" if use.within else ""
        kind = "" if result.callees else f" {use.kind}"
        place = style.dim(f"{use.line}:{use.column}{kind}{within}{sure}")
        lines.append(f"{place}  {printable(use.text)}".rstrip())
    for file in result.files or []:
        lines.append(f"{shown(file)}: {file.references}")
    summary = f"{result.returned} of {result.total_found} references, {result.certain} certain"
    if result.callees:
        summary = f"{result.returned} of {result.total_found} functions called"
    return "\n".join([*lines, *[""] * bool(lines), *notes_of(result, summary, style)])


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    positional=("name",),
    command_help=CommandHelp(
        "Find the uses of a symbol, without those of other symbols of that name.",
        "winnow find-references src/loader.py:12 --kinds call",
        "winnow find-references load_plugin --callees",
    ),
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
        lambda result: in_workspace(result.references),
    ),
    uses_index=True,
    short=ShortTool(
        "references",
        "Find the uses of a symbol, without those of other symbols of that name. `within` names the"
        " function around each use, so kinds ['call'] returns the callers. Methods that override it"
        " may be missing.",
        {
            "name": "'Client.send', 'send' (all of that name), or a place: 'src/client.py:12'.",
            "path": "File that defines it, to choose one of several.",
            "kinds": "Only uses of these kinds.",
            "callees": "Instead, the functions that it calls.",
            "max_results": "Default: 50.",
            "cursor": "Continues a truncated answer.",
        },
    ),
)
async def find_references(
    workspace: EngineWorkspace, params: FindReferencesParams, progress: Progress
) -> FindReferencesResult:
    """Find where a symbol is used: calls, imports, types, reads and writes, without namesakes.

    Effective use:
    - `name` alone is enough: 'Client.send', or 'send' for all symbols of that name; or `path` and
      `line` of its definition or a use
    - Better than grep for a common name: other symbols with the name are excluded
    - `kinds: ["call"]` returns the callers; `within` names the enclosing function of each use
    - `callees: true` returns the functions that it calls, at their definitions
    - Imports and types prove uses with `confidence: "certain"`; 'possible' uses have a receiver of
      unknown type: `certain_only` omits them
    - Overrides, strings, reflection and generated code may hide uses: grep for the name to be sure
    """
    # Costs the import of numpy.
    from winnow.search.symbols.references import (
        ReferenceFilter,
        SymbolSelector,
        find_references,
    )

    found = await find_references(
        workspace,
        SymbolSelector(params.path, params.line, params.column, params.name),
        ReferenceFilter(
            params.callees,
            params.kinds,
            params.include_declaration,
            params.certain_only,
            params.include,
            params.exclude,
        ),
        progress,
        params.repositories,
    )
    references, total = found.references, len(found.references)

    def stamp(end: int) -> bytes:
        rows = references[:end]
        return cursor.stamp_of([(row.root, row.path, row.line, row.column) for row in rows])

    def after(end: int) -> str | None:
        # A next page might get other candidates of a cluster.
        has_cursor = end < total and not params.repositories
        return cursor.encode(params, end, stamp(end)) if has_cursor else None

    first, changed = cursor.resume(params, int, lambda position: min(position, total), stamp)
    completeness = with_reasons(found.completeness, *[CHANGED] * changed)
    certain = sum(row.confidence == "certain" for row in references)

    def page(count: int, *, texts: bool = True) -> FindReferencesResult:
        end = first + count
        rows = references[first:end]
        if not texts:
            rows = [msgspec.structs.replace(row, text="", within="") for row in rows]
        return FindReferencesResult(
            root=shown_folder(found.roots[0]),
            symbol=found.symbol,
            references=rows,
            certain=certain,
            callees=params.callees,
            total_found=total,
            returned=len(rows),
            truncated=end < total or not texts,
            completeness=completeness,
            warnings=found.warnings,
            cursor=after(end),
        )

    def counted(files: int) -> FindReferencesResult:
        result = page(0, texts=False)
        return msgspec.structs.replace(result, files=_in_files(references, files), cursor=None)

    count = min(params.max_results, total - first)
    steps: list[Callable[[], FindReferencesResult]] = [
        functools.partial(page, fewer, texts=False)
        for fewer in fractions(count, min(FEWEST, count))
    ]
    steps += [functools.partial(counted, files) for files in COUNTED_FILES]
    result = shorten(page(count), params.max_tokens, steps)
    if progress.streaming and not params.max_tokens and result.references:
        partial = FindReferencesPartial(references=result.references)
        progress(f"{result.returned} references", partial=partial)
        return msgspec.structs.replace(result, references=[])
    return result


def _in_files(references: list[FoundReference], most: int) -> list[ReferencesInFile]:
    """Return the number of references in the files that have the most."""
    by_file: dict[tuple[str | None, ...], list[FoundReference]] = {}
    for row in references:
        by_file.setdefault((row.path, row.root, row.uri, row.repository), []).append(row)
    return [
        ReferencesInFile(
            path=rows[0].path,
            root=rows[0].root,
            uri=rows[0].uri,
            repository=rows[0].repository,
            commit=rows[0].commit,
            origin=rows[0].origin,
            references=len(rows),
        )
        for rows in sorted(by_file.values(), key=len, reverse=True)[:most]
    ]
