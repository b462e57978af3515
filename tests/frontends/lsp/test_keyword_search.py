"""$/keywordSearch over the wire: results, streaming, progress, cancellation, errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
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
from frontends.lsp.test_semantic_search import ready
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


async def test_the_index_adds_files_that_no_term_matches(
    indexed_client: Client, project: Path
) -> None:
    client = indexed_client
    await ready(client)
    params = {"query": "which plugins are registered", "search_terms": ["Loader"]}
    result = await client.request(METHOD, {**params, "partialResultToken": "partial"})
    found = {file["path"]: file for file in result["files"]}
    assert found["src/loader.py"]["terms"] == ["Loader"]
    assert "by" not in found["src/loader.py"]
    registry = found["src/registry.py"]
    assert registry == {
        "path": "src/registry.py",
        "reason": registry["reason"],
        "terms": [],
        "matches": [],
        "by": "index",
        "passage": {
            "start_line": 3,
            "end_line": 4,
            "score": registry["passage"]["score"],
            "symbol": "register_plugin",
            "snippet": "def register_plugin(name, plugin):\n    registry[name] = plugin",
            "snippet_line": 3,
        },
        "line": 3,
        "line_text": "def register_plugin(name, plugin):",
        "score": registry["score"],
    }
    assert client.progress["partial"][-1]["files"] == result["files"]
    assert result["completeness"]["index"]["state"] == "ready"
    # What the editor has counts at once, and a file that is gone is not there.
    client.open(project / "src/main.py", "")
    client.change(project / "src/main.py", "def register_plugins_late(): ...\n")
    (project / "docs/plugins.md").unlink()
    result = await client.request(METHOD, {**params, "search_terms": ["class Loader"]})
    found = {file["path"]: file for file in result["files"]}
    assert found["src/main.py"]["passage"]["snippet"] == "def register_plugins_late(): ..."
    assert "docs/plugins.md" not in found


async def test_a_bare_string_is_a_list_of_one_term(client: Client) -> None:
    result = await client.request(METHOD, {"query": "q", "search_terms": "load_plugin"})
    assert [term["term"] for term in result["terms"]] == ["load_plugin"]


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


async def test_a_failing_model_falls_back_to_the_local_ranker_with_a_reason(
    project: Path, model_server: ModelServer, start_client: StartClient
) -> None:
    model_server.mode = "unauthorized"
    client = await start_client(
        project, options=llm_options(model_server), FAKE_KEY_OF_TEST=FAKE_KEY
    )
    result = await client.request(METHOD, REQUEST)
    assert result["files"][0]["path"] == "src/loader.py"
    assert result["ranked_by"]["kind"] == "local"
    assert "stand-in: HTTP 401" in result["ranked_by"]["fallback_reason"]
    assert FAKE_KEY not in str(result)
    failed = await client.error(METHOD, {**REQUEST, "ranker": "llm"})
    assert failed.data is not None
    assert (failed.code, failed.data["kind"]) == (-32803, "llm_failed")
    assert failed.data["attempts"][0]["model"] == "stand-in"


async def test_work_done_progress_begins_reports_and_ends(client: Client) -> None:
    await client.request(METHOD, {**REQUEST, "workDoneToken": "work"})
    kinds = [value["kind"] for value in client.progress["work"]]
    assert kinds[0] == "begin"
    assert kinds[-1] == "end"
    assert "report" in kinds


async def test_errors_have_the_code_and_data_of_the_contract(client: Client) -> None:
    errors: list[tuple[dict[str, Any], int, dict[str, Any]]] = [
        ({"query": "  ", "search_terms": ["a"]}, -32803, {"kind": "empty_query"}),
        (
            {"query": "q", "search_terms": ["("]},
            -32803,
            {"kind": "invalid_pattern", "pattern": "(", "detail": "unclosed group"},
        ),
        (
            {"query": "q", "search_terms": ["plugin"], "path": "../.."},
            -32803,
            {"kind": "path_outside_workspace", "path": "../.."},
        ),
        (
            {"query": "q", "search_terms": ["plugin"], "path": "nowhere"},
            -32803,
            {"kind": "not_found", "path": "nowhere"},
        ),
        (
            {"query": "q", "search_terms": ["a", 1]},
            -32602,
            {"kind": "invalid_params", "field": "search_terms[1]"},
        ),
        (
            {"query": "q", "search_terms": ["a"], "file_types": ["nonsense"]},
            -32602,
            {"kind": "invalid_params", "field": "file_types"},
        ),
        (
            {"query": "q", "search_terms": ["a"], "model": "unheard-of"},
            -32602,
            {"kind": "invalid_params", "field": "model"},
        ),
    ]
    for params, code, data in errors:
        error = await client.error(METHOD, params)
        assert (error.code, error.data) == (code, data), params


async def test_a_required_model_that_is_missing_is_an_error(client: Client) -> None:
    error = await client.error(METHOD, {**REQUEST, "ranker": "llm"})
    assert error.data is not None
    assert (error.code, error.data["kind"]) == (-32803, "no_llm_available")
    assert {"model": "gpt5-mini", "error": "no key: OPENAI_API_KEY is not set"} in error.data[
        "tried"
    ]


async def test_no_folder_is_open(start_client: StartClient, project: Path) -> None:
    client = await start_client()
    error = await client.error(METHOD, REQUEST)
    assert (error.code, error.data) == (-32803, {"kind": "no_workspace"})
    await client.check_error(METHOD, {**REQUEST, "path": str(project)}, -32803, "no_workspace")


async def test_unsaved_text_replaces_the_file_on_disk(client: Client, project: Path) -> None:
    loader = project / "src/loader.py"
    client.open(loader)
    place = types.Range(types.Position(1, 8), types.Position(1, 20))
    client.change(loader, "load_😀_addons", place)
    result = await client.request(METHOD, {"query": "q", "search_terms": ["_addons"]})
    [file] = result["files"]
    assert file["path"] == "src/loader.py"
    assert file["matches"][0]["text"] == "    def load_😀_addons(self, names):"
    assert file["matches"][0]["match_range"] == [15, 22]
    client.close(loader)
    result = await client.request(METHOD, {"query": "q", "search_terms": ["_addons"]})
    assert result["no_relevant_files"]


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
