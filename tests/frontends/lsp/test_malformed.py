"""Malformed messages: none is left without its answer, or ends or blocks the server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import timed
from frontends.lsp.wire import Wire
from hostile.test_messages import BATCH, Damage, messages, send_and_check

pytestmark = pytest.mark.wire

GOOD: dict[str, Any] = {"query": "how are plugins loaded", "search_terms": ["load_plugin"]}
SOON_SECONDS = 2.0
COUNT = 400


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "src").mkdir()
    (folder / "src/loader.py").write_text("def load_plugin(): pass\n")
    wire = Wire()
    wire.initialize(folder)
    yield wire
    assert wire.stop() == 0
    assert "Traceback" not in wire.stderr


def test_each_damaged_message_is_answered(project: Path) -> None:
    """A few of them; `hostile/test_messages.py` sends thousands."""
    wire = Wire()
    wire.initialize(project)
    damage = Damage(random.Random(20261121), messages(project))
    for number in range(0, COUNT, BATCH):
        send_and_check(wire, [damage.message(number + offset) for offset in range(BATCH)])
    assert wire.stop() == 0
    assert "Traceback" not in wire.stderr


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 10_000 + b"}", -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b"7", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "$/tools"}', -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "$/tools"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "$/tools"}', -32600),
    ],
)
def test_a_message_without_a_valid_id_is_answered_with_id_null(
    wire: Wire, body: bytes, code: int
) -> None:
    wire.send_bytes(body)
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == (None, code)


def test_a_nested_message_is_only_data(wire: Wire) -> None:
    inner = {"jsonrpc": "2.0", "id": 5, "method": "workspace/symbol", "params": 7}
    wire.request("outer", "$/keywordSearch", {**GOOD, "extra": inner})
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == ("outer", -32602)


@pytest.mark.parametrize(
    "message",
    [
        {"id": {"a": 1}, "error": {"code": 1, "message": "x"}},
        {"method": "$/cancelRequest", "params": {"id": {"a": 1}}},
        {"method": "window/workDoneProgress/cancel", "params": {"token": []}},
        {"id": "running", "result": {}},
        {"method": "initialize", "params": {"processId": None, "capabilities": {}}},
        # As long as this, an exception for each took seconds.
        {"method": "workspace/didChangeWatchedFiles", "params": {"changes": "x" * 100_000}},
        {"method": "workspace/didChangeWatchedFiles", "params": {"changes": [1] * 100_000}},
    ],
)
def test_no_message_ends_or_blocks_the_server(wire: Wire, message: dict[str, Any]) -> None:
    due = {"running", "next"} | ({None} if isinstance(message.get("id"), dict) else set())

    def turn() -> None:
        wire.request("running", "$/keywordSearch", GOOD)
        wire.send({"jsonrpc": "2.0", **message})
        wire.request("next", "$/tools", {})
        assert {wire.receive()["id"] for _ in due} == due

    assert timed(turn, SOON_SECONDS)[0] < SOON_SECONDS


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/didClose", {"textDocument": {"uri": "file:///a"}}, -32600),
        ("initialize", {"processId": None, "capabilities": {}}, -32600),
        ("workspace/symbol", {"query": "a", "workDoneToken": {"a": 1}}, -32602),
        ("$/callTool", {"name": "\ud800", "arguments": {}}, -32602),
        ("$/suggestTerms", {"query": 5}, -32602),
    ],
)
def test_invalid_params_are_rejected(wire: Wire, method: str, params: Any, code: int) -> None:
    wire.request("odd", method, params)
    answer = wire.receive()
    assert (answer["id"], answer["error"]["code"]) == ("odd", code)


def test_malformed_notifications_and_responses_are_ignored(wire: Wire) -> None:
    wire.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": 1}})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {}})
    wire.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "unknown"}})
    wire.send({"jsonrpc": "2.0", "id": "unknown", "result": 5})
    wire.send({"jsonrpc": "2.0", "method": "workspace/didChangeConfiguration", "params": 5})
    wire.request("after", "$/tools", {})
    assert wire.receive()["id"] == "after"


def test_a_change_with_too_many_edits_loses_the_document(wire: Wire) -> None:
    """It is refused before its edits are made (#21): the text on disk counts from then on."""
    document = {"uri": "file:///edited.py", "version": 1, "languageId": "python", "text": "a"}
    wire.notify("textDocument/didOpen", {"textDocument": document})
    place = {"line": 0, "character": 0}
    edit = {"range": {"start": place, "end": place}, "text": "b"}
    wire.notify(
        "textDocument/didChange", {"textDocument": document, "contentChanges": [edit] * 20_000}
    )
    wire.request("after", "$/tools", {})
    assert wire.receive()["id"] == "after"
    shown = [one for one in wire.notifications if one["method"] == "window/showMessage"]
    assert "invalid change of file:///edited.py" in shown[-1]["params"]["message"]
    assert "100000 values" in shown[-1]["params"]["message"]
