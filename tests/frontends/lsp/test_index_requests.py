"""$/indexStatus, $/refresh and $/index over the wire."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conftest import MakeWorkspace, write_files
from frontends.lsp.conftest import Client, StartClient
from frontends.lsp.test_semantic_search import paths, ready
from waiting_for import until
from winnow.search.index.state import read_status
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.wire

BUILD = {"action": "build"}
PAUSED = "paused by the user"
NO_INDEX = "there is no index: `index build` makes one"


@pytest_asyncio.fixture
async def client(indexed_client: Client) -> Client:
    return indexed_client


async def folder_of(client: Client) -> dict[str, Any]:
    """Return the status of the only folder."""
    (folder,) = (await client.request("$/indexStatus", {}))["index"]["folders"]
    assert isinstance(folder, dict)
    return folder


async def has_too_many_files(client: Client) -> None:
    """Wait until the server has listed more files than it may index."""

    async def is_reported() -> bool:
        return "max_files" in (await folder_of(client)).get("problem", "")

    await until(is_reported, "the status does not report too many files")


async def test_the_status_is_complete(start_client: StartClient, project: Path) -> None:
    write_files(project, {"web/app.min.js": "x=1\n", "id_rsa": "x\n", "large.txt": "x" * 5_000_000})
    (project / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    client = await start_client(project)
    await ready(client)
    status = await client.request("$/indexStatus", {})
    index = status["index"]
    (folder,) = index["folders"]
    assert (status["root"], status["total_found"], status["returned"]) == (str(project), 1, 1)
    assert (folder["folder"], folder["state"]) == (str(project), "ready")
    assert (folder["files_indexed"], folder["files_total"]) == (9, 9)
    assert folder["not_covered"] == {"excluded": 1, "secret": 1, "too_large": 1, "binary": 1}
    assert Path(folder["store"]).is_file()
    assert folder["bytes_on_disk"] > 10_000
    assert folder["updated_at"] > 1_700_000_000
    assert folder["watching"] in ("events", "asked")
    assert index["settings"]["max_index_size_mb"] == 100
    assert index["memory_mb"] >= index["workers_memory_mb"]
    assert 10 < index["memory_mb"] < 1_000
    assert status["completeness"]["complete"] is True
    assert status["warnings"] == []


async def test_refresh_indexes_changed_files(client: Client, project: Path) -> None:
    await ready(client)
    write_files(project, {"src/rocket.py": "def launch(pad): pass\n", "src/pad.py": "pad = 1\n"})
    (project / "src/registry.py").unlink()
    gone = {"paths": ["src/rocket.py", str(project / "src/registry.py")]}
    await client.check_error("$/refresh", gone, -32803, "not_found")
    for params in ({"paths": ["src/rocket.py", "src"]}, {}):
        result = await client.request("$/refresh", params)
        assert result["done"] is True
    assert (result["total_found"], result["returned"]) == (6, 6)
    assert await paths(client, "launch") == ["src/rocket.py"]
    write_files(project, {"src/deep/down/moon.py": "def land(): pass\n"})
    assert (await client.request("$/refresh", {"paths": ["src/deep"]}))["done"] is True
    assert await paths(client, "land") == ["src/deep/down/moon.py"]
    assert isinstance((await client.request("$/refresh", {"wait": False}))["done"], bool)


async def test_an_index_is_deleted_and_rebuilt(client: Client) -> None:
    await ready(client)
    cleared = await client.request("$/index", {"action": "clear"})
    assert (cleared["done"], cleared["completeness"]["index"]["state"]) == (True, "none")
    status = await client.request("$/indexStatus", {})
    assert (status["index"]["folders"][0]["state"], status["warnings"]) == ("none", [NO_INDEX])
    result = await client.request("$/semanticSearch", {"query": "where are plugins loaded"})
    assert (result["engine"], result["results"][0]["path"]) == ("text", "src/loader.py")
    assert result["index_offer"]["files"] == 5  # few files, but no index is built automatically
    built = await client.request("$/index", BUILD)
    assert (built["action"], built["done"]) == ("build", False)
    assert built["warnings"] == ["the index is being built in the background: see `index_status`"]
    await ready(client)
    result = await client.request("$/semanticSearch", {"query": "where are plugins loaded"})
    assert result["engine"].startswith("lexical")
    assert result["results"][0]["path"] == "src/loader.py"


async def test_the_status_of_a_deleted_index_does_not_build_one(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    def another() -> EngineWorkspace:  # as of each command
        return make_workspace(project)

    async def state(workspace: EngineWorkspace) -> str:
        return (await read_status(workspace, no_progress)).folders[0].state

    async with another().index.snapshot({}, 20.0):
        pass
    assert await state(another()) == "ready"
    await another().index.clear()
    assert await state(another()) == "none"
    assert await state(another()) == "none"
    async with another().index.snapshot({}, 20.0):
        pass  # a search of a folder this small rebuilds it
    assert await state(another()) == "ready"


async def test_a_folder_with_too_many_files_is_indexed_only_with_consent(
    start_client: StartClient, project: Path
) -> None:
    write_files(project, {f"src/part_{n}.py": f"part = {n}\n" for n in range(95)})
    settings = {"index": {"max_files": 90, "auto_index_threshold": 100}}
    client = await start_client(project, options=settings)
    await has_too_many_files(client)
    assert "max_files is 90" in (await folder_of(client))["problem"]
    result = await client.request("$/codeSearch", {"query": "where are plugins loaded"})
    assert (result["search_type_used"], result["index_offer"]["files"]) == ("text", 100)
    params = {"query": "where are plugins loaded", "enable_indexing": True}
    result = await client.request("$/codeSearch", params)
    assert result["results"][0]["path"] == "src/loader.py"
    assert "index_offer" not in result  # it is indexed
    await ready(client)
    result = await client.request("$/codeSearch", {"query": "where are plugins loaded"})
    assert result["search_type_used"] == "semantic"
    assert result["engine"].startswith("lexical")


async def test_background_work_pauses_and_resumes(client: Client, project: Path) -> None:
    await ready(client)
    assert (await client.request("$/index", {"action": "pause"}))["done"] is True
    index = (await client.request("$/indexStatus", {}))["index"]
    assert (index["paused"], index["waits_for"]) == (True, PAUSED)
    # Requested files are read anyway.
    write_files(project, {"src/rocket.py": "def launch(pad): pass\n"})
    assert await paths(client, "launch") == ["src/rocket.py"]
    assert (await client.request("$/index", {"action": "resume"}))["done"] is True
    index = (await client.request("$/indexStatus", {}))["index"]
    # What was written may wait for other programs now, or for a request.
    assert ("paused" in index, index.get("waits_for") == PAUSED) == (False, False)
