"""Params and results of document_text."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Answer, PageParams, Result


class DocumentTextParams(PageParams, frozen=True, kw_only=True):
    """Which document, and which lines of its text."""

    path: Annotated[
        str,
        Meta(
            description="The document, absolute or relative to the root, or the `preview_uri` of a"
            " match.",
            min_length=1,
            max_length=8_000,
        ),
    ]
    start: Annotated[int, Meta(description="The first line, from 1.", ge=1)] = 1
    end: Annotated[
        int | None, Meta(description="The last line, itself included. Without it: to the end.")
    ] = None
    engine: Annotated[
        Literal["builtin", "rga"],
        Meta(
            description="Whose text: Winnow's own, or that of ripgrep-all. A `preview_uri` says it."
        ),
    ] = "builtin"


class TextPart(Result, frozen=True, kw_only=True):
    """From this line on, the text comes from here."""

    line: Annotated[int, Meta(description="The line in the text.")]
    title: Annotated[
        str | None, Meta(description="What the ruler in this line says, if there is one.")
    ] = None
    page: Annotated[int | None, Meta(description="The page, from 1.")] = None
    slide: Annotated[int | None, Meta(description="The slide, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    row: Annotated[
        int | None, Meta(description="The row of this line; further lines are the next rows.")
    ] = None
    section: Annotated[
        str | None, Meta(description="The chapter, the heading, the message or the cell.")
    ] = None
    paragraph: Annotated[
        int | None, Meta(description="The paragraph of this line; further lines are the next ones.")
    ] = None
    member: Annotated[
        str | None,
        Meta(description="The file in an archive; '!/' stands between archives in archives."),
    ] = None


class DocumentTextResult(Answer, frozen=True, kw_only=True):
    """A document's text, in which each page, sheet or other part begins with a ruler.
    `total_found` and `returned` count lines."""

    path: Annotated[str, Meta(description="The document, relative to `root`.")]
    uri: Annotated[str, Meta(description="The URI of this text, for editors.")]
    format: Annotated[str, Meta(description="Its format, such as 'pdf'.")]
    engine: Annotated[
        Literal["builtin", "rga"], Meta(description="What read it: ripgrep-all, or Winnow itself.")
    ]
    start: Annotated[int, Meta(description="The first line of `text`.")]
    text: Annotated[str, Meta(description="The lines, each with a line end.")]
    total_lines: Annotated[int, Meta(description="How many lines the whole text has.")]
    line_map: Annotated[
        list[TextPart],
        Meta(description="Where the lines come from: the part of the first, and each that begins."),
    ]
    failed: Annotated[
        list[str], Meta(description="Parts of the document that could not be read, and why.")
    ] = []
