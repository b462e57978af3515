"""Questions for everything of a kind, and the lines that answer them."""

from __future__ import annotations

import re
import time

import pytest

from winnow.search.code.surveys import survey_of

MARKERS = "it asks for markers in comments"
ENVIRONMENT = "it asks for environment variables"
DEPRECATED = "it asks for what is deprecated"


@pytest.mark.parametrize(
    ("question", "why", "line"),
    [
        ("find all TODOs", MARKERS, "# TODO: speed this up"),
        ("list the todo comments", MARKERS, "// TODO(ann) speed this up"),
        ("where are the FIXMEs?", MARKERS, "/* FIXME */"),
        ("TODO comments", MARKERS, "# TODO"),
        ("which environment variables are read?", ENVIRONMENT, 'token = os.environ["TOKEN"]'),
        ("what env vars does this use", ENVIRONMENT, "const port = process.env.PORT"),
        ("list all environment variables", ENVIRONMENT, 'home := os.Getenv("HOME")'),
        ("show me the env vars used", ENVIRONMENT, 'ENV.fetch("HOME")'),
        ("find all deprecated functions", DEPRECATED, "@Deprecated"),
        ("deprecated methods", DEPRECATED, "// Deprecated: use Send."),
        ("where are deprecations", DEPRECATED, "warnings.warn(TEXT, DeprecationWarning)"),
    ],
)
def test_a_question_asks_for_lines_of_a_kind(question: str, why: str, line: str) -> None:
    survey = survey_of(question)
    assert survey is not None
    assert survey.why == why
    assert re.search(survey.lines, line)
    assert not re.search(survey.lines, "todos = environment(deprecated)")


@pytest.mark.parametrize(
    "question",
    [
        "TODO",
        "list todos",
        "find all todos",
        "environment variables",
        "how are environment variables parsed",
        "which deprecated",
        "how are deprecated settings reported",
        "",
    ],
)
def test_other_questions_are_about_their_words(question: str) -> None:
    assert survey_of(question) is None


@pytest.mark.parametrize("part", ["find all ", "the ", "what env vars are ", "todo "])
def test_long_questions_take_little_time(part: str) -> None:
    begin = time.process_time()
    for _ in range(100):
        survey_of(part * (100 // len(part)))
    assert time.process_time() - begin < 1
