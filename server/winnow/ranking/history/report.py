"""The rows of a report on the search history."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import QueryForm, Result


class QueryPattern(Result, frozen=True, kw_only=True):
    """Searches whose queries have the same form."""

    kind: Annotated[
        QueryForm,
        Meta(
            description="The form of the query: a file path, a regular expression, a symbol name,"
            " words, or a question."
        ),
    ]
    searches: Annotated[int, Meta(description="Number of searches.")]
    found_nothing: Annotated[int, Meta(description="Searches that found nothing.")]
    satisfied: Annotated[int, Meta(description="Searches after which a result was opened.")]


class TermCount(Result, frozen=True, kw_only=True):
    """A word that queries contain."""

    term: Annotated[str, Meta(description="The word, stemmed.")]
    searches: Annotated[int, Meta(description="Number of queries that contain it.")]


class FallbackCount(Result, frozen=True, kw_only=True):
    """A reason for which searches were answered in another way than requested."""

    reason: Annotated[str, Meta(description="The reason.")]
    searches: Annotated[int, Meta(description="Number of searches.")]


class Latency(Result, frozen=True, kw_only=True):
    """Response times of a tool, for one form of query."""

    tool: Annotated[str, Meta(description="The tool.")]
    kind: Annotated[
        QueryForm | None, Meta(description="The form of the query; absent for all queries.")
    ] = None
    searches: Annotated[int, Meta(description="Number of searches measured.")]
    p50_ms: Annotated[float, Meta(description="Median, in milliseconds.")]
    p95_ms: Annotated[float, Meta(description="95th percentile, in milliseconds.")]


class Satisfaction(Result, frozen=True, kw_only=True):
    """Outcomes of search results, counted."""

    up: Annotated[int, Meta(description="Results rated good.")]
    down: Annotated[int, Meta(description="Results rated bad.")]
    kept: Annotated[int, Meta(description="Results that were the right ones.")]
    dismissed: Annotated[int, Meta(description="Results that were not.")]
    opened: Annotated[int, Meta(description="How often results were opened.")]
    repeated: Annotated[
        int, Meta(description="Searches followed by a similar search without opening a result.")
    ]
    mean_rank: Annotated[float | None, Meta(description="Mean position of the opened results.")] = (
        None
    )


class Improvement(Result, frozen=True, kw_only=True):
    """A change that would make searches better."""

    what: Annotated[str, Meta(description="The observation and the suggested change.")]
    setting: Annotated[str | None, Meta(description="The setting to change.")] = None
    request: Annotated[str | None, Meta(description="The request to send.")] = None
    paths: Annotated[list[str], Meta(description="The files or folders concerned.")] = []
