"""How far what was useful moves later results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from winnow.ranking.history.records import Event, Search, Signal
from winnow.ranking.history.table import (
    EXPLICIT,
    HALF_LIFE_SECONDS,
    IMPLICIT,
    MOST_KNOWN,
    MOST_SHARING,
    Table,
)

NOW = 1_800_000_000.0
QUERY = "how are plugins loaded"
IMPLICIT_SIGNALS: tuple[Signal, ...] = ("opened", "viewed", "reopened", "kept", "dismissed")


def table(*events: tuple[str, Signal, float], query: str = QUERY) -> Table:
    """A table in which each event, of path, signal and age, was of a search of its own."""
    made = Table(NOW)
    for number, (path, signal, age) in enumerate(events):
        search = Search(f"s{number}", NOW - age, "grep", query, "question", 0.1, 1, (path,))
        made.add(search, [Event(search.id, NOW - age, signal, path, 1)])
    return made


def boosts(made: Table, query: str = QUERY, *paths: str) -> dict[str, float]:
    found = made.boosts(query, set(paths or ("a.py", "b.py", "c.py")), NOW)
    return {path: round(boost, 4) for path, boost in found.items()}


def test_a_file_that_was_opened_is_raised_for_the_same_query_and_less_for_a_similar_one() -> None:
    made = table(("a.py", "opened", 0))
    same, similar = boosts(made), boosts(made, "load plugin registry")
    assert same == {"a.py": IMPLICIT / 2}
    assert 0 < similar["a.py"] < same["a.py"]
    assert boosts(made, "parse the configuration") == {}
    assert boosts(made, "") == {}


def test_only_paths_that_are_asked_for_are_moved() -> None:
    made = table(("gone.py", "up", 0), ("a.py", "opened", 0))
    assert boosts(made) == {"a.py": IMPLICIT / 2}
    assert made.boosts(QUERY, None, NOW).keys() == {"gone.py", "a.py"}


def test_signals_count_as_much_as_they_say() -> None:
    found = [boosts(table(("a.py", signal, 0)))["a.py"] for signal in ("viewed", "opened", "kept")]
    assert found == sorted(found)
    assert found[0] < found[1] < found[2] < IMPLICIT
    assert boosts(table(("a.py", "dismissed", 0))) == {"a.py": -IMPLICIT / 2}
    assert boosts(table(("a.py", "up", 0), ("b.py", "down", 0))) == {
        "a.py": EXPLICIT,
        "b.py": -EXPLICIT,
    }
    assert boosts(table(("a.py", "up", 0), ("a.py", "down", 0))) == {}


def test_what_is_implied_does_not_outweigh_a_thumb() -> None:
    opened: list[tuple[str, Signal, float]] = [("a.py", "opened", 0)] * 200
    made = table(*opened, ("a.py", "down", 0), ("b.py", "up", 0))
    assert boosts(made) == {"a.py": -EXPLICIT, "b.py": EXPLICIT}


def test_a_half_life_halves() -> None:
    old = table(("a.py", "up", HALF_LIFE_SECONDS), ("b.py", "up", 2 * HALF_LIFE_SECONDS))
    assert boosts(old) == {"a.py": EXPLICIT / 2, "b.py": EXPLICIT / 4}


def test_other_searches_and_events_move_nothing() -> None:
    made = Table(NOW)
    search = Search("s", NOW, "grep", QUERY, "question", 0.1, 1, ("a.py",))
    made.add(search, [Event("s", NOW, "repeated", tool="grep"), Event("s", NOW, "left")])
    assert len(made) == 0
    assert boosts(made) == {}


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("a.py", "b.py", "c.py")),
        st.sampled_from((*IMPLICIT_SIGNALS, "up", "down")),
        st.floats(-1e9, 1e9),
    ),
    max_size=30,
)


@given(EVENTS, st.sampled_from((QUERY, "load a plugin", "plugins", "other words")))
def test_boosts_are_bounded(events: list[tuple[str, Signal, float]], query: str) -> None:
    judged = {path for path, signal, _ in events if signal in ("up", "down")}
    for path, boost in boosts(table(*events), query).items():
        assert abs(boost) <= (EXPLICIT if path in judged else IMPLICIT)


@given(
    st.lists(st.sampled_from(IMPLICIT_SIGNALS), max_size=50),
    st.floats(0, 5 * HALF_LIFE_SECONDS),
    st.sampled_from((QUERY, "load a plugin")),
)
def test_a_thumb_counts_more_than_any_number_of_others_of_its_age(
    signals: list[Signal], age: float, query: str
) -> None:
    implied = [("a.py", signal, age) for signal in signals]
    found = table(*implied, ("b.py", "up", age), ("c.py", "down", age)).boosts(
        query, {"a.py", "b.py", "c.py"}, NOW
    )
    assert found["c.py"] < found.get("a.py", 0.0) < found["b.py"]


def test_the_most_useful_lately_is_asked_for_first() -> None:
    made = table(
        ("old.py", "kept", 4 * HALF_LIFE_SECONDS),
        ("opened.py", "opened", 0),
        ("judged.py", "up", 0),
        ("bad.py", "down", 0),
        ("bad.py", "opened", 0),
    )
    assert made.asked() == ["judged.py", "opened.py", "old.py"]


def test_queries_that_led_to_something_are_known_with_where() -> None:
    made = table(("a.py", "opened", 0), ("b.py", "dismissed", 0))
    assert made.helped("load plugin") == [(QUERY, ["a.py"])]
    assert made.helped("else") == []


def test_the_oldest_are_forgotten() -> None:
    made = Table(NOW)
    for number in range(MOST_KNOWN + 10):
        query = f"plugin {number}"
        search = Search(f"s{number}", NOW, "grep", query, "words", 0.1, 1, ("a.py",))
        made.add(search, [Event(search.id, NOW, "opened", "a.py", 1)])
    assert len(made) == MOST_KNOWN
    assert all(len(some) <= MOST_SHARING for some in made._sharing.values())
    assert len(made._sharing) == MOST_KNOWN + 1
    assert boosts(made, "number 9") == {}
    assert boosts(made, f"plugin {MOST_KNOWN + 9}")["a.py"] > 0
