"""$/codeSearch over the wire: the choice, the editor's text, changes on disk, errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conftest import FAKE_KEY, SLOW_TERM, requires_posix
from frontends.lsp.conftest import Client, StartClient, cancel_request, seconds_to_end
from frontends.lsp.test_index_requests import has_too_many_files
from frontends.lsp.test_keyword_search import llm_options
from frontends.lsp.test_semantic_search import ready
from model_server import ModelServer

pytestmark = pytest.mark.wire

METHOD = "$/codeSearch"


@pytest_asyncio.fixture
async def client(indexed_client: Client) -> Client:
    return indexed_client


async def search(client: Client, query: str, **params: Any) -> dict[str, Any]:
    result = await client.request(METHOD, {"query": query, **params})
    assert isinstance(result, dict)
    assert result["returned"] == len(result["results"])
    assert result["search_id"]
    return result


async def paths(client: Client, query: str, **params: Any) -> list[str]:
    return [one["path"] for one in (await search(client, query, **params))["results"]]


async def test_the_query_determines_the_search_type(client: Client) -> None:
    for query, used, path in (
        ("loader.py", "file", "src/loader.py"),
        ("*.md", "file", "docs/plugins.md"),
        ("Loader.load_plugin", "symbol", "src/loader.py"),
        ("register_plugin", "symbol", "src/registry.py"),
        ('"registry[name]"', "text", "src/registry.py"),
        ("load_plugin(", "text", "src/loader.py"),
        (r"self\.\w+_plugin", "text", "src/loader.py"),
    ):
        result = await search(client, query)
        assert (result["search_type_used"], result["results"][0]["path"]) == (used, path)
        assert result["reason"].startswith(repr(query))
        assert "fallback" not in result


async def test_a_fallback_is_reported(client: Client) -> None:
    await ready(client)
    result = await search(client, "names")
    assert result["search_type_used"] == "text"
    assert result["fallback"] == {
        "from": "symbol", "to": "text", "reason": "nothing is defined with the name names"
    }  # fmt: skip


async def test_unsaved_text_replaces_the_file_on_disk(client: Client, project: Path) -> None:
    main = project / "src/main.py"
    client.open(main)
    client.change(main, "def launch_rocket():\n    return '🚀'\n")
    assert await paths(client, '"launch_rocket"') == ["src/main.py"]
    (found,) = (await search(client, "launch_rocket"))["results"]
    assert (found["kind"], found["snippet"]) == (
        "definition", "def launch_rocket():\n    return '🚀'"
    )  # fmt: skip
    assert "src/main.py" in await paths(client, "how is a rocket launched, launch_rocket")
    assert "src/main.py" not in await paths(client, '"load_plugins"')
    client.close(main)
    assert await paths(client, '"launch_rocket"') == []
    assert "src/main.py" in await paths(client, '"load_plugins"')


async def test_a_document_that_was_never_saved_is_found(client: Client, project: Path) -> None:
    new = project / "src/rocket.py"
    client.open(new, "def launch_rocket(): pass\n")
    for query in ("rocket.py", '"launch_rocket"', "where is launch_rocket done"):
        assert await paths(client, query) == ["src/rocket.py"]


async def test_changed_and_deleted_files_are_noticed(client: Client, project: Path) -> None:
    questions = ("where are plugins loaded", "loader.py", "Loader.load_plugin", "load_plugin(")
    for query in questions:
        assert "src/loader.py" in await paths(client, query)
    (project / "src/loader.py").write_text("class Rocket:\n    pass\n")
    assert await paths(client, "Rocket") == ["src/loader.py"]
    assert "src/loader.py" not in await paths(client, "load_plugin(")
    assert "src/loader.py" not in await paths(client, "Loader.load_plugin")
    (project / "src/loader.py").unlink()
    for query in (*questions, "Rocket", '"Rocket"'):
        assert "src/loader.py" not in await paths(client, query)


async def test_results_stream_and_progress_begins_and_ends(client: Client) -> None:
    whole = await search(client, "plugin", search_type="text")
    params = {"query": "plugin", "search_type": "text"}
    tokens = {"partialResultToken": "partial", "workDoneToken": "work"}
    result = await client.request(METHOD, {**params, **tokens})
    assert result["results"] == []
    streamed = [one for part in client.progress["partial"] for one in part["results"]]
    assert streamed == whole["results"]
    kinds = [value["kind"] for value in client.progress["work"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


async def test_errors_have_the_code_and_kind_of_the_contract(client: Client) -> None:
    kinds: list[tuple[dict[str, Any], int, str]] = [
        ({"query": "  "}, -32803, "empty_query"),
        ({"query": "x", "path": "../.."}, -32803, "path_outside_workspace"),
        ({"query": "x", "path": "nowhere"}, -32803, "not_found"),
        ({}, -32602, "invalid_params"),
        ({"query": ["x"]}, -32602, "invalid_params"),
        ({"query": "x", "search_type": "best"}, -32602, "invalid_params"),
        ({"query": "x", "limit": 0}, -32602, "invalid_params"),
        ({"query": "x", "limit": "5"}, -32602, "invalid_params"),
        ({"query": "x", "cursor": "1AAAA"}, -32602, "invalid_params"),
        ({"query": '"x"', "file_types": ["nonsense"]}, -32602, "invalid_params"),
        ({"query": "x", "include": ["{a"]}, -32602, "invalid_params"),
        ({"query": "{a", "search_type": "file"}, -32602, "invalid_params"),
        ({"query": "\x00"}, -32602, "invalid_params"),
        ({"query": "x", "searchType": "text"}, -32602, "invalid_params"),
    ]
    for params, code, kind in kinds:
        await client.check_error(METHOD, params, code, kind)


async def test_no_folder_is_open(start_client: StartClient, project: Path) -> None:
    client = await start_client()
    for query in ("loader.py", "Loader", '"Loader"', "how are plugins loaded"):
        error = await client.error(METHOD, {"query": query})
        assert (error.code, error.data) == (-32803, {"kind": "no_workspace"})
    error = await client.error(METHOD, {"query": '"registry"', "path": str(project)})
    assert (error.code, error.data) == (-32803, {"kind": "no_workspace"})


@requires_posix
async def test_cancelling_ends_ripgrep_and_the_server_goes_on(
    start_client: StartClient, slow_project: Path
) -> None:
    client = await start_client(slow_project)
    params = {"query": SLOW_TERM, "search_type": "text"}
    await seconds_to_end(client, METHOD, params, cancel_request)
    assert await paths(client, "big.txt") == ["big.txt"]


async def test_an_index_is_suggested_if_it_would_help(
    start_client: StartClient, project: Path
) -> None:
    settings = {"index": {"auto_index_threshold": 3, "max_files": 2}}
    client = await start_client(project, options=settings)
    await has_too_many_files(client)
    result = await search(client, "how are plugins loaded")
    assert result["index_offer"] == {
        "text": result["index_offer"]["text"],
        "param": "enable_indexing",
        "command": "winnow index build",
        "files": 5,
        "seconds": 0.0,
    }
    assert (result["search_type_used"], result["fallback"]["to"]) == ("text", "text")


async def test_partial_results_come_first_from_the_local_ranker_then_from_the_model(
    project: Path, model_server: ModelServer, start_client: StartClient
) -> None:
    options = llm_options(model_server)
    client = await start_client(project, options=options, FAKE_KEY_OF_TEST=FAKE_KEY)
    query = {"query": "how are plugins loaded", "partialResultToken": "partial"}
    result = await client.request(METHOD, {**query, "ranker": "auto"})
    by_local, *by_model = client.progress["partial"]
    assert by_local["ranked_by"] == {"kind": "local"}
    assert [one["ranked_by"]["kind"] for one in by_model] == ["llm", "llm"]
    assert [hit for one in by_model for hit in one["results"]] == result["results"]
    assert result["ranked_by"] == {"kind": "llm", "model": "stand-in", "provider": "openai"}
    named = [*(hit["path"] for hit in result["results"])]
    named += [other["path"] for other in result["not_chosen"]]
    assert sorted(named) == sorted(hit["path"] for hit in by_local["results"])
    await client.request(METHOD, {**query, "partialResultToken": "other"})
    assert len(model_server.requests) == 1
