"""$/glob on the wire: the editor's documents, partial results, error kinds."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from conftest import git_commit, requires_posix, write_files
from frontends.lsp.conftest import Client, Endless, StartClient, cancel_request

pytestmark = pytest.mark.wire

METHOD = "$/glob"


async def found(client: Client, pattern: str = "**", **params: Any) -> dict[str, Any]:
    """Return the files of an answer by path, without times."""
    result = await client.request(METHOD, {"pattern": pattern, **params})
    assert result["returned"] == len(result["files"])
    return {one["path"]: (one["size"], one.get("unsaved", False)) for one in result["files"]}


async def test_a_cursor_continues_and_other_tools_accept_the_paths(client: Client) -> None:
    request = {"pattern": "*.py", "max_results": 3}
    first = await client.request(METHOD, request)
    second = await client.request(METHOD, {**request, "cursor": first["cursor"]})
    files = [*first["files"], *second["files"]]
    assert [one["path"] for one in files] == [
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
        "tests/test_loader.py",
    ]
    assert (first["total_found"], first["truncated"], second["truncated"]) == (4, True, False)
    for one in files:
        read = await client.request("$/readFile", {"path": one["path"]})
        grep = await client.request("$/grep", {"pattern": "load", "path": one["path"]})
        assert read["path"] == one["path"]
        assert {match["path"] for match in grep["matches"]} <= {one["path"]}


async def test_open_documents_are_listed_until_closed(client: Client, project: Path) -> None:
    main, new = project / "src/main.py", project / "new folder/ü/new.py"
    on_disk = (56, False)
    assert await found(client, "{main,new}.py") == {"src/main.py": on_disk}
    client.open(main)
    client.open(new, "one\n")
    assert await found(client, "{main,new}.py") == {
        "new folder/ü/new.py": (4, True),
        "src/main.py": on_disk,
    }
    client.change(main, "😀\n")
    client.change(new, "one\ntwo\n")
    changed = {"new folder/ü/new.py": (8, True), "src/main.py": (5, True)}
    assert await found(client, "{main,new}.py") == changed
    assert await found(client, scope="open") == changed
    assert (await found(client, scope="changed")).items() >= changed.items()
    assert await found(client, path="new folder/ü/new.py") == {"new folder/ü/new.py": (8, True)}
    for path in (main, new):
        client.close(path)
    assert await found(client, "{main,new}.py") == {"src/main.py": on_disk}
    assert await found(client, scope="open") == {}


async def test_changed_files(start_client: StartClient, tmp_path: Path) -> None:
    root = git_commit(tmp_path / "root", {"a.py": "", "b.py": ""})
    client = await start_client(write_files(root, {"b.py": "x", "new/c.py": ""}))
    assert list(await found(client, scope="changed")) == ["b.py", "new/c.py"]
    client = await start_client(tmp_path)
    error = await client.error(METHOD, {"pattern": "**", "scope": "changed"})
    assert (error.code, error.message.partition(":")[0]) == (-32602, "`scope`")


async def test_partial_results_contain_the_files(client: Client) -> None:
    request = {"pattern": "src/*.py", "partialResultToken": "p", "workDoneToken": "w"}
    result = await client.request(METHOD, request)
    assert (result["files"], result["returned"], result["total_found"]) == ([], 3, 3)
    [partial] = client.progress["p"]
    assert [one["path"] for one in partial["files"]] == [
        "src/loader.py",
        "src/main.py",
        "src/registry.py",
    ]
    assert client.progress["w"][0]["kind"] == "begin"
    assert client.progress["w"][-1]["kind"] == "end"
    nothing = await client.request(METHOD, {"pattern": "*.none", "partialResultToken": "q"})
    assert (nothing["files"], "q" in client.progress) == ([], False)


@requires_posix
async def test_each_error_has_its_kind(client: Client, project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "out").symlink_to("/etc")
    (project / "loop").symlink_to("loop")
    for path, kind in {
        "..": "path_outside_workspace",
        "/etc": "path_outside_workspace",
        "file:///etc": "path_outside_workspace",
        "/proc/self": "path_outside_workspace",
        "out": "path_outside_workspace",
        "out/ssl": "path_outside_workspace",
        "pipe": "not_found",
        "loop": "not_found",
        "nothing": "not_found",
    }.items():
        error = await client.error(METHOD, {"pattern": "**", "path": path})
        assert (error.code, error.data) == (-32803, {"kind": kind, "path": path})
    error = await client.error(METHOD, {"pattern": "../*"})
    assert error.data == {"kind": "path_outside_workspace", "path": "../*"}
    assert (await client.error(METHOD, {"pattern": " "})).data == {"kind": "empty_query"}
    for params, field in (
        ({}, "pattern"),
        ({"pattern": 5}, "pattern"),
        ({"pattern": "["}, "pattern"),
        ({"pattern": "a\0"}, "pattern"),
        ({"pattern": "a", "sort_by": "date"}, "sort_by"),
        ({"pattern": "a", "cursor": "x"}, "cursor"),
        ({"pattern": "a", "include": ["a", ""]}, "include[1]"),
    ):
        error = await client.error(METHOD, params)
        assert (error.code, error.message.partition(":")[0]) == (-32602, f"`{field}`")
    assert len(await found(client)) == 5


@requires_posix
async def test_a_request_is_cancelled_while_it_lists(
    start_client: StartClient, project: Path, tmp_path: Path
) -> None:
    endless = Endless(tmp_path)
    client = await start_client(project, options=endless.options)
    running = asyncio.create_task(client.request(METHOD, {"pattern": "**"}, msg_id="list"))
    await endless.started(2)
    cancel_request(client, "list")
    with pytest.raises(JsonRpcException) as cancelled:
        await running
    assert cancelled.value.code == -32800
    await endless.check_ended()
