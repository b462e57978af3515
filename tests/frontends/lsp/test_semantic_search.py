"""$/semanticSearch over the wire: the current files, and text without an index."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conftest import write_files
from frontends.lsp.conftest import Client, StartClient
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
