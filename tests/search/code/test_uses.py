"""Questions about the uses of a name, on real trees: the places that use it, and why."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from asking import answered
from conftest import IndexFiles, MakeWorkspace, built, write_files
from winnow.config import Config, IndexSettings
from winnow.tools import TOOLS
from winnow.tools.code_search import CodeSearchResult, text
from winnow.tools.terminal import Style
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

TREE = {
    "shop/base.py": """\
class Store:
    limit = 5

    def expire(self):
        return purge(self)


class DiskStore(Store):
    pass


def purge(store):
    return []


def unused():
    return purge(None)
""",
    "shop/server.py": """\
from shop.base import Store, purge

STORE = Store()
purge(STORE)


def clean():
    purge(STORE)
    STORE.limit = 7
    return purge(STORE)


def schedule(later):
    later(purge)
""",
    "tests/test_base.py": """\
from shop.base import purge


def test_purge():
    assert purge(None) == []
""",
    "web/transport.go": """\
package web

type Sender interface {
	Send(text string) error
}

type Mail struct{}

func (m *Mail) Send(text string) error { return nil }
""",
}


@pytest.fixture
async def workspace(index_files: IndexFiles) -> EngineWorkspace:
    return await index_files(TREE)


async def search(workspace: EngineWorkspace, query: str, **params: object) -> CodeSearchResult:
    raw = {"query": query, **params}
    tool = TOOLS["code_search"]
    return await answered(tool, CodeSearchResult, workspace, raw, no_progress, items="results")


def rows(result: CodeSearchResult) -> list[tuple[str, int | None, str | None, str | None]]:
    """Return the path, the shown line, the symbol and the reason of each result."""
    return [(hit.path, hit.best_line or hit.line, hit.symbol, hit.why) for hit in result.results]


async def test_callers_come_first_and_tests_last(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "who calls purge")
    assert result.search_type_used == "symbol"
    assert result.reason == "'who calls purge': it asks for callers"
    assert result.completeness.complete
    assert rows(result) == [
        ("shop/base.py", 5, "Store.expire", "calls `purge`"),
        ("shop/base.py", 17, "unused", "calls `purge`"),
        ("shop/server.py", 4, None, "calls `purge`"),
        ("shop/server.py", 8, "clean", "calls `purge` 2 times"),
        ("shop/server.py", 14, "schedule", "uses `purge`"),
        ("tests/test_base.py", 5, "test_purge", "calls `purge`"),
    ]


async def test_a_caller_is_shown_with_its_function(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "who calls purge", path="shop/server.py")
    [_, clean, _] = result.results
    assert (clean.line, clean.end_line) == (7, 10)
    assert clean.snippet is not None
    assert "    purge(STORE)" in clean.snippet.split("\n")


@pytest.mark.parametrize("enabled", [True, False])
async def test_callers_are_found_without_an_index(
    make_workspace: MakeWorkspace, tmp_path: Path, enabled: bool
) -> None:
    write_files(tmp_path, TREE)
    workspace = make_workspace(tmp_path, config=Config(index=IndexSettings(enabled=enabled)))
    result = await search(workspace, "who calls purge", enable_indexing=False)
    assert len(result.results) == 6
    assert result.results[0].why == "calls `purge`"
    [reason] = result.completeness.reasons
    assert reason.startswith("there is no index: types and imports")
    # A check finds the files that the request has read, and must not take them for an index.
    with workspace.index.beginning_none():
        await workspace.index.refresh([], 10)
    assert workspace.index.state().state == "none"
    assert not (tmp_path / ".winnow").exists()


async def test_uses_near_each_other_outside_of_functions_are_one_place(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    calls = "from tool import tidy\n\ntidy(1)\ntidy(2)\n" + "\n" * 20 + "tidy(3)\n"
    write_files(tmp_path, {"tool.py": "def tidy(n):\n    return n\n", "run.py": calls})
    write_files(tmp_path, {"benchmarks/all.py": "from tool import tidy\n\ntidy(4)\n"})
    workspace = await built(make_workspace(tmp_path))
    assert rows(await search(workspace, "who calls tidy")) == [
        ("run.py", 3, None, "calls `tidy` 2 times"),
        ("run.py", 25, None, "calls `tidy`"),
        ("benchmarks/all.py", 3, None, "calls `tidy`"),
    ]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("subclasses of Store", ("shop/base.py", 8, "DiskStore", "derives from `Store`")),
        ("what implements Sender", ("web/transport.go", 7, "Mail", "has the methods of `Sender`")),
        ("what does expire call", ("shop/base.py", 12, "purge", "called by `expire`")),
        ("tests for purge()", ("tests/test_base.py", 5, "test_purge", "calls `purge`")),
        ("where is Store.limit set", ("shop/server.py", 9, "clean", "sets `limit`")),
        ("which files import Store", ("shop/server.py", 1, None, "imports `Store`")),
        ("where is Store instantiated", ("shop/server.py", 3, "STORE", "calls `Store`")),
    ],
)
async def test_each_kind_of_question_has_its_places(
    workspace: EngineWorkspace, query: str, found: tuple[str, int, str | None, str]
) -> None:
    result = await search(workspace, query)
    assert rows(result)[0] == found


async def test_implementations_are_found_apart_from_their_type(index_files: IndexFiles) -> None:
    files = {
        "lib/disk.ex": "defprotocol Shop.Disk do\nend\ndefmodule Shop.Hook do\nend\n",
        "lib/local.ex": (
            "defmodule Shop.Local do\n  @behaviour Shop.Hook\nend\n"
            "defimpl Shop.Disk, for: Shop.Local do\nend\n"
        ),
        "Ranged.hs": "class Ranged a where\n  start :: a -> Int\n",
        "Fix.hs": "data Fix = Fix Int\ninstance Ranged Fix where\n  start (Fix a) = a\n",
    }
    workspace = await index_files(files)
    for query, found in (
        ("implementations of Shop.Disk", ("lib/local.ex", 1, "Shop.Local", "derives from `Disk`")),
        ("what implements Shop.Hook", ("lib/local.ex", 1, "Shop.Local", "derives from `Hook`")),
        ("implementations of Ranged", ("Fix.hs", 1, "Fix", "derives from `Ranged`")),
    ):
        assert rows(await search(workspace, query)) == [found], query


async def test_the_uses_of_what_is_no_class_may_derive_from_it(index_files: IndexFiles) -> None:
    files = {
        "base.lua": "local Base = {}\nfunction Base:extend(o) end\nreturn Base\n",
        "sub.lua": 'local Base = require("base")\nlocal Sub = Base:extend{}\n',
    }
    workspace = await index_files(files)
    result = await search(workspace, "subclasses of Base")
    assert result.warnings == ["what derives from a variable is unknown: these are its uses"]
    assert ("sub.lua", 2) in {(hit.path, hit.best_line) for hit in result.results}
    assert rows(await search(workspace, "who calls Base:extend"))[0][0] == "sub.lua"


async def test_an_unused_name_leads_to_its_definition(workspace: EngineWorkspace) -> None:
    result = await search(workspace, "who calls unused")
    assert result.reason.endswith("it asks for callers; nothing calls unused")
    assert rows(result) == [("shop/base.py", 16, "unused", "function")]


async def test_what_a_method_overrides_is_named(index_files: IndexFiles) -> None:
    code = "class A:\n    def run(self): ...\n\nclass B(A):\n    def run(self): ...\n"
    workspace = await index_files({"a.py": code})
    overrides = "it overrides the one at a.py:2, whose uses may call it and are not included"
    assert overrides in (await search(workspace, "who calls B.run")).reason
    assert "overrides" not in (await search(workspace, "who calls A.run")).reason


async def test_the_question_mark_may_belong_to_a_name_of_ruby(index_files: IndexFiles) -> None:
    text = "class Story\n  def is_gone?\n  end\n  def show\n    1 if is_gone?\n  end\nend\n"
    workspace = await index_files({"story.rb": text})
    for query in ("who calls is_gone?", "who calls Story.is_gone?"):
        result = await search(workspace, query)
        assert [row[2] for row in rows(result)] == ["Story.show"], query


async def test_a_template_may_call_what_no_code_calls(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    write_files(
        tmp_path,
        {"note.ts": "export class Note {\n  saveNote() {}\n}\n", "note.html": "{{ saveNote() }}\n"},
    )
    workspace = await built(make_workspace(tmp_path))
    result = await search(workspace, "who calls saveNote")
    last = text(result, Style(colour=False), str(tmp_path)).splitlines()[-1]
    assert "; nothing calls saveNote; 1 file that is not searched for uses has the word" in last
    assert result.reason.endswith(
        "it asks for callers; nothing calls saveNote; 1 file that is not searched for uses has the"
        " word 'saveNote', such as note.html:1: use grep to see the lines"
    )


async def test_an_unknown_name_leads_to_texts_with_it(index_files: IndexFiles) -> None:
    workspace = await index_files({"app.py": "import numpy\n\nx = numpy.linspace_of(3)\n"})
    result = await search(workspace, "where is linspace_of used")
    assert "nothing is defined with the name linspace_of" in result.reason
    assert rows(result)[0][:2] == ("app.py", 3)
    assert result.search_type_used == "text"


async def test_a_module_of_others_is_imported_by_lines(index_files: IndexFiles) -> None:
    files = {
        "app.py": "import os\nimport numpy as np\n\nnp.zeros(1)\n",
        "lib.py": "from numpy.linalg import norm\n",
        "notes.md": "The files import numpy arrays.\n",
        "other.py": "numpy = None\n",
    }
    workspace = await index_files(files)
    result = await search(workspace, "which files import numpy")
    assert "nothing imports numpy" in result.reason
    found = {(hit.path, hit.best_line or hit.line) for hit in result.results}
    assert found == {("app.py", 2), ("lib.py", 1)}


async def test_a_word_that_is_no_name_is_a_word_of_the_question(
    workspace: EngineWorkspace,
) -> None:
    result = await search(workspace, "who calls cleaning")
    assert result.search_type_used == "semantic"
    assert "clean" in {hit.symbol for hit in result.results}


async def test_tests_named_after_a_name_come_first(index_files: IndexFiles) -> None:
    workspace = await index_files(
        {
            "store.py": "def purge():\n    return 1\n\n\ndef fill():\n    return 2\n",
            "tests/test_all.py": "from store import purge\n\n\ndef test_it():\n    purge()\n",
            "tests/test_store.py": "from store import purge\n\n\ndef test_purge():\n    purge()\n",
        }
    )
    result = await search(workspace, "which tests cover purge()")
    assert [row[2] for row in rows(result)] == ["test_purge", "test_it"]


async def test_a_struct_implements_an_interface_with_what_it_embeds(
    index_files: IndexFiles,
) -> None:
    files = {
        "go.mod": "module shop\n",
        "auth/provider.go": (
            "package auth\n\ntype Provider interface {\n\tLogo() string\n\tUser() string\n}\n\n"
            'type Base struct{}\n\nfunc (b *Base) Logo() string { return "" }\n'
        ),
        "auth/google.go": (
            "package auth\n\ntype Google struct {\n\tBase\n}\n\n"
            'func (g *Google) User() string { return "" }\n'
        ),
        "search/provider.go": "package search\n\ntype Provider struct{}\n",
    }
    workspace = await index_files(files)
    for query in ("what implements Provider", "implementations of auth.Provider"):
        result = await search(workspace, query)
        assert [row[2] for row in rows(result)] == ["Google"], query


async def test_classes_without_a_name_and_extensions_implement_an_interface(
    index_files: IndexFiles,
) -> None:
    files = {
        "Listener.kt": "interface Listener { fun pick() }\n",
        "Use.kt": ("fun show() = add(object : Listener {\n    override fun pick() {}\n})\n"),
        "delegate.swift": "protocol Delegate { func changed() }\nclass Window {}\n",
        "use.swift": "extension Window: Delegate {\n    func changed() {}\n}\n",
    }
    workspace = await index_files(files)
    for query, name in (
        ("implementations of Listener", "show"),
        ("what implements Delegate", "Window"),
    ):
        result = await search(workspace, query)
        assert [row[2] for row in rows(result)] == [name], query


async def test_tests_of_rust_are_in_the_file_of_what_they_test(index_files: IndexFiles) -> None:
    text = """\
        pub fn resize(size: u32) -> u32 { size }
        fn draw() { resize(1); }
        #[cfg(test)]
        mod tests {
            use super::*;
            #[test]
            fn grows() { assert_eq!(resize(2), 2); }
        }
        """
    workspace = await index_files({"src/lib.rs": textwrap.dedent(text)})
    result = await search(workspace, "tests for resize()")
    assert [row[2] for row in rows(result)] == ["tests.grows"]


async def test_callers_in_tests_of_rust_come_last(index_files: IndexFiles) -> None:
    text = """\
        pub fn resize(size: u32) -> u32 { size }
        #[cfg(test)]
        mod checks {
            #[test]
            fn grows() { assert_eq!(super::resize(2), 2); }
        }
        #[tokio::test(flavor = "multi_thread")]
        // Twice.
        #[ignore]
        async fn shrinks() { resize(1); }
        fn draw() { resize(1); }
        """
    workspace = await index_files({"src/lib.rs": textwrap.dedent(text)})
    result = await search(workspace, "who calls resize()")
    assert [row[2] for row in rows(result)] == ["draw", "checks.grows", "shrinks"]


@pytest.mark.parametrize("is_indexed", [True, False])
async def test_tests_of_a_topic_come_before_its_code(
    make_workspace: MakeWorkspace, tmp_path: Path, is_indexed: bool
) -> None:
    """No test uses a function `copy`: the module is a file, and its tests are named after it."""
    write_files(
        tmp_path,
        {
            "lib/copy.py": "def copy(source, target):\n    return source\n",
            "lib/cache.py": "class Cache:\n    def copy(self):\n        return self.copy()\n",
            "test/units/test_copy.py": "def test_existing_target():\n    assert run()\n",
            "test/units/test_cache.py": "from lib import Cache\n\nCache().copy()\n",
            "test/win_copy.ps1": "function Copy-File { copy a b }\n",
        },
    )
    workspace = make_workspace(tmp_path)
    if is_indexed:
        await workspace.index.build()
    for query in ("tests for the copy module", "where are the copy tests"):
        paths = [hit.path for hit in (await search(workspace, query)).results]
        assert paths[0] == "test/units/test_copy.py", query
        is_test = [path.startswith("test/") for path in paths]
        assert is_test == sorted(is_test, reverse=True), query
