"""Statistics of the search history, and the improvements that they suggest."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from winnow.config.globs import glob_regex
from winnow.ranking.history.boosts import words_of
from winnow.ranking.history.report import (
    FallbackCount,
    Improvement,
    Latency,
    QueryPattern,
    Satisfaction,
    TermCount,
)
from winnow.ranking.history.store import SATISFYING, SearchEvent, SearchRecord, is_satisfied
from winnow.text.plural import counted
from winnow.types import QueryForm

MAX_TERMS = 20
MAX_REASONS = 10
# What happens less often is chance.
OFTEN = 3
SLOW_SECONDS = 1.0
# Limit of the folders, queries or files in an improvement of each kind.
MAX_NAMED = 5
# The index should answer at least this share of the searches that use it.
ANSWERED = 0.8
_OPENED = frozenset(("opened", "viewed", "reopened"))


class SearchStatistics:
    """Searches with their events. A further page of an answer does not count as a search."""

    def __init__(self, searches: Iterable[SearchRecord], events: Iterable[SearchEvent]) -> None:
        self.searches = [search for search in searches if not search.continued]
        self.events: dict[str, list[SearchEvent]] = defaultdict(list)
        for event in events:
            self.events[event.search].append(event)

    def events_of(self, search: SearchRecord) -> Sequence[SearchEvent]:
        """Return the events of a search."""
        return self.events.get(search.id, ())

    def patterns(self) -> list[QueryPattern]:
        """Return the forms of queries, the most frequent first."""
        by_form: dict[QueryForm, list[SearchRecord]] = defaultdict(list)
        for search in self.searches:
            by_form[search.kind].append(search)
        patterns = [
            QueryPattern(
                kind=form,
                searches=len(searches),
                found_nothing=sum(not search.returned for search in searches),
                satisfied=sum(is_satisfied(self.events_of(search)) for search in searches),
            )
            for form, searches in by_form.items()
        ]
        return sorted(patterns, key=lambda pattern: (-pattern.searches, pattern.kind))

    def terms(self) -> list[TermCount]:
        """Return the most frequent terms of the queries."""
        counts = Counter(term for search in self.searches for term in words_of(search.query))
        return [TermCount(term=term, searches=counts[term]) for term in _top(counts, MAX_TERMS)]

    def hit_rate(self) -> float | None:
        """Return the share of searches with a useful result."""
        return _rate(is_satisfied(self.events_of(search)) for search in self.searches)

    def index_hit_rate(self) -> float | None:
        """Return the share that the index answered, of the searches that use it."""
        return _rate(search.indexed for search in self.searches if search.indexed is not None)

    def fallbacks(self) -> tuple[float | None, list[FallbackCount]]:
        """Return the share of searches that fell back or led to a text search, and the reasons."""
        reasons = [self._fallback(search) for search in self.searches]
        counts = Counter(filter(None, reasons))
        return _rate(map(bool, reasons)), [
            FallbackCount(reason=reason, searches=counts[reason])
            for reason in _top(counts, MAX_REASONS)
        ]

    def _fallback(self, search: SearchRecord) -> str:
        left = [event.tool for event in self.events_of(search) if event.signal == "left"]
        return search.fallback or (f"{search.tool} was followed by {left[0]}" if left else "")

    def latencies(self) -> list[Latency]:
        """Return the latency of each tool, for all queries and for each form."""
        times: dict[tuple[str, QueryForm | None], list[float]] = defaultdict(list)
        for search in self.searches:
            times[search.tool, None].append(search.seconds)
            times[search.tool, search.kind].append(search.seconds)
        return [
            Latency(
                tool=tool,
                kind=form,
                searches=len(times[tool, form]),
                p50_ms=round(percentile(times[tool, form], 0.5) * 1000, 1),
                p95_ms=round(percentile(times[tool, form], 0.95) * 1000, 1),
            )
            for tool, form in sorted(times, key=lambda key: (key[0], key[1] or ""))
        ]

    def satisfaction(self) -> Satisfaction:
        """Return the number of events of each kind."""
        events = [event for search in self.searches for event in self.events_of(search)]
        counts = Counter(event.signal for event in events)
        ranks = [event.rank for event in events if event.signal in _OPENED and event.rank]
        return Satisfaction(
            up=counts["up"],
            down=counts["down"],
            kept=counts["kept"],
            dismissed=counts["dismissed"],
            opened=sum(event.signal in _OPENED for event in events),
            repeated=counts["repeated"],
            mean_rank=round(sum(ranks) / len(ranks), 1) if ranks else None,
        )

    def opened(self) -> Counter[str]:
        """Return how often each file of the folder was opened."""
        return Counter(
            event.path
            for search in self.searches
            for event in self.events_of(search)
            if event.signal in SATISFYING and not os.path.isabs(event.path)
        )


class IndexFacts(Struct, frozen=True):
    """The facts about an index that improvements depend on.

    ``exclude`` and ``max_size_mb`` are settings. ``problems`` has the reason why a file is not
    indexed, by path relative to the folder; ``problem_messages`` the reasons why folders are not;
    ``left_out`` the number of files that did not fit.
    """

    enabled: bool
    exclude: tuple[str, ...] = ()
    max_size_mb: int = 0
    problems: Mapping[str, str] = {}
    problem_messages: tuple[str, ...] = ()
    left_out: int = 0


def improvements(seen: SearchStatistics, index: IndexFacts) -> list[Improvement]:
    """Return improvements, the most helpful first."""
    return [*_of_index(seen, index), *_of_files(seen, index), *_of_queries(seen, index)]


def _of_index(seen: SearchStatistics, index: IndexFacts) -> Iterator[Improvement]:
    """Yield improvements for an index that is off, incomplete or too small."""
    unindexed = sum(search.indexed is False for search in seen.searches)
    if not index.enabled and unindexed >= OFTEN:
        yield Improvement(
            what=f"The index is off, but {unindexed} searches would have used it: turn it on",
            setting="index.enabled",
        )
    if len(seen.searches) < OFTEN:
        return
    for hindrance in index.problem_messages:
        setting = "index.max_files" if "max_files" in hindrance else None
        yield Improvement(
            what=f"A folder that is searched is not indexed: {hindrance}",
            setting=setting,
            request="$/index" if setting else None,
        )
    if index.left_out:
        left_out = counted(index.left_out, "file does", "files do")
        yield Improvement(
            what=f"{left_out} not fit in the index, which is limited to {index.max_size_mb} MB:"
            " raise the limit",
            setting="index.max_index_size_mb",
        )


def _of_files(seen: SearchStatistics, index: IndexFacts) -> Iterator[Improvement]:
    """Yield improvements for files that are used but not indexed."""
    opened = seen.opened()
    for pattern in index.exclude:
        is_excluded = glob_regex(pattern).fullmatch
        paths = [path for path in opened if is_excluded(path)]
        count = sum(opened[path] for path in paths)
        if count >= OFTEN:
            yield Improvement(
                what=f"Files that {pattern!r} excludes from the index were opened {count} times:"
                " remove the pattern",
                setting="index.exclude_patterns",
                paths=_top({path: opened[path] for path in paths}, MAX_NAMED),
            )
    used = Counter(path for search in seen.searches for path in search.paths) + opened
    by_problem: dict[str, dict[str, int]] = defaultdict(dict)
    for path, problem in index.problems.items():
        if used[path] >= OFTEN:
            by_problem[problem][path] = used[path]
    for problem, counts in sorted(by_problem.items()):
        setting = next((name for name in ("parse_bytes", "parse_seconds") if name in problem), None)
        files = counted(len(counts), "file", "files")
        yield Improvement(
            what=f"{files} often found or opened, but not indexed: {problem}",
            setting=f"limits.{setting}" if setting else None,
            paths=_top(counts, MAX_NAMED),
        )


def _of_queries(seen: SearchStatistics, index: IndexFacts) -> Iterator[Improvement]:
    """Yield improvements for searches that are slow, find nothing or outrun the index."""
    rate = seen.index_hit_rate()
    count = sum(search.indexed is not None for search in seen.searches)
    if index.enabled and rate is not None and rate < ANSWERED and count >= OFTEN:
        yield Improvement(
            what=f"The index answered only {rate:.0%} of the {count} searches that use it: build it"
            " in advance",
            request="$/index",
        )
    by_scope: dict[str, list[float]] = defaultdict(list)
    by_words: dict[tuple[str, ...], list[SearchRecord]] = defaultdict(list)
    for search in seen.searches:
        by_scope[search.scope].append(search.seconds)
        if not search.returned:
            by_words[tuple(sorted(words_of(search.query)))].append(search)
    medians = {scope: percentile(t, 0.5) for scope, t in by_scope.items() if len(t) >= OFTEN}
    for scope in sorted(medians, key=lambda scope: -medians[scope])[:MAX_NAMED]:
        if medians[scope] >= SLOW_SECONDS:
            where = f"in {scope}" if scope else "in the entire workspace"
            yield Improvement(
                what=f"Half of the searches {where} take longer than {medians[scope]:.1f} seconds:"
                " search a subfolder, or exclude files that are not needed",
                setting="search.exclude",
                paths=[scope] if scope else [],
            )
    for searches in sorted(by_words.values(), key=len, reverse=True)[:MAX_NAMED]:
        if len(searches) >= OFTEN:
            tools = ", ".join(sorted({search.tool for search in searches}))
            yield Improvement(
                what=f"{len(searches)} searches for {searches[-1].query!r} ({tools}) found nothing:"
                " try other words, or include ignored and hidden files"
            )


def percentile(values: Iterable[float], part: float) -> float:
    """Return the smallest value that this part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * part // 1) - 1)]


def _rate(hits: Iterable[bool]) -> float | None:
    known = list(hits)
    return round(sum(known) / len(known), 3) if known else None


def _top(counts: Mapping[str, int], limit: int) -> list[str]:
    return sorted(counts, key=lambda name: (-counts[name], name))[:limit]
