"""$/grep on the wire: the editor's text, streams, cancellation, errors."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from conftest import SLOW_TERM, requires_posix
from frontends.lsp.conftest import Client, StartClient, check_cancelled_soon
from frontends.lsp.wire import Wire

pytestmark = pytest.mark.wire

METHOD = "$/grep"


async def test_matches_have_the_shape_of_the_contract(client: Client, project: Path) -> None:
    result = await client.request(METHOD, {"pattern": "def load_plugins", "context_lines": 0})
    assert result["root"] == str(project)
    assert result["matches"] == [
        {
            "path": "src/loader.py",
            "line": 2,
            "column": 5,
            "match_range": [5, 21],
            "preview": [{"line": 2, "text": "    def load_plugins(self, names):", "match": True}],
        }
    ]
    assert (result["total_matches"], result["total_found"], result["returned"]) == (1, 1, 1)
    assert result["truncated"] is False
    assert result["completeness"]["complete"] is True
    assert result["completeness"]["skipped"]["ignored"] == 1


@pytest.mark.parametrize(("encoding", "start"), [("utf-8", 7), ("utf-16", 4), ("utf-32", 3)])
def test_columns_count_code_points_in_every_position_encoding(
    project: Path, encoding: str, start: int
) -> None:
    wire = Wire()
    answer = wire.initialize(project, general={"positionEncodings": [encoding]})
    assert answer["result"]["capabilities"]["positionEncoding"] == encoding
    uri = (project / "src/main.py").as_uri()
    document = {"uri": uri, "languageId": "python", "version": 1, "text": "a\x0cb\n😀é old\n"}
    wire.notify("textDocument/didOpen", {"textDocument": document})
    place = [{"line": 1, "character": at} for at in (start, start + 3)]
    change = {"range": {"start": place[0], "end": place[1]}, "text": "needle, needle"}
    wire.notify(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]},
    )
    new = (project / "src/new/module.py").as_uri()
    document = {"uri": new, "languageId": "python", "version": 1, "text": "needle"}
    wire.notify("textDocument/didOpen", {"textDocument": document})
    wire.request(1, METHOD, {"pattern": "needle"})
    matches = wire.receive()["result"]["matches"]
    assert [(one["path"], one["line"], one["match_range"]) for one in matches] == [
        ("src/main.py", 2, [4, 10]),
        ("src/main.py", 2, [12, 18]),
        ("src/new/module.py", 1, [1, 7]),
    ]
    wire.request(2, METHOD, {"pattern": "Loader", "scope": "open"})
    assert wire.receive()["result"]["matches"] == []
    wire.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    wire.request(3, METHOD, {"pattern": "needle|import Loader"})
    matches = wire.receive()["result"]["matches"]
    assert [(one["path"], one["column"]) for one in matches] == [
        ("src/main.py", 13),
        ("src/new/module.py", 1),
    ]
    assert wire.stop() == 0


async def test_partial_results_are_complete_and_not_repeated_in_the_answer(
    client: Client, project: Path
) -> None:
    (project / "many.txt").write_text("needle in a line\n" * 3000)
    result = await client.request(
        METHOD, {"pattern": "needle", "max_results": 10_000, "partialResultToken": "stream"}
    )
    assert result["matches"] == []
    assert (result["returned"], result["total_matches"]) == (3000, 3000)
    parts = client.progress["stream"]
    assert len(parts) > 5
    lines = [match["line"] for part in parts for match in part["matches"]]
    assert lines == list(range(1, 3001))


@requires_posix
async def test_cancelling_ends_ripgrep_within_100_ms(
    start_client: StartClient, slow_project: Path
) -> None:
    client = await start_client(slow_project)
    for mode in ("matches", "counts"):
        await check_cancelled_soon(client, METHOD, {"pattern": SLOW_TERM, "mode": mode})


async def test_errors_suggest_a_fix(client: Client) -> None:
    kinds: list[tuple[dict[str, Any], int, str]] = [
        ({"pattern": "("}, -32803, "invalid_pattern"),
        ({"pattern": ""}, -32803, "empty_query"),
        ({"pattern": "x", "path": "../.."}, -32803, "path_outside_workspace"),
        ({"pattern": "x", "path": "/proc/self/environ"}, -32803, "path_outside_workspace"),
        ({"pattern": "x", "path": "nothing"}, -32803, "not_found"),
        ({"pattern": "x", "cursor": "1abc"}, -32602, "invalid_params"),
        ({"pattern": "x", "include": ["{a"]}, -32602, "invalid_params"),
        ({"pattern": 3}, -32602, "invalid_params"),
        ({"pattern": "x", "nonsense": 1}, -32602, "invalid_params"),
    ]
    for params, code, kind in kinds:
        await client.check_error(METHOD, params, code, kind)


async def test_many_at_once_are_all_answered(client: Client) -> None:
    results = await asyncio.gather(
        *(client.request(METHOD, {"pattern": f"load_plugin|{number}"}) for number in range(40))
    )
    assert all(result["total_matches"] >= 6 for result in results)
