"""Documents in answers: matches, and documents that could not be read; loads no search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import InFile, Result


class DocumentMatch(Result, frozen=True, kw_only=True):
    """A matching line. Columns start at 1 and count code points; the end is exclusive."""

    line: Annotated[
        int, Meta(description="Line number in the document's text, see `document_text`.")
    ]
    column: Annotated[int, Meta(description="Column of the start of the first match.")]
    text: Annotated[str, Meta(description="The line.")]
    match_range: Annotated[
        tuple[int, int], Meta(description="First column, and the column after the last.")
    ]
    before: Annotated[
        list[str], Meta(description="The lines before it, from the same page, sheet or part.")
    ]
    after: Annotated[list[str], Meta(description="The lines after it.")]
    preview_uri: Annotated[
        str,
        Meta(description="URI of the document's text at this line, for an editor."),
    ]
    open_uri: Annotated[
        str, Meta(description="URI of the document, with the page if the format has pages.")
    ]
    page: Annotated[int | None, Meta(description="Page number, from 1.")] = None
    slide: Annotated[int | None, Meta(description="Slide number, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    cell: Annotated[
        str | None,
        Meta(description="The cell of the first match, such as 'B7'; in a database 'row 7, name'."),
    ] = None
    cells: Annotated[
        list[str] | None, Meta(description="All matching cells, if there are several.")
    ] = None
    section: Annotated[
        str | None, Meta(description="The chapter, the heading, the message or the cell.")
    ] = None
    paragraph: Annotated[int | None, Meta(description="Paragraph number, from 1.")] = None
    member: Annotated[
        str | None,
        Meta(description="The file in an archive; '!/' separates nested archives."),
    ] = None
    ranges: Annotated[
        list[tuple[int, int]] | None,
        Meta(description="The ranges of all matches in the line, if there are several."),
    ] = None
    text_column: Annotated[
        int | None,
        Meta(
            description="Column of the first character of `text`, if a long line was cut around"
            " its match."
        ),
    ] = None


class DocumentMatches(InFile, frozen=True, kw_only=True):
    """A document that matches."""

    format: Annotated[str, Meta(description="Its format, such as 'pdf'.")]
    engine: Annotated[
        Literal["rga", "builtin"],
        Meta(description="The engine that read it: ripgrep-all, or Winnow itself."),
    ]
    matches: Annotated[list[DocumentMatch], Meta(description="The matching lines, in order.")]
    total: Annotated[int, Meta(description="Number of matching lines, up to `max_count`.")]
    total_is_lower_bound: Annotated[
        bool, Meta(description="True if there may be more than `max_count`.")
    ] = False


class TextPart(Result, frozen=True, kw_only=True):
    """The source of the text from a line on."""

    line: Annotated[int, Meta(description="The line in the text.")]
    title: Annotated[str | None, Meta(description="The title in the ruler at this line.")] = None
    page: Annotated[int | None, Meta(description="The page, from 1.")] = None
    slide: Annotated[int | None, Meta(description="The slide, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    row: Annotated[
        int | None, Meta(description="The row at this line; further lines are the next rows.")
    ] = None
    section: Annotated[
        str | None, Meta(description="The chapter, the heading, the message or the cell.")
    ] = None
    paragraph: Annotated[
        int | None,
        Meta(description="The paragraph at this line; further lines are the next paragraphs."),
    ] = None
    member: Annotated[
        str | None,
        Meta(description="The file in an archive; '!/' separates nested archives."),
    ] = None


class UnreadDocument(InFile, frozen=True, kw_only=True):
    """A document, or a part of one, that was not searched."""

    reason: Annotated[
        str, Meta(description="The reason: it is encrypted, damaged, a picture, and so on.")
    ]
    member: Annotated[
        str | None, Meta(description="The file in an archive, if only that was not read.")
    ] = None
