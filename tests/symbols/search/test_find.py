"""Find definitions in a small project: which ones, in which order, under which name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import write_files
from indexed import indexed
from winnow.index.snapshot import Snapshot
from winnow.index.symbol_names import NameTables
from winnow.symbols.file_symbols import FileSymbols, LexicalScope, ScopeTable
from winnow.symbols.search.find import Finder, Symbol, SymbolMatches
from winnow.symbols.search.match import Pattern
from winnow.symbols.search.query import parse
from winnow.symbols.view import File

FILES = {
    "shop/client.py": (
        "class Client:\n"
        "    def send(self, message):\n"
        "        def send_later():\n"
        "            pass\n"
        "    def _sender(self): ...\n"
        "    class Meta: ...\n"
        "class HttpClient(Client):\n"
        "    def send(self, message): ...\n"
        "    class Meta: ...\n"
        "TIMEOUT = 3\n"
    ),
    "shop/models/query.py": (
        "class QuerySet:\n"
        "    def filter(self): ...\n"
        "    def complex_filter(self): ...\n"
        "    def get(self): ...\n"
        "def get_object_or_404(): ...\n"
        "queryset = 1\n"
        "def send_all(): ...\n"
    ),
    "shop/auth/__init__.py": "def login(): ...\ndef login_required(): ...\n",
    "shop/vendor/lib.py": "def resend(): ...\ndef send_fast(): ...\n",
    "shop/api_pb2.py": "class SendRequest: ...\n",
    "tests/test_client.py": (
        "class SendTests:\n    def test_send(self): ...\ndef only_in_tests(): ...\n"
    ),
    "tests/only.py": "class only_in_testsX: ...\n",
    "src/Größe.py": "def größer(): ...\n",
}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    with indexed(write_files(tmp_path_factory.mktemp("shop"), FILES)) as opened:
        yield opened


def find(view: Snapshot, text: str, **options: object) -> SymbolMatches:
    tables = view.names(NameTables())
    open_files: Sequence[str] = options.pop("open_files", ())  # type: ignore[assignment]
    return Finder(view, tables, parse(text), **options).find(open_files)  # type: ignore[arg-type]


def names(view: Snapshot, text: str, **options: object) -> list[str]:
    return [found.definition.qualified_name for found in find(view, text, **options).symbols]


def below(view: Snapshot, symbol: Symbol) -> str:
    return symbol.file.path[len(view.roots()[0]) + 1 :]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "send",
            [
                # Exact names first, then by quality of the match and by file.
                "Client.send",
                "HttpClient.send",
                "send_all",
                "Client._sender",
                "SendTests",
                "Client.send.send_later",
                "send_fast",
                "SendTests.test_send",
                "SendRequest",
                "resend",
            ],
        ),
        ("QuerySet", ["QuerySet", "queryset"]),
        ("queryset", ["queryset", "QuerySet"]),
        ("getobjor404", ["get_object_or_404"]),
        ("qs", ["QuerySet", "queryset", "SendRequest"]),
        ("QuerySet.filter", ["QuerySet.filter", "QuerySet.complex_filter"]),
        ("QuerySet::fil", ["QuerySet.filter", "QuerySet.complex_filter"]),
        ("queryset.filter", ["QuerySet.filter", "QuerySet.complex_filter"]),
        ("QuerySet.", ["QuerySet.filter", "QuerySet.complex_filter", "QuerySet.get"]),
        ("Client.", ["Client.Meta", "Client.send", "Client._sender"]),
        ("models.query.QuerySet.get", ["QuerySet.get"]),
        ("shop/auth/login", ["login", "login_required"]),
        ("auth.login", ["login", "login_required"]),
        ("Meta", ["Client.Meta", "HttpClient.Meta"]),
        ("Http Meta", ["HttpClient.Meta"]),
        ("client test", ["SendTests.test_send", "only_in_tests", "SendTests"]),
        ("^send kind:class", ["SendTests", "SendRequest"]),
        ("Set$", ["QuerySet"]),
        ("'end_a", ["send_all"]),
        ("kind:const time", ["TIMEOUT"]),
        ("path:vendor send", ["send_fast", "resend"]),
        ("path:models/*.py send", ["send_all"]),
        ("lang:py TIMEOUT", ["TIMEOUT"]),
        ("lang:rust send", []),
        ("only_in_tests", ["only_in_tests", "only_in_testsX"]),
        ("GRÖSSER", []),
        ("GRÖßER", ["größer"]),
        ("nothing_of_the_kind", []),
        # Another spelling.
        ("query_set", ["queryset", "QuerySet"]),
        ("QuerySet.complexfilter", ["QuerySet.complex_filter"]),
    ],
)
def test_queries_find_definitions_in_order(view: Snapshot, text: str, expected: list[str]) -> None:
    found = find(view, text)
    assert [symbol.definition.qualified_name for symbol in found.symbols] == expected
    assert (found.total, found.all_seen, found.timed_out) == (len(expected), True, False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("send_all", "send_all"),
        ("QuerySet.get", "QuerySet.get"),
        ("QuerySet::get", "QuerySet::get"),
        ("query/QuerySet#get", "query/QuerySet#get"),
        ("shop.QuerySet.get", "shop.models.query.QuerySet.get"),
        ("QuerySet.", "QuerySet.filter"),
    ],
)
def test_shown_names_contain_the_typed_text(view: Snapshot, text: str, shown: str) -> None:
    """Editors filter results again by the typed letters and the shown name."""
    assert find(view, text).symbols[0].name == shown


def test_exact_queries_find_only_equal_names(view: Snapshot) -> None:
    assert names(view, "QuerySet", exact=True) == ["QuerySet"]
    assert names(view, "Client.send", exact=True) == ["Client.send"]
    assert names(view, "client.send", exact=True) == []
    assert names(view, "shop.client.Client.send", exact=True) == ["Client.send"]
    assert names(view, "sen", exact=True) == []


def test_packages_may_differ_from_the_folders_and_are_ignored_last(tmp_path: Path) -> None:
    files = {
        "src/org/bank/Account.java": "package org.bank;\nclass Account { void close() {} }\n",
        "Acme.Shop/Basket.cs": "namespace Acme.Shop;\nclass Basket { void Clear() {} }\n",
        "lib/Post.php": "<?php\nnamespace App\\Data;\nclass Post { function save() {} }\n",
        "lib/other.php": "<?php\nclass Other { function save() {} }\n",
    }
    with indexed(write_files(tmp_path, files)) as view:
        for text, exact, expected in (
            ("org.bank.Account", True, ["Account"]),
            ("org.bank.Account.close", True, ["Account.close"]),
            ("Acme.Shop.Basket.Clear", True, ["Basket.Clear"]),
            ("App\\Data\\Post", False, ["Post"]),
            ("App\\Data\\Post::save", False, ["Post.save"]),
            ("App\\Data\\Post::save", True, []),
            ("org.elsewhere.Account", True, []),
        ):
            found = find(view, text, exact=exact).symbols
            assert [symbol.definition.qualified_name for symbol in found] == expected, text


def test_an_empty_query_lists_open_files_then_exported_definitions(
    view: Snapshot,
) -> None:
    everywhere = names(view, "")
    assert everywhere[:3] == ["Client", "QuerySet", "HttpClient"]
    assert set(everywhere) == {
        "Client", "QuerySet", "HttpClient", "login", "größer", "send_all", "login_required",
        "get_object_or_404", "SendTests", "only_in_tests", "only_in_testsX", "send_fast", "resend",
        "SendRequest",
    }  # fmt: skip
    path = f"{view.roots()[0]}/shop/auth/__init__.py"
    assert names(view, "", open_files=[path])[:3] == ["login", "login_required", "Client"]
    assert names(view, "path:client.py kind:method") == [
        "Client.send", "Client._sender", "HttpClient.send", "SendTests.test_send"
    ]  # fmt: skip


def test_a_search_can_be_limited_to_files(view: Snapshot) -> None:
    def in_tests(file: File) -> bool:
        return "/tests/" in file.path

    assert names(view, "send", accepts=in_tests) == ["SendTests", "SendTests.test_send"]
    only = [f"{view.roots()[0]}/shop/vendor/lib.py", f"{view.roots()[0]}/missing.py"]
    assert names(view, "send", only=only) == ["send_fast", "resend"]
    assert names(view, "", only=only) == ["resend", "send_fast"]


def test_pruning_does_not_change_the_best_symbols(view: Snapshot) -> None:
    symbols = find(view, "send").symbols
    for limit in range(1, len(symbols) + 1):
        found = find(view, "send", limit=limit, prune=True)
        assert found.symbols == symbols[:limit]
        assert limit <= found.total <= len(symbols)
        assert found.all_seen == (found.total == len(symbols)) or found.all_seen is False


def test_each_name_is_scored_once(view: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []
    score = Pattern.score

    def counting(pattern: Pattern, name: str) -> float:
        scored.append(name)
        return score(pattern, name)

    monkeypatch.setattr(Pattern, "score", counting)
    assert find(view, "send").total > 1
    assert len(scored) == len(set(scored))


def test_a_timeout_returns_partial_results(view: Snapshot) -> None:
    found = find(view, "send", seconds=-1)
    assert (found.symbols, found.all_seen, found.timed_out) == ([], False, True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(st.sampled_from("seQnd.:/#^$' klas:pthmy\"")) | st.text())
def test_no_text_is_an_error(view: Snapshot, text: str) -> None:
    found = find(view, text, limit=5)
    assert len(found.symbols) == min(5, found.total)
    assert [each.order for each in found.symbols] == sorted(
        each.order for each in found.symbols
    ) or (not parse(text).terms)


def test_inherited_members_are_found(tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "project",
        {
            "base.py": (
                "class Base:\n    def send(self): ...\nclass Top:\n    def stop(self): ...\n"
            ),
            "client.py": "class Client(Base):\n    def resend(self): ...\n",
        },
    )
    with indexed(root) as view:
        tables: list[tuple[str, tuple[LexicalScope, ...], dict[int, tuple[str, ...]]]] = [
            (
                f"{root}/base.py",
                (LexicalScope(0, 99, -1, "module"), LexicalScope(11, 37, 0, "class", "Base")),
                {1: ("top.Top[int]", "Client")},  # circular inheritance, too
            ),
            (
                f"{root}/client.py",
                (LexicalScope(0, 99, -1, "module"), LexicalScope(13, 50, 0, "class", "Client")),
                {1: ("base.Base",)},
            ),
        ]
        overlay = {
            path: FileSymbols(
                "python", view.definitions_in(path), ScopeTable(scopes, bases=bases), {}
            )
            for path, scopes, bases in tables
        }
    with indexed(root, overlay=overlay) as view:
        found = find(view, "Client::send").symbols
        assert [(symbol.definition.qualified_name, symbol.name) for symbol in found] == [
            ("Base.send", "Client::send"), ("Client.resend", "Client::resend")
        ]  # fmt: skip
        assert names(view, "Client.stop") == ["Top.stop"]
        assert names(view, "Client.") == ["Client.resend"]
        assert names(view, "Client.stop", exact=True) == ["Top.stop"]
        assert names(view, "Client.sto", exact=True) == []


def test_members_of_enumerations_are_named_with_or_without_the_enumeration(tmp_path: Path) -> None:
    text = "class Config { public: enum Key { Ask, Delete }; };\n"
    with indexed(write_files(tmp_path, {"config.hpp": text})) as view:
        for query in ("Config::Ask", "Config::Key::Ask", "Key::Ask"):
            found = find(view, query, exact=True).symbols
            assert [symbol.definition.qualified_name for symbol in found] == ["Config.Key.Ask"]


def test_unsaved_text_replaces_its_file(tmp_path: Path) -> None:
    root = write_files(tmp_path / "project", {"a.py": "def old(): ...\n", "b.py": "def b(): ..."})
    with indexed(root) as before:
        definitions = before.definitions_in(f"{root}/b.py")
    unsaved = FileSymbols("python", definitions, ScopeTable(()), {})
    overlay = {f"{root}/a.py": unsaved, f"{root}/b.py": None}
    with indexed(root, overlay=overlay) as view:
        tables = NameTables()
        assert [len(table) for table in view.names(tables)] == [2, 1]
        assert [below(view, symbol) for symbol in find(view, "b").symbols] == ["a.py"]
        assert names(view, "old") == []


def test_of_equal_names_those_of_tests_and_examples_are_last(tmp_path: Path) -> None:
    paths = ("a/tests/x.py", "benchmark/x.py", "examples/x.py", "org/example/x.py", "z.py")
    write_files(tmp_path, dict.fromkeys(paths, "class Kettle: ...\n"))
    with indexed(tmp_path) as view:
        found = [below(view, symbol) for symbol in find(view, "Kettle").symbols]
    assert found == ["org/example/x.py", "z.py", "benchmark/x.py", "examples/x.py", "a/tests/x.py"]


def test_of_equal_names_the_one_that_others_should_use_is_first(tmp_path: Path) -> None:
    files = {
        "a.rs": "pub(crate) fn spawn() {}\n",
        "b.rs": "/// Runs a task.\npub(crate) fn spawn() {}\n",
        "c.rs": "pub fn spawn() {}\n",
        "d.rs": "/// Runs a task on a thread.\npub fn spawn() {}\n",
    }
    with indexed(write_files(tmp_path, files)) as opened:
        found = find(opened, "spawn")
    assert [Path(symbol.file.path).name for symbol in found.symbols] == [
        "d.rs",
        "c.rs",
        "b.rs",
        "a.rs",
    ]
