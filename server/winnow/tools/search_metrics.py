"""search_metrics: what is remembered of searches."""

from __future__ import annotations

from collections.abc import Iterator

from winnow.errors import NotFound, NoWorkspace
from winnow.text.sanitize import printable
from winnow.tools.registry import tool
from winnow.tools.terminal import Style
from winnow.types import Progress
from winnow.types.search_metrics import SearchMetricsParams, SearchMetricsResult
from winnow.workspace import Workspace


def plain(result: SearchMetricsResult) -> str:
    """A line for each thing that was counted, then what would help."""
    return text(result, Style(colour=False), "")


def text(result: SearchMetricsResult, style: Style, folder: str) -> str:
    """The same, with quiet notes."""
    return "\n".join([*map(printable, _lines(result)), *_notes(result, style)])


def _lines(result: SearchMetricsResult) -> Iterator[str]:
    yield f"{result.total_found} searches"
    for pattern in result.patterns:
        yield (
            f"  {pattern.kind}: {pattern.searches}, {pattern.satisfied} of them of use,"
            f" {pattern.found_nothing} found nothing"
        )
    if result.terms:
        yield "asked for: " + ", ".join(f"{one.term} ({one.searches})" for one in result.terms)
    for name, rate in (
        ("of use", result.hit_rate),
        ("answered by the index", result.index_hit_rate),
        ("fell back", result.fallback_rate),
    ):
        if rate is not None:
            yield f"{name}: {rate:.0%}"
    for fallback in result.fallbacks:
        yield f"  {fallback.reason}: {fallback.searches}"
    said = result.satisfaction
    yield (
        f"results: {said.opened} opened, {said.kept} kept, {said.dismissed} dismissed,"
        f" {said.up} up, {said.down} down; {said.repeated} searches repeated"
    )
    for one in result.latencies:
        if one.kind is None:
            yield f"{one.tool}: {one.p50_ms:g} ms in the middle, {one.p95_ms:g} ms at most of 95%"


def _notes(result: SearchMetricsResult, style: Style) -> Iterator[str]:
    for one in result.improvements:
        how = ", ".join(filter(None, (one.setting, one.request)))
        yield style.dim(printable(f"[to improve: {one.what}" + (f" ({how})]" if how else "]")))
    for warning in result.warnings:
        yield style.dim(f"[note: {warning}]")


@tool(
    plain=plain,
    text=text,
    example={},
    raises=(NoWorkspace, NotFound),
)
async def search_metrics(
    workspace: Workspace, params: SearchMetricsParams, progress: Progress
) -> SearchMetricsResult:
    """Show what is remembered of searches in this workspace, and what would make them better.

    Kinds of queries and words that are asked for, how often something of use was found, how often
    a search fell back and why, how long tools take, and settings that would help. All of it is kept
    on this machine, in the workspace's `.winnow` folder, and not at all if `learning.enabled` is
    off.
    """
    # Not needed to start a server or to print help.
    from winnow.search.search_metrics import measure_searches

    return await measure_searches(workspace, params)
