"""Without an open folder, only open documents are searched and read (#21)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from conftest import FILES, write_files
from frontends.lsp.conftest import Client, StartClient
from search.test_missing_paths import PARAMS
from winnow.tools import TOOLS

pytestmark = pytest.mark.wire

ROCKET = "def launch_rocket():\n    pass\n"
OPEN_ONLY = "no folder is open: searched only the {} open documents, no files on disk"
OTHERS = {
    "search_docs": {"query": "x"},
    "index": {"action": "build"},
    "index_status": {},
    "search_metrics": {},
    "consent": {},
}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Create files in a folder that is not open."""
    return write_files(
        tmp_path / "files",
        {**FILES, "saved.py": ROCKET, "unsaved.py": "old = 1\n", "other.py": ROCKET},
    )


@pytest.fixture
async def client(start_client: StartClient) -> Client:
    return await start_client()


@pytest.fixture
async def opened(client: Client, files: Path) -> Client:
    client.open(files / "saved.py", ROCKET)
    client.open(files / "unsaved.py", ROCKET.replace("launch", "land"))
    client.open(files / "new/new.py", "launch_rocket()\n")
    return client


def params_of(name: str, path: str) -> dict[str, Any]:
    params = {**PARAMS.get(name, {}), **OTHERS.get(name, {})}
    fields = {field.name for field in TOOLS[name].fields}
    if "paths" in fields:
        return {**params, "paths": [path]}
    return {**params, "path": path} if "path" in fields else params


@pytest.mark.parametrize("has_documents", [False, True])
async def test_no_tool_searches_or_reads_a_file_on_disk(
    has_documents: bool, client: Client, files: Path
) -> None:
    if has_documents:
        client.open(files / "saved.py", ROCKET)
    paths = [str(files / "other.py"), (files / "other.py").as_uri(), "other.py", "/etc/passwd"]
    for name in (*PARAMS, *OTHERS):
        for path in (*paths, str(files / "src"), f"{files}/saved.py/../other.py"):
            params = params_of(name, path)
            await client.check_error(TOOLS[name].method, params, -32803, "no_workspace")


async def test_without_documents_nothing_is_searched(client: Client) -> None:
    for name in ("grep", "glob", "tree", "keyword_search", "find_symbol", "code_search"):
        await client.check_error(TOOLS[name].method, PARAMS[name], -32803, "no_workspace")


async def test_grep_searches_the_text_of_open_documents(opened: Client, files: Path) -> None:
    result = await opened.request("$/grep", {"pattern": r"\w+_rocket"})
    found = {
        (match["path"], match["line"], match["preview"][0]["text"]) for match in result["matches"]
    }
    assert found == {
        ("saved.py", 1, "def launch_rocket():"),
        ("unsaved.py", 1, "def land_rocket():"),
        ("new/new.py", 1, "launch_rocket()"),
    }
    assert result["root"] == str(files)
    assert result["warnings"] == [OPEN_ONLY.format(3)]
    assert (await opened.request("$/grep", {"pattern": "old|load_plugin"}))["matches"] == []


async def test_a_path_limits_a_search_to_some_documents(opened: Client, files: Path) -> None:
    for path in (str(files / "new"), "new", (files / "new/new.py").as_uri()):
        result = await opened.request("$/grep", {"pattern": "rocket", "path": path})
        assert [match["path"] for match in result["matches"]] == ["new/new.py"]
    params = {"pattern": "rocket", "path": str(files.parent)}
    await opened.check_error("$/grep", params, -32803, "no_workspace")
    params = {"pattern": "rocket", "scope": "changed"}
    await opened.check_error("$/grep", params, -32803, "no_workspace")
    confined = {"pattern": "rocket", "scope": "open", "include": ["new/**"]}
    assert len((await opened.request("$/grep", confined))["matches"]) == 1


async def test_matches_are_streamed_and_paged(opened: Client) -> None:
    token = "matches"
    params = {"pattern": "rocket", "partialResultToken": token}
    result = await opened.request("$/grep", params)
    sent = [match["path"] for part in opened.progress[token] for match in part["matches"]]
    assert (result["returned"], sorted(sent)) == (3, ["new/new.py", "saved.py", "unsaved.py"])
    paged = {"pattern": "rocket", "max_results": 2}
    first = await opened.request("$/grep", paged)
    second = await opened.request("$/grep", {**paged, "cursor": first["cursor"]})
    assert len(first["matches"] + second["matches"]) == 3


async def test_other_searches_find_the_open_documents(opened: Client) -> None:
    params = {"query": "rocket", "search_terms": ["launch_rocket"]}
    result = await opened.request("$/keywordSearch", params)
    assert {file["path"] for file in result["files"]} == {"saved.py", "new/new.py"}
    result = await opened.request("$/findSymbol", {"name": "land_rocket"})
    assert [symbol["path"] for symbol in result["symbols"]] == ["unsaved.py"]
    assert result["warnings"] == [OPEN_ONLY.format(3)]
    result = await opened.request("$/codeSearch", {"query": '"land_rocket"'})
    assert [one["path"] for one in result["results"]] == ["unsaved.py"]


async def test_an_open_document_is_read_from_the_editor(opened: Client, files: Path) -> None:
    for path in (str(files / "unsaved.py"), (files / "unsaved.py").as_uri(), "unsaved.py"):
        result = await opened.request("$/readFile", {"path": path})
        assert result["chunks"][0]["content"] == ROCKET.replace("launch", "land")
        assert (result["root"], result["path"]) == (str(files), "unsaved.py")


async def test_ignored_and_hidden_documents_are_included(client: Client, files: Path) -> None:
    client.open(files / ".gitignore", "*.log\n")
    client.open(files / "a.log", "rocket\n")
    client.open(files / ".hidden/b.py", "rocket\n")
    result = await client.request("$/grep", {"pattern": "rocket"})
    assert {match["path"] for match in result["matches"]} == {"a.log", ".hidden/b.py"}
    client.open(files / "src/.gitignore", "*\n")
    client.open(files / "src/c.py", "def fly(): ...\n")
    result = await client.request("$/findSymbol", {"name": "fly"})
    assert [symbol["path"] for symbol in result["symbols"]] == ["src/c.py"]
    # What git and Winnow keep is never searched.
    client.open(files / ".git/config", "rocket\n")
    assert (await client.request("$/grep", {"pattern": "rocket"}))["total_found"] == 2


async def test_a_closed_document_is_not_searched(opened: Client, files: Path) -> None:
    for name in ("saved.py", "unsaved.py", "new/new.py"):
        opened.close(files / name)
    await opened.check_error("$/grep", {"pattern": "rocket"}, -32803, "no_workspace")


async def test_a_symlink_next_to_an_open_document_is_not_followed(
    client: Client, files: Path
) -> None:
    (files / "linked.py").symlink_to(files / "other.py")
    client.open(files / "linked.py", "land_rocket = 1\n")
    result = await client.request("$/grep", {"pattern": "rocket"})
    assert [match["preview"][0]["text"] for match in result["matches"]] == ["land_rocket = 1"]


async def test_a_folder_that_is_opened_later_is_searched(opened: Client, files: Path) -> None:
    event = types.WorkspaceFoldersChangeEvent(
        added=[types.WorkspaceFolder(files.as_uri(), "files")], removed=[]
    )
    opened.lsp.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    result = await opened.request("$/grep", {"pattern": "def launch_rocket"})
    assert {match["path"] for match in result["matches"]} == {"saved.py", "other.py"}
