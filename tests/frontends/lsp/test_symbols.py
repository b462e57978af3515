"""The standard methods about symbols on the wire."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from conftest import git_init, write_files
from frontends.lsp.wire import Wire
from waiting_for import wait_until

pytestmark = pytest.mark.wire

FILES = {
    "net/client.py": (
        "class Base:\n"
        "    def close(self):\n"
        "        pass\n"
        "\n\n"
        "class Client(Base):\n"
        "    def send(self, data):\n"
        "        size = len(data)\n"
        "        self.close()\n"
        "        return size\n"
    ),
    "app.py": (
        "from net.client import Client\n"
        "\n\n"
        "def run(client: Client):\n"
        "    text = '😀'; client.send(text)\n"
        "\n\n"
        "def main():\n"
        "    run(Client())\n"
        "\n\n"
        "main()\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "p"), FILES)


class Asking:
    """A client that sends and takes plain data."""

    def __init__(self, folder: Path, index: bool) -> None:
        self.wire = Wire(patient=True)
        nested = {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}
        self.wire.initialize(folder, index=index, textDocument=nested)

    def ask(self, method: str, params: Any) -> Any:
        self.wire.request(method, method, params)
        answer = self.wire.receive()
        assert answer["id"] == method
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path: Path, text: str) -> None:
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        self.wire.notify("textDocument/didOpen", {"textDocument": item})

    def progress(self, token: str | int) -> list[Any]:
        return [
            one["params"]["value"]
            for one in self.wire.notifications
            if one["method"] == "$/progress" and one["params"]["token"] == token
        ]


@pytest.fixture(params=[True, False], ids=["indexed", "cold"])
def opened(folder: Path, request: pytest.FixtureRequest) -> Iterator[Asking]:
    asking = Asking(folder, request.param)
    yield asking
    assert asking.wire.stop() == 0


def at(path: Path, line: int, character: int) -> dict[str, Any]:
    return {
        "textDocument": {"uri": path.as_uri()},
        "position": {"line": line, "character": character},
    }


def place(location: dict[str, Any], folder: Path) -> str:
    start, end = location["range"]["start"], location["range"]["end"]
    assert start["line"] == end["line"]
    name = location["uri"].removeprefix(folder.as_uri() + "/")
    return f"{name}:{start['line']}:{start['character']}-{end['character']}"


SEND = ["app.py:4:24-28", "net/client.py:6:8-12"]


def test_references_of_a_use_count_columns_as_the_client_does(opened: Asking, folder: Path) -> None:
    asked = at(folder / "app.py", 4, 25)  # behind a character of two UTF-16 units
    answer = opened.ask(
        "textDocument/references", {**asked, "context": {"includeDeclaration": True}}
    )
    assert [place(one, folder) for one in answer] == SEND
    answer = opened.ask(
        "textDocument/references", {**asked, "context": {"includeDeclaration": False}}
    )
    assert [place(one, folder) for one in answer] == SEND[:1]


def test_references_are_sent_as_partial_results_on_request(opened: Asking, folder: Path) -> None:
    asked = at(folder / "net/client.py", 6, 9)
    answer = opened.ask(
        "textDocument/references",
        {**asked, "context": {"includeDeclaration": True}, "partialResultToken": "some"},
    )
    assert answer == []
    sent = [one for portion in opened.progress("some") for one in portion]
    assert sorted(place(one, folder) for one in sent) == SEND


def test_the_progress_ends_with_what_an_answer_lacks(folder: Path) -> None:
    write_files(folder, {"other.py": "class Other:\n    def send(self): ...\nunknown().send()\n"})
    session = Asking(folder, index=False)
    asked = {**at(folder / "net/client.py", 6, 9), "context": {"includeDeclaration": True}}

    def ends_with_all() -> bool:  # as soon as there was time to read all files
        session.ask("textDocument/references", {**asked, "workDoneToken": "uses"})
        uses = session.progress("uses")[-1]
        assert uses["kind"] == "end"
        assert uses["message"].startswith("there is no index: ")
        return "; 1 more uses of 'send' have receivers of unknown type" in uses["message"]

    wait_until(ends_with_all)
    session.ask("workspace/symbol", {"query": "send", "workDoneToken": "symbols"})
    symbols = session.progress("symbols")[-1]
    assert symbols["kind"] == "end"
    assert symbols["message"] == "Symbols may be missing: there is no index"
    logged = [
        one["params"]["message"]
        for one in session.wire.notifications
        if one["method"] == "window/logMessage"
    ]
    assert f"Winnow: {symbols['message']}" in logged
    assert session.wire.stop() == 0


def test_a_definition_is_found_through_an_import_and_a_type(opened: Asking, folder: Path) -> None:
    for line, character, expected in (
        (0, 25, "net/client.py:5:6-12"),  # the import
        (3, 17, "net/client.py:5:6-12"),  # the annotation
        (4, 26, "net/client.py:6:8-12"),  # the method
        (4, 18, "app.py:3:8-14"),  # the parameter
        (4, 30, "app.py:4:4-8"),  # the local variable
    ):
        answer = opened.ask("textDocument/definition", at(folder / "app.py", line, character))
        assert [place(one, folder) for one in answer] == [expected]
    assert opened.ask("textDocument/definition", at(folder / "app.py", 1, 0)) is None
    assert opened.ask("textDocument/definition", at(folder / "app.py", 99, 0)) is None


def test_the_string_of_an_import_resolves_to_the_file(folder: Path) -> None:
    write_files(
        folder, {"a.ts": "import { lift } from './b';\n", "b.ts": "export const lift = 1\n"}
    )
    asking = Asking(folder, True)
    for character in (22, 24):  # behind the quote, and in the name
        answer = asking.ask("textDocument/definition", at(folder / "a.ts", 0, character))
        assert [place(one, folder) for one in answer] == ["b.ts:0:0-0"]
    assert asking.wire.stop() == 0


def test_unsaved_documents_are_included(opened: Asking, folder: Path) -> None:
    app = folder / "app.py"
    opened.open(app, FILES["app.py"])
    change = {"contentChanges": [{"text": "\n\n" + FILES["app.py"]}]}
    document = {"uri": app.as_uri(), "version": 2}
    opened.wire.notify("textDocument/didChange", {"textDocument": document, **change})
    answer = opened.ask(
        "textDocument/references",
        {**at(folder / "net/client.py", 6, 9), "context": {"includeDeclaration": True}},
    )
    assert [place(one, folder) for one in answer] == ["app.py:6:24-28", SEND[1]]
    symbols = opened.ask("workspace/symbol", {"query": "main"})
    assert place(symbols[0]["location"], folder) == "app.py:9:4-8"


def test_the_outline_is_nested(opened: Asking, folder: Path) -> None:
    document = {"textDocument": {"uri": (folder / "net/client.py").as_uri()}}
    answer = opened.ask("textDocument/documentSymbol", document)
    assert [(one["name"], one["kind"]) for one in answer] == [
        ("Base", types.SymbolKind.Class),
        ("Client", types.SymbolKind.Class),
    ]
    [send] = answer[1]["children"]
    assert (send["name"], send["detail"]) == ("send", "def send(self, data)")
    assert send["range"] == {
        "start": {"line": 6, "character": 4},
        "end": {"line": 9, "character": 19},
    }
    assert send["selectionRange"]["start"] == {"line": 6, "character": 8}


Outline = list[tuple[str, "Outline"]]


def outline(symbols: list[dict[str, Any]], around: dict[str, Any] | None = None) -> Outline:
    """Return names with their children. Assert that each child is inside its parent."""
    for one in symbols:
        inner, name = spread(one["range"]), spread(one["selectionRange"])
        assert inner[0] <= name[0] <= name[1] <= inner[1]
        if around is not None:
            outer = spread(around["range"])
            assert outer[0] <= inner[0] <= inner[1] <= outer[1]
    return [(one["name"], outline(one["children"], one)) for one in symbols]


def spread(found: dict[str, Any]) -> tuple[tuple[int, int], tuple[int, int]]:
    start, end = found["start"], found["end"]
    return (start["line"], start["character"]), (end["line"], end["character"])


def test_the_outline_nests_definitions_by_position(folder: Path) -> None:
    write_files(
        folder,
        {
            "twice.py": (
                "if a:\n"
                "    class V:\n"
                "        def one(self): self.x = 1\n"
                "else:\n"
                "    class V:\n"
                "        def two(self): pass\n"
            ),
            "store.ts": (
                "export function make(a: string): void\n"
                "export function make(a: number): void\n"
                "export function make(a: any) {\n"
                "  function inner() {}\n"
                "}\n"
            ),
            "client.rs": (
                "struct Client { name: u8 }\n"
                "impl Client { fn send(&self) {} }\n"
                "mod inside { struct A; impl A { fn go(&self) {} } }\n"
            ),
            "client.go": "package a\ntype Client struct{}\nfunc (c *Client) Send() {}\n",
        },
    )
    asking = Asking(folder, True)

    def asked(name: str) -> Outline:
        document = {"textDocument": {"uri": (folder / name).as_uri()}}
        return outline(asking.ask("textDocument/documentSymbol", document))

    assert asked("twice.py") == [("V", [("one", []), ("x", [])]), ("V", [("two", [])])]
    assert asked("store.ts") == [("make", []), ("make", []), ("make", [("inner", [])])]
    assert asked("client.rs") == [
        ("Client", [("name", [])]),
        ("Client.send", []),
        ("inside", [("A", []), ("A.go", [])]),
    ]
    assert asked("client.go") == [("Client", []), ("Client.Send", [])]
    assert asking.wire.stop() == 0


def test_highlights_include_reads_and_writes(opened: Asking, folder: Path) -> None:
    answer = opened.ask("textDocument/documentHighlight", at(folder / "net/client.py", 7, 9))
    assert [(one["range"]["start"], one["kind"]) for one in answer] == [
        ({"line": 7, "character": 8}, types.DocumentHighlightKind.Write),
        ({"line": 9, "character": 15}, types.DocumentHighlightKind.Read),
    ]


def test_calls_are_followed_both_ways(opened: Asking, folder: Path) -> None:
    [item] = opened.ask("textDocument/prepareCallHierarchy", at(folder / "app.py", 3, 5))
    assert (item["name"], item["uri"]) == ("run", (folder / "app.py").as_uri())
    incoming = opened.ask("callHierarchy/incomingCalls", {"item": item})
    assert [(one["from"]["name"], one["fromRanges"][0]["start"]) for one in incoming] == [
        ("main", {"line": 8, "character": 4})
    ]
    outgoing = opened.ask("callHierarchy/outgoingCalls", {"item": item})
    assert [(one["to"]["name"], one["fromRanges"][0]["start"]) for one in outgoing] == [
        ("send", {"line": 4, "character": 24})
    ]
    [caller] = opened.ask("callHierarchy/incomingCalls", {"item": incoming[0]["from"]})
    assert (caller["from"]["name"], caller["from"]["kind"]) == ("app.py", types.SymbolKind.File)


def test_workspace_symbols_are_found_by_parts_of_their_names(opened: Asking, folder: Path) -> None:
    answer = opened.ask("workspace/symbol", {"query": "Client.send"})
    assert (answer[0]["name"], answer[0]["containerName"]) == ("Client.send", "Client")
    assert (
        place(answer[0]["location"], folder) == "net/client.py:6:8-19"
        or place(answer[0]["location"], folder) == SEND[1]
    )
    resolved = opened.ask("workspaceSymbol/resolve", answer[0])
    assert resolved["location"] == answer[0]["location"]

    def has_all() -> bool:  # as soon as there was time to read all files
        names = [one["name"] for one in opened.ask("workspace/symbol", {"query": ""})]
        return {"Base", "Client", "run", "main"} <= set(names)

    wait_until(has_all)
    answer = opened.ask("workspace/symbol", {"query": "run", "partialResultToken": 7})
    assert answer == []
    assert opened.progress(7)[0][0]["name"] == "run"


def test_files_outside_the_workspace_have_no_symbols(opened: Asking, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"x.py": "def f(): pass\n"}) / "x.py"
    document = {"textDocument": {"uri": other.as_uri()}}
    assert opened.ask("textDocument/documentSymbol", document) is None
    assert opened.ask("textDocument/definition", at(other, 0, 4)) is None
    assert opened.ask("textDocument/definition", at(Path("/nothing.py"), 0, 4)) is None


def test_an_excluded_file_is_only_used_by_requests_about_it(
    tmp_path: Path,
) -> None:
    folder = write_files(git_init(tmp_path / "p"), FILES)
    write_files(folder, {".gitignore": "build/\n", "build/x.py": "def made(): pass\nmade()\n"})
    made = folder / "build/x.py"
    document = {"textDocument": {"uri": made.as_uri()}}
    session = Asking(folder, index=True)
    for text in (None, made.read_text(), "\n" + made.read_text()):
        if text is not None:
            session.open(made, text)
        line = 1 if text and text.startswith("\n") else 0
        outline = session.ask("textDocument/documentSymbol", document)
        assert [one["selectionRange"]["start"]["line"] for one in outline] == [line]
        definition = session.ask("textDocument/definition", at(made, line + 1, 1))
        assert [place(one, folder) for one in definition] == [f"build/x.py:{line}:4-8"]
        assert session.ask("workspace/symbol", {"query": "made"}) == []
    assert session.wire.stop() == 0


def test_a_saved_file_is_noticed(opened: Asking, folder: Path) -> None:
    new = folder / "new.py"
    new.write_text("def brand_new(): pass\n")
    opened.wire.notify("textDocument/didSave", {"textDocument": {"uri": new.as_uri()}})
    answer = wait_until(lambda: opened.ask("workspace/symbol", {"query": "brand_new"}))
    assert [one["name"] for one in answer] == ["brand_new"]
    os.unlink(new)
    answer = opened.ask("workspace/symbol", {"query": "brand_new"})
    assert answer == []
