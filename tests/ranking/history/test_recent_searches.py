"""Actions after a search are its outcome."""

from __future__ import annotations

import pytest

from winnow.ranking.history.history import MAX_RECENT, CommandRun, FileView, RecentSearches
from winnow.ranking.history.store import SearchEvent, SearchRecord

QUERY = "how are plugins loaded"


def search(
    name: str, at: float, tool: str = "keyword_search", query: str = QUERY, continued: bool = False
) -> SearchRecord:
    return SearchRecord(
        name, at, tool, query, "question", 0.1, 2, ("a.py", "b.py"), continued=continued
    )  # fmt: skip


def latest(*searches: SearchRecord, events: tuple[SearchEvent, ...] = ()) -> RecentSearches:
    made = RecentSearches()
    made.add(searches, events)
    return made


def test_a_file_shown_within_a_minute_counts_for_the_latest_search_that_found_it() -> None:
    known = latest(search("s1", 0), search("s2", 30), search("s3", 40, query="other"))
    assert known.outcomes(FileView(50, "b.py")) == [SearchEvent("s3", 50, "viewed", "b.py", 2)]
    assert latest(search("s1", 0)).outcomes(FileView(60, "b.py"))
    assert latest(search("s1", 0)).outcomes(FileView(61, "b.py")) == []
    assert known.outcomes(FileView(50, "c.py")) == []


def test_a_file_that_is_reported_and_shown_counts_once_and_later_again() -> None:
    known = latest(search("s", 0), events=(SearchEvent("s", 10, "opened", "a.py", 1),))
    assert known.outcomes(FileView(12, "a.py")) == []
    assert known.outcomes(FileView(30, "a.py")) == [SearchEvent("s", 30, "reopened", "a.py", 1)]
    assert known.outcomes(FileView(12, "b.py")) == [SearchEvent("s", 12, "viewed", "b.py", 2)]


@pytest.mark.parametrize(
    ("tool", "query", "signal"),
    [
        ("keyword_search", "plugin loading", "repeated"),
        ("find_symbol", "load_plugin", "repeated"),
        ("grep", "load_plugin", "left"),
        ("keyword_search", "parse the configuration", None),
    ],
)
def test_a_similar_search_marks_the_previous_search_as_useless(
    tool: str, query: str, signal: str | None
) -> None:
    found = latest(search("s", 0)).outcomes(search("next", 20, tool, query))
    assert [(event.search, event.signal, event.tool) for event in found] == (
        [("s", signal, tool)] if signal else []
    )


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("rg -n load_plugin src", True),
        ("cat x | grep plugin", True),
        ("cat plugin.py", False),
        ("rg other", False),
    ],
)
def test_a_pipeline_that_searches_for_the_same_words_marks_the_search_as_left(
    command: str, left: bool
) -> None:
    found = latest(search("s", 0)).outcomes(CommandRun(20, command))
    assert found == ([SearchEvent("s", 20, "left", tool="bash")] if left else [])


def test_a_text_search_after_a_text_search_is_a_repetition() -> None:
    known = latest(search("s", 0, "grep", "load_plugin"))
    assert known.outcomes(search("n", 9, "grep", "load_plugins"))[0].signal == "repeated"


@pytest.mark.parametrize("signal", ["opened", "viewed", "kept", "up", "repeated", "left"])
def test_a_search_with_an_outcome_is_not_judged_again(signal: str) -> None:
    path = "" if signal in ("repeated", "left") else "a.py"
    known = latest(search("s", 0), events=(SearchEvent("s", 5, signal, path),))  # type: ignore[arg-type]
    assert known.outcomes(search("next", 20)) == []


def test_a_dismissed_result_is_not_useful() -> None:
    known = latest(search("s", 0), events=(SearchEvent("s", 5, "dismissed", "a.py"),))
    assert [event.signal for event in known.outcomes(search("next", 20))] == ["repeated"]


def test_a_further_page_and_a_late_search_have_no_outcome() -> None:
    known = latest(search("s", 0))
    assert known.outcomes(search("page", 20, continued=True)) == []
    assert known.outcomes(search("late", 121)) == []


def test_only_recent_searches_get_outcomes() -> None:
    known = latest(*(search(f"s{number}", number / 100) for number in range(MAX_RECENT + 1)))
    assert known.get("s0") is None
    assert known.get("s1") is not None
    # Reading a search from the store again does not make it newer.
    known.add([search("s0", 0)], [])
    assert known.get("s0") is None
    assert next(s.id for s in known._since(0)) == f"s{MAX_RECENT}"
    known.add([], [SearchEvent("s0", 1, "opened", "a.py")])
    assert known._events == {}
