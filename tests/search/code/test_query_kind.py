"""The classification of queries: a table of examples, and properties of any query."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.search.code.query_kind import QueryReading, as_pattern, readings

# What is looked for stands in the query itself, unless it stands here in parentheses; `~` is a
# regular expression, `routes` some of those of `routes.py`, and `:N` a line.
TABLE = [
    # files
    ("src/foo.py", "file text"),
    ("executor.py", "file symbol text"),
    ("executor.py:120", "file(executor.py):120 text(executor.py)"),
    ("src/foo.py:10:5", "file(src/foo.py):10 text(src/foo.py)"),
    ("src/foo.cs(12,34)", "file(src/foo.cs):12 text(src/foo.cs)"),
    (
        "https://example.com/a/b/blob/main/src/foo.rs#L7",
        "file(src/foo.rs):7 text",
    ),
    ("src/engine.rs#L45-L60", "file(src/engine.rs):45 text(src/engine.rs)"),
    ("*.tsx", "file text"),
    ("**/test_*.py", "file text"),
    ("src/**/*.{ts,tsx}", "file text"),
    ("get_*", "file text"),
    ("executor.*", "file ~text"),
    ("Makefile", "file text"),
    ("README", "file text"),
    (".gitignore", "file text"),
    (".env", "file text"),
    ("package.json", "file symbol text"),
    ("console.log", "file symbol text"),
    ("__init__.py", "file symbol text"),
    ("größe.py", "file symbol text"),
    ("./run.sh", "file text"),
    ("src/", "file text"),
    ("django/db/models", "file text"),
    ("/api/v1/users", "routes file routes text"),
    ("api/v1/users", "file text"),
    ("and/or", "file text"),
    (r"src\foo.py", "file text"),
    (r"C:\x", "file text"),
    (r"C:\Users\me\main.py", "file text"),
    ("file:///home/me/a.py", "file text"),
    ("docs/my file.md", "file semantic"),
    ("app/[id]/page.tsx", "file text"),
    ("{a/*.py", "text"),
    # symbols
    ("AgentEngine", "symbol text"),
    ("foo_bar", "symbol text"),
    ("MAX_RETRIES", "symbol text"),
    ("Class.method", "symbol text symbol(method)"),
    ("Class#method", "symbol text symbol(method)"),
    ("Client.", "symbol text"),
    ("std::vector", "symbol text symbol(vector)"),
    ("ptr->field", "symbol text symbol(field)"),
    ("os.path.join", "symbol text symbol(join)"),
    ("$fn", "symbol text"),
    ("$scope.user", "symbol text symbol(user)"),
    ("empty?", "symbol text"),
    ("select!", "symbol symbol(select) text"),
    ("__init__", "symbol text"),
    ("foo()", "symbol(foo) text"),
    ("org.example.Bank", "symbol symbol(Bank) text"),
    (
        "org.example.Bank.open()",
        "symbol(org.example.Bank.open) symbol(Bank.open) text symbol(open)",
    ),
    (r"App\Post", "symbol text symbol(Post)"),
    (r"\App\Data\Post", r"symbol(App\Data\Post) symbol(Data.Post) symbol(Post) file text"),
    (
        r"App\Data\Post::save()",
        r"symbol(App\Data\Post::save) symbol(Post.save) text symbol(save)",
    ),
    ("Vec<T>", "symbol(Vec) text"),
    ("Größe", "symbol text"),
    ("`AgentEngine`", "symbol(AgentEngine) text(AgentEngine)"),
    ("if not settings.configured", "text semantic"),
    ("if self.is_open:", "text semantic"),
    ("if the file.txt is missing", "semantic"),
    ("class Validator", "symbol(Validator) text semantic"),
    ("def load_plugin(self):", "symbol(load_plugin) text semantic"),
    ("fn main", "symbol(main) text semantic"),
    # a single lowercase word may be a name or an ordinary word
    ("auth", "symbol text"),
    ("größe", "symbol text"),
    ("todo", "symbol text"),
    ("数据库", "symbol text"),
    # texts
    ('"permission denied"', "text(permission denied)"),
    ("'exact'", "text(exact)"),
    ("“curly”", "text(curly)"),
    ("TODO", "text"),
    ("FIXME:", "text"),
    ("find all TODOs", r"~text(\bTODO\b) semantic"),
    ("where are the todo comments?", r"~text(\bTODO\b) semantic"),
    ("list todos", "semantic"),
    ("foo(", "text"),
    ("foo(bar)", "text semantic(foo bar)"),
    ('config("app.zone")', "text semantic(config app zone)"),
    ("func (db *DB) Compact", "symbol(DB.Compact) text semantic"),
    ("arr[0]", "text"),
    ("@app.route", "text"),
    ("create-react-app", "file text"),
    ("user@example.com", "text"),
    ("https://example.com/a?b=c", "text routes"),
    ("http://localhost:3000/a?b=c", "routes text"),
    ("http://localhost:8080", "text"),
    ("404", "text"),
    ('" "', "semantic"),
    ("v1.2.3", "text"),
    ("1/2", "text"),
    ("=>", "text"),
    ("?", "text"),
    ("*", "text"),
    ("🎉", "text"),
    ("import os", "text semantic"),
    ('raise ValueError("no")', "text semantic"),
    ("if a == b", "text semantic"),
    ("#include <stdio.h>", "text semantic"),
    ("Map<String, int>", "text semantic"),
    # regular expressions
    ("foo.*bar", "~text"),
    (r"\bfoo\b", "~text"),
    ("^import", "~text"),
    ("(get|set)_value", "~text"),
    ("foo|bar", "~text"),
    ("[a-z]+_id", "~text"),
    (r"\d{3}-\d{4}", "~text"),
    (r"class \w+Error", "~text semantic"),
    ("/foo.*bar/", "~text(foo.*bar)"),
    # questions
    ("how does authentication work", "semantic"),
    ("where is the config loaded?", "semantic"),
    ("what does foo.bar() do", "semantic"),
    ("error handling", "semantic"),
    ("class inheritance", "semantic"),
    ("type checking", "semantic"),
    ("TypeError: 'NoneType' object is not iterable", "semantic"),
    ("fix 🎉 commit", "semantic"),
    ("main.go main.rs", "semantic"),
    ("wie funktioniert die Anmeldung", "semantic"),
    ("где загружается конфигурация", "semantic"),
    ("안녕하세요 세계", "semantic"),
    ("如何连接数据库", "semantic"),
    ("データベース接続", "semantic"),
]


def written(reading: QueryReading, query: str) -> str:
    if reading.route or reading.request:
        return "routes"
    wanted = "" if reading.wanted == query else f"({reading.wanted})"
    line = f":{reading.line}" if reading.line is not None else ""
    return f"{'' if reading.literal else '~'}{reading.search}{wanted}{line}"


@pytest.mark.parametrize(("query", "expected"), TABLE)
def test_a_query_is_classified_by_its_form(query: str, expected: str) -> None:
    found = [kind for kind, _ in itertools.groupby(written(one, query) for one in readings(query))]
    assert " ".join(found) == expected
    assert [written(one, query) for one in readings(f"  {query}\n")] == [
        written(one, query) for one in readings(query)
    ]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT guid, type, data",
        "SELECT * FROM users",
        "INSERT INTO users VALUES",
        "LEFT JOIN users ON users.id",
        "select guid, type from items",
    ],
)
def test_sql_is_searched_as_text(query: str) -> None:
    assert [written(one, query) for one in readings(query)] == ["text", "semantic"]


@pytest.mark.parametrize(
    "query", ["select the best of some files", "update the index", "where users are created"]
)
def test_words_of_sql_in_a_sentence_are_prose(query: str) -> None:
    assert [written(one, query) for one in readings(query)] == ["semantic"]


@pytest.mark.parametrize(
    ("option", "texts"),
    [
        ("--skip-bundle", ["--skip-bundle", "skip-bundle", "skip_bundle", "skipBundle"]),
        ("--log.level=debug", ["--log.level", "log.level"]),
        ("--force", ["--force", '"force"', "'force'"]),
    ],
)
def test_an_option_is_searched_in_the_spellings_of_code(option: str, texts: list[str]) -> None:
    first = readings(option)[0]
    assert (first.search, first.literal, first.wanted.split("\n")) == ("text", True, texts)


@pytest.mark.parametrize(
    "question",
    [
        "what does --skip-bundle do?",
        "the `--skip-bundle` option",
        "how does tea --skip-bundle work",
    ],
)
def test_a_question_about_an_option_leads_to_its_spellings(question: str) -> None:
    first, last = readings(question)
    assert (first.search, first.wanted) == ("text", readings("--skip-bundle")[0].wanted)
    assert last.search == "semantic"


@pytest.mark.parametrize(
    "question",
    [
        "default of history-limit",
        "what is the default value of history-limit?",
        "where is `history-limit` read",
        "what does the option history-limit do",
    ],
)
def test_a_question_about_a_setting_leads_to_its_spellings(question: str) -> None:
    first, last = readings(question)
    spellings = ['"history-limit"', "'history-limit'", "history-limit", "history_limit"]
    assert (first.search, first.wanted.split("\n")) == ("text", spellings)
    assert last.search == "semantic"


def test_the_last_part_of_a_name_may_be_text_only() -> None:
    """A column of a table."""
    found = [(reading.search, reading.wanted) for reading in readings("cups.has_lid")]
    assert found[-2:] == [("symbol", "has_lid"), ("text", "has_lid")]


def test_texts_with_a_name_are_its_definition_and_its_uses() -> None:
    both, only = map(readings, ("where is max_cups defined and used", "where is max_cups defined"))
    assert [reading.search for reading in both] == ["text", "symbol", "semantic"]
    assert [reading.search for reading in only] == ["symbol", "text", "semantic"]


@pytest.mark.parametrize("query", ["how does copy-mode scroll", "where is the status-line drawn"])
def test_a_setting_is_not_all_of_a_query(query: str) -> None:
    assert [reading.search for reading in readings(query)] == ["semantic"]


@pytest.mark.parametrize(
    "query", ["how does --json print the rows of a table", "git push --force --tags"]
)
def test_an_option_is_not_all_of_a_query(query: str) -> None:
    assert readings(query)[0].wanted == query


@pytest.mark.parametrize("resource", ["R.string.reply", "@string/reply", "org.app.R.string.reply"])
def test_a_resource_of_android_is_searched_where_it_is_defined_and_used(resource: str) -> None:
    first = readings(resource)[0]
    assert (first.search, first.literal) == ("text", False)
    lines = [
        '<string name="reply">Reply</string>',
        'android:text="@string/reply"',
        "getString(R.string.reply)",
        '<string name="reply_all">Reply to all</string>',
        "getString(R.string.reply_all)",
    ]
    assert [bool(re.search(first.wanted, line)) for line in lines] == [True] * 3 + [False] * 2


def test_a_layout_of_android_is_a_file() -> None:
    first = readings("R.layout.item_status")[0]
    assert (first.search, first.wanted) == ("file", "item_status.*")


def test_every_reading_has_a_reason() -> None:
    assert [one.why for one in readings("executor.py")] == [
        "it has the form of a file name", "it has the form of a member", "it is one word"
    ]  # fmt: skip


def test_a_long_text_is_neither_a_name_nor_a_pattern() -> None:
    assert [one.search for one in readings("a.b" * 200)] == ["text"]
    assert [one.search for one in readings("a.b c " * 200)] == ["semantic"]


@given(st.text(min_size=1, max_size=60).filter(str.strip))
def test_a_reading_of_any_query_accepts_any_text(query: str) -> None:
    found = readings(query)
    assert any(one.search in ("text", "semantic") for one in found[-2:])
    assert len({(one.search, one.wanted) for one in found}) == len(found)
    assert all(one.wanted and one.why for one in found)
    assert all(one.literal for one in found if one.search != "text")


@given(st.text("$aB.:->#/\\*[]()<>{}|+?^ \t", min_size=1, max_size=600).filter(str.strip))
def test_no_query_takes_long_to_read(query: str) -> None:
    assert readings(query)


def test_a_text_is_a_regular_expression_only_if_it_contains_regex_syntax() -> None:
    assert as_pattern("foo()", "x") == QueryReading("text", "foo()", "x")
    assert as_pattern("a.b", "x") == QueryReading("text", "a.b", "x")
    assert as_pattern(r"a\.b", "x") == QueryReading("text", r"a\.b", "x", literal=False)
    assert as_pattern("[a-z", "x") == QueryReading("text", "[a-z", "x")
