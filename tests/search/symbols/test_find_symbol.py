"""find_symbol, as a coroutine on real trees, with an index and without one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from asking import answered, pages
from conftest import IndexFiles, MakeWorkspace, Recorder, built, git_init, write_files
from winnow.errors import InvalidParams, NotFound, PathOutsideWorkspace
from winnow.index.builder.folder import FolderIndex
from winnow.search.answer.shorten import estimated_tokens
from winnow.search.symbols import search
from winnow.search.symbols.search import search_symbols
from winnow.tools import TOOLS
from winnow.tools.find_symbol import FindSymbolPartial, FindSymbolResult, text
from winnow.tools.terminal import Style
from winnow.types import Progress, no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.usefixtures("time_to_catch_up")
TOOL = TOOLS["find_symbol"]


async def find(
    workspace: EngineWorkspace, name: str, progress: Progress = no_progress, **params: Any
) -> FindSymbolResult:
    raw = {"name": name, **params}
    return await answered(TOOL, FindSymbolResult, workspace, raw, progress, items="symbols")


async def names(workspace: EngineWorkspace, name: str, **params: Any) -> list[str]:
    return [one.qualified_name for one in (await find(workspace, name, **params)).symbols]


async def test_a_complete_index_needs_no_ripgrep(indexed: EngineWorkspace) -> None:
    programs = msgspec.structs.replace(indexed.config.programs, rg="/no/such/rg")
    indexed.reconfigure(msgspec.structs.replace(indexed.config, programs=programs))
    assert "Loader" in await names(indexed, "Loader")


async def test_a_definition_has_all_fields(make_workspace: MakeWorkspace, project: Path) -> None:
    write_files(
        project,
        {
            "src/größe.py": (
                "class Größe:\n"
                '    """How large it is.\n\n    More words."""\n\n'
                "    @property\n"
                "    def _wert(self) -> int:\n"
                "        return 1\n"
            )
        },
    )
    workspace = await built(make_workspace(project))
    recorder = Recorder()
    result = await find(workspace, "Größe._wert", recorder)
    state = result.completeness.index
    assert state is not None
    assert msgspec.to_builtins(result) == {
        "root": str(project),
        "search_id": result.search_id,
        "symbols": [
            {
                "name": "_wert", "qualified_name": "Größe._wert", "kind": "property",
                "path": "src/größe.py", "line": 7, "column": 9, "end_line": 8, "score": 0.896,
                "container": "Größe", "signature": "def _wert(self) -> int", "private": True,
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
                "state": "ready", "files_indexed": 6, "files_total": 6,
                "updated_at": state.updated_at,
            },
        },
        "warnings": [],
    }  # fmt: skip
    assert recorder.messages == ["Searching symbols: Größe._wert"]
    assert TOOL.plain(result) == (
        "src/größe.py:7: property Größe._wert — def _wert(self) -> int\n\n[1 of 1 symbols]"
    )
    assert text(result, Style(colour=True), str(project / "src")) == (
        "\x1b[1;35mgröße.py\x1b[0m\x1b[2m:7:\x1b[0m property \x1b[1;31mGröße._wert\x1b[0m"
        "\x1b[2m — def _wert(self) -> int\x1b[0m\n\n\x1b[2m[1 of 1 symbols]\x1b[0m"
    )
    result = await find(workspace, "Größe", exact=True)
    (whole,) = result.symbols
    assert (whole.doc, whole.signature) == ("How large it is.", "class Größe")
    assert TOOL.plain(result).splitlines()[0].endswith(": class Größe")


async def test_exact_names_come_first_and_tests_last(indexed: EngineWorkspace) -> None:
    assert await names(indexed, "load_plugin") == [
        "Loader.load_plugin", "Loader.load_plugins", "test_load_plugin"
    ]  # fmt: skip
    (found,) = (await find(indexed, "test_load_plugin")).symbols
    assert (found.path, found.place) == ("tests/test_loader.py", "test")


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ["Loader.load_plugin", "Loader.load_plugins", "test_load_plugin"]),
        ({"kind": "function"}, ["Loader.load_plugin", "Loader.load_plugins", "test_load_plugin"]),
        ({"kind": "method"}, ["Loader.load_plugin", "Loader.load_plugins"]),
        ({"exact": True}, ["Loader.load_plugin"]),
        ({"path": "tests"}, ["test_load_plugin"]),
        ({"path": "src/loader.py"}, ["Loader.load_plugin", "Loader.load_plugins"]),
        ({"include": ["test_*.py"]}, ["test_load_plugin"]),
        ({"exclude": ["src/**"]}, ["test_load_plugin"]),
        ({"file_types": ["py"], "max_results": 1}, ["Loader.load_plugin"]),
    ],
)
async def test_params_narrow(
    indexed: EngineWorkspace, params: dict[str, Any], expected: list[str]
) -> None:
    assert await names(indexed, "load_plugin", **params) == expected


async def test_without_results_the_answer_reports_matches_without_filters(
    indexed: EngineWorkspace,
) -> None:
    async def warnings(name: str, **params: Any) -> list[str]:
        result = await find(indexed, name, **params)
        assert (result.total_found, result.symbols, result.truncated) == (0, [], False)
        return result.warnings

    assert await warnings("load_plugin", kind="class") == [
        "0 symbols of this kind; 3 of other kinds (function, method): omit `kind`"
    ]
    assert await warnings("register_plugin", path="tests") == [
        "0 symbols in this scope; 1 in the rest of the workspace, the best in src/registry.py"
    ]
    assert await warnings("nothing_like_it", kind="class", path="tests") == []
    (said,) = await warnings("kind:thing nothing_like_it")
    assert said.startswith("unknown kind thing; the kinds are function, method, class,")


async def test_pages_cover_everything_in_order(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    lines = [f"def item_{number}(): ...\n" for number in range(57)]
    workspace = await built(make_workspace(write_files(tmp_path, {"a.py": "".join(lines)})))
    whole = await find(workspace, "item", max_results=100)
    assert (whole.total_found, whole.truncated, whole.total_is_lower_bound) == (57, False, False)
    paged = [page async for page in pages(find, workspace, name="item", max_results=10)]
    assert [len(page.symbols) for page in paged] == [10, 10, 10, 10, 10, 7]
    assert [one for page in paged for one in page.symbols] == whole.symbols
    assert {page.total_found for page in paged} == {57}
    write_files(tmp_path, {"a.py": "def item(): ...\n" + "".join(lines)})
    behind = await find(workspace, "item", max_results=10, cursor=paged[0].cursor)
    assert behind.completeness.reasons == [
        "what is before this page has changed since: something may be missing or repeated"
    ]
    with pytest.raises(InvalidParams, match="cursor"):
        await find(workspace, "other", cursor=paged[0].cursor)


async def test_an_answer_fits_the_tokens_it_may_have(index_files: IndexFiles) -> None:
    lines = [f'def item_{n}(a: int) -> int:\n    """Item {n} of many."""\n' for n in range(20)]
    workspace = await index_files({"a.py": "".join(lines)})
    for tokens in (100, 400, 800, 1200, 1600, 2400):
        result = await find(workspace, "item", max_tokens=tokens)
        assert estimated_tokens(result) <= max(tokens, 220)
        shown = [(one.doc is not None, one.signature is not None) for one in result.symbols]
        assert len(set(shown)) == 1  # shortened all alike
        assert result.truncated == (shown[0] != (True, True) or len(shown) < 20)


async def test_an_answer_is_never_older_than_the_disk(
    indexed: EngineWorkspace, project: Path
) -> None:
    """No client reports these changes, and the last scan of the disk may be very recent."""
    assert len(await names(indexed, "load_plugin")) == 3
    write_files(project, {"src/loader.py": "\n\nclass Loader:\n    def load_plugin(): ...\n"})
    first, second = (await find(indexed, "load_plugin")).symbols
    assert (first.qualified_name, first.line) == ("Loader.load_plugin", 4)
    assert second.qualified_name == "test_load_plugin"
    os.remove(project / "src/loader.py")
    assert await names(indexed, "load_plugin") == ["test_load_plugin"]


async def test_unsaved_text_counts(indexed: EngineWorkspace, project: Path) -> None:
    indexed.open_documents = lambda: {
        project / "src/loader.py": "class Unloader:\n    pass\n",
        project / "src/new.py": "def brand_new(): ...\n",
    }
    assert await names(indexed, "Loader") == ["Unloader"]
    assert await names(indexed, "brand_new") == ["brand_new"]
    assert (await names(indexed, ""))[:2] == ["Unloader", "brand_new"]
    indexed.open_documents = dict
    assert await names(indexed, "brand_new") == []


async def test_definitions_in_excluded_files_are_unknown(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(project, {"web/app.min.js": "function launchRocket() {}\n"})
    workspace = await built(make_workspace(project))
    result = await find(workspace, "launchRocket")
    assert result.warnings == ["1 file is not searched, as index.exclude_patterns says"]
    assert (await find(workspace, "launchRocket", path="src")).warnings == []
    assert (await find(workspace, "load_plugin")).warnings == []


@pytest.mark.parametrize("end", ["c", "cpp"])
async def test_a_prototype_comes_after_its_definition(
    make_workspace: MakeWorkspace, tmp_path: Path, end: str
) -> None:
    root = git_init(tmp_path / "c")
    files = {
        "include/a.h": "/* Read a key. */\nint readKey(int key);\n",
        f"src/z.{end}": '#include "a.h"\n\nint readKey(int key) {\n  return key;\n}\n',
    }
    workspace = await built(make_workspace(write_files(root, files)))
    found = (await find(workspace, "readKey")).symbols
    assert [one.path for one in found] == [f"src/z.{end}", "include/a.h"]


async def test_a_stale_index_does_not_deny_that_a_name_is_defined(
    indexed: EngineWorkspace, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan for changes took longer than a request waits, and the new file was not known."""
    write_files(project, {"src/new.py": "def load_plug(): ...\n"})
    _scan_without_end(monkeypatch)
    result = await find(indexed, "load_plug")
    assert (result.symbols[0].qualified_name, result.symbols[0].path) == (
        "load_plug",
        "src/new.py",
    )
    assert result.completeness.reasons == ["some changed files are not indexed yet"]


def _scan_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scan_without_end(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(FolderIndex, "check", scan_without_end)
    monkeypatch.setattr(search, "CATCH_UP_SECONDS", 0.0)


async def test_without_an_index_the_files_with_the_name_are_read(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    """More files than the index takes by the way."""
    root = git_init(tmp_path / "project")
    write_files(
        root, {f"many/m{number}.py": f"def other_{number}(): ...\n" for number in range(90)}
    )
    write_files(
        root,
        {
            "src/client.py": "class Client:\n    def send(self): ...\n",
            "src/use.py": "Client().send()\ndef resend_all(): ...\n",
            "notes.txt": "class Client\n",
        },
    )
    workspace = make_workspace(root)
    result = await find(workspace, "send")
    assert [one.qualified_name for one in result.symbols] == ["Client.send", "resend_all"]
    assert result.completeness.complete is False
    assert result.completeness.reasons == [
        "there is no index; all files with the name or its letters were read (2)"
    ]
    assert await names(workspace, "Client.") == ["Client.send"]
    assert await names(workspace, "rsall") == ["resend_all"]
    # Repeated checks for changes must not treat files that were never read as up to date.
    for _ in range(3):
        await asyncio.sleep(0.15)
        assert await names(workspace, "rsall") == ["resend_all"]
        assert workspace.index.state().state == "none"
    assert len(await names(workspace, "", max_results=100)) == 92

    recorder = Recorder()
    recorder.streaming = True
    streamed = await find(make_workspace(root), "send", recorder)
    assert streamed.symbols == []
    partials = [one for one in recorder.partials if isinstance(one, FindSymbolPartial)]
    streamed_names = [one.name for part in partials for one in part.symbols]
    assert streamed_names == ["send", "resend_all"]


async def test_a_search_that_begins_again_streams_each_symbol_once(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        f"m{file}.py": "".join(f"def alpha{file}{number:03}(): pass\n" for number in range(20))
        for file in range(30)
    }
    recorder = Recorder()
    recorder.streaming = True
    await find(make_workspace(write_files(tmp_path, files)), "alpha3003", recorder)
    partials = [one for one in recorder.partials if isinstance(one, FindSymbolPartial)]
    streamed = [(one.path, one.line) for part in partials for one in part.symbols]
    assert streamed[0] == ("m3.py", 4)
    assert len(streamed) == len(set(streamed))


async def test_an_index_that_is_complete_streams_its_answer_once(indexed: EngineWorkspace) -> None:
    recorder = Recorder()
    recorder.streaming = True
    result = await find(indexed, "load_plugin", recorder)
    (partial,) = recorder.partials
    assert isinstance(partial, FindSymbolPartial)
    assert (result.symbols, result.returned, len(partial.symbols)) == ([], 3, 3)


async def test_several_folders_are_searched_as_one(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    first = write_files(git_init(tmp_path / "one"), {"a.py": "def shared(): ...\n"})
    second = write_files(git_init(tmp_path / "two"), {"a.py": "def shared(): ...\n"})
    workspace = await built(make_workspace(first, second))
    found = (await find(workspace, "shared")).symbols
    assert [(one.root, one.path) for one in found] == [(str(first), "a.py"), (str(second), "a.py")]
    (only,) = (await find(workspace, "shared", path=str(second))).symbols
    assert only.root is None
    assert TOOL.plain(await find(workspace, "shared")).startswith(
        f"{first}/a.py:1: function shared"
    )


async def test_params_that_do_not_fit_are_refused(workspace: EngineWorkspace) -> None:
    for params, error in [
        ({"kind": "thing"}, InvalidParams),
        ({"path": "missing"}, NotFound),
        ({"path": "/etc"}, PathOutsideWorkspace),
        ({"include": ["["]}, InvalidParams),
        ({"file_types": ["nothing"]}, InvalidParams),
        ({"max_results": 0}, InvalidParams),
    ]:
        with pytest.raises(error):
            await find(workspace, "x", **params)  # type: ignore[arg-type]


async def test_typed_queries_find_the_best_symbols(indexed: EngineWorkspace, project: Path) -> None:
    """The function behind workspace/symbol."""
    async with indexed.index.snapshot({}) as (view, _):
        found = search_symbols(view, indexed.names, "Loader::load", limit=1)
        assert [one.name for one in found.symbols] == ["Loader::load_plugin"]
        open_files = [f"{project.as_posix()}/src/registry.py"]
        found = search_symbols(view, indexed.names, "", limit=10, open_files=open_files)
        assert [one.name for one in found.symbols] == [
            "register_plugin", "Loader", "test_load_plugin"
        ]  # fmt: skip


async def test_generic_definitions_are_marked(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {"a.pl": "sub greet { return 1; }\n", "b.py": "def greet(): ...\n"}
    workspace = make_workspace(write_files(git_init(tmp_path / "project"), files))
    found = await find(workspace, "greet")
    assert {one.path: one.generic for one in found.symbols} == {"a.pl": True, "b.py": False}


async def test_names_have_one_line(make_workspace: MakeWorkspace, project: Path) -> None:
    write_files(project, {"forms.css": "form .aligned p,\nform .aligned ul {\n  color: red;\n}\n"})
    workspace = await built(make_workspace(project))
    assert await names(workspace, "aligned") == ["form .aligned p, form .aligned ul"]


async def test_files_without_symbols_that_define_the_name_are_reported(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    packed = "var a=1;" * 10_000
    write_files(
        project,
        {
            "src/shown.py": "def decode(): ...\n",
            "web/bundle.js": f"{packed}\nfunction decode(a){{return a}}\n",
            "web/other.js": f"{packed}decode();",
        },
    )
    workspace = await built(make_workspace(project))
    result = await find(workspace, "decode")
    assert [one.path for one in result.symbols] == ["src/shown.py"]
    [reason] = result.completeness.reasons
    assert reason.startswith(
        "files that may have the name are not indexed: web/bundle.js (it is minified or generated:"
    )
    assert (await find(workspace, "shown")).completeness.complete
    assert (await find(workspace, "decode", path="src")).completeness.complete
    assert not (await find(workspace, "decode", path="web")).completeness.complete


async def test_a_path_that_the_index_leaves_out_is_named(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    write_files(
        git_init(project),
        {".gitignore": "out\n", "out/a.py": "def ours(): ...\n", "src/b.py": "def theirs(): ...\n"},
    )
    workspace = await built(make_workspace(project))
    result = await find(workspace, "ours", path="out")
    assert not result.symbols
    assert result.completeness.reasons == [
        "out is not in the index, because it is ignored, hidden or in a submodule: search for exact"
        " text to find what is in it"
    ]
    assert (await find(workspace, "ours", path="src")).completeness.complete
    assert (await find(workspace, "ours", path="src/b.py")).completeness.complete
