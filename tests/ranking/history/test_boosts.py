"""Earlier outcomes move later results, within limits; queries and their forms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.ranking.history.boosts import (
    EXPLICIT,
    HALF_LIFE_SECONDS,
    IMPLICIT,
    MAX_QUERIES,
    MAX_SHARING,
    WORDS,
    BoostTable,
    form_of,
    similarity,
    words_of,
)
from winnow.ranking.history.store import SearchEvent, SearchRecord, Signal

NOW = 1_800_000_000.0
QUERY = "how are plugins loaded"
IMPLICIT_SIGNALS: tuple[Signal, ...] = ("opened", "viewed", "reopened", "kept", "dismissed")


def table(*events: tuple[str, Signal, float], query: str = QUERY) -> BoostTable:
    """Return a table with one search per event; an event is a path, a signal and an age."""
    made = BoostTable(NOW)
    for number, (path, signal, age) in enumerate(events):
        search = SearchRecord(f"s{number}", NOW - age, "grep", query, "question", 0.1, 1, (path,))
        made.add(search, [SearchEvent(search.id, NOW - age, signal, path, 1)])
    return made


def boosts(made: BoostTable, query: str = QUERY, *paths: str) -> dict[str, float]:
    found = made.boosts(query, set(paths or ("a.py", "b.py", "c.py")), NOW)
    return {path: round(boost, 4) for path, boost in found.items()}


def test_an_opened_file_moves_up_for_the_same_query_and_less_for_a_similar_one() -> None:
    made = table(("a.py", "opened", 0))
    same, similar = boosts(made), boosts(made, "load plugin registry")
    assert same == {"a.py": IMPLICIT / 2}
    assert 0 < similar["a.py"] < same["a.py"]
    assert boosts(made, "parse the configuration") == {}
    assert boosts(made, "") == {}


def test_only_requested_paths_are_moved() -> None:
    made = table(("gone.py", "up", 0), ("a.py", "opened", 0))
    assert boosts(made) == {"a.py": IMPLICIT / 2}
    assert made.boosts(QUERY, None, NOW).keys() == {"gone.py", "a.py"}


def test_stronger_signals_move_results_further() -> None:
    found = [boosts(table(("a.py", signal, 0)))["a.py"] for signal in ("viewed", "opened", "kept")]
    assert found == sorted(found)
    assert found[0] < found[1] < found[2] < IMPLICIT
    assert boosts(table(("a.py", "dismissed", 0))) == {"a.py": -IMPLICIT / 2}
    assert boosts(table(("a.py", "up", 0), ("b.py", "down", 0))) == {
        "a.py": EXPLICIT,
        "b.py": -EXPLICIT,
    }
    assert boosts(table(("a.py", "up", 0), ("a.py", "down", 0))) == {}


def test_implicit_signals_do_not_outweigh_a_thumb() -> None:
    opened: list[tuple[str, Signal, float]] = [("a.py", "opened", 0)] * 200
    made = table(*opened, ("a.py", "down", 0), ("b.py", "up", 0))
    assert boosts(made) == {"a.py": -EXPLICIT, "b.py": EXPLICIT}


def test_a_boost_halves_after_a_half_life() -> None:
    old = table(("a.py", "up", HALF_LIFE_SECONDS), ("b.py", "up", 2 * HALF_LIFE_SECONDS))
    assert boosts(old) == {"a.py": EXPLICIT / 2, "b.py": EXPLICIT / 4}


def test_events_about_no_file_move_nothing() -> None:
    made = BoostTable(NOW)
    search = SearchRecord("s", NOW, "grep", QUERY, "question", 0.1, 1, ("a.py",))
    made.add(
        search, [SearchEvent("s", NOW, "repeated", tool="grep"), SearchEvent("s", NOW, "left")]
    )
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
def test_a_thumb_outweighs_any_number_of_other_signals_of_its_age(
    signals: list[Signal], age: float, query: str
) -> None:
    implied = [("a.py", signal, age) for signal in signals]
    found = table(*implied, ("b.py", "up", age), ("c.py", "down", age)).boosts(
        query, {"a.py", "b.py", "c.py"}, NOW
    )
    assert found["c.py"] < found.get("a.py", 0.0) < found["b.py"]


def test_recently_useful_files_come_first() -> None:
    made = table(
        ("old.py", "kept", 4 * HALF_LIFE_SECONDS),
        ("opened.py", "opened", 0),
        ("judged.py", "up", 0),
        ("bad.py", "down", 0),
        ("bad.py", "opened", 0),
    )
    assert made.useful_files() == ["judged.py", "opened.py", "old.py"]


def test_useful_queries_come_with_their_files() -> None:
    made = table(("a.py", "opened", 0), ("b.py", "dismissed", 0))
    assert made.useful_queries("load plugin") == [(QUERY, ["a.py"])]
    assert made.useful_queries("else") == []


def test_the_oldest_queries_are_dropped() -> None:
    made = BoostTable(NOW)
    for number in range(MAX_QUERIES + 10):
        query = f"plugin {number}"
        search = SearchRecord(f"s{number}", NOW, "grep", query, "words", 0.1, 1, ("a.py",))
        made.add(search, [SearchEvent(search.id, NOW, "opened", "a.py", 1)])
    assert len(made) == MAX_QUERIES
    assert all(len(some) <= MAX_SHARING for some in made._sharing.values())
    assert len(made._sharing) == MAX_QUERIES + 1
    assert boosts(made, "number 9") == {}
    assert boosts(made, f"plugin {MAX_QUERIES + 9}")["a.py"] > 0


# --- queries -------------------------------------------------------------------------------


def test_words_are_the_first_distinct_terms() -> None:
    assert words_of("How are the plugins loaded by load_plugin?") == (
        "plugin", "load", "loadplugin",
    )  # fmt: skip
    assert words_of(" .*+ ") == ()
    many = " ".join(f"w{chr(97 + number // 26)}{chr(97 + number % 26)}x" for number in range(99))
    assert len(words_of(many)) == WORDS


@given(st.text(max_size=300))
def test_any_text_has_few_distinct_words_and_is_similar_to_itself(
    text: str,
) -> None:
    words = words_of(text)
    assert len(words) == len(set(words)) <= WORDS
    assert similarity(set(words), set(words)) == float(bool(words))
    assert form_of(text) in ("path", "regex", "symbol", "words", "question")


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("load_plugin", "symbol"),
        ("Client.send", "symbol"),
        ("std::move", "symbol"),
        ("send()", "symbol"),
        ("src/loader.py", "path"),
        ("**/*.rs", "path"),
        ("test_*.py", "path"),
        (r"def \w+\(", "regex"),
        ("^import", "regex"),
        ("foo.*bar", "regex"),
        ("a|b", "regex"),
        ("connection refused", "words"),
        ("where are plugins loaded", "question"),
        ("why slow?", "question"),
    ],
)
def test_the_form_of_a_query_is_recognized(query: str, kind: str) -> None:
    assert form_of(query) == kind


def test_a_result_that_was_left_at_once_for_another_one_does_not_move_up() -> None:
    search = SearchRecord("s", NOW, "grep", QUERY, "question", 0.1, 1, ("a.py",))
    made = BoostTable(NOW)
    for path, at in (("a.py", 0.0), ("b.py", 5.0), ("c.py", 20.0)):
        made.add(search, [SearchEvent("s", NOW + at, "opened", path, 1)])
    assert list(boosts(made)) == ["c.py"]
    # After it was read for a while, another one may be useful, too.
    made.add(search, [SearchEvent("s", NOW + 80, "opened", "a.py", 1)])
    assert sorted(boosts(made)) == ["a.py", "c.py"]
