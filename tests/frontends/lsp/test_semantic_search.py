"""$/semanticSearch over the wire: from the index, right about now, and what it falls back to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from conftest import requires_permissions, requires_posix, write_files
from frontends.lsp.conftest import Client, Endless, StartClient, cancel_request
from waiting_for import SECONDS, until

pytestmark = pytest.mark.wire

METHOD = "$/semanticSearch"
QUESTION = "where are plugins loaded"


@pytest_asyncio.fixture
async def client(indexed_client: Client) -> Client:
    return indexed_client


async def search(client: Client, query: str, **params: Any) -> dict[str, Any]:
    result = await client.request(METHOD, {"query": query, **params})
    assert isinstance(result, dict)
    assert result["returned"] == len(result["results"])
    return result


async def paths(client: Client, query: str, **params: Any) -> list[str]:
    return [one["path"] for one in (await search(client, query, **params))["results"]]


async def ready(client: Client) -> None:
    """Wait until the index knows all files."""

    async def is_ready() -> bool:
        status = await client.request("$/indexStatus", {})
        return bool(status["completeness"]["index"]["state"] == "ready")

    await until(is_ready, "the index does not become ready", 2 * SECONDS)


async def test_passages_come_from_the_index(client: Client, project: Path) -> None:
    await ready(client)
    result = await search(client, QUESTION, top_k=2)
    first = result["results"][0]
    assert result["root"] == str(project)
    assert first["path"] == "src/loader.py"
    assert (first["start_line"], first["end_line"]) == (1, 6)
    assert "def load_plugins(self, names):" in first["snippet"]
    assert (first["symbol"], first["best_line"]) == ("Loader.load_plugins", 2)
    assert first["why"]
    assert result["engine"].startswith("lexical")
    assert result["completeness"]["complete"] is True
    assert result["completeness"]["index"]["state"] == "ready"
    assert not {"fallback", "index_offer"} & result.keys()
    # Other tools accept the symbols and paths in its results.
    lines = [{"start": first["start_line"], "end": first["end_line"]}]
    read = await client.request("$/readFile", {"path": first["path"], "spans": lines})
    assert first["snippet"] in read["chunks"][0]["content"]


async def test_an_answer_reflects_the_current_files(client: Client, project: Path) -> None:
    await ready(client)
    main = project / "src/main.py"
    asked = "how is a rocket launched from its pad"
    assert await paths(client, asked) == []
    client.open(main)
    client.change(main, "def launch_rocket(pad):\n    return pad.ignite()\n")
    (found,) = (await search(client, asked))["results"]
    assert (found["path"], found["symbol"]) == ("src/main.py", "launch_rocket")
    client.close(main)
    assert await paths(client, asked) == []
    main.write_text("def launch_rocket(pad):\n    return pad.ignite()\n")
    assert await paths(client, asked) == ["src/main.py"]
    new = write_files(project, {"src/pad.py": "def ignite(pad):\n    '''Fires a rocket.'''\n"})
    assert set(await paths(client, asked)) == {"src/main.py", "src/pad.py"}
    (new / "src/pad.py").unlink()
    main.unlink()
    assert await paths(client, asked) == []


async def test_the_scope_limits_the_passages(client: Client) -> None:
    await ready(client)
    every = set(await paths(client, "plugin loader registry test"))
    assert {"src/loader.py", "tests/test_loader.py", "docs/plugins.md"} <= every
    query = "plugin loader registry test"
    assert set(await paths(client, query, path="src")) == {
        one for one in every if one.startswith("src/")
    }
    assert set(await paths(client, query, file_types=["md"])) == {"docs/plugins.md"}
    assert set(await paths(client, query, exclude=["src/**", "tests/**"])) == {"docs/plugins.md"}


async def test_passages_stream(client: Client) -> None:
    await ready(client)
    whole = await search(client, QUESTION)
    params = {"query": QUESTION, "partialResultToken": "p", "workDoneToken": "w"}
    result = await client.request(METHOD, params)
    assert result["results"] == []
    assert [one for part in client.progress["p"] for one in part["results"]] == whole["results"]
    kinds = [value["kind"] for value in client.progress["w"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


async def test_without_an_index_text_is_searched(start_client: StartClient, project: Path) -> None:
    client = await start_client(project, options={"index": {"enabled": False}})
    result = await search(client, QUESTION)
    assert result["results"][0]["path"] == "src/loader.py"
    assert (result["engine"], result["fallback"]) == (
        "text",
        {
            "from": "semantic",
            "to": "text",
            "reason": "index.enabled is off: files were searched for the words of the query",
        },
    )
    assert not (project / ".winnow").exists()


@requires_permissions
async def test_a_read_only_folder_is_searched(start_client: StartClient, project: Path) -> None:
    project.chmod(0o500)
    try:
        client = await start_client(project)
        await ready(client)
        assert (await paths(client, QUESTION))[0] == "src/loader.py"
    finally:
        project.chmod(0o700)


async def test_a_state_folder_that_is_a_file_does_not_prevent_searches(
    start_client: StartClient, project: Path
) -> None:
    (project / ".winnow").write_text("taken")
    client = await start_client(project)
    await ready(client)
    assert (await paths(client, QUESTION))[0] == "src/loader.py"


@requires_posix
async def test_a_cancelled_search_ends_its_processes_and_the_server_goes_on(
    start_client: StartClient, project: Path, tmp_path: Path
) -> None:
    endless = Endless(tmp_path)
    client = await start_client(project, options=endless.options)
    running = asyncio.create_task(client.request(METHOD, {"query": QUESTION}, msg_id="hangs"))
    await endless.started(2)
    cancel_request(client, "hangs")
    with pytest.raises(JsonRpcException) as cancelled:
        await running
    assert cancelled.value.code == -32800
    await endless.check_ended()
    found = await client.request("$/readFile", {"path": "src/main.py"})
    assert found["path"] == "src/main.py"


async def test_errors_have_the_code_and_kind_of_the_contract(client: Client) -> None:
    kinds: list[tuple[dict[str, Any], int, str]] = [
        ({"query": "  "}, -32803, "empty_query"),
        ({"query": "x", "path": "../.."}, -32803, "path_outside_workspace"),
        ({"query": "x", "path": "nowhere"}, -32803, "not_found"),
        ({}, -32602, "invalid_params"),
        ({"query": 7}, -32602, "invalid_params"),
        ({"query": "x", "top_k": 0}, -32602, "invalid_params"),
        ({"query": "x", "top_k": 10_000}, -32602, "invalid_params"),
        ({"query": "x", "cursor": "1AAAA"}, -32602, "invalid_params"),
        ({"query": "x", "file_types": ["nonsense"]}, -32602, "invalid_params"),
        ({"query": "x", "include": ["{a"]}, -32602, "invalid_params"),
        ({"query": "\x00"}, -32602, "invalid_params"),
        ({"query": "x", "topK": 3}, -32602, "invalid_params"),
    ]
    for params, code, kind in kinds:
        await client.check_error(METHOD, params, code, kind)
