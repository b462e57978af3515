"""$/keywordSearch over the wire: results, streaming, progress, cancellation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from conftest import FAKE_KEY, SLOW_TERM, requires_posix
from frontends.lsp.conftest import (
    Client,
    Endless,
    StartClient,
    cancel_progress,
    cancel_request,
    check_cancelled_soon,
)
from model_server import ModelServer

pytestmark = pytest.mark.wire

METHOD = "$/keywordSearch"

REQUEST = {"query": "how are plugins loaded", "search_terms": ["load_plugin", "registry"]}


def llm_options(server: ModelServer) -> dict[str, Any]:
    return {
        "llm": {
            "preferred": ["stand-in"],
            "models": {
                "stand-in": {
                    "provider": "openai",
                    "model": "test",
                    "base_url": f"{server.address}/v1",
                    "key_env": "FAKE_KEY_OF_TEST",
                }
            },
        }
    }


async def test_the_answer_has_all_fields_of_the_contract(client: Client, project: Path) -> None:
    result = await client.request(METHOD, REQUEST)
    assert result["root"] == str(project)
    assert {file["path"] for file in result["files"]} == {
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
        "tests/test_loader.py",
    }
    first = result["files"][0]
    assert first["path"] == "src/loader.py"
    assert first["terms"] == ["load_plugin", "registry"]
    assert first["matches"][0] == {
        "line": 2,
        "column": 9,
        "text": "    def load_plugins(self, names):",
        "match_range": [9, 20],
    }
    assert result["ranked_by"]["kind"] == "local"
    assert result["completeness"] == {
        "complete": True,
        "reasons": [],
        "skipped": {},
        "timed_out": False,
    }
    assert result["returned"] == len(result["files"]) == result["total_found"]
    assert result["truncated"] is False
    assert result["no_relevant_files"] is False
    assert [term["status"] for term in result["terms"]] == ["used", "used"]
    assert result["search_id"]


async def test_partial_results_come_first_from_the_local_ranker_then_from_the_model(
    project: Path, model_server: ModelServer, start_client: StartClient
) -> None:
    client = await start_client(
        project, options=llm_options(model_server), FAKE_KEY_OF_TEST=FAKE_KEY
    )
    result = await client.request(METHOD, {**REQUEST, "partialResultToken": "partial"})
    partials = client.progress["partial"]
    kinds = [one["ranked_by"]["kind"] for one in partials]
    assert kinds == sorted(kinds, reverse=True)
    assert kinds[0] == "local"
    assert kinds.count("llm") == 2
    streamed = [
        file for one in partials if one["ranked_by"]["kind"] == "llm" for file in one["files"]
    ]
    assert streamed == result["files"]
    assert result["ranked_by"] == {"kind": "llm", "model": "stand-in", "provider": "openai"}
    assert result["usage"] == {"input_tokens": 1000, "output_tokens": 50, "cached_tokens": 200}


async def test_work_done_progress_begins_reports_and_ends(client: Client) -> None:
    await client.request(METHOD, {**REQUEST, "workDoneToken": "work"})
    kinds = [value["kind"] for value in client.progress["work"]]
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"
    assert "report" in kinds


# --- cancellation --------------------------------------------------------------------------


@requires_posix
@pytest.mark.parametrize("cancel", [cancel_request, cancel_progress])
async def test_cancelling_ends_ripgrep_within_100_ms_and_the_server_goes_on(
    start_client: StartClient, slow_project: Path, cancel: Callable[[Client, str], None]
) -> None:
    client = await start_client(slow_project)
    params = {"query": "q", "search_terms": [SLOW_TERM, "lazy_cat"]}
    await check_cancelled_soon(client, METHOD, params, cancel)
    result = await client.request(METHOD, {"query": "q", "search_terms": ["lazy cat"]})
    assert result["no_relevant_files"]


@requires_posix
async def test_a_cancelled_request_leaves_no_child_of_a_child(
    start_client: StartClient, project: Path, tmp_path: Path
) -> None:
    """Whatever runs as ripgrep is ended with all that it has started."""
    endless = Endless(tmp_path)
    client = await start_client(project, options=endless.options)
    running = asyncio.create_task(client.request(METHOD, REQUEST, msg_id="hangs"))
    await endless.started(4)
    cancel_request(client, "hangs")
    with pytest.raises(JsonRpcException):
        await running
    await endless.check_ended()
