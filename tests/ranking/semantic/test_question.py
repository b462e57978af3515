"""Understand queries: the weights of terms, and the names and paths in a text."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from winnow.index.postings.terms import stem, term_number
from winnow.ranking.semantic.path_index import PathIndex, unasked_kinds
from winnow.ranking.semantic.question import BODY_WEIGHT, MAX_TERMS, Question, question_of

COMMON = " ".join(f"{a}{b}word" for a in "bcdfghjk" for b in "aeiou")
RARE = "quokka"
ISSUE = f"""Session cookie is lost after a redirect

{COMMON}
{COMMON.replace("word", "term")}
The {RARE} handler in `src/http/cookies.py` loses it, and so does CookieJar.update_state.
"""


def rarity(numbers: Sequence[int]) -> list[float]:
    """Return the rarity of terms in a code base where one word is much rarer than all others."""
    return [9.0 if number == term_number(stem(RARE)) else 1.0 for number in numbers]


def parsed(query: str) -> Question:
    return question_of(query, rarity)


def weight_of(question: Question, term: str) -> float:
    return dict(zip(question.terms, question.weights, strict=True))[stem(term)]


def test_the_terms_of_a_short_query_have_the_same_weight() -> None:
    question = parsed("session cookie lost after a redirect")
    assert question.terms == ("session", "cooki", "lose", "after", "redirect")
    assert set(question.weights) == {1.0}


def test_a_rare_term_far_below_is_searched_for_before_common_ones() -> None:
    question = parsed(ISSUE)
    assert len(question.terms) == MAX_TERMS
    assert stem(RARE) in question.terms


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Fix the session cookie after a redirect", True),
        ("Don’t send cookies to other hosts", True),
        ("Support chunked uploads\n\nLarge files need them.", True),
        ("the session is not saved after a redirect", True),
        ("Blank page when the header is missing", True),
        ("The session is lost. " * 20, True),
        ("why is the session not saved", False),
        ("is the header missing when a proxy redirects?", False),
        ("support for chunked uploads", False),
        ("update statement", False),
        ("where is the cookie updated", False),
        ("how do I add a cookie", False),
        ("parse the header of a response", False),
        ("", False),
    ],
)
def test_queries_that_describe_work(query: str, expected: bool) -> None:
    assert parsed(query).task is expected


def test_the_title_weighs_more_than_the_body() -> None:
    question = parsed(ISSUE)
    assert weight_of(question, "session") == 1.0
    assert weight_of(question, RARE) == BODY_WEIGHT


def test_a_term_that_repeats_weighs_more() -> None:
    question = parsed("Redirects fail\n\nThe session is lost. The session is not saved.")
    assert BODY_WEIGHT == weight_of(question, "lost") < weight_of(question, "session") < 1.0


def test_names_and_paths_of_the_body_are_known() -> None:
    question = parsed(ISSUE)
    assert {"CookieJar", "update_state"} <= {*question.names, *question.titles}
    assert question.paths == ("src/http/cookies.py",)


def test_the_paths_of_a_stack_trace_are_known() -> None:
    trace = 'Traceback (most recent call last):\n  File "/usr/lib/app/main.py", line 3, in run\n'
    question = parsed(f"It fails\n\n{trace}ValueError: no such session")
    assert question.paths == ("/usr/lib/app/main.py",)


def test_a_stack_trace_without_a_title_has_terms_of_full_weight() -> None:
    trace = 'Traceback (most recent call last):\n  File "main.py", line 3, in run\n'
    assert weight_of(parsed(f"{trace}ValueError: no such session"), "session") == 1.0


@pytest.mark.parametrize("query", ["", "   ", "\n\n"])
def test_a_query_without_words_has_no_terms(query: str) -> None:
    assert parsed(query).terms == ()


@pytest.mark.parametrize("text", [COMMON + "\n", "x = f(a)\n", "a", "Config.load "])
def test_a_query_of_a_megabyte_is_parsed_in_linear_time(text: str) -> None:
    begin = time.process_time()
    parsed(text * (1_000_000 // len(text)))
    # Half a second; quadratic time would be many minutes, on any machine.
    assert time.process_time() - begin < 30


@pytest.mark.parametrize(
    ("query", "kind", "is_asked"),
    [
        ("fix build with base >= 4.8 on old compilers", "data", False),
        ("build configuration of the package", "data", True),
        ("tests of the parser", "test", True),
        ("run the tests again after a worker was lost", "test", False),
    ],
)
def test_one_broad_word_does_not_ask_for_a_kind_of_file(
    query: str, kind: str, is_asked: bool
) -> None:
    assert (kind not in unasked_kinds(parsed(query).stems)) == is_asked


PATHS = ["src/http/cookies.py", "tests/http/cookies.py", "setup.py", "src/app/__init__.py"]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("src/http/cookies.py", {0: 1.0}),
        ("http/cookies.py", {0: 0.5, 1: 0.5}),
        ("/home/ada/project/src/http/cookies.py", {0: 1.0}),
        ("site-packages/http/cookies.py", {0: 0.5, 1: 0.5}),
        ("setup.py", {2: 1.0}),
        ("other/setup.py", {}),
        ("app/missing.py", {}),
        ("/", {}),
    ],
)
def test_a_path_means_the_files_that_end_like_it(written: str, found: dict[int, float]) -> None:
    assert PathIndex(PATHS).written_as([written]) == found


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how long does curl wait between retries", ("long", "wait", "between", "retri")),
        ("how does Curl, on Windows, wait", ("window", "wait")),
        # The name is what is left, or a part of another one.
        ("how does curl work", ("curl",)),
        ("curl retries", ("curl", "retri")),
        ("wait in curl_easy_perform", ("wait", "curl", "easi", "perform", "curleasyperform")),
        ("curl", ("curl",)),
    ],
)
def test_the_name_of_the_project_says_nothing(query: str, terms: tuple[str, ...]) -> None:
    def rarity(numbers: Sequence[int]) -> list[float]:
        return [0.3 if number == term_number("curl") else 4.0 for number in numbers]

    assert question_of(query, rarity, {"curl"}).terms == terms
    # It says something about a part of the code, if the rest does not have it.
    rare = question_of(query, lambda numbers: [4.0] * len(numbers), {"curl"})
    assert "curl" in rare.terms
