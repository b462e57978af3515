"""$/readFile on the wire: the editor's text, and paths that are refused."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from conftest import requires_posix
from frontends.lsp.conftest import Client

pytestmark = pytest.mark.wire

METHOD = "$/readFile"


async def test_spans_are_read_and_a_cursor_continues_them(client: Client) -> None:
    request = {"path": "src/loader.py", "spans": [{"start": 5, "end": 6}, "1"], "max_lines": 2}
    first = await client.request(METHOD, request)
    assert first["chunks"] == [
        {"start": 1, "end": 1, "content": "class Loader:\n"},
        {"start": 5, "end": 5, "content": "    def load_plugin(self, name):\n"},
    ]
    assert (first["total_lines"], first["truncated"]) == (6, True)
    second = await client.request(METHOD, {**request, "cursor": first["cursor"]})
    assert [chunk["start"] for chunk in second["chunks"]] == [6]
    assert not second["truncated"]
    error = await client.error(METHOD, {**request, "path": "x", "cursor": first["cursor"]})
    assert (error.code, error.message.partition(":")[0]) == (-32602, "`cursor`")


async def test_a_path_from_a_search_result_can_be_read(client: Client) -> None:
    found = await client.request(
        "$/keywordSearch", {"query": "q", "search_terms": ["def load_plugin\\("]}
    )
    [file] = found["files"]
    line = file["matches"][0]["line"]
    request = {"path": file["path"], "spans": [{"start": line, "end": line}]}
    result = await client.request(METHOD, request)
    assert result["root"] == found["root"]
    assert result["chunks"][0]["content"].strip() == file["matches"][0]["text"].strip()


async def test_open_documents_are_read_from_the_editor_until_closed(
    client: Client, project: Path
) -> None:
    main = project / "src/main.py"
    request = {"path": "src/main.py", "spans": ["1"], "line_endings": "keep"}

    async def first_line() -> tuple[str, bool]:
        result = await client.request(METHOD, request)
        return result["chunks"][0]["content"], result.get("unsaved", False)

    on_disk = "from loader import Loader\n"
    assert await first_line() == (on_disk, False)
    client.open(main)
    assert await first_line() == (on_disk, False)
    client.change(main, "😀 edited\r\nmore")
    assert await first_line() == ("😀 edited\r\n", True)
    client.close(main)
    assert await first_line() == (on_disk, False)


@requires_posix
async def test_unreadable_and_forbidden_files_are_refused_with_a_kind(
    client: Client, project: Path
) -> None:
    os.mkfifo(project / "pipe")
    (project / "out").symlink_to("/etc/passwd")
    (project / "zero").symlink_to("/dev/zero")
    (project / "a.bin").write_bytes(b"\x7fELF\0\0\0\0")
    for path, kind in {
        "../other.py": "path_outside_workspace",
        "/etc/passwd": "path_outside_workspace",
        "file:///etc/passwd": "path_outside_workspace",
        "/proc/self/environ": "path_outside_workspace",
        "out": "path_outside_workspace",
        "zero": "path_outside_workspace",
        "pipe": "not_a_file",
        "src": "not_a_file",
        "a.bin": "binary_file",
        "nothing": "not_found",
    }.items():
        error = await client.error(METHOD, {"path": path})
        assert error.data is not None
        assert (error.code, error.data["kind"]) == (-32803, kind), path
        assert error.data["path"]
    for params in ({}, {"path": ""}, {"path": "a\0"}, {"path": "src/main.py", "spans": [7]}):
        assert (await client.error(METHOD, params)).code == -32602


async def test_a_request_is_cancelled_while_it_reads(client: Client, project: Path) -> None:
    with (project / "huge.txt").open("wb") as file:
        file.write(b"text\n" * 20_000)
        file.truncate(100 * 1024**3)
    running = asyncio.create_task(client.request(METHOD, {"path": "huge.txt"}, msg_id="read"))
    # It is cancelled while it reads, or before that on a busy machine: never answered.
    await asyncio.sleep(0.3)
    client.lsp.cancel_request(types.CancelParams(id="read"))
    with pytest.raises(JsonRpcException) as cancelled:
        await running
    assert cancelled.value.code == -32800
    assert (await client.request(METHOD, {"path": "src/main.py"}))["returned"] == 3
