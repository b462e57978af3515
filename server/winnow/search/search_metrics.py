"""search_metrics: what is remembered of searches, and what it says."""

from __future__ import annotations

import asyncio

from winnow.errors import SearchError
from winnow.index.store.file_record import EXCLUDED, FULL, OF_SECRETS
from winnow.ranking.history.metrics import IndexFacts, SearchStatistics, improvements
from winnow.tools.feedback import LEARNING_OFF
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.paths import shown_path
from winnow.types.search_metrics import SearchMetricsParams, SearchMetricsResult
from winnow.workspace import Workspace

# Problems of files that are told in another way, or are none.
SAID = (EXCLUDED, FULL, OF_SECRETS)


async def measure_searches(
    workspace: Workspace, params: SearchMetricsParams
) -> SearchMetricsResult:
    """What is remembered of searches. Raises NoWorkspace and NotFound."""
    root = workspace.search_roots()[0]
    enabled = workspace.history.enabled
    searches, events = await workspace.history.all()
    indexing = await _indexing(workspace, f"{root.as_posix().rstrip('/')}/")
    seen = SearchStatistics(searches, events)
    return await asyncio.to_thread(_result, seen, indexing, shown_path(str(root))[0], enabled)


def _result(
    seen: SearchStatistics, indexing: IndexFacts, root: str, enabled: bool
) -> SearchMetricsResult:
    rate, fallbacks = seen.fallbacks()
    count = len(seen.searches)
    return SearchMetricsResult(
        root=root,
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
        total_found=count,
        returned=count,
        truncated=False,
        completeness=NOTHING_SKIPPED,
        warnings=[] if enabled else [OFF],
    )


async def _indexing(workspace: Workspace, prefix: str) -> IndexFacts:
    """What the index holds; only its settings where nobody has used it yet."""
    settings = workspace.config.index
    indexing = IndexFacts(settings.enabled, settings.exclude_patterns, settings.max_index_size_mb)
    if "index" not in workspace.__dict__:
        return indexing
    try:
        problems = await workspace.index.problems()
        status = await workspace.index.status()
    except (SearchError, StoreDamaged, DatabaseError):
        return indexing
    return IndexFacts(
        settings.enabled,
        settings.exclude_patterns,
        settings.max_index_size_mb,
        {
            path.removeprefix(prefix): said
            for path, said in problems.items()
            if not said.startswith(SAID)
        },
        tuple(one for one in workspace.index.hindrances() if FULL not in one),  # is counted below
        sum(folder.not_covered.size_limit or 0 for folder in status.folders),
    )
