"""code_search, as a coroutine on real trees: which search it chooses, and what that finds."""

from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered, pages
from conftest import (
    FAKE_KEY,
    SLOW_TERM,
    IndexFiles,
    MakeWorkspace,
    Recorder,
    built,
    git_init,
    requires_posix,
    write_files,
)
from winnow.config import Config, IndexSettings, Limits
from winnow.errors import EmptyQuery, InvalidParams, NotFound, PathOutsideWorkspace
from winnow.index.builder.folder import FolderIndex
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.symbols import search as symbol_search
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchPartial, CodeSearchResult, plain, text
from winnow.tools.terminal import Style
from winnow.types import Progress, Skipped, no_progress
from winnow.workspace import EngineWorkspace

TOOL = TOOLS["code_search"]
NO_INDEX = Config(index=IndexSettings(enabled=False))


async def search(
    workspace: EngineWorkspace, query: str, progress: Progress = no_progress, **params: Any
) -> CodeSearchResult:
    raw = {"query": query, **params}
    return await answered(TOOL, CodeSearchResult, workspace, raw, progress, items="results")


async def paths(workspace: EngineWorkspace, query: str, **params: Any) -> list[str]:
    return [one.path for one in (await search(workspace, query, **params)).results]


@pytest.fixture(autouse=True)
def time_for_the_index(time_to_catch_up: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for index updates: on a busy machine, searches would not use the index."""
    monkeypatch.setattr("winnow.search.code.indexed.STALE_SECONDS", 30.0)
    # Every query checks for changes, even right after another query.
    monkeypatch.setattr("winnow.index.builder.folder_files.CHECK_SECONDS", 0.0)
    monkeypatch.setattr("winnow.index.builder.folder_files.CHECK_SHARE", 0)


@pytest.fixture
async def workspace(make_workspace: MakeWorkspace, project: Path) -> EngineWorkspace:
    return await built(make_workspace(project))


@pytest.fixture
def unindexed(make_workspace: MakeWorkspace, project: Path) -> EngineWorkspace:
    return make_workspace(project, config=NO_INDEX)


async def prepared(workspace: EngineWorkspace, has_index: bool) -> None:
    """Build the index of a workspace whose configuration disables it, if it should have one."""
    if has_index:
        workspace.reconfigure(Config())
        await built(workspace)


# --- the choice ----------------------------------------------------------------------------


@pytest.mark.parametrize("has_index", [True, False])
async def test_a_request_leads_to_its_route(
    make_workspace: MakeWorkspace, tmp_path: Path, has_index: bool
) -> None:
    files = {
        "docs/api.md": "# POST /api/chats/5\n\nPOST /api/chats/5 answers.\n",
        "server/routes.go": 'r.GET("/api/chats/:id", s.Show)\nr.POST("/api/chats/:id", s.Chat)\n',
        "web/api.ts": "export const url = `/api/chats`\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "api"), files), config=NO_INDEX)
    await prepared(workspace, has_index)
    for query in ("POST /api/chats/5", '127.0.0.1 - - "POST /api/chats/5 HTTP/1.1" 404 19'):
        result = await search(workspace, query)
        assert [(one.path, one.best_line) for one in result.results] == [("server/routes.go", 2)]
        assert (result.search_type_used, result.reason) == (
            "text",
            f"{query!r}: it is an HTTP request",
        )
    unknown = await search(workspace, "POST /api/chats/5/unknown")
    assert unknown.search_type_used == ("semantic" if has_index else "text")
    assert unknown.reason.count("no such route is declared") == 1
    assert "no such route is declared" in text(unknown, Style(colour=False), str(tmp_path))


@pytest.mark.parametrize("has_index", [True, False])
async def test_the_declaration_of_a_route_precedes_its_calls(
    make_workspace: MakeWorkspace, tmp_path: Path, has_index: bool
) -> None:
    files = {
        "app/store.ts": 'await client.post("/chats.move", { id })\n',
        "app/events.ts": 'const events = [\n  "chats.move",\n]\n',
        "server/chats.ts": 'router.post(\n  "chats.move",\n  move\n)\n',
        "server/chats.test.ts": 'server.post("/chats.move")\n',
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "api"), files), config=NO_INDEX)
    await prepared(workspace, has_index)
    result = await search(workspace, "POST /api/chats.move")
    first, *others = result.results
    assert (first.path, first.best_line) == ("server/chats.ts", 2)
    assert {hit.path for hit in others} == {"app/store.ts", "server/chats.test.ts"}
    assert "no such route is declared" not in text(result, Style(colour=False), str(tmp_path))


@pytest.mark.parametrize("has_index", [True, False])
async def test_the_requests_of_a_report_lead_to_their_routes(
    make_workspace: MakeWorkspace, tmp_path: Path, has_index: bool
) -> None:
    files = {
        "docs/api.md": "`GET /api/books/5` returns a book. A book has pages.\n",
        "library/urls.py": 'router.register(r"books", BookViewSet)\n',
        "library/pages.py": "def pages_of_book(book):\n    return book.pages\n",
        "web/src/routes/shelves/[slug]/+server.ts": "export function PUT() {}\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "api"), files), config=NO_INDEX)
    await prepared(workspace, has_index)
    report = "A book has no pages\n\nGET /api/books/5 has no pages, nor has PUT /shelves/new."
    result = await search(workspace, report)
    assert [(hit.path, hit.line, hit.why) for hit in result.results[:2]] == [
        ("library/urls.py", 1, "declares the route of /api/books/5"),
        ("web/src/routes/shelves/[slug]/+server.ts", 1, "its path is the route"),
    ]


async def test_the_path_of_a_compiled_file_leads_to_its_source(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"app/hooks/theme.ts": "export const theme = 1\n" * 30}
    workspace = make_workspace(write_files(tmp_path, files), config=NO_INDEX)
    result = await search(workspace, "app/hooks/theme.js:22")
    assert [(hit.path, hit.line) for hit in result.results] == [("app/hooks/theme.ts", None)]
    assert result.warnings == [
        "no file is named app/hooks/theme.js: it may be compiled from this file, whose lines differ"
    ]


async def test_the_snippet_has_the_best_line(make_workspace: MakeWorkspace, tmp_path: Path) -> None:
    """Editors show it in the row of the result."""
    files = {
        "tea.js": "function brew(cup) {\n"
        + "  wait()\n" * 20
        + "  // the pot is emptied into the cup when the tea is brewed\n" * 4
        + "}\n"
    }
    workspace = make_workspace(write_files(tmp_path, files), config=NO_INDEX)
    result = await search(workspace, "how is the tea brewed and the pot emptied into a cup")
    [hit] = result.results
    assert hit.line is not None
    assert hit.snippet is not None
    first = hit.snippet_line or hit.line
    assert (hit.best_line or hit.line) in range(first, first + hit.snippet.count("\n") + 1)


async def test_the_snippet_of_a_definition_has_its_first_line(index_files: IndexFiles) -> None:
    """It is the best line, even if the words of the query are further down."""
    brew = ["function brew(cup) {", *["  wait()"] * 60, "  // the pot is emptied", "}"]
    workspace = await index_files({"tea.js": "\n".join(brew)})
    # The function has become shorter since.
    trace = "Error: the pot is not emptied\n    at brew (tea.js:99:3)"
    [hit] = (await search(workspace, trace)).results
    assert (hit.line, hit.best_line, hit.snippet_line, hit.symbol) == (1, None, None, "brew")
    assert (hit.snippet or "").startswith(brew[0])


async def test_definitions_with_the_keyword_come_first(index_files: IndexFiles) -> None:
    workspace = await index_files(
        {
            "card.proto": "message Card {\n}\n",
            "card.py": "class Card:\n    pass\n",
            "card.rs": "pub struct Card {\n}\n",
        }
    )
    for query, path in (("class Card", "card.py"), ("struct Card", "card.rs")):
        result = await search(workspace, query, limit=1)
        assert [hit.path for hit in result.results] == [path]
        assert result.total_found == 3


@pytest.mark.parametrize(
    ("query", "kind", "expected"),
    [
        ("status-page-router", "file", "server/status-page-router.js"),
        ("2026-02-17-2142", "file", "db/2026-02-17-2142-add-tea.js"),
        ("status-page", "text", "server/main.js"),
        ("pot-of-tea", "text", None),
    ],
)
async def test_a_word_with_hyphens_may_be_a_file(
    make_workspace: MakeWorkspace, tmp_path: Path, query: str, kind: str, expected: str | None
) -> None:
    files = {
        "server/status-page-router.js": "export default 1\n",
        "server/main.js": "import router from './status-page-router'\n",
        "db/2026-02-17-2142-add-tea.js": "export const up = 1\n",
    }
    workspace = make_workspace(write_files(tmp_path, files), config=NO_INDEX)
    result = await search(workspace, query)
    assert result.search_type_used == kind
    assert [hit.path for hit in result.results[:1]] == ([expected] if expected else [])


async def test_a_request_without_a_route_leads_to_its_calls(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"app/store.ts": 'await client.post("/chats.move", { id })\n'}
    workspace = make_workspace(write_files(tmp_path, files), config=NO_INDEX)
    result = await search(workspace, "POST /api/chats.move")
    assert [hit.path for hit in result.results] == ["app/store.ts"]
    assert "no such route is declared" in result.reason
    assert any("no declaration of this route" in warning for warning in result.warnings)


@pytest.mark.parametrize(
    ("query", "used", "reason", "found"),
    [
        ("loader.py", "file", "'loader.py': it has the form of a file name", "src/loader.py"),
        ("src/main.py:3", "file", "'src/main.py:3': it is a path", "src/main.py"),
        ("*.md", "file", "'*.md': it is a glob pattern", "docs/plugins.md"),
        ("Loader", "symbol", "'Loader': it has the form of a name", "src/loader.py"),
        ("Loader.load_plugin", "symbol", "'Loader.load_plugin': it has the form of a name",
         "src/loader.py"),
        ("def register_plugin(", "symbol", "'def register_plugin(': `def` begins a definition",
         "src/registry.py"),
        ('"registry[name]"', "text", "'\"registry[name]\"': it is in quotes", "src/registry.py"),
        ("load_plugin(", "text", "'load_plugin(': it has signs that no name and no path has",
         "src/loader.py"),
        (r"self\.\w+_plugin", "text",
         r"'self\\.\\w+_plugin': it has the signs of a regular expression", "src/loader.py"),
        ("where is the registry", "semantic", "'where is the registry': it is a question",
         "src/registry.py"),
    ],
)  # fmt: skip
async def test_the_query_selects_the_search(
    workspace: EngineWorkspace, query: str, used: str, reason: str, found: str
) -> None:
    result = await search(workspace, query)
    assert (result.search_type_used, result.reason) == (used, reason)
    assert result.results[0].path == found


async def test_an_undefined_name_is_searched_as_text(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "names")
    assert result.search_type_used == "text"
    assert result.reason == "'names': it is a word; nothing is defined with the name names"
    assert msgspec.to_builtins(result.fallback) == {
        "from": "symbol", "to": "text", "reason": "nothing is defined with the name names"
    }  # fmt: skip
    assert [(one.path, one.matches) for one in result.results] == [("src/loader.py", 2)]


async def test_an_answer_of_a_stale_index_says_so(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scan_without_end(*_: object) -> None:
        await asyncio.Event().wait()

    write_files(workspace.folders[0], {"src/new.py": "def opened(): ...\n"})
    monkeypatch.setattr(FolderIndex, "check", scan_without_end)
    monkeypatch.setattr(symbol_search, "CATCH_UP_SECONDS", 0.0)
    undefined = await search(workspace, "names")
    assert undefined.search_type_used == "text"
    assert undefined.completeness.reasons == [
        "nothing is defined with the name names in the files read so far"
        " (some changed files are not indexed yet)"
    ]
    assert text(undefined, Style(colour=False), None).count("nothing is defined") == 1
    defined = await search(workspace, "opened")
    assert (defined.search_type_used, defined.results[0].path) == ("symbol", "src/new.py")


async def test_a_reason_is_given_once(unindexed: EngineWorkspace) -> None:
    result = await search(unindexed, "who calls no_such_name")
    assert result.reason.count("nothing is defined with the name no_such_name") == 1
    assert "in the files read so far (" in result.reason
    result = await search(unindexed, "names")
    assert plain(result).count("lines that look like a definition") == 1
    result = await search(unindexed, "NoClass.load_plugin")
    shown = text(result, Style(colour=False), None)
    assert shown.count("NoClass.load_plugin") == 1
    assert "nothing is defined with the name NoClass.load_plugin in the files read so far" in shown


async def test_skipped_files_are_counted_for_agents_only_if_nothing_is_found(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, "load_plugin")
    skipped = msgspec.structs.replace(result.completeness, skipped=Skipped(binary=3))
    result = msgspec.structs.replace(result, completeness=skipped)
    assert "left out" not in plain(result)
    assert "[left out: 3 binary]" in plain(msgspec.structs.replace(result, results=[]))


async def test_without_an_index_the_names_of_a_qualified_name_are_found(
    unindexed: EngineWorkspace,
) -> None:
    code = "class Cart:\n    def add_item(self): pass\n"
    write_files(unindexed.folders[0], {"src/shop.py": code, "src/names.py": "# rename it\n"})
    result = await search(unindexed, "rename Cart.add_item")
    assert result.results[0].path == "src/shop.py"
    assert result.unknown_words == []


async def test_without_an_index_other_forms_of_the_words_are_found(
    unindexed: EngineWorkspace,
) -> None:
    write_files(unindexed.folders[0], {"src/shop.py": "def handle_order(order):\n    pass\n"})
    result = await search(unindexed, "how are orders handled")
    assert [(one.path, one.best_line or one.line) for one in result.results] == [("src/shop.py", 1)]
    assert result.unknown_words == []


async def test_a_word_that_only_tests_and_data_define_is_searched_by_meaning(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "src/client.py": "def send():\n    # try again: a retry costs little\n    pass\n",
        "tests/test_client.py": "retry = 3\n",
        "data/meta.json": '{"retry": true}\n',
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "words"), files)))
    result = await search(workspace, "retry")
    assert result.search_type_used == "semantic"
    assert "src/client.py" in [one.path for one in result.results]
    assert result.reason == (
        "'retry': it is a word; only tests, examples, data and code of others define retry"
    )


@pytest.mark.parametrize("query", ["node_limit", "where is node_limit used"])
async def test_a_name_that_only_data_defines_leads_to_its_uses_too(
    make_workspace: MakeWorkspace, tmp_path: Path, query: str
) -> None:
    """Templates and scripts use it, whose names are not resolved."""
    files = {
        "a_guide.md": "Add this:\n\n    node_limit: 5\n",
        "examples/site.yml": "node_limit: 4\n",
        "roles/node/defaults.yml": "# Nodes of a rack\nnode_limit: 3\n",
        "roles/node/rack.j2": "limit = {{ node_limit }}\n",
        "tests/rack.yml": "node_limit: 2\n",
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "racks"), files)))
    result = await search(workspace, query)
    assert result.search_type_used == "text"
    assert result.results[0].path == "roles/node/defaults.yml"
    assert {one.path for one in result.results} == files.keys()
    assert result.reason.endswith("only tests, examples, data and code of others define node_limit")
    defined = await search(workspace, "default of node_limit")
    assert defined.search_type_used == "symbol"
    assert [(one.path, one.why) for one in defined.results] == [
        ("roles/node/defaults.yml", "property"),
        ("examples/site.yml", "property in an example file"),
        ("tests/rack.yml", "property in a test file"),
    ]


async def test_an_unknown_path_is_searched_as_text(
    workspace: EngineWorkspace, project: Path
) -> None:
    write_files(project, {"src/routes.py": "# See /api/v1/users.\n"})
    result = await search(workspace, "/api/v1/users")
    assert (result.search_type_used, result.results[0].path) == ("text", "src/routes.py")
    assert result.reason == (
        "'/api/v1/users': it may be the path of an HTTP request; no such route is declared; no file"
        " has that name"
    )


async def test_a_query_without_results_reports_the_searches(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "nowhere.md")
    assert (result.results, result.total_found, result.truncated) == ([], 0, False)
    assert result.reason == (
        "'nowhere.md': it has the form of a file name; no file has that name; nothing is defined"
        " with the name nowhere.md"
    )
    assert "ignored and hidden files are not searched here" in result.warnings[-1]


@pytest.mark.parametrize(
    ("kind", "paths", "kinds"),
    [
        ("file", ["src/registry.py"], {"file"}),
        ("symbol", ["src/registry.py"], {"definition"}),
        ("text", ["src/registry.py", "src/loader.py"], {"match"}),
        ("semantic", ["src/registry.py", "src/loader.py"], {"passage"}),
    ],
)
async def test_a_search_type_is_obeyed(
    workspace: EngineWorkspace, kind: str, paths: list[str], kinds: set[str]
) -> None:
    result = await search(workspace, "registry", search_type=kind)
    assert [one.path for one in result.results][: len(paths)] == paths
    assert {one.kind for one in result.results} == kinds
    assert result.reason == f"search_type is '{kind}'"
    assert (result.search_type_used, result.fallback) == (kind, None)


# --- the searches --------------------------------------------------------------------------


async def test_a_definition_with_its_lines(workspace: EngineWorkspace, project: Path) -> None:
    recorder = Recorder()
    result = await search(workspace, "Loader.load_plugin", recorder)
    assert result.completeness.index is not None
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "search_id": result.search_id,
        "search_type_used": "symbol",
        "reason": "'Loader.load_plugin': it has the form of a name",
        "results": [
            {
                "path": "src/loader.py", "line": 5, "end_line": 6, "score": 0.97,
                "snippet": "    def load_plugin(self, name):\n        return registry[name]",
                "kind": "definition", "symbol": "Loader.load_plugin", "why": "method",
            }
        ],
        "total_found": 1,
        "returned": 1,
        "truncated": False,
        "completeness": {
            "complete": True,
            "reasons": [],
            "skipped": {},
            "timed_out": False,
            "index": {
                "state": "ready", "files_indexed": 5, "files_total": 5,
                "updated_at": result.completeness.index.updated_at,
            },
        },
        "ranked_by": {"kind": "local"},
        "warnings": [],
    }  # fmt: skip
    assert recorder.messages == ["Searching symbols: Loader.load_plugin"]
    assert plain(result) == (
        "src/loader.py:5-6  Loader.load_plugin  method\n"
        "5\t    def load_plugin(self, name):\n"
        "6\t        return registry[name]\n\n"
        "[1 of 1, symbol search: it has the form of a name]"
    )
    coloured = text(result, Style(colour=True), str(project / "src"))
    assert coloured.startswith("\x1b[1;35mloader.py\x1b[0m\x1b[2m:5-6\x1b[0m  \x1b[1;31mLoader")


async def test_without_an_index_lines_that_look_like_definitions_are_searched(
    unindexed: EngineWorkspace, project: Path
) -> None:
    result = await search(unindexed, "register_plugin")
    assert (result.search_type_used, result.results[0].symbol) == ("symbol", "register_plugin")
    result = await search(unindexed, "names")
    assert (result.search_type_used, result.results[0].path) == ("text", "src/loader.py")
    assert msgspec.to_builtins(result.fallback) == {
        "from": "symbol",
        "to": "text",
        "reason": "nothing is defined with the name names in the files read so far (there is no"
        " index: files were searched for lines that look like a definition)",
    }
    result = await search(unindexed, "names", search_type="symbol")
    assert (result.results, result.completeness.complete) == ([], False)
    assert result.completeness.reasons == [
        "there is no index; all files with the name or its letters were read (1)"
    ]
    unindexed.open_documents = lambda: {project / "src/main.py": "def launch_rocket():\n    pass\n"}
    result = await search(unindexed, "launch_rocket")
    assert (result.search_type_used, result.results[0].path) == ("symbol", "src/main.py")


async def test_an_exact_match_of_a_complete_word_comes_first(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(
        git_init(tmp_path / "p"),
        {
            "a.txt": "todoist\n",
            "b.txt": "todo\n",
            "c.txt": "TODO: this\n",
            "d.txt": "TODOIST\n",
        },
    )
    workspace = make_workspace(folder, config=NO_INDEX)
    assert (await paths(workspace, "TODO"))[:2] == ["c.txt", "b.txt"]


async def test_a_match_has_its_lines_and_their_total(workspace: EngineWorkspace) -> None:
    (first, *_) = (await search(workspace, "load_plugin(")).results
    assert msgspec.to_builtins(first) == {
        "path": "src/loader.py", "line": 2, "end_line": 6, "best_line": 5, "score": first.score,
        "kind": "match",
        "snippet": (
            "    def load_plugins(self, names):\n"
            "        return [self.load_plugin(name) for name in names]\n"
            "\n"
            "    def load_plugin(self, name):\n"
            "        return registry[name]"
        ),
        "matches": 2,
    }  # fmt: skip


async def test_pasted_code_that_has_changed_since_leads_to_its_place(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    other = "bool Vault::%s()\n{\n    if (isOpen()) {\n        return true;\n    }\n}\n\n"
    lock = (
        "bool Vault::lock()\n{\n    if (isLocked() || busy) {\n        return true;\n    }\n"
        "    busy = true;\n    return true;\n}\n"
    )
    others = "".join(other % name for name in ("open", "clear", "check"))
    files = {"vault.cpp": others + lock, "use.cpp": others}
    workspace = make_workspace(write_files(tmp_path / "vaults", files), config=NO_INDEX)
    pasted = "bool Vault::lock()\n{\n    if (isOpen()) {\n        return true;\n    }\n}\n"
    first = (await search(workspace, pasted)).results[0]
    assert (first.path, first.line, first.matches) == ("vault.cpp", 22, 1)


async def test_an_invalid_pattern_is_searched_as_text(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    folder = write_files(git_init(tmp_path / "p"), {"a.py": "x = '[a-z)+'\n"})
    workspace = make_workspace(folder, config=NO_INDEX)
    result = await search(workspace, r"[a-z)+'\s*", search_type="text")
    assert result.results == []
    assert result.warnings[0].startswith("searched as text, not as a regular expression: ")


@pytest.mark.parametrize("text", ["a\tb", "a-b&c~d#e", "$x.y[0]{1}|^(z)*+?", "C:\\x", "«😀» ü"])
async def test_a_literal_text_is_found(unindexed: EngineWorkspace, text: str) -> None:
    write_files(unindexed.folders[0], {"src/odd.py": f"before {text} after\n"})
    assert await paths(unindexed, f'"{text}"') == ["src/odd.py"]


async def test_a_whole_string_precedes_texts_that_mention_it(workspace: EngineWorkspace) -> None:
    mentions = "# Set retry-limit low: retry-limit tries of each host, see retry-limit\n"
    options = "load()\n\n\n\n\noption('retry-limit', 3)  # tries\n"
    files = {"src/hosts.py": mentions * 3, "src/options.py": f"{mentions}{options}"}
    write_files(workspace.folders[0], files)
    assert await workspace.index.refresh([], 10)
    result = await search(workspace, "retry-limit")
    first = result.results[0]
    assert (first.path, first.best_line or first.line) == ("src/options.py", 7)


async def test_a_setting_is_declared_before_it_is_read(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "history.c": 'int limit = options_get(o, "history-limit");\n',
        "options.c": 'if (name == "history-limit")\n    switch (name) { case "history-limit": }\n',
        "table.c": '  { .name = "history-limit",\n    .default_num = 2000 },\n' + '  "x",\n' * 300,
        "tests/table.c": '  { .name = "history-limit" }\n',
        "table.json": '{"history-limit": 1}\n',
        "tmux.conf": "# history-limit 2000\n",
        "window.c": "if (lines > options->history_limit) free(lines);\n",
    }
    workspace = make_workspace(write_files(tmp_path / "settings", files), config=NO_INDEX)
    found = await paths(workspace, "what is the default of history-limit")
    assert found[0] == "table.c"
    assert {*found} == files.keys()


@pytest.mark.parametrize("query", ["--dry-run", "--dry-run=yes", "--force"])
async def test_an_option_leads_to_the_code_that_defines_it(
    index_files: IndexFiles, query: str
) -> None:
    files = {
        "a_guide.md": "Run it with --dry-run or --force first.\n",
        "cmd/root.go": 'flags.BoolVar(&dry, "dry-run", false, "print only")\n'
        'flags.BoolVar(&force, "force", false, "don\'t ask")\n',
        "lib/all.go": "// Forced by force, and a dry run.\n",
    }
    workspace = await index_files(files)
    result = await search(workspace, query)
    assert result.reason.endswith("it is an option of a command")
    assert [one.path for one in result.results] == ["cmd/root.go", "a_guide.md"]


async def test_an_option_of_a_script_is_where_it_is_parsed(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "brew.sh": "parse() {\n  case $1 in\n    --force | -f)\n      FORCE=1 ;;\n  esac\n}\n",
        "deploy.sh": 'post "{\\"force\\":1}"\n',
        "tests/brew.tcl": 'if {$key eq "force"} { brew --force }\n' * 3,
    }
    workspace = make_workspace(write_files(tmp_path / "brew", files), config=NO_INDEX)
    assert (await paths(workspace, "what does brew --force do"))[0] == "brew.sh"


async def test_matches_in_lines_that_are_too_long_are_not_counted(
    unindexed: EngineWorkspace,
) -> None:
    write_files(unindexed.folders[0], {"src/bundle.js": "x" * 5_000_000 + " pin\n"})
    result = await search(unindexed, '"pin"')
    assert [(one.path, one.matches) for one in result.results] == [("src/bundle.js", None)]


async def test_several_lines_find_the_file_that_has_most_of_them(
    workspace: EngineWorkspace,
) -> None:
    lines = "def register_plugin(name, plugin):\n    registry[name] = plugin"
    assert (await paths(workspace, lines, search_type="text"))[0] == "src/registry.py"


async def test_a_question_is_answered_by_its_words_without_an_index(
    unindexed: EngineWorkspace,
) -> None:
    result = await search(unindexed, "how are plugins loaded")
    assert result.engine == "text"
    assert msgspec.to_builtins(result.fallback) == {
        "from": "semantic",
        "to": "text",
        "reason": "index.enabled is off: files were searched for the words of the query",
    }
    assert result.results[0].path == "src/loader.py"
    assert result.results[0].kind == "passage"
    assert str(result.results[0].why).startswith("defines load_plugins, Loader; ")
    assert str(result.results[0].why).endswith("; matches plugins, load ×4")
    assert "index.enabled is off" in result.completeness.reasons[0]


async def test_words_in_the_fewest_files_are_used_if_not_all_fit(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    frequent = {f"src/{number:02}.py": "scheduler = 1\n" * 4 for number in range(20)}
    git_init(tmp_path)
    write_files(tmp_path, {**frequent, "src/idle.py": "idle = park(worker)\n"})
    limits = Limits(total_bytes=1_000)
    config = Config(index=IndexSettings(enabled=False), limits=limits)
    result = await search(make_workspace(tmp_path, config=config), "how is the scheduler idle")
    assert [found.path for found in result.results] == ["src/idle.py"]
    assert "too common to search for: scheduler" in result.completeness.reasons


async def test_unsaved_text_counts_and_the_saved_text_does_not(
    workspace: EngineWorkspace, project: Path
) -> None:
    workspace.open_documents = lambda: {project / "src/main.py": "brand_new_name = 1\n"}
    assert await paths(workspace, '"brand_new_name"') == ["src/main.py"]
    assert "src/main.py" not in await paths(workspace, '"load_plugins"')
    (found,) = (await search(workspace, '"brand_new_name"')).results
    assert found.snippet == "brand_new_name = 1"


async def test_a_line_that_is_too_long_to_read_is_reported(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(tmp_path, {"long.txt": "x" * 5_000_000 + "pin\n", "short.txt": "pin\n"})
    workspace = make_workspace(tmp_path, config=NO_INDEX)
    result = await search(workspace, "pin", search_type="text")
    assert result.results[0].path == "short.txt"
    assert "1 line of more than 4 MiB with 'pin': not shown" in result.warnings


async def test_a_file_that_is_gone_never_appears(workspace: EngineWorkspace, project: Path) -> None:
    assert "src/loader.py" in await paths(workspace, "plugins are loaded where")
    (project / "src/loader.py").unlink()
    for query in ("plugins are loaded where", "loader.py", "Loader.load_plugin", "load_plugin("):
        assert "src/loader.py" not in await paths(workspace, query)


async def test_a_changed_file_is_found_by_its_new_words_only(
    workspace: EngineWorkspace, project: Path
) -> None:
    (project / "src/main.py").write_text("launch_rocket = 1\n")
    assert await paths(workspace, "how is a rocket launched") == ["src/main.py"]
    assert await paths(workspace, '"launch_rocket"') == ["src/main.py"]
    assert "src/main.py" not in await paths(workspace, '"load_plugins"')


# --- scope ---------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["how are plugins loaded", '"plugin"', "*", "load_plugin"])
async def test_the_scope_limits_every_search(workspace: EngineWorkspace, query: str) -> None:
    kind = {"*": "file", "load_plugin": "symbol"}.get(query, "auto")
    every = set(await paths(workspace, query, search_type=kind))
    in_src = {path for path in every if path.startswith("src/")}
    assert in_src
    assert every - in_src
    assert set(await paths(workspace, query, search_type=kind, path="src")) == in_src
    assert set(await paths(workspace, query, search_type=kind, include=["src/**"])) == in_src
    assert (
        set(await paths(workspace, query, search_type=kind, exclude=["src/**"])) == every - in_src
    )
    only_python = {path for path in every if path.endswith(".py")}
    assert set(await paths(workspace, query, search_type=kind, file_types=["py"])) == only_python
    assert not any(path.startswith(("ignored/", ".hidden/")) for path in every)


async def test_results_name_their_root_if_there_are_two(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    roots = [
        write_files(git_init(tmp_path / name), {f"{name}.py": f"def make_{name}(): pass\n"})
        for name in ("one", "two")
    ]
    workspace = make_workspace(*roots, config=NO_INDEX)
    for query in ("two.py", "make_two", '"make_two"', "where is make_two"):
        (found,) = (await search(workspace, query, limit=1)).results
        assert (found.root, found.path) == (str(roots[1]), "two.py")


async def test_bad_params_are_reported(workspace: EngineWorkspace) -> None:
    with pytest.raises(EmptyQuery):
        await search(workspace, " \n")
    with pytest.raises(InvalidParams, match="search_type"):
        await search(workspace, "x", search_type="best")
    with pytest.raises(InvalidParams, match="limit"):
        await search(workspace, "x", limit=0)
    with pytest.raises(InvalidParams, match="cursor"):
        await search(workspace, "x", cursor="1abc")
    with pytest.raises(NotFound):
        await search(workspace, "x", path="nowhere")
    with pytest.raises(PathOutsideWorkspace):
        await search(workspace, "x", path="..")


# --- pages and tokens ----------------------------------------------------------------------


@pytest.fixture
def many(make_workspace: MakeWorkspace, tmp_path: Path) -> EngineWorkspace:
    files = {
        f"src/part_{n}.py": f"def handle_{n}(event):\n    return 'event {n}'\n" for n in range(23)
    }
    return make_workspace(write_files(git_init(tmp_path / "many"), files), config=NO_INDEX)


@pytest.mark.parametrize(
    ("query", "kind"), [("part", "file"), ('"event"', "auto"), ("which event", "auto"),
                        ("handle", "symbol")],
)  # fmt: skip
async def test_cursors_lead_through_all_results_each_once(
    many: EngineWorkspace, query: str, kind: str
) -> None:
    found = [page async for page in pages(search, many, query=query, search_type=kind, limit=5)]
    assert [page.returned for page in found] == [5, 5, 5, 5, 3]
    assert [page.truncated for page in found] == [True, True, True, True, False]
    assert {page.total_found for page in found} == {23}
    every = [one.path for page in found for one in page.results]
    assert len(set(every)) == 23
    assert every == await paths(many, query, search_type=kind, limit=50)


async def test_a_page_reports_that_earlier_results_changed(many: EngineWorkspace) -> None:
    first = await search(many, '"event"', limit=5)
    (many.folders[0] / first.results[0].path).unlink()
    second = await search(many, '"event"', limit=5, cursor=first.cursor)
    assert any("before this page has changed" in one for one in second.completeness.reasons)
    with pytest.raises(InvalidParams, match="another request"):
        await search(many, '"handle"', cursor=first.cursor)


async def test_an_answer_is_shortened_in_steps_until_it_fits(many: EngineWorkspace) -> None:
    whole = await search(many, '"event"')
    size = estimated_tokens(whole)
    seen = set()
    for tokens in range(size, 150, -40):
        result = await search(many, '"event"', max_tokens=tokens)
        assert estimated_tokens(result) <= tokens or result.returned == 1
        snippets = [one.snippet for one in result.results]
        seen.add((bool(snippets[0]), result.returned == 20))
        assert result.truncated
        assert [one.path for one in result.results] == [
            one.path for one in whole.results[: result.returned]
        ]
        if result.returned < 20:
            rest = await search(many, '"event"', cursor=result.cursor, limit=50)
            assert rest.returned == 23 - result.returned
    assert {(True, True), (False, True), (False, False)} <= seen


async def test_a_shorter_answer_has_fewer_lines_before_it_has_none(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    body = "".join(f"    weigh(parcel, {number})\n" for number in range(20))
    files = {f"{name}.py": f"def {name}_parcel():\n{body}" for name in ("take", "send", "lose")}
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "post"), files)))
    size = estimated_tokens(await search(workspace, "where is a parcel weighed"))
    lines = set()
    # The time that an answer states can have more digits than in the first answer.
    for tokens in range(size + 10, size // 3, -20):
        short = await search(workspace, "where is a parcel weighed", max_tokens=tokens)
        if short.returned == len(files):
            lines |= {len((one.snippet or "").splitlines()) for one in short.results}
    assert lines == {12, 8, 4, 2, 1, 0}


async def test_results_are_streamed_and_not_sent_again(many: EngineWorkspace) -> None:
    recorder = Recorder()
    recorder.streaming = True
    result = await search(many, '"event"', recorder)
    assert (result.results, result.returned) == ([], 20)
    (partial,) = recorder.partials
    assert isinstance(partial, CodeSearchPartial)
    assert len(partial.results) == 20


# --- nothing leaves this machine -----------------------------------------------------------


async def test_nothing_uses_the_network_whatever_keys_there_are(
    make_workspace: MakeWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {**os.environ, "OPENAI_API_KEY": FAKE_KEY, "ANTHROPIC_API_KEY": FAKE_KEY}
    workspace = make_workspace(project, environment=environment)
    tried = []

    def refuse(*arguments: object) -> None:
        tried.append(arguments)
        raise OSError("no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for query in ("how are plugins loaded", "Loader", '"registry"', "loader.py"):
        assert await paths(workspace, query)
    result = await TOOLS["semantic_search"].call(
        workspace, {"query": "how are plugins loaded"}, no_progress
    )
    assert result.results
    assert tried == []


@requires_posix
async def test_a_cancelled_search_leaves_no_process(
    slow_project: Path, make_workspace: MakeWorkspace
) -> None:
    workspace = make_workspace(slow_project, config=NO_INDEX)
    task = asyncio.create_task(search(workspace, SLOW_TERM))
    while not workspace.processes._alive:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not workspace.processes._alive


async def test_the_extension_of_a_missing_file_suggests_no_names(index_files: IndexFiles) -> None:
    files = {"a.py": "def encoding_rs(): ...\n\n\ndef frobnicated(): ...\n"}
    workspace = await index_files(files)
    assert (await search(workspace, "frobnicate_zq.rs")).suggestions == []
