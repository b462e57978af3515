"""Params and results of semantic_search, and what it shares with code_search."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from winnow.types import IndexOffer, Result, ScopeParams, SearchAnswer

Engine = Literal["lexical", "lexical+embeddings", "text"]


class SemanticSearchParams(ScopeParams, frozen=True, kw_only=True):
    """What to find, in words."""

    query: Annotated[
        str,
        Meta(
            description="What the code you are looking for does or is about, in plain words:"
            " 'where are retries of failed uploads scheduled'. Names and words that the code may"
            " use help.",
            max_length=20_000,
        ),
    ]
    top_k: Annotated[int, Meta(description="The most passages to answer.", ge=1, le=200)] = 10


class SearchFallback(Result, frozen=True, kw_only=True):
    """Another search than the one that was wanted, and why."""

    wanted: Annotated[str, Meta(description="The search that was wanted.")] = field(name="from")
    used: Annotated[str, Meta(description="The search that was made instead.")] = field(name="to")
    reason: Annotated[str, Meta(description="Why, in a sentence.")]
    partly: Annotated[
        bool,
        Meta(description="Only for the files that the index does not know; the rest is from it."),
    ] = False


class LocalAnswer(SearchAnswer, frozen=True, kw_only=True):
    """What each of these searches says of itself beside what it found."""

    total_is_lower_bound: Annotated[
        bool, Meta(description="There may be more: the best are looked for.")
    ] = False
    fallback: Annotated[
        SearchFallback | None,
        Meta(description="Where another search was wanted or tried first: which, and why not."),
    ] = None
    index_offer: Annotated[
        IndexOffer | None, Meta(description="Where there is no index: how to have one.")
    ] = None
    suggestions: Annotated[
        list[str], Meta(description="Where little was found: words of the code base to ask with.")
    ] = []


class Passage(Result, frozen=True, kw_only=True):
    """Some lines of a file that are about what was asked; lines are 1-based."""

    path: Annotated[str, Meta(description="The file, relative to `root`.")]
    start_line: Annotated[int, Meta(description="The first line of the passage.")]
    end_line: Annotated[int, Meta(description="Its last line.")]
    score: Annotated[
        float, Meta(description="To compare passages of one answer with; the best has the most.")
    ]
    snippet: Annotated[
        str | None,
        Meta(description="Its most telling lines as they are now, twelve at most."),
    ] = None
    snippet_line: Annotated[
        int | None,
        Meta(description="The line that the snippet begins with, if not that of the passage."),
    ] = None
    symbol: Annotated[
        str | None, Meta(description="What is defined there, by its qualified name.")
    ] = None
    why: Annotated[str, Meta(description="Why it was found, in a few words.")]
    root: Annotated[str | None, Meta(description="The workspace folder, if there are several.")] = (
        None
    )
    uri: Annotated[str | None, Meta(description="The exact path, if `path` is escaped.")] = None


class SemanticSearchResult(LocalAnswer, frozen=True, kw_only=True):
    """The passages, the best first."""

    results: Annotated[
        list[Passage], Meta(description="The passages; none where they were streamed.")
    ]
    engine: Annotated[
        Engine,
        Meta(
            description="'lexical': words, names and paths in the index, weighed by a learned"
            " ranker; 'lexical+embeddings': vectors of meaning as well; 'text': the query's words,"
            " looked for in all files."
        ),
    ]
    model: Annotated[
        str | None, Meta(description="With embeddings: whose vectors. They are on this machine.")
    ] = None


class SemanticSearchPartial(Result, frozen=True, kw_only=True):
    """Passages that add to those before, and are not in the result again."""

    results: Annotated[list[Passage], Meta(description="The next passages.")]
