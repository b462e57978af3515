"""find_references: the selection of the symbol, the answer about its uses, and the notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeWorkspace, Recorder, built, git_init, write_files
from winnow.config import Config, IndexSettings, Limits
from winnow.errors import (
    InvalidParams,
    NoSymbol,
    NotFound,
    PathOutsideWorkspace,
    SearchTimedOut,
)
from winnow.index.builder.folder import FolderIndex
from winnow.index.builder.workers import IndexWorkers
from winnow.index.store.reader import Reader
from winnow.search.symbols import references, requests
from winnow.text.lines import SourceTexts
from winnow.tools import TOOLS
from winnow.tools.find_references import FindReferencesResult
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.usefixtures("time_to_catch_up")
FILES = {
    "net/client.py": (
        "class Client:\n"
        '    """Talks to a server."""\n'
        "\n"
        "    def send(self, data: bytes) -> int:\n"
        "        self.sent = len(data)\n"
        "        return self.sent\n"
    ),
    "net/post.py": (
        "class Office:\n    def send(self, letter): ...\n"
        "\n\n"
        "class Radio:\n    def send(self): ...\n"
    ),
    "app.py": (
        "from net.client import Client\n"
        "\n"
        "\n"
        "def run(client: Client, other):\n"
        "    client.send(b'ü'); client.send(b'b')\n"
        "    other.send('c')\n"
        "    return Client\n"
    ),
    "tests/test_app.py": "from net.client import Client\n\nClient().send(b'')\n",
    "notes.md": "Call `Client.send`.\n",
}


@pytest.fixture
def workspace(tmp_path: Path, make_workspace: MakeWorkspace) -> EngineWorkspace:
    return make_workspace(write_files(git_init(tmp_path / "p"), FILES))


async def find(workspace: EngineWorkspace, **params: Any) -> FindReferencesResult:
    result: FindReferencesResult = await TOOLS["find_references"].call(
        workspace, params, no_progress
    )
    return result


def places(result: FindReferencesResult) -> list[str]:
    return [
        f"{one.path}:{one.line}:{one.column} {one.kind} {one.confidence}"
        for one in result.references
    ]


SEND = [
    "app.py:5:12 call certain",
    "app.py:5:31 call certain",
    "net/client.py:4:9 definition certain",
    "tests/test_app.py:3:10 call certain",
]


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "Client.send"},
        {"name": "Client::send"},
        {"name": "send", "path": "net/client.py"},
        {"path": "net/client.py", "line": 4},
        {"path": "app.py", "line": 5, "name": "send"},
        {"path": "app.py", "line": 5, "column": 31},
        {"path": "app.py", "line": 5, "column": 35},  # behind its last letter
    ],
)
async def test_a_symbol_is_selected_by_name_or_by_position(
    workspace: EngineWorkspace, asked: dict[str, Any]
) -> None:
    result = await find(workspace, **asked)
    assert places(result) == SEND
    assert result.symbol is not None
    assert (result.symbol.qualified_name, result.symbol.kind) == ("Client.send", "method")
    assert (result.symbol.path, result.symbol.line) == ("net/client.py", 4)
    assert result.symbol.signature == "def send(self, data: bytes) -> int"
    assert (result.total_found, result.returned, result.certain) == (4, 4, 4)


async def test_a_worker_starts_before_the_first_store_is_opened(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    start, reader = IndexWorkers.start, FolderIndex.reader

    def started(self: IndexWorkers) -> None:
        calls.append("start")
        start(self)

    async def opened(self: FolderIndex) -> Reader:
        calls.append("open")
        return await reader(self)

    monkeypatch.setattr(IndexWorkers, "start", started)
    monkeypatch.setattr(FolderIndex, "reader", opened)
    with workspace.index.beginning_none():
        assert places(await find(workspace, name="Client.send")) == SEND
    assert calls[:2] == ["start", "open"]


async def test_a_use_shows_its_line_and_the_function_around_it(workspace: EngineWorkspace) -> None:
    result = await find(workspace, name="Client.send", include=["app.py"])
    first = result.references[1]
    assert first.text == "client.send(b'ü'); client.send(b'b')"
    assert (first.within, first.end_column) == ("run", 35)


async def test_undecided_uses_are_reported(workspace: EngineWorkspace) -> None:
    result = await find(workspace, name="Client.send")
    assert any("1 more use of the name 'send'" in warning for warning in result.warnings)


async def test_a_name_of_several_symbols_finds_the_uses_of_all(workspace: EngineWorkspace) -> None:
    result = await find(workspace, name="send")
    assert places(result) == [
        "app.py:5:12 call certain",
        "app.py:5:31 call certain",
        "net/client.py:4:9 definition certain",
        "net/post.py:2:9 definition certain",
        "net/post.py:6:9 definition certain",
        "tests/test_app.py:3:10 call certain",
        "app.py:6:11 call possible",
    ]
    assert result.warnings == [
        "'send' is also defined at net/post.py:2, net/post.py:6: all are included;"
        " for one, pass its place, such as 'src/a.py:12'"
    ]


async def test_too_many_definitions_of_a_name_make_the_answer_incomplete(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "MOST_DEFINITIONS", 2)
    result = await find(workspace, name="send")
    assert "net/post.py:6:9 definition certain" not in places(result)
    assert not result.completeness.complete
    assert result.completeness.reasons == [
        "the uses of 1 further definition of send were not searched"
    ]


async def test_kinds_tiers_globs_and_definitions_can_be_excluded(
    workspace: EngineWorkspace,
) -> None:
    assert places(await find(workspace, name="Client", kinds=["import"])) == [
        "app.py:1:24 import certain",
        "tests/test_app.py:1:24 import certain",
    ]
    assert places(await find(workspace, name="Client", kinds=["type"])) == [
        "app.py:4:17 type certain"
    ]
    called = await find(workspace, name="Client", kinds=["call"], exclude=["tests/**"])
    assert called.warnings == ["uses of other kinds, omitted by `kinds`: 1 import, 1 read, 1 type"]
    assert places(await find(workspace, name="Client.send", include_declaration=False)) == [
        SEND[0],
        SEND[1],
        SEND[3],
    ]
    assert places(await find(workspace, name="Client.send", exclude=["tests/**", "net/**"])) == [
        SEND[0],
        SEND[1],
    ]
    assert places(await find(workspace, name="Client.sent")) == [
        "net/client.py:5:14 definition certain",
        "net/client.py:6:21 read certain",
    ]


async def test_a_filter_by_kinds_is_incomplete_if_the_syntax_does_not_tell_them(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "a.zig": "const Money = struct {};\n",
        "a.rb": "class Client\nend\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    found = await find(workspace, name="Money", kinds=["type"])
    assert (found.total_found, found.completeness.reasons) == (
        0,
        ["the kinds of uses in zig are guesses: a filter by kinds may miss some"],
    )
    assert (await find(workspace, name="Money")).completeness.complete
    assert (await find(workspace, name="Client", kinds=["type"])).completeness.complete


async def test_templates_and_configuration_with_the_name_are_reported(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "app/note.ts": "export class Note {\n  saveNote() {}\n  other() {}\n  get() {}\n}\n",
        "app/note.html": "<form>\n  <a (click)='saveNote()'>saveNotes get</a>\n</form>\n",
        "app/near.html": "<a>saveNotes</a>\n",
        "app/part.vue": "<script>\nimport {Note} from './note'\n</script>\n<Note/>{{ Note }}\n",
        "app/view.vue": "<script>\nconst saveNote = 1\n</script>\n",
        "conf.yml": "call: saveNote\n",
        "README.md": "saveNote, other\n",
        "yarn.lock": "other\n",
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "q"), files)))

    async def warnings(**params: Any) -> list[str]:
        return list((await find(workspace, **params)).warnings)

    assert await warnings(name="saveNote", path="app/note.ts") == [
        "2 files that are not searched for uses have the word 'saveNote', such as"
        " app/note.html:2: use grep to see the lines"
    ]
    assert await warnings(name="saveNote", path="app/note.ts", include=["*.yml"]) == [
        "1 file that is not searched for uses has the word 'saveNote', such as conf.yml:1:"
        " use grep to see the lines"
    ]
    assert await warnings(name="Note") == [
        "1 file that is not searched for uses has the word 'Note', such as app/part.vue:4:"
        " use grep to see the lines"
    ]
    assert await warnings(name="Note.other") == []
    assert await warnings(name="Note.get") == []


async def test_called_overloads_accept_the_number_of_arguments(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "Shop.cs": (
            "class Shop {\n"
            "  int Sum() => 0;\n"
            "  int Sum(Dictionary<int, int> a) => 1;\n"
            "  int Sum(int a, int b = 2, params int[] c) => 2;\n"
            '  void One() { Sum(Id("a, b")); }\n'
            "  void Two() { Sum(1, 2, 3, 4); }\n"
            "  void Unknown() { Sum(a < b, c > (d)); }\n"
            "}\n"
        ),
        "Till.java": (
            "class Till {\n"
            "  int sum() { return 0; }\n"
            "  int sum(int a) { return 1; }\n"
            "  void one() { sum(1); }\n"
            "}\n"
        ),
        "Desk.kt": (
            "class Desk {\n"
            "  fun run(a: Int) {}\n"
            "  fun run(a: Int, b: (Int) -> Int) {}\n"
            "  fun block() { run(1) { it } }\n"
            "  fun both() { run(1, { it }) }\n"
            "}\n"
        ),
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))

    async def lines(name: str) -> list[int]:
        return [one.line for one in (await find(workspace, name=name, callees=True)).references]

    assert await lines("Shop.One") == [3, 4]
    assert await lines("Shop.Two") == [4]
    assert await lines("Shop.Unknown") == [2, 3, 4]
    assert await lines("Till.one") == [3]
    assert await lines("Desk.block") == [2, 3]
    assert await lines("Desk.both") == [3]


async def test_a_class_is_not_also_defined_by_its_constructor(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {"Holder.java": "class Holder {\n  Holder(int a) {}\n}\n"}
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    assert (await find(workspace, name="Holder")).warnings == []


async def test_members_of_enumerations_are_named_without_the_enumeration(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "a.hpp": "class Config { public: enum Key { Ask }; };\nint a = Config::Ask;\n",
        "b.cpp": '#include "a.hpp"\nint b = Config::Ask;\n',
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    found = await find(workspace, name="Config::Ask")
    assert places(found) == [
        "a.hpp:1:35 definition certain",
        "a.hpp:2:17 read certain",
        "b.cpp:2:17 read certain",
    ]


async def test_possible_uses_come_after_certain_uses(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "a.py": "class A:\n    def only(self): ...\n",
        "b.py": "def f(x):\n    x.only()\n",
        "c.py": "from a import A\nA().only()\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    result = await find(workspace, name="only")
    assert places(result) == [
        "a.py:2:9 definition certain",
        "c.py:2:5 call certain",
        "b.py:2:7 call possible",
    ]
    assert (result.total_found, result.certain) == (3, 2)
    assert len((await find(workspace, name="only", certain_only=True)).references) == 2


async def test_pages_follow_each_other(workspace: EngineWorkspace) -> None:
    found: list[str] = []
    cursor = ""
    for _ in range(4):
        result = await find(workspace, name="Client.send", max_results=1, cursor=cursor)
        assert (result.total_found, result.returned) == (4, 1)
        found += places(result)
        cursor = result.cursor or ""
    assert found == SEND
    assert not cursor


async def test_fewer_tokens_are_locations_then_counts_of_files(workspace: EngineWorkspace) -> None:
    short = await find(workspace, name="Client.send", max_tokens=360)
    assert [one.text for one in short.references] == [""] * 4
    assert short.truncated
    counts = await find(workspace, name="Client.send", max_tokens=1)
    assert counts.references == []
    assert [(one.path, one.references) for one in counts.files or []] == [
        ("app.py", 2),
        ("net/client.py", 1),
        ("tests/test_app.py", 1),
    ]


async def test_partial_results_are_not_answered_again(
    workspace: EngineWorkspace, recorder: Recorder
) -> None:
    recorder.streaming = True
    result = await TOOLS["find_references"].call(workspace, {"name": "Client.send"}, recorder)
    assert result.references == []
    sent = [one for partial in recorder.partials for one in partial.references]  # type: ignore[attr-defined]
    assert sorted(f"{one.path}:{one.line}:{one.column}" for one in sent) == [
        place.partition(" ")[0] for place in SEND
    ]


async def test_answers_report_the_state_of_the_index(workspace: EngineWorkspace) -> None:
    workspace.reconfigure(Config(index=IndexSettings(enabled=False)))
    cold = await find(workspace, name="Client.send")
    assert cold.completeness.index is not None
    assert cold.completeness.index.state == "none"
    assert "there is no index" in cold.completeness.reasons[0]
    workspace.reconfigure(Config())
    await workspace.index.build()
    warm = await find(workspace, name="Client.send")
    assert warm.completeness.index is not None
    assert (warm.completeness.index.state, warm.completeness.complete) == ("ready", True)
    assert warm.completeness.index.files_indexed == 5
    assert places(warm) == places(cold) == SEND


async def test_without_an_index_no_file_is_read_that_cannot_have_references(
    tmp_path: Path, make_workspace: MakeWorkspace, recorder: Recorder
) -> None:
    write_files(tmp_path, {"a.py": "def needle():\n    pass\n", "use": "needle\n"})
    write_files(tmp_path, {f"notes{number}.txt": "needle\n" for number in range(5)})
    workspace = make_workspace(tmp_path, config=Config(index=IndexSettings(enabled=False)))
    found = await TOOLS["find_references"].call(workspace, {"name": "needle"}, recorder)
    assert isinstance(found, FindReferencesResult)
    assert places(found) == ["a.py:1:5 definition certain"]
    # One without an ending may be a script.
    assert [one for one in recorder.messages if "read" in one][-1] == "2 files read"


async def test_a_search_that_timed_out_does_not_claim_that_a_name_is_unknown(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    write_files(tmp_path, {"a.py": "def needle():\n    pass\n"})
    hurried = Config(index=IndexSettings(enabled=False), limits=Limits(search_seconds=1e-9))
    with pytest.raises(SearchTimedOut, match="not all files that contain the name have been read"):
        await find(make_workspace(tmp_path, config=hurried), name="needle")


@pytest.mark.parametrize(
    "name",
    [
        "send()",
        "Client.send(data",
        "client/Client::send(data)",
        "net/client/Client#send",
        "Client.send.",
    ],
)
async def test_a_name_may_be_spelled_as_in_code_and_in_messages(
    workspace: EngineWorkspace, name: str
) -> None:
    workspace.reconfigure(Config(index=IndexSettings(enabled=False)))
    assert places(await find(workspace, name=name, path="net/client.py")) == SEND
    assert places(await find(workspace, name=name, path="app.py", line=5)) == SEND


async def test_symbols_defined_elsewhere_have_uses(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "a.py": "import numpy as np\nfrom os import getcwd\n\nnp.zeros(len(getcwd()))\n",
        "b.py": "import numpy as np\n\nnp.ones(len([]))\nother.zeros()\n",
        "c.js": "console.log(len(1));\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    result = await find(workspace, path="a.py", line=4, column=1)
    assert places(result) == [
        "a.py:1:17 import certain",
        "a.py:4:1 read certain",
        "b.py:1:17 import certain",
        "b.py:3:1 read certain",
    ]
    assert result.symbol is None
    assert "'np' is defined outside of the workspace, or nowhere" in result.warnings
    assert places(await find(workspace, path="a.py", line=4, name="zeros")) == [
        "a.py:4:4 call certain"
    ]
    assert places(await find(workspace, path="a.py", line=4, name="getcwd")) == [
        "a.py:2:16 import certain",
        "a.py:4:14 call certain",
    ]
    assert places(await find(workspace, path="a.py", line=4, name="len")) == [
        "a.py:4:10 call certain",
        "b.py:3:9 call certain",
    ]


async def test_a_place_may_have_a_column(workspace: EngineWorkspace) -> None:
    line = (workspace.folders[0] / "app.py").read_text().splitlines()[4]
    place = f"app.py:5:{line.index('send') + 1}"
    assert places(await find(workspace, name=place)) == places(
        await find(workspace, path="app.py", line=5, name="send")
    )


async def test_unindexed_files_with_the_name_are_reported(workspace: EngineWorkspace) -> None:
    root = workspace.folders[0]
    # Generated files are not parsed.
    for name, line in (("bundle.py", "send();"), ("other.py", "x();")):
        (root / name).write_text(line * 10_000)
    await workspace.index.build()
    result = await find(workspace, name="Client.send")
    assert not result.completeness.complete
    [reason] = result.completeness.reasons
    assert reason == (
        "files that may have the name are not indexed: bundle.py (it is minified or generated:"
        " 70,000 bytes a line)"
    )
    with pytest.raises(NoSymbol, match="minified"):
        await find(workspace, path="bundle.py", line=1, name="send")
    says = (
        r"defines 'x', and files that may have the name are not indexed: other.py \(it is minified"
    )
    with pytest.raises(NoSymbol, match=says):
        await find(workspace, name="x")


async def test_a_file_too_large_to_search_may_contain_the_name(workspace: EngineWorkspace) -> None:
    root = workspace.folders[0]
    for name, size, end in (("a.py", 5, b"x()"), ("b.py", 5, b"send()"), ("c.py", 40, b"x()")):
        with (root / name).open("wb") as file:
            file.seek(size * 1024 * 1024)
            file.write(end)
    await workspace.index.build()
    result = await find(workspace, name="Client.send")
    assert result.completeness.reasons == [
        "files that may have the name are not indexed: b.py (it is larger than 4,194,304 bytes),"
        " c.py (it is larger than 4,194,304 bytes)"
    ]
    # Documents that are open in the editor are known.
    workspace.open_documents = lambda: {root / "b.py": "", root / "c.py": "def send(): ...\n"}
    assert (await find(workspace, name="Client.send")).completeness.complete


async def test_files_that_cannot_use_a_symbol_need_not_be_known(workspace: EngineWorkspace) -> None:
    root = workspace.folders[0]
    write_files(
        root,
        {
            "AUTHORS": "send\n",
            "dist/bundle.js": "send();" * 10_000,
            "web/app.ts": "export function send() {}\n",
        },
    )
    await workspace.index.build()
    assert await workspace.index.problems() == {
        f"{root}/AUTHORS": "its language is unknown",
        f"{root}/dist/bundle.js": "it is minified or generated: 70,000 bytes a line",
    }
    assert (await find(workspace, name="Client.send")).completeness.complete
    # JavaScript can use what TypeScript defines.
    result = await find(workspace, name="send", path="web/app.ts")
    assert result.completeness.reasons == [
        "files that may have the name are not indexed: dist/bundle.js (it is minified or generated:"
        " 70,000 bytes a line)"
    ]


async def test_a_path_is_a_file_or_a_folder_not_a_prefix(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {"lib/a.py": "def f(): ...\n", "lib2/a.py": "def f(): ...\n"}
    workspace = make_workspace(write_files(git_init(tmp_path / "q"), files))
    result = await find(workspace, name="f", path="lib")
    assert (places(result), result.warnings) == (["lib/a.py:1:5 definition certain"], [])


async def test_unsaved_documents_and_changed_files_count(workspace: EngineWorkspace) -> None:
    await workspace.index.build()
    root = workspace.folders[0]
    workspace.open_documents = lambda: {
        root / "app.py": "# new\n" + FILES["app.py"],
        root / "new.py": "from net.client import Client\nClient().send(b'')\n",
    }
    (root / "tests/test_app.py").write_text("\n\n\n" + FILES["tests/test_app.py"])
    assert places(await find(workspace, name="Client.send")) == [
        "app.py:6:12 call certain",
        "app.py:6:31 call certain",
        "net/client.py:4:9 definition certain",
        "new.py:2:10 call certain",
        "tests/test_app.py:6:10 call certain",
    ]
    workspace.open_documents = dict
    (root / "app.py").unlink()
    assert places(await find(workspace, name="Client.send")) == [
        "net/client.py:4:9 definition certain",
        "tests/test_app.py:6:10 call certain",
    ]


async def test_a_stale_index_does_not_deny_that_a_name_is_defined(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan for changes took longer than a request waits, and the new file was not known."""
    await workspace.index.build()

    async def scan_without_end(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(FolderIndex, "check", scan_without_end)
    monkeypatch.setattr(requests, "CATCH_UP_SECONDS", 0.0)
    write_files(workspace.folders[0], {"net/new.py": "def arrive(): ...\n"})
    result = await find(workspace, name="arrive")
    assert places(result) == ["net/new.py:1:5 definition certain"]
    assert result.completeness.reasons == ["some changed files are not indexed yet"]
    with pytest.raises(NoSymbol, match="search with `grep`"):
        await find(workspace, name="nothing_is_called_so")


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({}, InvalidParams, "pass a name or a place"),
        ({"path": "app.py"}, InvalidParams, "pass a name or a place"),
        (
            {"name": "app.py"},
            InvalidParams,
            "it is a file: pass a place in it, such as 'app.py:12'",
        ),
        ({"name": __file__}, NoSymbol, "No indexed file defines"),  # outside of the workspace
        ({"name": "Client", "line": 4}, InvalidParams, "`path`"),
        ({"name": "Client", "exclude": ["["]}, InvalidParams, "`exclude`"),
        ({"name": "nothing_is_called_so"}, NoSymbol, "search with `grep`"),
        ({"path": "app.py", "line": 2}, NoSymbol, "No symbol"),
        ({"path": "app.py", "line": 5}, NoSymbol, "client, send"),
        ({"path": "app.py", "line": 5, "name": "::"}, NoSymbol, "client, send"),
        ({"name": "Client", "path": "tests"}, NoSymbol, "net/client.py:[0-9]+ has one"),
        ({"name": "."}, NoSymbol, "No indexed file defines '.'"),
        ({"path": "app.py", "line": 99}, NoSymbol, "no line 99"),
        ({"path": "gone.py", "line": 1}, NotFound, "gone.py"),
        ({"path": "../other.py", "line": 1}, PathOutsideWorkspace, "other.py"),
        ({"name": "Client", "include": ["["]}, InvalidParams, "`include`"),
        ({"name": "Client", "kinds": ["calls"]}, InvalidParams, "kinds"),
    ],
)
async def test_a_position_without_a_symbol_is_a_helpful_error(
    workspace: EngineWorkspace, asked: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        await find(workspace, **asked)


async def test_the_functions_that_a_function_calls(workspace: EngineWorkspace) -> None:
    found = await find(workspace, name="run", callees=True, kinds=["import"])
    assert places(found) == ["net/client.py:4:9 definition certain"]
    assert found.callees
    assert "[1 of 1 functions called" in TOOLS["find_references"].plain(found)
    elsewhere = await find(workspace, name="run", callees=True, exclude=["net/**"])
    assert places(elsewhere) == []


async def test_joined_lists_are_read_and_parameters_are_no_bases(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    parameters = ", ".join(f"names{number}: Seq[String]" for number in range(40))
    files = {
        "src/Config.scala": (
            f"class Config(client: Client, {parameters}) extends Thread {{\n"
            "  val all = Names ++ others\n}\n\n"
            "object Holder { val Names = Seq() }\n\ntrait Client { def send(): Int }\n"
        ),
        "src/count.c": "int count;\nvoid next(void) { count++; }\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "kinds"), files))
    names = await find(workspace, name="Names", kinds=["read", "write"])
    assert [(use.line, use.kind) for use in names.references] == [(2, "read")]
    count = await find(workspace, name="count", kinds=["read", "write"])
    assert [(use.line, use.kind) for use in count.references] == [(2, "write")]
    scope = await TOOLS["code_search"].call(
        workspace, {"query": "subclasses of Client"}, no_progress
    )
    assert [hit.symbol for hit in scope.results if "derives" in (hit.why or "")] == []


async def test_overloads_are_said_to_be_one_symbol(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "src/Cart.java": (
            "class Cart {\n  void add(int a) {}\n  void add(String a) {}\n"
            "  /** See {@link #add(int)}. */\n  void run() { add(1); }\n}\n"
        ),
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "overloads"), files))
    found = await find(workspace, path="src/Cart.java", line=3)
    assert found.symbol is not None
    assert found.symbol.line == 3
    assert found.warnings == [
        "the overloads of 'add' are one symbol here: src/Cart.java:2, src/Cart.java:3"
    ]
    assert [(use.line, use.kind) for use in found.references if use.kind != "definition"] == [
        (4, "read"),
        (5, "call"),
    ]


async def test_a_name_may_have_its_package(tmp_path: Path, make_workspace: MakeWorkspace) -> None:
    files = {
        "app/Models/Song.php": "<?php\nnamespace App\\Models;\nclass Song { function play() {} }\n",
        "lib/Song.php": "<?php\nclass Song { function play() {} }\n",
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "package"), files)))
    for name in ("App\\Models\\Song", "App\\Models\\Song::play", "app/Models/Song->play"):
        symbol = (await find(workspace, name=name)).symbol
        assert symbol is not None
        assert symbol.path == "app/Models/Song.php"
    symbol = (await find(workspace, name="Acme\\Song->play")).symbol
    assert symbol is not None


async def test_each_definition_of_a_name_is_listed_once(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "a.swift": "class A {\n  func mark() {}\n}\n",
        "b.swift": "extension A.B {\n  func mark(a: Int) {}\n  func mark(b: Int) {}\n}\n",
        "ui/Shop.vue": "<template><b/></template>\n",
        "c.ts": "const Shop = lazy(() => import('./ui/Shop.vue'))\nexport default Shop\n",
        "d.ts": "const Shop = lazy(() => import('./ui/Shop.vue'))\nexport default Shop\n",
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "once"), files)))
    [warning] = (await find(workspace, name="mark")).warnings
    assert "also defined at b.swift:2: all" in warning
    assert (await find(workspace, name="Shop")).warnings == []


async def test_other_definitions_to_which_possible_uses_may_belong_are_named(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    files = {
        "Album.php": "<?php\nclass Album { function filter() {} }\n",
        "Song.php": "<?php\nclass Song { function filter() {} function other() {} }\n",
        "use.php": "<?php\n$made->filter(); $made->other();\n",
    }
    workspace = await built(make_workspace(write_files(git_init(tmp_path / "namesakes"), files)))
    assert (await find(workspace, name="Album.filter")).warnings == [
        "possible uses may be those of 'filter' at Song.php:2"
    ]
    assert (await find(workspace, name="Song.other")).warnings == []


async def test_a_definition_that_several_files_import_is_named_once(
    tmp_path: Path, make_workspace: MakeWorkspace
) -> None:
    imports = 'const { checkLogin } = require("./util");\ncheckLogin();\n'
    files = {
        "util.js": "exports.checkLogin = () => {};\n",
        **{f"{name}.js": imports for name in "abc"},
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "js"), files))
    result = await find(workspace, name="checkLogin")
    assert len(result.references) == 7
    assert result.warnings == []


async def test_files_that_are_not_indexed_again_in_time_are_named(
    workspace: EngineWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await find(workspace, name="Client.send")
    app = workspace.search_roots()[0] / "app.py"
    monkeypatch.setattr(SourceTexts, "read", _without(SourceTexts.read, app.as_posix()))
    result = await find(workspace, name="Client.send")
    assert "changed, and not indexed again in time: app.py" in result.completeness.reasons
    assert result.completeness.skipped.unreadable is None


def _without(read: Callable[[SourceTexts, str], Any], hidden: str) -> Callable[..., Any]:
    return lambda sources, path: None if path == hidden else read(sources, path)


async def test_what_a_method_overrides_is_reported_unless_it_is_the_same_symbol(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    files = {
        "a.py": "class A:\n    def run(self): ...\n\nclass B(A):\n    def run(self): ...\n",
        "b.ts": "class A { run() {} }\nclass B extends A { run() {} }\n",
    }
    workspace = make_workspace(write_files(git_init(tmp_path / "overrides"), files))
    warning = "'run' overrides the one at a.py:2, whose uses may call it and are not included"
    assert (await find(workspace, path="a.py", line=5)).warnings == [warning]
    assert (await find(workspace, path="a.py", line=2)).warnings == []
    both = await find(workspace, path="b.ts", line=2, name="run")
    assert [use.line for use in both.references] == [1, 2]
    assert both.warnings == []
