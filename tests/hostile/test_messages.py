"""Damaged messages of every method: every message with an id is answered soon."""

from __future__ import annotations

import contextlib
import copy
import json
import queue
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from frontends.lsp.test_index_hazards import started
from frontends.lsp.test_symbols_hazards import Session
from frontends.lsp.wire import Wire
from hazard_table import Row
from winnow.frontends.lsp.protocol import MESSAGE_CHARACTERS
from winnow.tools import TOOLS

pytestmark = [pytest.mark.wire, pytest.mark.hazard]

FRAMED, UNFRAMED = 2_500, 500
BATCH = 20
# Half a second is usual. A server that hangs takes longer than this.
SOON_SECONDS = 20.0
INTERNAL_ERROR = -32603
OPTIONS = {"bash": {"enabled": True}}

Message = dict[str, Any]

# Replacements for values in a message.
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2, 2**31, 2**63, 10**30, 0.5, -1e308, float("nan")),
    *("", " ", "a", "..", "../..", "/", "/etc/passwd", "file:///etc/passwd", "src/loader.py"),
    *("\x00", "\x1b[2J", "\ud800", "\u202e", "\r\n\r\n", "😀" * 300, "x" * 20_000),
    *("(", "[", "(?P<", "a{1000}{1000}", "(a*)*b", "\\", "**/" * 50, "{a,b}{c,d}" * 9, "!"),
    *("-e", "--pre=x", "--", "$(x)", "rg a | head", "rg a src; x"),
    *([], [[]], [None], [1, "a"], {}, {"a": {}}, {"start": 1, "end": 0}, ["a"] * 200),
    json.loads("[" * 200 + "]" * 200),
]
KEYS = [
    "query",
    "path",
    "pattern",
    "textDocument",
    "uri",
    "position",
    "id",
    "params",
    "x" * 300,
    "",
]


def messages(folder: Path) -> list[Message]:
    """Return a valid message of every method, without ids."""
    uri = (folder / "src/loader.py").as_uri()
    document = {"uri": uri}
    place = {"line": 4, "character": 9}
    at = {"textDocument": document, "position": place}
    span = {"start": place, "end": {"line": 4, "character": 20}}
    item = {"name": "load_plugin", "kind": 6, "uri": uri, "range": span, "selectionRange": span}
    text = (folder / "src/loader.py").read_text()
    requests: list[tuple[str, Any]] = [
        *((tool.method, every_field(tool)) for tool in TOOLS.values()),
        ("$/callTool", {"name": "grep", "arguments": {"pattern": "load"}}),
        ("$/suggestTerms", {"query": "how are plugins loaded"}),
        ("workspace/symbol", {"query": "load", "workDoneToken": "w", "partialResultToken": "p"}),
        ("textDocument/documentSymbol", {"textDocument": document}),
        ("textDocument/definition", at),
        ("textDocument/references", {**at, "context": {"includeDeclaration": True}}),
        ("textDocument/documentHighlight", at),
        ("textDocument/prepareCallHierarchy", at),
        ("callHierarchy/incomingCalls", {"item": item}),
        ("callHierarchy/outgoingCalls", {"item": item}),
        ("workspaceSymbol/resolve", {**item, "location": {"uri": uri, "range": span}}),
        ("initialize", {"processId": None, "rootUri": None, "capabilities": {}}),
    ]
    change = {"range": span, "text": "x"}
    notifications: list[tuple[str, Any]] = [
        (
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}},
        ),
        (
            "textDocument/didChange",
            {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]},
        ),
        ("textDocument/didSave", {"textDocument": document}),
        ("textDocument/didClose", {"textDocument": document}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": []}}),
        ("workspace/didChangeConfiguration", {"settings": {"winnow": {"search": {}}}}),
        ("$/cancelRequest", {"id": 3}),
        ("$/setTrace", {"value": "off"}),
        ("window/workDoneProgress/cancel", {"token": "w"}),
        ("$/progress", {"token": "w", "value": {"kind": "end"}}),
    ]
    return [
        *({"id": 0, "method": method, "params": params} for method, params in requests),
        *({"method": method, "params": params} for method, params in notifications),
        {"id": 0, "result": {"text": "x"}},
        {"id": 0, "error": {"code": 1, "message": "x"}},
    ]


def every_field(tool: Any) -> Any:
    """Return params with all fields, so that each field is damaged in some message."""
    optional = [field for field in tool.fields if not field.required and not field.generated]
    defaults = {field.name: field.default for field in optional}
    params = msgspec.to_builtins({**defaults, **tool.example})
    return {name: value for name, value in params.items() if value is not None}


class Damage:
    """A generator that damages valid messages at random."""

    def __init__(self, random: random.Random, valid: list[Message]) -> None:
        self.random = random
        self.valid = valid

    def message(self, number: int) -> bytes:
        """Return a message with one to three damaged values, or with damaged bytes."""
        drawn = self.random.choice(self.valid)
        message = {"jsonrpc": "2.0", **copy.deepcopy(drawn)}
        if "id" in message:
            message["id"] = self.random.choice([number, f"n{number}", -number])
        if self.random.random() < 0.25:
            return self.bytes(json.dumps(message).encode())
        wrapped = {"message": message}
        for _ in range(self.random.choice([1, 1, 2, 3])):
            holder, key = self.random.choice(list(places(wrapped))[1:] or [(wrapped, "message")])
            self._change(holder, key)
        return json.dumps(wrapped["message"]).encode()

    def _change(self, holder: Any, key: Any) -> None:
        kind = self.random.randrange(8)
        if kind < 4:
            holder[key] = copy.deepcopy(self.random.choice(VALUES))
        elif kind == 4:
            del holder[key]
        elif kind == 5:
            holder[key] = self.random.choice([[holder[key]], {"a": holder[key]}])
        elif kind == 6 and isinstance(holder, dict):
            holder[self.random.choice(KEYS)] = copy.deepcopy(self.random.choice(VALUES))
        else:
            other = self.random.choice(self.valid)
            holder[key] = copy.deepcopy(self.random.choice([*other.values()]))

    def bytes(self, raw: bytes) -> bytes:
        """Replace, delete or duplicate some bytes."""
        damaged = bytearray(raw)
        for _ in range(self.random.choice([1, 1, 2, 8])):
            at = self.random.randrange(len(damaged) + 1)
            end = at + self.random.choice([1, 1, 4, 40])
            kind = self.random.randrange(4)
            if kind == 0:
                damaged[at:end] = self.random.randbytes(end - at)
            elif kind == 1:
                del damaged[at:end]
            elif kind == 2:
                damaged[at:at] = damaged[at:end]
            elif at < len(damaged):
                damaged[at] ^= 1 << self.random.randrange(8)
        return bytes(damaged)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all places in a value, as pairs of a container and a key."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items):
        yield value, key
        if isinstance(inner, (dict, list)):
            yield from places(inner)


def answered(body: bytes) -> str | None:
    """Return the id, as JSON, of the answer that JSON-RPC requires for a message; None if it
    requires none. Invalid messages are answered with an error, even if they are not requests."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return "null"
    if not isinstance(message, dict):
        return "null"
    given = message.get("id")
    is_valid = isinstance(given, (str, int)) and not isinstance(given, bool)
    name = json.dumps(given) if is_valid else "null"
    unread = given is None and "error" in message
    if message.get("jsonrpc") != "2.0" or ("id" in message and not is_valid and not unread):
        return name
    if "method" not in message:
        return None if {"result", "error"} & message.keys() else name
    if not isinstance(message["method"], str):
        return name
    return name if "id" in message else None


def check_answer(answer: Any) -> None:
    """Check that an answer is valid JSON-RPC and not an internal error."""
    assert answer["jsonrpc"] == "2.0"
    assert ("result" in answer) != ("error" in answer), answer
    if "error" in answer:
        assert isinstance(answer["error"]["code"], int)
        assert len(answer["error"]["message"]) <= MESSAGE_CHARACTERS
        assert answer["error"]["code"] != INTERNAL_ERROR, answer
    assert "Traceback" not in json.dumps(answer)


def next_answer(wire: Wire, due: Collection[str], sent: list[bytes]) -> Any:
    """Return the next answer; fail if it does not arrive."""
    try:
        answer = wire.receive()
    except queue.Empty:
        raise AssertionError(f"no answer to {due} of {shortened(sent)}") from None
    check_answer(answer)
    return answer


def send_and_check(wire: Wire, bodies: list[bytes]) -> None:
    """Send messages, and wait until all of them are answered."""
    due = Counter(name for body in bodies if (name := answered(body)) is not None)
    for body in bodies:
        wire.send_bytes(body)
    while due:
        answer = next_answer(wire, due, bodies)
        name = json.dumps(answer["id"])
        assert due[name], (answer, shortened(bodies))
        due[name] -= 1
        if not due[name]:
            del due[name]


def shortened(bodies: list[bytes]) -> list[bytes]:
    return [body if len(body) < 1_000 else body[:500] + b" ... " + body[-500:] for body in bodies]


def end_of(tries: int, request: pytest.FixtureRequest) -> Iterator[int]:
    """Yield the numbers of the batches: for this many tries, or for the seconds of `--fuzz`."""
    tries *= request.getfixturevalue("often")
    seconds = request.config.getoption("--fuzz")
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end if seconds else number < tries:
        yield number
        number += BATCH


def test_framed(project: Path, row: Row, seed: int, request: pytest.FixtureRequest) -> None:
    row.hazard = f"damaged messages of every method (seed {seed})"
    damage = Damage(random.Random(seed), messages(project))
    slowest = 0.0
    with started(project, **OPTIONS) as session:
        session.wait_for_index()
        for number in end_of(FRAMED, request):
            bodies = [damage.message(number + offset) for offset in range(BATCH)]
            began = time.monotonic()
            send_and_check(session.wire, bodies)
            seconds = time.monotonic() - began
            slowest = max(slowest, seconds)
            row.tries = number + BATCH
            assert session.wire.process.poll() is None, shortened(bodies)
        check_well(session)
    row.result = f"0 crashes, 0 internal errors, {BATCH} answered in {slowest:.2f} s at most"
    assert slowest < SOON_SECONDS


def check_well(session: Session) -> None:
    """Check that the server still answers correctly."""
    session.wire.request("well", "$/grep", {"pattern": "def register_plugin", "mode": "files"})
    while (answer := session.wire.receive())["id"] != "well":
        check_answer(answer)  # a late answer to bytes that formed a message
    assert [file["path"] for file in answer["result"]["files"]] == ["src/registry.py"]


# --- unframed ------------------------------------------------------------------------------

HEADERS = [
    b"Content-Length: 10\r\n",
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: 99999999999999999999\r\n\r\n",
    b"Content-Length: 999999999999\r\n\r\n",
    b"Content-Length: 2000000000\r\n\r\n",
    b"Content-Length: ten\r\n\r\n",
    b"Content-Length:\r\n\r\n",
    b"content-length : 3\n\n",
    b"CONTENT-LENGTH:7\r\nContent-Length: 9\r\n\r\n",
    b"Content-Type: x\r\n\r\n",
    b"\xef\xbb\xbfContent-Length: 20\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\r\n\r\n\r\n",
    b"\x00" * 100,
    b"x" * 100_000,
    b"x: y\r\n" * 5_000,
]
# A wrong length may consume this many bytes of the next message. Blank lines between messages are
# ignored.
BLANK = b"\r\n" * 2_048


def damaged_header(damage: Damage, length: int) -> bytes:
    """Return a damaged header whose length does not reach beyond the following blank lines."""
    while True:
        header = damage.bytes(b"Content-Length: %d\r\n\r\n" % length)
        numbers = map(int, re.findall(rb"\d+", header))
        if all(number < length + len(BLANK) // 2 for number in numbers):
            return header


def garbage(damage: Damage, number: int) -> bytes:
    """Return bytes that are not a framed message, or a message with garbage before it."""
    body = damage.message(number)[:2_000]
    wrong = max(0, len(body) + damage.random.choice([-30, -1, 1, 30, 1_000]))
    return damage.random.choice(
        [
            damage.random.choice(HEADERS) + damage.random.choice([b"", body]),
            b"Content-Length: %d\r\n\r\n" % wrong + body,
            body,
            damaged_header(damage, len(body)) + body,
            damage.random.randbytes(damage.random.choice([1, 10, 1_000])),
            b"Content-Length: %d\r\n\r\n" % (2 * len(body))
            + body.decode("latin-1").encode("utf-16-le"),
        ]
    )


def test_unframed(project: Path, row: Row, seed: int, request: pytest.FixtureRequest) -> None:
    row.hazard = f"bytes that are not a framed message (seed {seed})"
    damage = Damage(random.Random(seed), messages(project))
    slowest = 0.0
    with started(project, **OPTIONS) as session:
        session.wait_for_index()
        for number in end_of(UNFRAMED, request):
            sent = [garbage(damage, number + offset) for offset in range(BATCH)]
            began = time.monotonic()
            probe_behind(session.wire, sent, number)
            seconds = time.monotonic() - began
            slowest = max(slowest, seconds)
            row.tries = number + BATCH
        settle(session)
        check_well(session)
    row.result = f"0 crashes, the next {BATCH} messages answered in {slowest:.2f} s at most"
    assert slowest < SOON_SECONDS


def probe_behind(wire: Wire, sent: list[bytes], number: int) -> None:
    """Send a request after each piece of garbage, and wait until all requests are answered."""
    assert wire.process.stdin is not None
    for place, piece in enumerate(sent):
        wire.process.stdin.write(piece + BLANK)
        wire.request(f"probe {number + place}", "$/nothing", {})
    due = {f"probe {number + place}" for place in range(BATCH)}
    while due:
        due.discard(next_answer(wire, due, sent)["id"])


def settle(session: Session) -> None:
    """Receive the answers to garbage that formed a message."""
    with contextlib.suppress(queue.Empty):
        while True:
            check_answer(session.wire.receive(1))


# --- large ---------------------------------------------------------------------------------

# The limit is half a second; without limits it took several. The test measures CPU time, since
# other programs may use the CPUs too.
BESIDE_SECONDS = 1.5
TURNS = 5


def grep_message(params: Any, method: str = "$/grep") -> bytes:
    message = {"jsonrpc": "2.0", "id": "large", "method": method, "params": params}
    return json.dumps(message).encode()


def processor_seconds(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


LARGE: dict[str, Callable[[], bytes]] = {
    "a million keys": lambda: grep_message({"pattern": "x", **{f"k{n}": n for n in range(10**6)}}),
    "an array of 20 million numbers": lambda: grep_message({"include": [1] * 20_000_000}),
    "a million objects": lambda: grep_message({"include": [{"a": {}}] * 1_000_000}),
    "a text of 64 MB": lambda: grep_message({"pattern": "x" * 64 * 1024**2}),
    "a query of 64 MB": lambda: grep_message({"query": "x" * 64 * 1024**2}, "workspace/symbol"),
    "140 MB": lambda: grep_message({"pattern": "x" * 140 * 1024**2}),
    "a million brackets": lambda: grep_message({}).replace(b"{}", b"[" * 1_000_000),
}


@pytest.mark.serial
@pytest.mark.parametrize("name", LARGE)
def test_requests_after_a_large_message_are_answered_soon(
    project: Path, row: Row, name: str
) -> None:
    """Valid JSON of unreasonable size needs little time and memory (#21)."""
    row.hazard = f"{name} in one message"
    body = LARGE[name]()
    waited = SOON_SECONDS

    def turn() -> float:
        nonlocal waited
        before = processor_seconds(wire.process.pid)
        wire.send_bytes(body)
        began = time.monotonic()  # the complete message is written
        wire.request("behind", "$/tools", {})
        answers: dict[Any, Any] = {}
        while answers.keys() != {"large", "behind"}:
            answer = wire.receive(60)
            check_answer(answer)
            answers[answer["id"]] = answer
        assert not answers["large"].get("result")
        waited = min(waited, time.monotonic() - began)
        return processor_seconds(wire.process.pid) - before

    waited = SOON_SECONDS
    with started(project, index={"enabled": False}) as session:
        wire = session.wire
        seconds = BESIDE_SECONDS
        while seconds >= BESIDE_SECONDS and row.tries < TURNS:
            seconds = min(seconds, turn())
            row.tries += 1
        row.result = (
            f"the next request answered in {waited:.2f} s, with {seconds:.2f} s of CPU time"
        )
        check_well(session)
    assert seconds < BESIDE_SECONDS, "in every turn"
    assert waited < SOON_SECONDS
