"""Symbols and references in answers; apart from the searches because this loads no index."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import InRepository

ReferenceKind = Literal["call", "import", "type", "read", "write", "definition"]


class FoundSymbol(InRepository, frozen=True, kw_only=True):
    """A definition. Lines and columns start at 1; columns count code points."""

    name: Annotated[str, Meta(description="The name.")]
    qualified_name: Annotated[
        str, Meta(description="The name with its containers, separated by dots.")
    ]
    kind: Annotated[str, Meta(description="The kind, such as 'class', 'method' or 'field'.")]
    line: Annotated[int, Meta(description="Line of the name.")]
    column: Annotated[int, Meta(description="Column of the name.")]
    end_line: Annotated[int, Meta(description="Last line of the definition.")]
    score: Annotated[
        float, Meta(description="How well it matches, up to 1; exact names come before all others.")
    ]
    container: Annotated[
        str | None, Meta(description="Qualified name of the symbol that contains it.")
    ] = None
    signature: Annotated[
        str | None, Meta(description="The definition up to the body, on one line.")
    ] = None
    doc: Annotated[
        str | None, Meta(description="First paragraph of its documentation comment.")
    ] = None
    private: Annotated[
        bool, Meta(description="True if other files cannot, or should not, use it.")
    ] = False
    place: Annotated[
        Literal["test", "example", "vendored", "generated"] | None,
        Meta(description="The kind of file it is in, if that lowers its rank."),
    ] = None
    generic: Annotated[
        bool,
        Meta(
            description="True if Winnow has no query for the language: the definition was found by"
            " the shape of the syntax tree, and its kind is a guess."
        ),
    ] = False


class ReferencedSymbol(InRepository, frozen=True, kw_only=True):
    """A symbol whose references were requested, at its definition."""

    name: Annotated[str, Meta(description="The name.")]
    qualified_name: Annotated[
        str, Meta(description="The name with its containers, such as 'Client.send'.")
    ]
    kind: Annotated[
        str, Meta(description="'function', 'method', 'class', …; 'variable' for local symbols.")
    ]
    line: Annotated[int, Meta(description="Line of the name, from 1.")]
    column: Annotated[int, Meta(description="Column of the name, from 1, in code points.")]
    signature: Annotated[str, Meta(description="The definition up to the body.")] = ""


class FoundReference(InRepository, frozen=True, kw_only=True):
    """A use of the symbol. Lines and columns start at 1; columns count code points."""

    line: Annotated[int, Meta(description="The line.")]
    column: Annotated[int, Meta(description="Column of the start of the name.")]
    end_column: Annotated[int, Meta(description="The column after the name.")]
    kind: Annotated[ReferenceKind, Meta(description="How the name is used.")]
    confidence: Annotated[
        Literal["certain", "possible"],
        Meta(
            description="'certain': scopes, imports and declared types prove it. 'possible': the"
            " type of the receiver is unknown and the name is rare, or the name is in the text of a"
            " macro, or Winnow cannot resolve names of the language."
        ),
    ]
    text: Annotated[
        str, Meta(description="The line without surrounding blanks; absent in shortened answers.")
    ] = ""
    within: Annotated[str, Meta(description="Qualified name of the enclosing function.")] = ""
