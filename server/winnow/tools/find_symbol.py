"""find_symbol: definitions by name."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from winnow.errors import SEARCHING, IndexUnavailable
from winnow.search.answer import cursor
from winnow.search.answer.completeness import fractions
from winnow.search.answer.shorten import shorten
from winnow.search.shared.opened import opened_scope
from winnow.search.shared.scope import with_shared
from winnow.search.shared.wanted import Wanted
from winnow.search.symbols.rows import FoundSymbol
from winnow.symbols.search.query import parse
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.text.scope import Scope
from winnow.tools.recording import in_workspace, searches
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.scope_filters import filters_of
from winnow.tools.terminal import Style, notes_of, seen_path
from winnow.types import Progress, Repositories, Result, ScopeParams, SearchAnswer
from winnow.workspace import EngineWorkspace

SymbolKind = Literal[
    "any", "function", "method", "class", "struct", "trait", "interface", "enum", "type", "const",
    "variable", "field", "property", "module", "namespace", "constructor", "enum_member", "macro",
    "union", "object", "event", "operator", "section",
]  # fmt: skip


class FindSymbolParams(ScopeParams, frozen=True, kw_only=True):
    """The definitions to find."""

    name: Annotated[
        str,
        Meta(
            description="The name, or a part of it: 'send', 'Client.send' (or '::', '/', '#'),"
            " 'Client.' for all members, initials such as 'qsf' for QuerySetFilter, words such as"
            " 'getobj404', or letters in order. Each of several words must match the name, its"
            " container or its path. '^send', 'send$' and \"'send\" match exactly these letters at"
            " the start, at the end, anywhere; 'kind:class', 'path:src/' and 'lang:py' filter."
            " Empty: the top-level types and functions of files.",
            max_length=1_000,
        ),
    ]
    kind: Annotated[
        SymbolKind,
        Meta(
            description="The kind of symbol. 'function' includes methods; 'class' and 'struct'"
            " include each other, as do 'trait' and 'interface'; 'type' includes all of these,"
            " enums and type aliases; 'const' includes enum members and macros, 'variable' fields."
        ),
    ] = "any"
    exact: Annotated[
        bool,
        Meta(description="Match the exact name only, case-sensitive."),
    ] = False
    max_results: Annotated[
        int, Meta(description="Maximum number of symbols to return.", ge=1, le=1_000)
    ] = 20
    repositories: Repositories = []


class FindSymbolResult(SearchAnswer, frozen=True, kw_only=True):
    """The definitions, best first."""

    symbols: Annotated[
        list[FoundSymbol], Meta(description="The definitions; empty if they were streamed.")
    ]
    total_is_lower_bound: Annotated[
        bool,
        Meta(description="True if there may be more: of many names, only the best are searched."),
    ] = False


class FindSymbolPartial(Result, frozen=True, kw_only=True):
    """Further definitions, which the result does not repeat."""

    symbols: Annotated[list[FoundSymbol], Meta(description="The next definitions.")]


# --- rendering -----------------------------------------------------------------------------


def _line(symbol: FoundSymbol, path: str, style: Style) -> str:
    place = style.path(path) + style.dim(f":{symbol.line}:")
    name = style.match(printable(symbol.qualified_name))
    about = f"{symbol.kind} {symbol.qualified_name}"
    signature = symbol.signature if symbol.signature != about else None
    more = f" — {printable(signature)}" if signature else ""
    return f"{place} {symbol.kind} {name}{style.dim(more)}"


def text(result: FindSymbolResult, style: Style, folder: str | None) -> str:
    """Render one line per symbol (path relative to ``folder``, line, kind, name, signature), then
    what was skipped."""
    lines = [_line(found, seen_path(found, result.root, folder), style) for found in result.symbols]
    least = "at least " * result.total_is_lower_bound
    summary = f"{result.returned} of {least}{result.total_found} symbols"
    return "\n".join([*lines, *[""] * bool(lines), *notes_of(result, summary, style)])


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    positional=("path",),
    command_help=CommandHelp(
        "Find definitions of functions, classes and other symbols by name.\n"
        "Accepts part of a name, initials, or a qualified name.",
        "winnow find-symbol Client.send",
        "winnow find-symbol 'kind:class Load' src",
    ),
    example={"name": "loadpl"},
    raises=(*SEARCHING, IndexUnavailable),
    partial=FindSymbolPartial,
    learn=searches(lambda params, result: params.name, lambda result: in_workspace(result.symbols)),
    uses_index=True,
    of_open_documents=True,
)
async def find_symbol(
    workspace: EngineWorkspace, params: FindSymbolParams, progress: Progress
) -> FindSymbolResult:
    """Find where functions, classes and other symbols are defined, by name. Returns places, signatures and docs.

    Effective use:
    - Use it before grep when you know a name, or a part of it: it returns definitions only
    - `Client.send` finds a member, `Client.` lists all of them
    - You need not know the exact kind: `kind: "function"` includes methods, `"class"` structs
    - Exact names come first; tests, examples, vendored and generated files come later
    - Read the definition with the `path`, `line` and `end_line` of a result
    """  # noqa: E501 - the first line is the summary
    wanted = Wanted(params.name, names=parse(params.name).parts)
    opened = opened_scope(workspace, filters_of(params), params.repositories, wanted)
    async with opened as scope:
        return await _answered(workspace, scope, params, progress)


async def _answered(
    workspace: EngineWorkspace, scope: Scope, params: FindSymbolParams, progress: Progress
) -> FindSymbolResult:
    # Costs the import of numpy.
    from winnow.search.index.begin import begin_index
    from winnow.search.symbols.search import find_symbols

    # The search may begin again, for instance because another process has replaced the index.
    sent: set[tuple[object, ...]] = set()

    async def send(symbols: list[FoundSymbol]) -> None:
        if new := [symbol for symbol in symbols if _place(symbol) not in sent]:
            sent.update(map(_place, new))
            progress(f"{len(new)} symbols", partial=FindSymbolPartial(symbols=new))
            await progress.drain()

    streams = progress.streaming and not params.max_tokens
    await begin_index(workspace, progress)
    progress(f"Searching symbols: {params.name[:60]}")
    search = await find_symbols(
        workspace,
        scope,
        params.name,
        progress,
        kind=params.kind,
        exact=params.exact,
        max_results=params.max_results,
        page=params,
        send=send if streams and not params.cursor else None,
    )
    found, symbols, scope = search.found, search.symbols(), search.scope
    completeness = with_shared(search.completeness(), scope)
    warnings = [*scope.warnings, *search.warnings]

    def page_of(
        count: int, shorten_symbol: Callable[[FoundSymbol], FoundSymbol] | None = None
    ) -> FindSymbolResult:
        end = search.skipped_results + count
        page = symbols[:count]
        has_more = end < max(found.total, len(found.symbols))
        # A next page might get other candidates of a cluster.
        has_cursor = has_more and not params.repositories
        return FindSymbolResult(
            root=shown_folder(scope.root),
            symbols=list(map(shorten_symbol, page)) if shorten_symbol else page,
            total_found=found.total,
            total_is_lower_bound=not found.all_seen,
            returned=count,
            truncated=has_more or (shorten_symbol is not None and count > 0),
            completeness=completeness,
            warnings=warnings,
            cursor=cursor.encode(params, end, search.stamp(end)) if has_cursor else None,
        )

    steps = [functools.partial(page_of, len(symbols), form) for form in (_without_doc, _bare)]
    steps += [functools.partial(page_of, count, _bare) for count in fractions(len(symbols))[1:]]
    result = shorten(page_of(len(symbols)), params.max_tokens, steps)
    if streams and result.symbols:
        await send(result.symbols)
        return msgspec.structs.replace(result, symbols=[])
    return result


def _place(symbol: FoundSymbol) -> tuple[object, ...]:
    return symbol.root, symbol.path, symbol.line, symbol.column, symbol.repository


def _without_doc(symbol: FoundSymbol) -> FoundSymbol:
    return msgspec.structs.replace(symbol, doc=None)


def _bare(symbol: FoundSymbol) -> FoundSymbol:
    return msgspec.structs.replace(symbol, doc=None, signature=None)
