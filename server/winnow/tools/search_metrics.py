"""search_metrics: show what the search history says, and how to improve searches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from winnow.errors import NotFound, NoWorkspace
from winnow.ranking.history.report import (
    FallbackCount,
    Improvement,
    Latency,
    QueryPattern,
    Satisfaction,
    TermCount,
)
from winnow.text.paths import shown_folder
from winnow.text.sanitize import printable
from winnow.tools.feedback import LEARNING_OFF
from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import COMPLETE, Answer, Params, Progress
from winnow.workspace import EngineWorkspace

if TYPE_CHECKING:
    pass


class SearchMetricsParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class SearchMetricsResult(Answer, frozen=True, kw_only=True):
    """Statistics of the recorded searches, which `total_found` and `returned` count. Rates are
    between 0 and 1, and absent if there is nothing to count."""

    enabled: Annotated[bool, Meta(description="The setting `learning.enabled`.")]
    patterns: Annotated[
        list[QueryPattern], Meta(description="The forms of queries, most frequent first.")
    ]
    terms: Annotated[
        list[TermCount], Meta(description="The words in queries, most frequent first.")
    ]
    hit_rate: Annotated[
        float | None,
        Meta(description="Share of the searches after which a result was opened or kept."),
    ] = None
    index_hit_rate: Annotated[
        float | None,
        Meta(description="Share of the searches that need the index and that it answered."),
    ] = None
    fallback_rate: Annotated[
        float | None,
        Meta(
            description="Share of the searches that were answered in another way than requested,"
            " or followed by a text search."
        ),
    ] = None
    fallbacks: Annotated[
        list[FallbackCount], Meta(description="The reasons for that, most frequent first.")
    ]
    latencies: Annotated[
        list[Latency], Meta(description="Response times, by tool and form of query.")
    ]
    satisfaction: Annotated[Satisfaction, Meta(description="What happened to the results.")]
    improvements: Annotated[
        list[Improvement], Meta(description="Suggested changes, most helpful first.")
    ]


# --- rendering -----------------------------------------------------------------------------


def text(result: SearchMetricsResult, style: Style, folder: str | None) -> str:
    """Render one line per figure, then the suggestions."""
    return "\n".join([*map(printable, _lines(result)), *_notes(result, style)])


def _lines(result: SearchMetricsResult) -> Iterator[str]:
    yield f"{result.total_found} searches"
    for pattern in result.patterns:
        yield (
            f"  {pattern.kind}: {pattern.searches}, {pattern.satisfied} useful,"
            f" {pattern.found_nothing} found nothing"
        )
    if result.terms:
        yield "terms: " + ", ".join(f"{term.term} ({term.searches})" for term in result.terms)
    for name, rate in (
        ("useful", result.hit_rate),
        ("answered by the index", result.index_hit_rate),
        ("fell back", result.fallback_rate),
    ):
        if rate is not None:
            yield f"{name}: {rate:.0%}"
    for fallback in result.fallbacks:
        yield f"  {fallback.reason}: {fallback.searches}"
    counts = result.satisfaction
    yield (
        f"results: {counts.opened} opened, {counts.kept} kept, {counts.dismissed} dismissed,"
        f" {counts.up} up, {counts.down} down; {counts.repeated} searches repeated"
    )
    for latency in result.latencies:
        if latency.kind is None:
            yield f"{latency.tool}: median {latency.p50_ms:g} ms, 95% within {latency.p95_ms:g} ms"


def _notes(result: SearchMetricsResult, style: Style) -> Iterator[str]:
    for row in result.improvements:
        how = ", ".join(filter(None, (row.setting, row.request)))
        yield style.dim(printable(f"[to improve: {row.what}" + (f" ({how})]" if how else "]")))
    for warning in result.warnings:
        yield style.dim(f"[note: {warning}]")


# --- the tool ------------------------------------------------------------------------------


@tool(
    text=text,
    command_help=CommandHelp(
        "Show what is recorded about searches in this workspace, and what would improve them.",
        "winnow search-metrics",
        "winnow search-metrics --json",
    ),
    example={},
    raises=(NoWorkspace, NotFound),
)
async def search_metrics(
    workspace: EngineWorkspace, params: SearchMetricsParams, progress: Progress
) -> SearchMetricsResult:
    """Show statistics of the searches in this workspace, and how to improve them.

    Shows the forms of queries and their words, how often searches were useful or fell back and why,
    response times, and settings that would help. The data stays on this machine, in the workspace's
    `.winnow` folder. Nothing is recorded if `learning.enabled` is off.
    """
    # Importing the index takes a tenth of a second.
    from winnow.ranking.history.metrics import SearchStatistics, improvements
    from winnow.search.index.facts import index_facts

    root = workspace.search_roots()[0]
    enabled = workspace.history.enabled
    searches, events = await workspace.history.all()
    indexing = await index_facts(workspace, root)
    seen = SearchStatistics(searches, events)

    def result() -> SearchMetricsResult:
        rate, fallbacks = seen.fallbacks()
        return SearchMetricsResult(
            root=shown_folder(root),
            enabled=enabled,
            patterns=seen.patterns(),
            terms=seen.terms(),
            hit_rate=seen.hit_rate(),
            index_hit_rate=seen.index_hit_rate(),
            fallback_rate=rate,
            fallbacks=fallbacks,
            latencies=seen.latencies(),
            satisfaction=seen.satisfaction(),
            improvements=improvements(seen, indexing),
            total_found=len(seen.searches),
            returned=len(seen.searches),
            truncated=False,
            completeness=COMPLETE,
            warnings=[] if enabled else [LEARNING_OFF],
        )

    return await asyncio.to_thread(result)
