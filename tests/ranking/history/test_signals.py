"""What is done after a search says whether it was of use."""

from __future__ import annotations

import pytest

from winnow.ranking.history.records import Event, Search
from winnow.ranking.history.signals import LATEST, Command, Latest, Viewed

QUERY = "how are plugins loaded"


def search(
    name: str, at: float, tool: str = "keyword_search", query: str = QUERY, continued: bool = False
) -> Search:
    return Search(
        name, at, tool, query, "question", 0.1, 2, ("a.py", "b.py"), continued=continued
    )  # fmt: skip


def latest(*searches: Search, events: tuple[Event, ...] = ()) -> Latest:
    made = Latest()
    made.add(searches, events)
    return made


def test_a_file_that_is_shown_within_a_minute_was_opened_for_the_latest_search() -> None:
    known = latest(search("s1", 0), search("s2", 30), search("s3", 40, query="other"))
    assert known.after(Viewed(50, "b.py")) == [Event("s3", 50, "viewed", "b.py", 2)]
    assert latest(search("s1", 0)).after(Viewed(60, "b.py"))
    assert latest(search("s1", 0)).after(Viewed(61, "b.py")) == []
    assert known.after(Viewed(50, "c.py")) == []


def test_a_file_that_is_told_and_shown_counts_once_and_later_once_more() -> None:
    known = latest(search("s", 0), events=(Event("s", 10, "opened", "a.py", 1),))
    assert known.after(Viewed(12, "a.py")) == []
    assert known.after(Viewed(30, "a.py")) == [Event("s", 30, "reopened", "a.py", 1)]
    assert known.after(Viewed(12, "b.py")) == [Event("s", 12, "viewed", "b.py", 2)]


@pytest.mark.parametrize(
    ("tool", "query", "signal"),
    [
        ("keyword_search", "plugin loading", "repeated"),
        ("find_symbol", "load_plugin", "repeated"),
        ("grep", "load_plugin", "left"),
        ("keyword_search", "parse the configuration", None),
    ],
)
def test_a_similar_search_says_that_the_one_before_was_of_no_use(
    tool: str, query: str, signal: str | None
) -> None:
    found = latest(search("s", 0)).after(search("next", 20, tool, query))
    assert [(one.search, one.signal, one.tool) for one in found] == (
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
def test_a_pipeline_that_looks_for_its_words_is_what_was_left(command: str, left: bool) -> None:
    found = latest(search("s", 0)).after(Command(20, command))
    assert found == ([Event("s", 20, "left", tool="bash")] if left else [])


def test_a_text_search_after_another_is_repeated_not_left() -> None:
    known = latest(search("s", 0, "grep", "load_plugin"))
    assert known.after(search("n", 9, "grep", "load_plugins"))[0].signal == "repeated"


@pytest.mark.parametrize("signal", ["opened", "viewed", "kept", "up", "repeated", "left"])
def test_what_was_of_use_or_is_known_to_be_of_none_is_not_judged_again(signal: str) -> None:
    path = "" if signal in ("repeated", "left") else "a.py"
    known = latest(search("s", 0), events=(Event("s", 5, signal, path),))  # type: ignore[arg-type]
    assert known.after(search("next", 20)) == []


def test_a_dismissed_result_is_no_use() -> None:
    known = latest(search("s", 0), events=(Event("s", 5, "dismissed", "a.py"),))
    assert [one.signal for one in known.after(search("next", 20))] == ["repeated"]


def test_a_further_page_and_a_late_search_say_nothing() -> None:
    known = latest(search("s", 0))
    assert known.after(search("page", 20, continued=True)) == []
    assert known.after(search("late", 121)) == []


def test_only_the_latest_are_looked_back_at() -> None:
    known = latest(*(search(f"s{number}", number / 100) for number in range(LATEST + 1)))
    assert known.get("s0") is None
    assert known.get("s1") is not None
    # One that is read again from the store is no later for that.
    known.add([search("s0", 0)], [])
    assert known.get("s0") is None
    assert next(one.id for one in known._since(0)) == f"s{LATEST}"
    known.add([], [Event("s0", 1, "opened", "a.py")])
    assert known._events == {}
