"""Files, terms and rankers in answers of keyword search; loads no search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import InRepository, Result

TermStatus = Literal["used", "shrunk", "too_broad", "peeled", "no_match", "invalid", "timed_out"]


class Match(Result, frozen=True, kw_only=True):
    """A matching line. Columns start at 1 and count code points; the end is exclusive."""

    line: Annotated[int, Meta(description="Line number, from 1.")]
    column: Annotated[int, Meta(description="Column of the start of the match.")]
    text: Annotated[str, Meta(description="The line, without its line ending.")]
    match_range: Annotated[
        tuple[int, int], Meta(description="First column, and the column after the last.")
    ]
    text_column: Annotated[
        int | None,
        Meta(
            description="Column of the first character of `text`, if a long line was cut around"
            " the match."
        ),
    ] = None
    page: Annotated[int | None, Meta(description="Of a document: page number, from 1.")] = None
    slide: Annotated[int | None, Meta(description="Slide number, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    section: Annotated[str | None, Meta(description="The chapter or heading.")] = None
    member: Annotated[str | None, Meta(description="The file in an archive.")] = None


class PassageOfFile(Result, frozen=True, kw_only=True):
    """The lines of a file that answer the query best. Lines start at 1."""

    start_line: Annotated[int, Meta(description="The first line of the passage.")]
    end_line: Annotated[int, Meta(description="The last line.")]
    score: Annotated[float, Meta(description="Score of the local ranker, from 0 to 1.")]
    symbol: Annotated[
        str | None, Meta(description="Qualified name of the definition that contains the passage.")
    ] = None
    snippet: Annotated[
        str | None,
        Meta(description="The most relevant lines, from the current file; at most twelve."),
    ] = None
    snippet_line: Annotated[int | None, Meta(description="First line of the snippet.")] = None


class RankedFile(InRepository, frozen=True, kw_only=True):
    """A file that is relevant to the query."""

    reason: Annotated[str, Meta(description="Why it is relevant, in a sentence.")]
    terms: Annotated[
        list[str],
        Meta(
            description="The search terms that match in it; empty if only the index found it, see"
            " `by`."
        ),
    ]
    matches: Annotated[
        list[Match], Meta(description="The most relevant matching lines; at most eight.")
    ]
    line: Annotated[
        int | None,
        Meta(
            description="The line to open: the line of the passage that says most, such as a"
            " definition, or the line that the model names."
        ),
    ] = None
    line_text: Annotated[str | None, Meta(description="The text of this line.")] = None
    by: Annotated[
        Literal["index"] | None,
        Meta(
            description="'index': no term that was used matches in it; the index found it for the"
            " query and the words of the terms."
        ),
    ] = None
    passage: Annotated[
        PassageOfFile | None,
        Meta(
            description="The passage that answers the query best; absent for a document, and where"
            " only the number of matches is known."
        ),
    ] = None
    format: Annotated[
        str | None,
        Meta(
            description="Of a document: its format, such as 'pdf'. Line numbers refer to its text,"
            " see `document_text`."
        ),
    ] = None
    preview_uri: Annotated[
        str | None, Meta(description="Of a document: its text at the line to open.")
    ] = None
    total_matches: Annotated[
        int | None,
        Meta(description="Total number of matching lines, if `matches` does not have all of them."),
    ] = None
    score: Annotated[
        float | None,
        Meta(description="Score of the local ranker, for comparison within one answer."),
    ] = None


class TermReport(Result, frozen=True, kw_only=True):
    """The use of a search term."""

    term: Annotated[str, Meta(description="The term.")]
    status: Annotated[
        TermStatus,
        Meta(
            description="'used'; 'shrunk' to a smaller form; 'too_broad' and omitted; 'peeled':"
            " omitted so that earlier terms fit; 'no_match'; 'invalid': not a regular expression;"
            " 'timed_out' before a match was found."
        ),
    ]
    bytes: Annotated[
        int | None, Meta(description="Size of its results with context, in bytes.")
    ] = None
    files: Annotated[int | None, Meta(description="Number of matching files.")] = None
    matches: Annotated[int | None, Meta(description="Number of matching lines.")] = None
    detail: Annotated[
        str | None, Meta(description="What is wrong with it, or its smaller form.")
    ] = None
