"""Statistics of searches, and improvements."""

from __future__ import annotations

from typing import Any

from winnow.ranking.history.metrics import IndexFacts, SearchStatistics, improvements, percentile
from winnow.ranking.history.report import (
    FallbackCount,
    Improvement,
    Latency,
    QueryPattern,
    Satisfaction,
    TermCount,
)
from winnow.ranking.history.store import SearchEvent, SearchRecord, Signal

ON = IndexFacts(enabled=True)


def search(name: str, query: str = "load plugins", **values: Any) -> SearchRecord:
    fields = {"tool": "grep", "kind": "words", "seconds": 0.01, "returned": 1, "paths": ("a.py",)}
    return SearchRecord(id=name, at=0.0, query=query, **{**fields, **values})


def event(name: str, signal: Signal = "opened", path: str = "a.py", rank: int = 0) -> SearchEvent:
    return SearchEvent(name, 1.0, signal, path, rank, "bash" if signal == "left" else "")


def test_searches_are_counted_by_form_and_term() -> None:
    seen = SearchStatistics(
        [
            search("1", "load plugins"),
            search("2", "loading", returned=0),
            search("3", "load_plugin", kind="symbol"),
            search("4", "load plugins", continued=True),
        ],
        [event("1"), event("1"), event("4")],
    )
    assert seen.patterns() == [
        QueryPattern(kind="words", searches=2, found_nothing=1, satisfied=1),
        QueryPattern(kind="symbol", searches=1, found_nothing=0, satisfied=0),
    ]
    assert seen.terms() == [
        TermCount(term="load", searches=3),
        TermCount(term="plugin", searches=2),
        TermCount(term="loadplugin", searches=1),
    ]
    assert seen.hit_rate() == 0.333


def test_without_searches_there_are_no_rates() -> None:
    seen = SearchStatistics([], [])
    assert (seen.hit_rate(), seen.index_hit_rate(), seen.fallbacks()) == (None, None, (None, []))
    assert (seen.patterns(), seen.terms(), seen.latencies()) == ([], [], [])
    assert improvements(seen, ON) == []


def test_fallbacks_are_counted_with_their_reasons() -> None:
    building = "the index is building"
    seen = SearchStatistics(
        [
            search("1", tool="code_search", indexed=False, fallback=building),
            search("2", tool="code_search", indexed=False, fallback=building),
            search("3", tool="code_search", indexed=True),
            search("4"),
        ],
        [event("3", "left", "")],
    )
    assert seen.fallbacks() == (
        0.75,
        [
            FallbackCount(reason=building, searches=2),
            FallbackCount(reason="code_search was followed by bash", searches=1),
        ],
    )
    assert seen.index_hit_rate() == 0.333


def test_latencies_are_grouped_by_tool_and_form() -> None:
    times = [number / 1000 for number in range(1, 101)]
    seen = SearchStatistics(
        [search(str(place), seconds=seconds) for place, seconds in enumerate(times)]
        + [search("x", kind="symbol", tool="glob", seconds=2.0)],
        [],
    )
    assert seen.latencies() == [
        Latency(tool="glob", searches=1, p50_ms=2000, p95_ms=2000),
        Latency(tool="glob", kind="symbol", searches=1, p50_ms=2000, p95_ms=2000),
        Latency(tool="grep", searches=100, p50_ms=50, p95_ms=95),
        Latency(tool="grep", kind="words", searches=100, p50_ms=50, p95_ms=95),
    ]
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0


def test_events_are_counted_by_kind() -> None:
    events = [
        event("1", "opened", rank=1),
        event("1", "viewed", rank=4),
        event("1", "reopened", rank=0),
        event("1", "kept"),
        event("1", "dismissed"),
        event("1", "up"),
        event("1", "down"),
        event("1", "down"),
        event("1", "repeated", ""),
        event("forgotten", "up"),
    ]
    assert SearchStatistics([search("1")], events).satisfaction() == Satisfaction(
        up=1, down=2, kept=1, dismissed=1, opened=3, repeated=1, mean_rank=2.5
    )


# --- improvements --------------------------------------------------------------------------


def three(**values: Any) -> list[SearchRecord]:
    return [search(str(number), **values) for number in range(3)]


def test_two_occurrences_suggest_no_improvement() -> None:
    seen = SearchStatistics(three(returned=0, paths=(), seconds=9.0)[:2], [])
    assert improvements(seen, ON) == []


def test_queries_that_repeatedly_find_nothing_are_reported() -> None:
    queries = ["missing thing", "Missing things", "thing missing", "found"]
    searches = [
        search(query, query, returned=0, tool="glob" if query.istitle() else "grep")
        for query in queries
    ]
    [found] = improvements(SearchStatistics(searches, []), ON)
    assert found == Improvement(
        what="3 searches for 'thing missing' (grep) found nothing: try other words, or include"
        " ignored and hidden files"
    )


def test_slow_folders_are_reported() -> None:
    searches = three(scope="vendor", seconds=2.5)
    searches += [search(f"fast{number}", scope="src") for number in range(5)]
    [found] = improvements(SearchStatistics(searches, []), ON)
    assert (found.setting, found.paths) == ("search.exclude", ["vendor"])
    assert found.what.startswith("Half of the searches in vendor take longer than 2.5 seconds:")


def test_opened_files_that_a_pattern_excludes_are_reported() -> None:
    paths = ["web/app.min.js", "target/x.rs", "web/app.min.js", "web/app.min.js"]
    seen = SearchStatistics(three(paths=()), [event("1", "opened", path) for path in paths])
    [found] = improvements(seen, IndexFacts(True, ("target/", "*.min.js")))
    assert found == Improvement(
        what="Files that '*.min.js' excludes from the index were opened 3 times: remove the"
        " pattern",
        setting="index.exclude_patterns",
        paths=["web/app.min.js"],
    )


def test_files_that_are_used_but_not_indexed_are_reported_with_the_reason() -> None:
    large = "it is larger than limits.parse_bytes"
    problems = {"a.py": large, "b.py": "its parser hangs", "c.py": large}
    [found] = improvements(
        SearchStatistics(three(paths=("a.py", "d.py")), []), IndexFacts(True, problems=problems)
    )
    assert found == Improvement(
        what=f"1 file often found or opened, but not indexed: {large}",
        setting="limits.parse_bytes",
        paths=["a.py"],
    )


def test_an_index_that_is_off_too_small_or_late_is_reported() -> None:
    seen = SearchStatistics(three(indexed=False, fallback="there is no index"), [])
    hindrance = "/p: it has 60,000 files, and index.max_files is 50,000"
    off = improvements(seen, IndexFacts(enabled=False))
    assert [(row.setting, row.request) for row in off] == [("index.enabled", None)]
    found = improvements(
        seen, IndexFacts(True, max_size_mb=100, problem_messages=(hindrance,), left_out=1_234)
    )
    assert [(row.setting, row.request) for row in found] == [
        ("index.max_files", "$/index"),
        ("index.max_index_size_mb", None),
        (None, "$/index"),
    ]
    assert "1,234 files do not fit in the index, which is limited to 100 MB" in found[1].what
