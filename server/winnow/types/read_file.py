"""Params and results of read_file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from winnow.types import Answer, PageParams, Params, Result

LineEndings = Literal["lf", "crlf", "cr", "mixed"]


class Span(Params, frozen=True, kw_only=True):
    """A range of lines. What lies outside of the file is left out."""

    start: Annotated[int, Meta(description="The first line, counted from 1.")] = 1
    end: Annotated[
        int | None, Meta(description="The last line, itself included. Without it: to the end.")
    ] = None


class ReadFileParams(PageParams, frozen=True, kw_only=True):
    """Which lines of which file."""

    path: Annotated[
        str,
        Meta(
            description="File to read, absolute or relative to the root, as results show it.",
            min_length=1,
            max_length=4_000,
        ),
    ]
    spans: Annotated[
        list[Span],
        Meta(
            description="Line ranges to read, such as {'start': 10, 'end': 20}, or '10-20', '10-'"
            " (to the end), '10' (that line). Those that overlap or touch are merged."
            " Without any, the whole file.",
            max_length=1_000,
        ),
    ] = field(default_factory=list)
    max_lines: Annotated[
        int, Meta(description="The most lines to answer, of all spans together.", ge=1, le=10_000)
    ] = 500
    line_endings: Annotated[
        Literal["normalize", "keep"],
        Meta(
            description="'normalize': every line ends in a line feed; 'keep': `content` has the"
            " carriage returns of the file, too."
        ),
    ] = "normalize"


class Chunk(Result, frozen=True, kw_only=True):
    """Consecutive lines."""

    start: Annotated[int, Meta(description="The number of the first line, from 1.")]
    end: Annotated[int, Meta(description="The number of the last line.")]
    content: Annotated[
        str,
        Meta(
            description="The lines, each with its line end; the last line of a file may have none."
        ),
    ]


class ReadFileResult(Answer, frozen=True, kw_only=True):
    """``total_found`` and ``returned`` count lines."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    chunks: Annotated[
        list[Chunk], Meta(description="The lines, in order, without those in between.")
    ]
    encoding: Annotated[
        str,
        Meta(
            description="'utf-8', 'utf-8-sig', 'utf-16-le', 'utf-16-be', 'utf-32-le', 'utf-32-be'"
            " or 'latin-1'."
        ),
    ]
    total_lines: Annotated[
        int | None,
        Meta(description="How many lines the file has; absent if they were not all counted."),
    ] = None
    line_endings: Annotated[
        LineEndings | None,
        Meta(
            description="How the lines that were read end in the file; absent if none does. 'cr':"
            " lone carriage returns, which end no line here."
        ),
    ] = None
    byte_order_mark: Annotated[
        bool,
        Meta(description="Whether the file begins with one, which `content` does not hold."),
    ] = False
    unsaved: Annotated[
        bool, Meta(description="Whether this is the editor's text, which is not what is on disk.")
    ] = False
    document: Annotated[
        str | None,
        Meta(
            description="The format of a document whose text this is, such as 'pdf': `search_docs`"
            " numbers lines in the same way, and `document_text` says which page they are of."
        ),
    ] = None
    uri: Annotated[
        str | None,
        Meta(description="Only where the path is not valid Unicode: the exact name, as a URI."),
    ] = None
