"""Questions about the uses of a name: which questions are meant, and which are prose."""

from __future__ import annotations

import re
import time

import pytest

from winnow.search.code.relations import (
    Relation,
    RelationKind,
    imports_of,
    is_named_after,
    relation_of,
    topic_of_tests,
)


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("where is createPorts defined", "definitions", "createPorts"),
        ("who overrides createPorts", "definitions", "createPorts"),
        ("who calls createPorts", "calls", "createPorts"),
        ("who calls createPorts?", "calls", "createPorts"),
        ("What else calls Server.createPorts()?", "calls", "Server.createPorts"),
        ("callers of create_ports", "calls", "create_ports"),
        ("find all call sites of `resize`", "calls", "resize"),
        ("functions calling create_ports", "calls", "create_ports"),
        ("who is calling create_ports", "calls", "create_ports"),
        ("where do we call create_ports", "calls", "create_ports"),
        ("where is net::Client::send called from", "calls", "net::Client::send"),
        ("where is the User class instantiated", "calls", "User"),
        ("where does main get called", "calls", "main"),
        ("who calls main", "calls", "main"),
        ("who calls the resize function", "calls", "resize"),
        ("where is ErrNoConfig used?", "uses", "ErrNoConfig"),
        ("is ErrNoConfig still used anywhere", "uses", "ErrNoConfig"),
        ("show me all references to ErrNoConfig", "uses", "ErrNoConfig"),
        ("show me where ErrNoConfig is used", "uses", "ErrNoConfig"),
        ("usages of ErrNoConfig in this project", "uses", "ErrNoConfig"),
        ("which components use UserService", "uses", "UserService"),
        ("load_config usages", "uses", "load_config"),
        ("where is APP_TOKEN read", "uses", "APP_TOKEN"),
        ("what reads APP_TOKEN", "uses", "APP_TOKEN"),
        ("where is APP_TOKEN checked", "uses", "APP_TOKEN"),
        ("where is the setting max_cups read", "uses", "max_cups"),
        ("where is the APP_TOKEN environment variable read", "uses", "APP_TOKEN"),
        ("what happens when max_cups is not set", "uses", "max_cups"),
        ("what happens if APP_TOKEN isn't defined?", "uses", "APP_TOKEN"),
        ("what breaks if I change createPorts?", "uses", "createPorts"),
        ("which tests would fail if createPorts is removed", "uses", "createPorts"),
        ("impact of renaming Server.createPorts", "uses", "Server.createPorts"),
        ("how does the setting max_cups reach the machine", "uses", "max_cups"),
        ("where is the default of max_cups", "definitions", "max_cups"),
        ("what is the value of MAX_CUPS?", "definitions", "MAX_CUPS"),
        ("which tests cover createPorts", "tests", "createPorts"),
        ("tests for `resize`", "tests", "resize"),
        ("how is createPorts tested", "tests", "createPorts"),
        ("is createPorts covered by tests?", "tests", "createPorts"),
        ("where is BuildDrafts set", "writes", "BuildDrafts"),
        ("which files import NumpyBackend", "imports", "NumpyBackend"),
        ("who imports numpy", "imports", "numpy"),
        ("where is os.path imported", "imports", "os.path"),
        ("which files import @scope/find-my-way?", "imports", "@scope/find-my-way"),
        ("what includes <sys/stat.h>", "imports", "sys/stat.h"),
        ("subclasses of BaseModel", "subclasses", "BaseModel"),
        ("which classes implement Transport", "subclasses", "Transport"),
        ("Transport implementations", "subclasses", "Transport"),
        ("what does createPorts call?", "callees", "createPorts"),
        ("functions called by createPorts", "callees", "createPorts"),
    ],
)
def test_a_question_asks_for_the_uses_of_a_name(
    question: str, kind: RelationKind, name: str
) -> None:
    found = relation_of(question)
    assert found is not None
    assert (found.kind, found.name) == (kind, name)


@pytest.mark.parametrize(
    "question",
    [
        "where is max_cups defined and used",
        "where is the default of max_cups and where is it read?",
        "default value of max_cups, and how is it used",
        "rename max_cups",
        "Rename the constant max_cups to most_cups",
    ],
)
def test_a_question_may_ask_for_a_definition_and_its_uses(question: str) -> None:
    assert relation_of(question) == Relation("definitions", "max_cups", True, also_uses=True)


@pytest.mark.parametrize(("name", "is_certain"), [("NewClient", True), ("Client", False)])
def test_a_name_of_several_words_is_searched_for_where_it_is_used(
    name: str, is_certain: bool
) -> None:
    expected = Relation("definitions", name, is_certain, also_uses=True)
    assert relation_of(f"rename {name} to OpenClient") == expected


@pytest.mark.parametrize("text", ["rename files", "rename the recipe title", "rename a_b and c_d"])
def test_other_tasks_ask_for_no_name(text: str) -> None:
    assert relation_of(text) is None


@pytest.mark.parametrize(
    ("question", "is_certain"),
    [
        ("where is load_all used", True),
        ("where is loadAll used", True),
        ("where is `loader` used", True),
        ("where is net.Loader used", True),
        ("where is GitHub used", False),
        ("where is JSON used", False),
    ],
)
def test_names_may_be_words_of_prose(question: str, is_certain: bool) -> None:
    assert relation_of(question) == Relation("uses", question.split()[2].strip("`"), is_certain)


@pytest.mark.parametrize(
    "question",
    [
        "who uses the cache",
        "what calls the model",
        "what reads stdin",
        "who imports the cookies",
        "what includes the license",
        "where is the config read",
        "where is logging used",
        "what creates sessions",
        "where is the session token set",
        "where are cookies set",
        "how is BuildDrafts used",
        "tests for cookies",
        "who calls createPorts when the port is taken",
        "GitHub users",
        "where is the default route",
        "what happens when the server is not set",
        "what breaks if I change the port",
        "how does the request reach the handler",
        "where is the retry option read",
        "API calls",
        "CPU usage",
        "TypeScript definitions",
        "createPorts",
        "",
    ],
)
def test_other_questions_are_about_their_words(question: str) -> None:
    assert relation_of(question) is None


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("numpy", "import numpy as np"),
        ("numpy", "    from numpy.linalg import norm"),
        ("path", "import os.path"),
        ("@scope/find-my-way", 'import { route } from "@scope/find-my-way";'),
        ("find-my-way", "const router = require('find-my-way')"),
        ("find-my-way", "export * from 'find-my-way/lib'"),
        ("cobra", '\t"github.com/spf13/cobra"'),
        ("cobra", '\tcmd "github.com/spf13/cobra/v2"'),
        ("sys/stat.h", "# include <sys/stat.h>"),
        ("serde", "pub use serde::Serialize;"),
        ("Logger", "using Company.Logger;"),
        ("kramdown", 'require "kramdown"'),
        ("dplyr", "library(dplyr)"),
    ],
)
def test_lines_import_modules(name: str, line: str) -> None:
    assert re.search(imports_of(name), line)
    assert not re.search(imports_of(f"{name}x"), line)
    assert not re.search(imports_of(name), f"value = {name}")


def test_a_question_may_be_about_a_module() -> None:
    assert relation_of("who imports the parser module") == Relation(
        "imports", "parser", is_certain=False, is_module=True
    )


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("tests for cookies", "cookies"),
        ("tests for the copy module", "copy"),
        ("where are the integration tests for the file upload?", "file upload"),
        ("find all tests that cover session expiry", "session expiry"),
        ("which tests check the retry policy", "retry policy"),
        ("how are cookies tested", "cookies"),
        ("what does the test for the copy module check?", "copy"),
        ("what do the tests of session expiry verify", "session expiry"),
        ("what does the test do", ""),
        ("where are the scheduler tests", "scheduler"),
        ("where are the unit tests", ""),
        ("add tests for cookies", ""),
        ("test for equality", ""),
        ("how do I run the tests", ""),
        ("tests fail on Windows", ""),
        ("tests for " + "x" * 100, ""),
    ],
)
def test_what_is_tested_need_not_be_a_name(question: str, topic: str) -> None:
    assert topic_of_tests(question) == topic


@pytest.mark.parametrize(
    ("path", "topic", "expected"),
    [
        ("tests/test_copy.py", "copy", True),
        ("tests/test_copies.py", "copy", True),
        ("src/arrowBinding.test.tsx", "arrow binding", True),
        ("src/ConnectionPoolTest.kt", "connection pool", True),
        ("tests/cache/tests.py", "cache", True),
        ("features/pagination.feature", "pagination", True),
        ("tests/win_copy.py", "copy", False),
        ("tests/test_win_copy.py", "copy", False),
        ("tests/copy.py", "copy", False),
        ("tests/admin_views/tests.py", "admin", False),
    ],
)
def test_a_test_may_be_named_after_a_topic(path: str, topic: str, expected: bool) -> None:
    assert is_named_after(path, topic) is expected


@pytest.mark.parametrize(
    "text", ["tests for " + "the " * 20, "how are " + "is tested " * 9, "what do tests of " * 5]
)
def test_topics_of_tests_take_little_time(text: str) -> None:
    begin = time.process_time()
    for _ in range(100):
        topic_of_tests(text)
    assert time.process_time() - begin < 1


@pytest.mark.parametrize("text", ["a." * 100, "where is " + "a." * 95, "find all " + "a" * 190])
def test_long_names_take_little_time(text: str) -> None:
    begin = time.process_time()
    for _ in range(100):
        relation_of(text)
    assert time.process_time() - begin < 1
