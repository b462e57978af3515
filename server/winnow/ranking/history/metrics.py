"""What is seen in all searches that are remembered."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from winnow.ranking.history.queries import words_of
from winnow.ranking.history.records import Event, Search
from winnow.ranking.history.table import satisfied
from winnow.types import QueryForm
from winnow.types.search_metrics import (
    Fallback,
    Latency,
    QueryPattern,
    Satisfaction,
    TermCount,
)

MOST_TERMS = 20
MOST_REASONS = 10
_OPENED = frozenset(("opened", "viewed", "reopened"))


class Seen:
    """Searches with what became of them; further pages of answers are no searches of their own."""

    def __init__(self, searches: Iterable[Search], events: Iterable[Event]) -> None:
        self.searches = [one for one in searches if not one.continued]
        self.events: dict[str, list[Event]] = defaultdict(list)
        for event in events:
            self.events[event.search].append(event)

    def became(self, search: Search) -> Sequence[Event]:
        """What became of a search."""
        return self.events.get(search.id, ())

    def patterns(self) -> list[QueryPattern]:
        """The kinds of queries, the most frequent first."""
        by_kind: dict[QueryForm, list[Search]] = defaultdict(list)
        for search in self.searches:
            by_kind[search.kind].append(search)
        found = [
            QueryPattern(
                kind=kind,
                searches=len(some),
                found_nothing=sum(not one.returned for one in some),
                satisfied=sum(satisfied(self.became(one)) for one in some),
            )
            for kind, some in by_kind.items()
        ]
        return sorted(found, key=lambda one: (-one.searches, one.kind))

    def terms(self) -> list[TermCount]:
        """The words that are asked for most."""
        counts = Counter(word for one in self.searches for word in words_of(one.query))
        return [TermCount(term=term, searches=count) for term, count in _most(counts, MOST_TERMS)]

    def hit_rate(self) -> float | None:
        """The part of the searches of which something was of use."""
        return _rate(satisfied(self.became(one)) for one in self.searches)

    def index_hit_rate(self) -> float | None:
        """The part that the index has answered, of those that ask it."""
        return _rate(one.indexed for one in self.searches if one.indexed is not None)

    def fallbacks(self) -> tuple[float | None, list[Fallback]]:
        """The part of the searches that were answered in another way, or left for a search of text;
        and why."""
        reasons = [self._fallback(one) for one in self.searches]
        counts = Counter(filter(None, reasons))
        found = [
            Fallback(reason=reason, searches=count) for reason, count in _most(counts, MOST_REASONS)
        ]
        return _rate(bool(one) for one in reasons), found

    def _fallback(self, search: Search) -> str:
        left = [one.tool for one in self.became(search) if one.signal == "left"]
        return search.fallback or (f"{search.tool} was followed by {left[0]}" if left else "")

    def latencies(self) -> list[Latency]:
        """How long each tool takes, for all its queries and for each kind of them."""
        measured: dict[tuple[str, QueryForm | None], list[float]] = defaultdict(list)
        for search in self.searches:
            measured[search.tool, None].append(search.seconds)
            measured[search.tool, search.kind].append(search.seconds)
        return [
            Latency(
                tool=tool,
                kind=kind,
                searches=len(times),
                p50_ms=round(percentile(times, 0.5) * 1000, 1),
                p95_ms=round(percentile(times, 0.95) * 1000, 1),
            )
            for (tool, kind), times in sorted(
                measured.items(), key=lambda one: (one[0][0], one[0][1] or "")
            )
        ]

    def satisfaction(self) -> Satisfaction:
        """What became of searches, counted."""
        events = [event for one in self.searches for event in self.became(one)]
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


def percentile(values: Iterable[float], part: float) -> float:
    """The smallest of the values that is not exceeded by this part of them."""
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * part // 1) - 1)]


def _rate(hits: Iterable[bool]) -> float | None:
    known = list(hits)
    return round(sum(known) / len(known), 3) if known else None


def _most(counts: Mapping[str, int], most: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:most]
