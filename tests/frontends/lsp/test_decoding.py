"""Messages that would take long to decode are refused before any of their values is made (#21)."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from winnow.frontends.lsp import decoding
from winnow.frontends.lsp.decoding import (
    DEPTH,
    INVALID_REQUEST,
    PARSE_ERROR,
    VALUES,
    Refusal,
    decoded,
)
from winnow.frontends.lsp.framing import Oversized


def message(params: Any, **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "$/grep", **members, "params": params}).encode()


def nested(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def structure_of(value: Any) -> tuple[int, int]:
    """Count as the module does: each comma and each opening bracket; and the depth."""
    if not isinstance(value, (dict, list)):
        return 0, 0
    inner = [structure_of(one) for one in (value.values() if isinstance(value, dict) else value)]
    count = 1 + max(0, len(inner) - 1) + sum(values for values, _ in inner)
    return count, 1 + max((depth for _, depth in inner), default=0)


TEXTS = ["", "a,b", '"', "\\", '\\"', '\\\\"', "[{", "]}", "é😀", "\n\t", '","', "\\" * 7]


def random_value(rng: random.Random, levels: int) -> Any:
    kind = rng.randrange(6) if levels else rng.randrange(3)
    if kind < 2:
        return rng.choice(TEXTS) + rng.choice(TEXTS)
    if kind == 2:
        return rng.choice([None, True, 0, -1.5])
    values = [random_value(rng, levels - 1) for _ in range(rng.randrange(5))]
    return values if kind < 4 else {rng.choice(TEXTS) + str(n): v for n, v in enumerate(values)}


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 64, 1_000_000])
def test_values_are_counted_wherever_a_chunk_ends(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "_CHUNK_BYTES", chunk)
    rng = random.Random(21)
    for _ in range(300):
        value = random_value(rng, 4)
        for is_ascii in (True, False):
            body = json.dumps(value, ensure_ascii=is_ascii).encode()
            assert decoding._structure(body) == structure_of(value), body


@pytest.mark.parametrize(
    "make",
    [
        lambda: {f"k{number}": number for number in range(VALUES + 1)},
        lambda: [1] * (VALUES + 1),
        lambda: {"include": ["a"] * (VALUES + 1)},
        lambda: [[]] * VALUES,
    ],
    ids=["keys", "array", "array of a key", "arrays"],
)
@pytest.mark.parametrize("msg_id", [7, "seven"])
def test_a_message_with_too_many_values_is_refused_with_its_id(
    make: Callable[[], Any], msg_id: Any
) -> None:
    params = make()
    for body in (
        message(params, id=msg_id),
        json.dumps({"params": params, "method": "m", "jsonrpc": "2.0", "id": msg_id}).encode(),
    ):
        refusal = decoded(body)
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.id) == (INVALID_REQUEST, msg_id)
        assert not refusal.is_notification


def test_a_message_with_few_values_is_decoded_however_long_its_texts_are() -> None:
    params = {"text": 'a = [1, {2}, "\\"]\n' * VALUES}
    found = decoded(message(params))
    assert found["params"] == params


def test_a_message_that_is_nested_too_deep_is_refused_with_its_id() -> None:
    assert decoded(message(nested(DEPTH - 1), id=1))["id"] == 1
    refusal = decoded(message(nested(DEPTH), id=1))
    assert (refusal.code, refusal.id) == (PARSE_ERROR, 1)


def test_a_refused_change_names_its_document() -> None:
    change = {"range": {"start": {"line": 0, "character": 0}}, "text": ""}
    params = {"textDocument": {"uri": "file:///a", "version": 1}, "contentChanges": [change]}
    params["contentChanges"] = [change] * VALUES
    refusal = decoded(message(params, method="textDocument/didChange"))
    assert isinstance(refusal, Refusal)
    assert refusal.is_notification
    assert refusal.uri == "file:///a"


def test_a_skipped_message_is_refused_with_its_id() -> None:
    head = message({"text": "x" * 4_000}, id=5)[:4_000]
    assert decoded(Oversized(10**9, head)).id == 5
    assert decoded(Oversized(10**9, message([], id="\ud800"))).id == "\ud800"
    # The id of something else.
    inner = json.dumps({"params": {"id": 5}}).encode()
    assert decoded(Oversized(10**9, inner[:-1])).id is None
    assert decoded(Oversized(10**9, b'{"id": 5, "x": "')).id is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: message({f"k{number}": number for number in range(10**6)}, id=1),
        lambda: message([1] * 10**7, id=1),
        lambda: b"[" * 5_000_000,
        lambda: b'{"a":' * 2_000_000,
        lambda: b'["' + b',,"' * 5_000_000,
        lambda: b'"' + b"\\" * 20_000_000,
    ],
    ids=["keys", "array", "brackets", "objects", "quotes", "backslashes"],
)
def test_refusing_a_message_takes_little_time(make: Callable[[], bytes]) -> None:
    body = make()
    began = time.process_time()
    assert isinstance(decoded(body), Refusal)
    assert time.process_time() - began < 1.0
