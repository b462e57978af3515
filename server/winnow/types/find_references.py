"""Params and results of find_references."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import PageParams, Pattern, Result, SearchAnswer


class FindReferencesParams(PageParams, frozen=True, kw_only=True):
    """Which symbol, by where it stands or by its name, and which of its references."""

    path: Annotated[
        str,
        Meta(
            description="File in which the symbol is defined or used, absolute or relative to the"
            " root. With `line`; or with `name` alone, to say which of several is meant.",
            max_length=4_000,
        ),
    ] = ""
    line: Annotated[
        int,
        Meta(description="Line of the symbol, from 1: its definition, or any use of it.", ge=0),
    ] = 0
    column: Annotated[
        int,
        Meta(
            description="Column of the symbol, from 1; else what the line defines is meant, or"
            " `name`.",
            ge=0,
        ),
    ] = 0
    name: Annotated[
        str,
        Meta(
            description="The symbol's name, such as 'send' or 'Client.send': enough by itself,"
            " without a place.",
            max_length=1_000,
        ),
    ] = ""
    include_declaration: Annotated[
        bool, Meta(description="Answer the definitions themselves, too.")
    ] = True
    kinds: Annotated[
        list[Literal["call", "import", "type", "read", "write", "definition"]],
        Meta(description="Only uses of these kinds.", max_length=6),
    ] = []
    certain_only: Annotated[
        bool,
        Meta(
            description="Only uses that scopes, imports and declared types lead to: leave out"
            " members of receivers of which nothing says what they are."
        ),
    ] = False
    include: Annotated[
        list[Pattern],
        Meta(description="Only uses in files that match a glob pattern.", max_length=100),
    ] = []
    exclude: Annotated[
        list[Pattern],
        Meta(description="No uses in files that match a glob pattern.", max_length=100),
    ] = []
    max_results: Annotated[
        int, Meta(description="The most references to answer.", ge=1, le=10_000)
    ] = 50


class ReferencedSymbol(Result, frozen=True, kw_only=True):
    """The symbol that was asked for, where it is defined."""

    name: Annotated[str, Meta(description="Its name.")]
    qualified_name: Annotated[str, Meta(description="With what it is a member of: 'Client.send'.")]
    kind: Annotated[
        str,
        Meta(description="'function', 'method', 'class', …; 'variable' for local ones."),
    ]
    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[int, Meta(description="The line of its name, from 1.")]
    column: Annotated[int, Meta(description="The column of its name, from 1, in code points.")]
    signature: Annotated[str, Meta(description="Its first line or lines, up to the body.")] = ""
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class Reference(Result, frozen=True, kw_only=True):
    """A use of the symbol; lines and columns are from 1, columns count code points."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[int, Meta(description="The line.")]
    column: Annotated[int, Meta(description="The column at which the name begins.")]
    end_column: Annotated[int, Meta(description="The column behind the name.")]
    kind: Annotated[
        Literal["call", "import", "type", "read", "write", "definition"],
        Meta(description="What the name is used for there."),
    ]
    confidence: Annotated[
        Literal["certain", "possible"],
        Meta(
            description="'certain': scopes, imports and declared types say so; 'possible': nothing"
            " says what the receiver is, and hardly anything else has this name; or a macro has the"
            " name in its text; or the language is one whose names are not resolved."
        ),
    ]
    text: Annotated[
        str, Meta(description="The line, without blanks around it; absent where they are short.")
    ] = ""
    within: Annotated[
        str, Meta(description="The function around the use, by its qualified name.")
    ] = ""
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class ReferencesInFile(Result, frozen=True, kw_only=True):
    """How many references a file has."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    references: Annotated[int, Meta(description="How many.")]
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )


class FindReferencesResult(SearchAnswer, frozen=True, kw_only=True):
    """The references: certain ones first, then by path and line."""

    symbol: Annotated[
        ReferencedSymbol | None,
        Meta(description="The symbol; absent where it is defined in no file of the workspace."),
    ] = None
    references: Annotated[
        list[Reference], Meta(description="The references; none where they were streamed.")
    ]
    certain: Annotated[int, Meta(description="How many of all that were found are certain.")]
    files: Annotated[
        list[ReferencesInFile] | None,
        Meta(description="Counts of files, where `max_tokens` leaves no room for more."),
    ] = None


class FindReferencesPartial(Result, frozen=True, kw_only=True):
    """References that add to those before, and are not in the result again."""

    references: Annotated[list[Reference], Meta(description="The next references.")]
