"""Params and results of search_docs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Pattern, Result, SearchAnswer, SearchParams

Engine = Literal["auto", "rga", "builtin"]


class SearchDocsParams(SearchParams, frozen=True, kw_only=True):
    """What to find, and in which documents."""

    query: Annotated[
        str,
        Meta(
            description="The search query/pattern to find in documents: a regular expression, or"
            " with `literal` a text.",
            max_length=2_000,
        ),
    ]
    path: Annotated[
        str,
        Meta(
            description="File, folder or glob pattern to search in, such as 'legal/*.pdf', absolute"
            " or relative to the root.",
            max_length=4_000,
        ),
    ] = ""
    file_types: Annotated[
        list[Pattern],
        Meta(description="Formats to search, such as 'pdf', 'docx' or 'zip'.", max_length=100),
    ] = []
    literal: Annotated[
        bool, Meta(description="Take the query as text, not as a regular expression.")
    ] = False
    case_sensitive: Annotated[bool, Meta(description="Tell upper case from lower case.")] = False
    context_lines: Annotated[
        int, Meta(description="Lines to show before and after each match.", ge=0, le=20)
    ] = 2
    max_count: Annotated[
        int, Meta(description="The most matching lines of one document.", ge=1, le=10_000)
    ] = 100
    max_results: Annotated[
        int, Meta(description="The most matching lines to answer.", ge=1, le=1_000_000)
    ] = 200
    engine: Annotated[
        Engine,
        Meta(
            description="What reads the documents. 'rga': ripgrep-all, and an error where it is not"
            " installed. 'builtin': Winnow itself, which keeps their texts. 'auto': Winnow itself;"
            " with `documents.engine` set to 'rga', ripgrep-all for what it reads."
        ),
    ] = "auto"
    timeout: Annotated[
        float,
        Meta(description="After so many seconds, what was found is answered.", gt=0, le=600),
    ] = 30


class DocumentMatch(Result, frozen=True, kw_only=True):
    """A matching line; columns are 1-based and count code points, the end is exclusive."""

    line: Annotated[
        int, Meta(description="The line in the document's text, as `document_text` shows it.")
    ]
    column: Annotated[int, Meta(description="The column at which the first match begins.")]
    text: Annotated[str, Meta(description="The line.")]
    match_range: Annotated[
        tuple[int, int], Meta(description="First column, and the column behind the last.")
    ]
    before: Annotated[
        list[str], Meta(description="The lines before it, of the same page, sheet or part.")
    ]
    after: Annotated[list[str], Meta(description="The lines behind it.")]
    preview_uri: Annotated[
        str,
        Meta(description="The document's text at this line, for an editor that shows it."),
    ]
    open_uri: Annotated[
        str, Meta(description="The document itself, with the page where the format has pages.")
    ]
    page: Annotated[int | None, Meta(description="The page, from 1.")] = None
    slide: Annotated[int | None, Meta(description="The slide, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    cell: Annotated[
        str | None,
        Meta(description="The cell of the first match, such as 'B7'; in a database 'row 7, name'."),
    ] = None
    cells: Annotated[
        list[str] | None, Meta(description="All cells that match, if there are several.")
    ] = None
    section: Annotated[
        str | None, Meta(description="The chapter, the heading, the message or the cell.")
    ] = None
    paragraph: Annotated[int | None, Meta(description="The paragraph, from 1.")] = None
    member: Annotated[
        str | None,
        Meta(description="The file in an archive; '!/' stands between archives in archives."),
    ] = None
    ranges: Annotated[
        list[tuple[int, int]] | None,
        Meta(description="The ranges of all matches of the line, if there are several."),
    ] = None
    text_column: Annotated[
        int | None,
        Meta(
            description="The column of the first character of `text`, if a long line was cut"
            " around its match."
        ),
    ] = None


class DocumentMatches(Result, frozen=True, kw_only=True):
    """A document that matches."""

    path: Annotated[str, Meta(description="The document, relative to `root`.")]
    format: Annotated[str, Meta(description="Its format, such as 'pdf'.")]
    engine: Annotated[
        Literal["rga", "builtin"], Meta(description="What read it: ripgrep-all, or Winnow itself.")
    ]
    matches: Annotated[
        list[DocumentMatch], Meta(description="Its matching lines, in the order of its text.")
    ]
    total: Annotated[int, Meta(description="How many lines match, up to `max_count`.")]
    total_is_lower_bound: Annotated[
        bool, Meta(description="There may be more than `max_count`.")
    ] = False
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class UnreadDocument(Result, frozen=True, kw_only=True):
    """A document, or a part of one, that was not searched."""

    path: Annotated[str, Meta(description="The document, relative to `root`.")]
    reason: Annotated[str, Meta(description="Why: it is encrypted, damaged, a picture, and so on.")]
    member: Annotated[
        str | None, Meta(description="The file in an archive, if that is what was not read.")
    ] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )


class Statistics(Result, frozen=True, kw_only=True):
    """What the search did."""

    files: Annotated[int, Meta(description="Documents that were searched.")]
    matches: Annotated[int, Meta(description="Lines that match.")]
    seconds: Annotated[float, Meta(description="How long it took.")]


class SearchDocsResult(SearchAnswer, frozen=True, kw_only=True):
    """The documents that match; `total_found` and `returned` count matching lines."""

    documents: Annotated[
        list[DocumentMatches],
        Meta(description="The documents that match, by path; none where they were streamed."),
    ]
    failed: Annotated[
        list[UnreadDocument],
        Meta(description="What could not be read, and why: the first hundred."),
    ]
    engine: Annotated[
        Literal["rga", "builtin", "both", "none"],
        Meta(description="What read the documents; 'none' where there are none."),
    ]
    engines: Annotated[
        dict[str, Literal["rga", "builtin", "both"]],
        Meta(description="The same, for each format."),
    ]
    statistics: Annotated[Statistics, Meta(description="What the search did.")]
    pending: Annotated[
        int | None,
        Meta(
            description="Documents that there was no time for: ask again. What Winnow itself reads,"
            " it goes on to read in the background."
        ),
    ] = None
    message: Annotated[str | None, Meta(description="'No matches found'.")] = None


class SearchDocsPartial(Result, frozen=True, kw_only=True):
    """Documents that add to those before, and are not in the result again."""

    documents: Annotated[
        list[DocumentMatches], Meta(description="The next documents, in no order.")
    ]
