"""Params and results of find_symbol."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Result, ScopeParams, SearchAnswer

AskedKind = Literal[
    "any", "function", "method", "class", "struct", "trait", "interface", "enum", "type", "const",
    "variable", "field", "property", "module", "namespace", "constructor", "enum_member", "macro",
    "union", "object", "event", "operator", "section",
]  # fmt: skip


class FindSymbolParams(ScopeParams, frozen=True, kw_only=True):
    """Which definitions to find."""

    name: Annotated[
        str,
        Meta(
            description="The name, or a part of it: 'send', 'Client.send' (or '::', '/', '#'),"
            " 'Client.' for all members, initials as 'qsf' for QuerySetFilter, words as"
            " 'getobj404', or letters in their order. Several words must all match the name, what"
            " it is a member of, or its path. '^send', 'send$' and \"'send\" want exactly these"
            " letters at the beginning, the end, anywhere; 'kind:class', 'path:src/' and 'lang:py'"
            " narrow. Empty: the types and functions at the top of files.",
            max_length=1_000,
        ),
    ]
    kind: Annotated[
        AskedKind,
        Meta(
            description="What it is. 'function' finds methods, too; 'class' and 'struct' find each"
            " other, and so do 'trait' and 'interface'; 'type' finds all of these, enums and type"
            " aliases; 'const' finds members of enums and macros, and 'variable' fields."
        ),
    ] = "any"
    exact: Annotated[
        bool,
        Meta(description="Only what has exactly this name, its case included."),
    ] = False
    max_results: Annotated[int, Meta(description="The most symbols to answer.", ge=1, le=1_000)] = (
        20
    )


class FoundSymbol(Result, frozen=True, kw_only=True):
    """A definition; lines and columns are 1-based, and columns count code points."""

    name: Annotated[str, Meta(description="The name.")]
    qualified_name: Annotated[
        str, Meta(description="The name with what it is a member of before it, by dots.")
    ]
    kind: Annotated[str, Meta(description="What it is, such as 'class', 'method' or 'field'.")]
    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[int, Meta(description="The line of the name.")]
    column: Annotated[int, Meta(description="The column of the name.")]
    end_line: Annotated[int, Meta(description="The last line of the definition.")]
    score: Annotated[
        float,
        Meta(description="How well it matches, up to 1; what has exactly the name is before all."),
    ]
    container: Annotated[
        str | None, Meta(description="The qualified name of what it is a member of.")
    ] = None
    signature: Annotated[
        str | None, Meta(description="Its definition up to the body, on one line.")
    ] = None
    doc: Annotated[
        str | None, Meta(description="The first paragraph of what its author says of it.")
    ] = None
    private: Annotated[
        bool, Meta(description="Whether other files cannot, or should not, use it.")
    ] = False
    place: Annotated[
        Literal["test", "vendored", "generated"] | None,
        Meta(description="What kind of file it is in, if that is why it counts less."),
    ] = None
    generic: Annotated[
        bool,
        Meta(
            description="The language has no query of its own: what has the look of a definition"
            " was taken, and its kind guessed."
        ),
    ] = False
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class FindSymbolResult(SearchAnswer, frozen=True, kw_only=True):
    """The definitions, the best first."""

    symbols: Annotated[
        list[FoundSymbol], Meta(description="The definitions; none where they were streamed.")
    ]
    total_is_lower_bound: Annotated[
        bool, Meta(description="There may be more: of many names, the best are looked up.")
    ] = False


class FindSymbolPartial(Result, frozen=True, kw_only=True):
    """Definitions that add to those before, and are not in the result again."""

    symbols: Annotated[list[FoundSymbol], Meta(description="The next definitions.")]
