"""Malformed requests: each is answered with an error, none with a hang or a traceback."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from conftest import timed
from frontends.lsp.wire import Wire

pytestmark = pytest.mark.wire

GOOD: dict[str, Any] = {
    "query": "how are plugins loaded",
    "search_terms": ["load_plugin", "registry"],
    "path": "src",
    "include": ["*.py"],
    "exclude": ["x"],
    "file_types": ["py"],
    "include_ignored": False,
    "include_hidden": False,
    "max_tokens": 1000,
    "cursor": "0",
    "max_results": 5,
    "ranker": "local",
    "broad_terms": "skip",
    "dry_run": False,
}
CODES = {-32700, -32600, -32601, -32602, -32803}
COUNT = 1000
SOON_SECONDS = 2.0


def wrong_value(rng: random.Random, good: Any) -> Any:
    """Return a value of a different type than a valid value."""
    values: list[Any] = [None, True, -1, 1.5, "text", [], {}, [[]], {"a": 1}, [None], 10**30]
    fitting = {
        bool: (bool,),
        int: (int, float),
        str: (str,),
        list: (list, str),
    }[type(good)]
    return rng.choice(
        [
            v
            for v in values
            # null for an optional field means that it is absent.
            if v is not None
            and (not isinstance(v, fitting) or isinstance(v, bool) != (type(good) is bool))
        ]
    )


def bad_text(rng: random.Random) -> str:
    return rng.choice(
        [
            "a\x00b",
            "\x1b[31mred",
            "bell\x07",
            "\x7f",
            "half \ud800 pair",
            "\udfff",
            "x" * 1_000_001,
            "\x0b" * 5000,
        ]
    )


def bad_params(rng: random.Random) -> Any:
    """Generate params of keyword search with one invalid value."""
    params = dict(GOOD)
    kind = rng.randrange(7)
    if kind == 0:
        name = rng.choice(list(params))
        params[name] = wrong_value(rng, params[name])
    elif kind == 1:
        params[rng.choice(["Query", "searchTerms", "limit", "__proto__", "", "\x00", "\ud800"])] = 1
    elif kind == 2:
        del params[rng.choice(["query", "search_terms"])]
    elif kind == 3:
        # A query may be pasted: see test_registry.py.
        name = rng.choice(["path", "include", "search_terms", "model"])
        text = bad_text(rng)
        params[name] = [text] if isinstance(GOOD.get(name), list) else text
    elif kind == 4:
        params["search_terms"] = rng.choice([[], ["a", None], ["a", 3], [""], ["x"] * 65, {}, 7])
    elif kind == 5:
        params |= rng.choice(
            [
                {"max_results": 0},
                {"max_results": 10**9},
                {"ranker": "best"},
                {"broad_terms": "all"},
                {"max_tokens": -1},
                {"cursor": "abc"},
                {"query": ""},
                {"model": "no-such-model"},
                {"workDoneToken": []},
                {"partialResultToken": {}},
                {"path": "../../etc"},
                {"path": "/etc/passwd"},
                {"path": "no/such/folder"},
                {"include": ["["]},
                {"file_types": ["no-such-type"]},
                {"search_terms": ["("]},
            ]
        )
    else:
        return rng.choice([None, [], "text", 7, True, [GOOD], {}])
    return params


def malformed(rng: random.Random, msg_id: int) -> dict[str, Any]:
    """Generate a request with an id that must be answered with an error."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": msg_id, "method": "$/keywordSearch"}
    kind = rng.randrange(10)
    if kind < 7:
        return {**message, "params": bad_params(rng)}
    if kind == 7:
        method = rng.choice(["workspace/symbol", "textDocument/references", "initialize"])
        params: Any = rng.choice([{}, [], None, 7, {"query": 1}, {"textDocument": {"uri": 5}}])
        return {**message, "method": method, "params": params}
    if kind == 8:
        method = rng.choice(["$/nothing", "", "no such", "x" * 10_000, "\ud800", "a\x00"])
        return {**message, "method": method, "params": GOOD}
    envelope: Callable[[], dict[str, Any]] = rng.choice(
        [
            lambda: {**message, "jsonrpc": "1.0", "params": GOOD},
            lambda: {**message, "jsonrpc": None, "params": GOOD},
            lambda: {**message, "method": 5, "params": GOOD},
            lambda: {**message, "method": None, "params": GOOD},
            lambda: {"jsonrpc": "2.0", "id": msg_id, "params": GOOD},
            lambda: {"id": msg_id, "method": "$/keywordSearch", "params": GOOD},
        ]
    )
    return envelope()


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


def test_a_thousand_malformed_requests_are_each_answered_with_an_error(wire: Wire) -> None:
    rng = random.Random(20261121)
    unanswered = {}
    for msg_id in range(1, COUNT + 1):
        message = malformed(rng, msg_id)
        unanswered[msg_id] = message
        wire.send(message)
    while unanswered:
        answer = wire.receive()
        message = unanswered.pop(answer["id"])
        assert "error" in answer, (message, answer)
        assert answer["error"]["code"] in CODES, (message, answer)
        text = json.dumps(answer)
        assert "Traceback" not in text
        assert ".py" not in text.replace(json.dumps(message), "")
        assert len(text) < 5_000, (str(message)[:300], text[:300])
    wire.request("good", "$/keywordSearch", GOOD)
    assert wire.receive()["result"]["files"][0]["path"] == "src/loader.py"


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


@pytest.mark.parametrize(
    "garbage",
    [
        b"Content-Length: 999999999999\r\n\r\n",
        b"Content-Length: 10\r\nx\r\n",
        b'{"jsonrpc": "2.0"}',
        b"\xff" * 200_000,
    ],
)
def test_bytes_that_are_not_a_message_are_skipped(wire: Wire, garbage: bytes) -> None:
    assert wire.process.stdin is not None
    wire.process.stdin.write(garbage)
    wire.request("behind", "$/tools", {})
    wire.process.stdin.write(b"\r\n" * 200)
    wire.request("next", "$/tools", {})
    while wire.receive()["id"] != "next":
        pass


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
