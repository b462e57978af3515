"""Params and results of search_metrics."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Answer, Params, QueryForm, Result


class SearchMetricsParams(Params, frozen=True, kw_only=True):
    """None."""


class QueryPattern(Result, frozen=True, kw_only=True):
    """A kind of queries."""

    kind: Annotated[
        QueryForm,
        Meta(
            description="What the query looks like: the path of a file, a regular expression, the"
            " name of a symbol, some words, or a question."
        ),
    ]
    searches: Annotated[int, Meta(description="How many there were.")]
    found_nothing: Annotated[int, Meta(description="How many of them found nothing.")]
    satisfied: Annotated[int, Meta(description="After how many of them a result was opened.")]


class TermCount(Result, frozen=True, kw_only=True):
    """A word that is asked for."""

    term: Annotated[str, Meta(description="The word, stemmed.")]
    searches: Annotated[int, Meta(description="In how many queries it stands.")]


class Fallback(Result, frozen=True, kw_only=True):
    """Why something else was done than was asked for."""

    reason: Annotated[str, Meta(description="The reason, in words.")]
    searches: Annotated[int, Meta(description="How often.")]


class Latency(Result, frozen=True, kw_only=True):
    """How long a tool takes, for one kind of queries."""

    tool: Annotated[str, Meta(description="The tool.")]
    kind: Annotated[QueryForm | None, Meta(description="The kind of queries; absent for all.")] = (
        None
    )
    searches: Annotated[int, Meta(description="How many were measured.")]
    p50_ms: Annotated[float, Meta(description="Half of them took no longer, in milliseconds.")]
    p95_ms: Annotated[float, Meta(description="Of twenty, nineteen took no longer.")]


class Satisfaction(Result, frozen=True, kw_only=True):
    """What became of searches and their results."""

    up: Annotated[int, Meta(description="Results that were judged good.")]
    down: Annotated[int, Meta(description="Results that were judged bad.")]
    kept: Annotated[int, Meta(description="Results that were what was looked for.")]
    dismissed: Annotated[int, Meta(description="Results that were not.")]
    opened: Annotated[int, Meta(description="Results that were opened, once or again.")]
    repeated: Annotated[
        int, Meta(description="Searches after which a similar one was made, nothing being opened.")
    ]
    mean_rank: Annotated[
        float | None,
        Meta(description="At which place of their answers the opened results stood, in the mean."),
    ] = None


class Improvement(Result, frozen=True, kw_only=True):
    """Something that would make searches better."""

    what: Annotated[str, Meta(description="What was seen, and what would help, in a sentence.")]
    setting: Annotated[str | None, Meta(description="The setting that would do it.")] = None
    request: Annotated[str | None, Meta(description="The request that would do it.")] = None
    paths: Annotated[list[str], Meta(description="The files or folders that it is about.")] = []


class SearchMetricsResult(Answer, frozen=True, kw_only=True):
    """What is remembered of searches; `total_found` and `returned` count these. Rates are parts of
    one, and absent where there is nothing to count."""

    enabled: Annotated[bool, Meta(description="Whether `learning.enabled` is set.")]
    patterns: Annotated[
        list[QueryPattern], Meta(description="The kinds of queries, the most frequent first.")
    ]
    terms: Annotated[
        list[TermCount], Meta(description="The words that are asked for, the most frequent first.")
    ]
    hit_rate: Annotated[
        float | None,
        Meta(description="The part of the searches after which a result was opened or kept."),
    ] = None
    index_hit_rate: Annotated[
        float | None,
        Meta(description="The part of the searches that the index answered, of those that ask it."),
    ] = None
    fallback_rate: Annotated[
        float | None,
        Meta(
            description="The part of the searches that were answered in another way, or after which"
            " text was searched instead."
        ),
    ] = None
    fallbacks: Annotated[list[Fallback], Meta(description="Why, the most frequent reasons first.")]
    latencies: Annotated[
        list[Latency], Meta(description="How long searches take, by tool and kind of query.")
    ]
    satisfaction: Annotated[Satisfaction, Meta(description="What became of searches.")]
    improvements: Annotated[
        list[Improvement], Meta(description="What would make searches better, most helpful first.")
    ]
