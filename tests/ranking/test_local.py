"""Files ranked by their matches, without an index: order, passages and reasons."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence

import pytest

from winnow.ranking.candidates import Candidate, Ranked
from winnow.ranking.local import (
    FEEDBACK,
    REASON_CHARACTERS,
    loose_text,
    question_of_terms,
    rank_by_matches,
    ranked,
)
from winnow.ranking.term_matches import matches_of
from winnow.text.ripgrep import Line
from winnow.types import Hit

NO_BOOSTS: Mapping[str, float] = {}


def candidate(
    path: str, *texts: str, terms: Sequence[str] = ("session",), first: int = 1
) -> Candidate:
    """Return a file with these lines, and matches of all ``terms`` in them."""
    lines: dict[int, Line] = {}
    hits: dict[str, list[int]] = {}
    for number, text in enumerate(texts, first):
        spans = []
        for term in terms:
            if (at := text.lower().find(term.lower())) >= 0:
                hits.setdefault(term, []).append(number)
                spans.append((at, at + len(term)))
        lines[number] = Line(text, len(text) + 1, tuple(sorted(spans)))
    counts = {term: len(numbers) for term, numbers in hits.items()}
    return Candidate(path, lines, {term: tuple(hits[term]) for term in hits}, counts)


def counted(path: str, **counts: int) -> Candidate:
    """Return a file of a term that was shortened to a list: counts without lines."""
    return Candidate(path, {}, {}, counts)


def rank(
    query: str,
    terms: Sequence[str],
    candidates: Sequence[Candidate],
    boosts: Mapping[str, float] = NO_BOOSTS,
) -> list[Ranked]:
    matches = matches_of(query, terms, candidates, None)
    texts = {file.path: loose_text(file) for file in candidates}
    hits = rank_by_matches(query, candidates, matches, boosts, texts)
    return ranked(candidates, hits, matches)


def order(query: str, terms: Sequence[str], *candidates: Candidate) -> list[str]:
    return [file.candidate.path for file in rank(query, terms, candidates)]


# --- order ---------------------------------------------------------------------------------


def test_no_candidates_give_no_ranking() -> None:
    assert rank("session", ["session"], []) == []


def test_a_definition_beats_a_mention() -> None:
    mention = candidate("src/alpha.py", "x = session.get()")
    definition = candidate("src/beta.py", "class Session:")

    assert order("session", ["session"], mention, definition) == ["src/beta.py", "src/alpha.py"]


def test_an_exact_definition_beats_a_longer_name() -> None:
    longer = candidate("src/alpha.py", "class SessionCookieJar:")
    exact = candidate("src/beta.py", "class Session:")

    assert order("where is it", ["session"], longer, exact) == ["src/beta.py", "src/alpha.py"]


def test_without_a_ranking_a_definition_beats_several_mentions() -> None:
    terms = ["session", "cookie"]
    mentions = candidate("src/alpha.py", "session and cookie", terms=terms)
    definition = candidate("src/beta.py", "class Session:", terms=terms)
    files = [mentions, definition]

    in_order = ranked(files, [], matches_of("where is it", terms, files, None))

    assert [file.candidate.path for file in in_order] == ["src/beta.py", "src/alpha.py"]
    assert in_order[0].reason == "defines Session; matches session"


def test_a_rarer_term_beats_a_more_common_term() -> None:
    terms = ["common", "rare"]
    usual = [candidate(f"src/alpha{n}.py", "common()", terms=terms) for n in range(9)]
    special = candidate("src/beta.py", "rare()", terms=terms)

    assert order("gamma", terms, *usual, special)[0] == "src/beta.py"


def test_an_earlier_term_beats_a_later_term() -> None:
    terms = ["earlier", "later"]
    files = [
        candidate(f"src/{path}.py", f"{term}()", terms=terms)
        for path, term in (("alpha", "later"), ("beta", "earlier"))
    ]

    assert order("gamma", terms, *files) == ["src/beta.py", "src/alpha.py"]


def test_a_term_beyond_the_query_beats_a_word_of_the_query() -> None:
    terms = ["session", "keep_alive"]
    word = candidate("src/alpha.py", "session()", terms=terms)
    other = candidate("src/beta.py", "keep_alive()", terms=terms)
    matches = matches_of("a session", terms, [word, other], None)

    assert matches["src/beta.py"].share > 2 * matches["src/alpha.py"].share


def test_two_terms_beat_many_matches_of_one() -> None:
    terms = ["first", "second"]
    many = candidate("src/alpha.py", *["first()"] * 50, terms=terms)
    both = candidate("src/beta.py", "first()", "second()", terms=terms)

    assert order("gamma", terms, many, both) == ["src/beta.py", "src/alpha.py"]


def test_more_of_the_query_around_the_matches_is_better() -> None:
    bare = candidate("src/alpha.py", "session = 1", "other = 2")
    telling = candidate("src/beta.py", "session = 1", "cookie = expire(session)")

    assert order("how a session cookie expires", ["session"], bare, telling) == [
        "src/beta.py",
        "src/alpha.py",
    ]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("session", "src/session.py"),
        ("how sessions are stored", "src/session_store.py"),
        ("authentication", "src/auth.py"),
        ("colours of the SideBar", "src/sidebar.py"),
        ("a parser of dates", "src/parser/mod.rs"),
        ("a parser of dates", "src/parser/__init__.py"),
    ],
)
def test_a_path_that_matches_the_query_beats_a_path_that_does_not(query: str, path: str) -> None:
    files = counted("src/alpha.py", term=3), counted(path, term=3)

    assert order(query, ["term"], *files) == [path, "src/alpha.py"]


@pytest.mark.parametrize(
    "path",
    ["tests/test_session.py", "src/session_test.go", "docs/session.rst", "vendor/session.go"],
)
def test_tests_documentation_and_generated_files_come_last(path: str) -> None:
    files = candidate(path, "class Session:"), candidate("src/session.py", "class Session:")

    assert order("session", ["session"], *files) == ["src/session.py", path]


def test_equal_evidence_is_ordered_by_path() -> None:
    files = [candidate(f"src/{name}.py", "session = 1") for name in "dbacfe"]
    expected = rank("session", ["session"], files)
    random.Random(1).shuffle(files)

    assert rank("session", ["session"], files) == expected
    assert [file.candidate.path for file in expected] == [f"src/{name}.py" for name in "abcdef"]


def test_a_question_without_words_orders_by_the_terms() -> None:
    terms = [r"\d+", "%"]
    files = candidate("a.py", "%", terms=terms), counted("b.py", **{r"\d+": 2, "%": 1})

    assert order("???", terms, *files) == ["b.py", "a.py"]


def test_feedback_moves_files_and_is_part_of_the_reason() -> None:
    files = [candidate(f"src/{name}.py", "x = session.get()") for name in ("a", "b", "c")]
    boosts = {"src/c.py": 0.3, "src/a.py": -0.15, "src/gone.py": 0.3}
    found = rank("session", ["session"], files, boosts)
    assert [file.candidate.path for file in found] == ["src/c.py", "src/b.py", "src/a.py"]
    assert found[0].reason.startswith(f"{FEEDBACK[True]}; ")
    assert found[2].reason.startswith(f"{FEEDBACK[False]}; ")


def test_the_evidence_in_a_file_comes_before_feedback() -> None:
    """A narrow column shows only the start of a reason."""
    [found] = rank(
        "session",
        ["session"],
        [candidate("src/session.py", "x = session.get()")],
        {"src/session.py": 0.3},
    )
    assert found.reason == f"file name: session; {FEEDBACK[True]}; matches session"


def test_500_candidates_are_ranked_quickly() -> None:
    text = "    connection = self._session.request(response, timeout)  # keeps the cookie"
    files = [
        candidate(f"src/area{number % 20}/part_{number}.py", text, text, text)
        for number in range(500)
    ]
    times = []
    for _ in range(5):  # other processes use the machine, and Python may collect garbage
        started = time.process_time()
        rank("how the session keeps the cookies of a response", ["session"], files)
        times.append(time.process_time() - started)

    assert min(times) < 1.5  # ten times the usual time: machines differ


# --- passages and reasons ------------------------------------------------------------------


def test_the_passage_is_where_most_terms_match() -> None:
    terms = ["session", "cookie"]
    head = [f"# session {number}" for number in range(30)]
    body = ["def keep(session):", "    return session.cookie"]
    texts = [*head, *[""] * 200, *body, *[""] * 200, "session = 1"]
    [found] = rank("keep", terms, [candidate("src/a.py", *texts, terms=terms)])
    best = found.candidate.best
    assert best is not None
    assert best.first is not None
    assert best.last is not None
    assert best.first <= 231 <= best.last


def test_passages_have_the_line_numbers_of_the_file() -> None:
    [found] = rank(
        "session", ["session"], [candidate("a.py", "class Session:", "    x = 1", first=90_000)]
    )
    best = found.candidate.best
    assert best is not None
    assert (best.first, best.last) == (90_000, 90_001)


def test_a_file_whose_lines_are_unknown_has_no_passage() -> None:
    [found] = rank("session", ["session"], [counted("a.py", session=1)])
    assert found.candidate.best is None


def test_a_reason_has_definitions_and_matches_with_counts() -> None:
    terms = ["session", "cookie"]
    texts = "class Session:", "    session = None", "    cookie = 1"
    [found] = rank("the Session cookies", terms, [candidate("src/a.py", *texts, terms=terms)])

    assert found.reason.startswith("defines Session; ")
    assert found.reason.endswith("; matches session ×2, cookie")


def test_a_reason_has_the_definitions_of_terms() -> None:
    terms = ["keep_alive", "alive"]
    file = candidate("src/a.py", "def keep_alive():", "def is_still_alive_now():", terms=terms)
    [found] = rank("where is it", terms, [file])

    assert found.reason == "defines keep_alive; matches keep_alive, alive ×2"


def test_a_reason_names_definitions_that_only_the_terms_name() -> None:
    texts = "def visit():", "class Session:"
    [found] = rank("who is here", ["session"], [candidate("a.py", *texts, terms=["session"])])
    assert found.reason == "defines Session; matches session"


def test_a_reason_is_limited_and_counts_the_omitted_terms() -> None:
    terms = [f"some_long_term_{number}" for number in range(20)]
    [found] = rank("other", terms, [candidate("src/session.py", *terms, terms=terms)])

    assert len(found.reason) <= REASON_CHARACTERS
    assert "matches some_long_term_" in found.reason
    assert found.reason.endswith(" more")


def test_a_reason_with_an_endless_term_is_limited() -> None:
    term = "x" * 1000
    [found] = rank("session", [term], [Candidate("a.py", {}, {}, {term: 1})])

    assert len(found.reason) == REASON_CHARACTERS
    assert found.reason.endswith("x…")


@pytest.mark.parametrize(
    ("query", "terms", "expected"),
    [
        (
            "how are plugins loaded",
            ["load_plugin", "plugins"],
            "how are plugins loaded load_plugin",
        ),
        ("a question", [r"get_\w+\(", r"(foo|bar)\b"], "a question get_ foo bar"),
        ("", ["A", "a"], " A a"),
    ],
)
def test_the_words_of_query_and_terms_select_lines(
    query: str, terms: list[str], expected: str
) -> None:
    assert question_of_terms(query, terms) == expected


@pytest.mark.parametrize(
    ("last", "reason"),
    [(1, "defines Session in line 2; matches session"), (2, "defines Session; matches session")],
)
def test_a_reason_says_where_a_definition_is_that_is_not_shown(last: int, reason: str) -> None:
    file = candidate("a.py", "def visit():", "class Session:", terms=["session"])
    matches = matches_of("who is here", ["session"], [file], None)
    hit = Hit("a.py", "passage", 0.5, "", first=1, last=last)
    assert ranked([file], [hit], matches)[0].reason == reason
