"""Params and results of code_search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from winnow.types import Result, ScopeParams
from winnow.types.semantic_search import Engine, LocalAnswer

SearchType = Literal["auto", "text", "semantic", "symbol", "file"]
UsedType = Literal["text", "semantic", "symbol", "file"]


class CodeSearchParams(ScopeParams, frozen=True, kw_only=True):
    """What to find; how is chosen by the query, unless the params say."""

    query: Annotated[
        str,
        Meta(
            description="What you are looking for: a question, a name ('Client.send'), a file"
            " ('executor.py', 'src/**/*.tsx'), text in quotes, or a regular expression.",
            max_length=20_000,
        ),
    ]
    search_type: Annotated[
        SearchType,
        Meta(
            description="'auto' chooses by the query and says what it chose; 'text': lines with"
            " these words as they stand, or a regular expression; 'semantic': passages about it;"
            " 'symbol': definitions by name; 'file': files by name or glob."
        ),
    ] = "auto"
    limit: Annotated[int, Meta(description="The most results to answer.", ge=1, le=200)] = 20
    enable_indexing: Annotated[
        bool,
        Meta(
            description="Make an index if there is none. A language server does so in the"
            " background, and answers from text meanwhile; the command line does it first."
        ),
    ] = False


class CodeHit(Result, frozen=True, kw_only=True):
    """A file, or lines of one; lines are 1-based."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    line: Annotated[
        int | None, Meta(description="The first line; of a file only if the query names one.")
    ] = None
    end_line: Annotated[int | None, Meta(description="The last line.")] = None
    score: Annotated[
        float, Meta(description="To compare results of one answer with; the best has the most.")
    ]
    snippet: Annotated[
        str | None,
        Meta(description="The most telling of these lines as they are now, twelve at most."),
    ] = None
    snippet_line: Annotated[
        int | None, Meta(description="The line that the snippet begins with, if not `line`.")
    ] = None
    kind: Annotated[
        Literal["file", "definition", "match", "passage"],
        Meta(
            description="'file': by its name; 'definition' of a symbol; 'match': lines with the"
            " text; 'passage': lines that are about the query."
        ),
    ]
    symbol: Annotated[
        str | None, Meta(description="What is defined there, by its qualified name.")
    ] = None
    matches: Annotated[
        int | None, Meta(description="Of a match: how many lines of the file match in all.")
    ] = None
    why: Annotated[str | None, Meta(description="Why it was found, in a few words.")] = None
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class CodeSearchResult(LocalAnswer, frozen=True, kw_only=True):
    """What was found, the best first. `total_found` counts files, definitions, files that match, or
    passages, as the search that was made finds them."""

    search_type_used: Annotated[UsedType, Meta(description="Which search this is the answer of.")]
    reason: Annotated[str, Meta(description="Why it was this search, in a sentence.")]
    results: Annotated[
        list[CodeHit], Meta(description="The results; none where they were streamed.")
    ]
    engine: Annotated[
        Engine | None,
        Meta(description="Of a search by meaning: what ranked, see `semantic_search`."),
    ] = None


class CodeSearchPartial(Result, frozen=True, kw_only=True):
    """Results that add to those before, and are not in the result again."""

    results: Annotated[list[CodeHit], Meta(description="The next results.")]
