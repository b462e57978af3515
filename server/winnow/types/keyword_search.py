"""Params and results of keyword_search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Result, SearchAnswer, SearchParams

Ranker = Literal["auto", "llm", "local"]
BroadTerms = Literal["skip", "shrink"]
TermStatus = Literal["used", "shrunk", "too_broad", "peeled", "no_match", "invalid", "timed_out"]


class KeywordSearchParams(SearchParams, frozen=True, kw_only=True):
    """What to look for, and in which words the code may say it."""

    query: Annotated[
        str,
        Meta(
            description="A detailed statement of what you're trying to find or learn.",
            max_length=20_000,
        ),
    ]
    search_terms: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=2_000)]],
        Meta(
            description="List of search terms in descending order of importance."
            " Each is a case-insensitive regular expression.",
            min_length=1,
            max_length=64,
        ),
    ]
    max_results: Annotated[int, Meta(description="The most files to answer.", ge=1, le=1_000)] = 20
    ranker: Annotated[
        Ranker,
        Meta(
            description="'auto': a language model if one is available, else the local ranker;"
            " 'llm': a language model or an error; 'local': nothing leaves this machine."
        ),
    ] = "auto"
    model: Annotated[
        str, Meta(description="Name of the model to rank with, instead of the preferred ones.")
    ] = ""
    broad_terms: Annotated[
        BroadTerms,
        Meta(
            description="A term with more than 64 KiB of results: 'skip' leaves it out, 'shrink'"
            " keeps it with less context, fewer matches a file, or as a list of files."
        ),
    ] = "skip"
    include_documents: Annotated[
        bool,
        Meta(
            description="Search the texts of documents, too: PDFs, office files, e-books, archives."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        Meta(description="Answer the exact text that a model would be sent, and send nothing."),
    ] = False
    cursor: Annotated[
        str,
        Meta(
            description="Continue a truncated answer: its `cursor`, with otherwise equal params.",
            pattern="^[0-9]{0,9}$",
        ),
    ] = ""


class Match(Result, frozen=True, kw_only=True):
    """A matching line; columns are 1-based and count code points, the end is exclusive."""

    line: Annotated[int, Meta(description="The number of the line, from 1.")]
    column: Annotated[int, Meta(description="The column at which the match begins.")]
    text: Annotated[str, Meta(description="The line, without its end.")]
    match_range: Annotated[
        tuple[int, int], Meta(description="First column, and the column behind the last.")
    ]
    text_column: Annotated[
        int | None,
        Meta(
            description="The column of the first character of `text`, if a long line was cut"
            " around the match."
        ),
    ] = None
    page: Annotated[int | None, Meta(description="Of a document: the page, from 1.")] = None
    slide: Annotated[int | None, Meta(description="The slide, from 1.")] = None
    sheet: Annotated[str | None, Meta(description="The sheet, or the table of a database.")] = None
    section: Annotated[str | None, Meta(description="The chapter or heading.")] = None
    member: Annotated[str | None, Meta(description="The file in an archive.")] = None


class IndexPassage(Result, frozen=True, kw_only=True):
    """Some lines of a file that the index has found for the query; lines are 1-based."""

    start_line: Annotated[int, Meta(description="The first line of the passage.")]
    end_line: Annotated[int, Meta(description="Its last line.")]
    score: Annotated[float, Meta(description="The index's, from 0 to 1.")]
    snippet: Annotated[
        str | None,
        Meta(description="Its most telling lines as they are now, twelve at most."),
    ] = None
    snippet_line: Annotated[
        int | None, Meta(description="The line that the snippet begins with.")
    ] = None


class RankedFile(Result, frozen=True, kw_only=True):
    """A file that matters for the query."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    reason: Annotated[str, Meta(description="Why it matters, in a sentence.")]
    terms: Annotated[
        list[str],
        Meta(
            description="The search terms that match in it; none where it is `by` the index alone."
        ),
    ]
    matches: Annotated[
        list[Match], Meta(description="Lines that match: those that say most, eight at most.")
    ]
    line: Annotated[
        int | None,
        Meta(
            description="The line to open: a definition if one matches, or where the model pointed."
        ),
    ] = None
    by: Annotated[
        Literal["index"] | None,
        Meta(
            description="'index': no term that was kept matches in it; the index has found it for"
            " the query and the words of the terms."
        ),
    ] = None
    passage: Annotated[
        IndexPassage | None, Meta(description="What the index has found in it, with `by`.")
    ] = None
    format: Annotated[
        str | None,
        Meta(
            description="Of a document: its format, such as 'pdf'. Lines are those of its text, see"
            " `document_text`."
        ),
    ] = None
    preview_uri: Annotated[
        str | None, Meta(description="Of a document: its text at the line to open.")
    ] = None
    total_matches: Annotated[
        int | None, Meta(description="How many lines match, if `matches` does not hold them all.")
    ] = None
    score: Annotated[
        float | None, Meta(description="The local ranker's, to compare files of one answer with.")
    ] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class NotChosen(Result, frozen=True, kw_only=True):
    """A file that a model was sent, and has not chosen."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[int | None, Meta(description="The line to open.")] = None
    preview_uri: Annotated[
        str | None, Meta(description="Of a document: its text at the line to open.")
    ] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class RankedBy(Result, frozen=True, kw_only=True):
    """Who put the files in order."""

    kind: Annotated[
        Literal["llm", "local"], Meta(description="A language model, or the local ranker.")
    ]
    model: Annotated[str | None, Meta(description="Name of the model.")] = None
    provider: Annotated[str | None, Meta(description="The wire format that it speaks.")] = None
    fallback_reason: Annotated[
        str | None, Meta(description="Why it is not a model, if the params allow one.")
    ] = None
    needs_consent: Annotated[
        list[str] | None,
        Meta(
            description="Where a model could be asked if somebody consented, and nobody has"
            " refused: see `$/consent`."
        ),
    ] = None


class TermReport(Result, frozen=True, kw_only=True):
    """The fate of one search term."""

    term: Annotated[str, Meta(description="The term.")]
    status: Annotated[
        TermStatus,
        Meta(
            description="'used'; 'shrunk' to a smaller form; 'too_broad' and left out; 'peeled':"
            " left out for those before it to fit; 'no_match'; 'invalid': no regular expression;"
            " 'timed_out' before anything was found."
        ),
    ]
    bytes: Annotated[
        int | None, Meta(description="The size of its results with their context.")
    ] = None
    files: Annotated[int | None, Meta(description="How many files match.")] = None
    matches: Annotated[int | None, Meta(description="How many lines match.")] = None
    detail: Annotated[
        str | None, Meta(description="What is wrong with it, or what form it was shrunk to.")
    ] = None


class Usage(Result, frozen=True, kw_only=True):
    """What the model's answer cost."""

    input_tokens: Annotated[int, Meta(description="Tokens that were sent.")]
    output_tokens: Annotated[int, Meta(description="Tokens that were written.")]
    cached_tokens: Annotated[
        int | None, Meta(description="Of those sent, how many the provider had cached.")
    ] = None
    cost_usd: Annotated[
        float | None, Meta(description="In US dollars, if prices are configured.")
    ] = None


class Payload(Result, frozen=True, kw_only=True):
    """What a model would be sent."""

    model: Annotated[str, Meta(description="Name of the model.")]
    provider: Annotated[str, Meta(description="The wire format that it speaks.")]
    endpoint: Annotated[str, Meta(description="The address that it would be sent to.")]
    system: Annotated[str, Meta(description="The system prompt.")]
    prompt: Annotated[str, Meta(description="The prompt, with the matches.")]
    body: Annotated[
        str | None,
        Meta(
            description="The whole request as it would be sent first, byte for byte: the body of"
            " the HTTP request, or the params of `$/complete`. Absent if the provider's SDK cannot"
            " be imported."
        ),
    ] = None
    bytes: Annotated[int, Meta(description="The size of the system prompt and the prompt.")]
    estimated_tokens: Annotated[int, Meta(description="About as many tokens.")]


class KeywordSearchResult(SearchAnswer, frozen=True, kw_only=True):
    """The files that matter; `total_found` counts the files that match, and those that the index
    adds, which are `total_by_index`."""

    files: Annotated[list[RankedFile], Meta(description="The files, the most relevant first.")]
    no_relevant_files: Annotated[
        bool, Meta(description="Whether nothing is relevant, or nothing matches.")
    ]
    ranked_by: Annotated[RankedBy, Meta(description="Who put them in order.")]
    not_chosen: Annotated[
        list[NotChosen] | None,
        Meta(
            description="If a model ranked: the files that it was sent and has not chosen, in the"
            " order of the local ranker; with the first page."
        ),
    ] = None
    total_not_chosen: Annotated[
        int | None,
        Meta(description="How many these are, if `not_chosen` was shortened."),
    ] = None
    terms: Annotated[list[TermReport], Meta(description="The fate of every search term.")]
    total_by_index: Annotated[
        int | None,
        Meta(
            description="How many of `total_found` the index alone has found: no term that was kept"
            " matches in them."
        ),
    ] = None
    usage: Annotated[Usage | None, Meta(description="What it cost, if a model ranked.")] = None
    payload: Annotated[
        Payload | None, Meta(description="With `dry_run`: what a model would be sent.")
    ] = None
    redactions: Annotated[
        Mapping[str, int] | None,
        Meta(description="How many secrets were replaced in what a model was sent, by kind."),
    ] = None


class KeywordSearchPartial(Result, frozen=True, kw_only=True):
    """A partial result. One by the local ranker replaces all before it; one by a model adds to
    those of the model. The result holds all files again."""

    files: Annotated[list[RankedFile], Meta(description="All files so far, or the next one.")]
    ranked_by: Annotated[RankedBy, Meta(description="Who put them in order.")]
