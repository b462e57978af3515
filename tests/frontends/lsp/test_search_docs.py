"""$/searchDocs and $/documentText on the wire: streams, cancellation, work in the background."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from conftest import requires_posix, write_files
from documents.conftest import formats_of_tests
from frontends.lsp.conftest import Client, StartClient, children, command_line
from waiting_for import SECONDS, until

pytestmark = pytest.mark.wire

__all__ = ["formats_of_tests"]

METHOD = "$/searchDocs"
BUILTIN = {"documents": {"engine": "builtin"}, "index": {"enabled": False}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pages = {f"docs/{n:03}.pag": f"# {n + 1}\nchapter {n}\nneedle {n}\n" for n in range(60)}
    return write_files(tmp_path / "root", {**pages, "a.json": "needle"})


async def started(
    start_client: StartClient,
    root: Path,
    formats: dict[str, str],
    cache: Path,
    options: dict[str, Any] = BUILTIN,
) -> Client:
    variables = {"PYTHONPATH": formats["PYTHONPATH"], "XDG_CACHE_HOME": str(cache)}
    return await start_client(root, options=options, **variables)


@pytest.fixture
async def documents_client(
    start_client: StartClient, root: Path, formats_of_tests: dict[str, str], tmp_path: Path
) -> Client:
    return await started(start_client, root, formats_of_tests, tmp_path / "cache")


def document_workers(client: Client) -> set[int]:
    """Return the processes that read documents for a server."""
    return {one for one in children(client.pid) if b"documents.extract.worker" in command_line(one)}


async def test_documents_have_the_shape_of_the_contract(
    documents_client: Client, root: Path
) -> None:
    params = {"query": "needle 7$", "path": "docs/0*.pag"}
    result = await documents_client.request(METHOD, params)
    uri = (root / "docs/007.pag").as_uri()
    preview = uri.replace("file:", "winnow-doc:") + "#L3"
    assert result["documents"] == [
        {
            "path": "docs/007.pag",
            "format": "pages",
            "engine": "builtin",
            "matches": [
                {
                    "line": 3,
                    "column": 1,
                    "text": "needle 7",
                    "match_range": [1, 9],
                    "before": ["chapter 7"],
                    "after": [],
                    "page": 8,
                    "preview_uri": preview,
                    "open_uri": f"{uri}#page=8",
                }
            ],
            "total": 1,
        }
    ]
    assert result["engine"] == "builtin"
    assert result["failed"] == []
    assert result["statistics"]["files"] == 60
    shown = await documents_client.request("$/documentText", {"path": preview})
    assert shown["text"] == "──── Page 8 ────\nchapter 7\nneedle 7\n"
    assert shown["line_map"] == [{"line": 1, "title": "Page 8", "page": 8}]


async def test_documents_are_streamed(documents_client: Client) -> None:
    result = await documents_client.request(
        METHOD, {"query": "needle", "partialResultToken": "p", "workDoneToken": "w"}
    )
    sent = documents_client.progress["p"]
    paths = [document["path"] for partial in sent for document in partial["documents"]]
    assert len(paths) == len(set(paths)) == result["total_found"] == result["returned"] == 60
    assert result["documents"] == []
    kinds = [
        one.kind if hasattr(one, "kind") else one["kind"] for one in documents_client.progress["w"]
    ]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


@requires_posix
async def test_a_search_that_is_cancelled_ends_at_once_and_the_server_goes_on(
    start_client: StartClient, root: Path, formats_of_tests: dict[str, str], tmp_path: Path
) -> None:
    write_files(root, {f"{n}.hang": "" for n in range(4)})
    client = await started(start_client, root, formats_of_tests, tmp_path / "cache")
    tasks = [
        asyncio.create_task(client.request(METHOD, {"query": "needle"}, msg_id=f"c{n}"))
        for n in range(20)
    ]
    await until(lambda: document_workers(client), "no document is read")
    for n in range(20):
        client.lsp.cancel_request(types.CancelParams(id=f"c{n}"))
    answers = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), SECONDS)
    assert {getattr(one, "code", None) for one in answers} == {-32800}
    result = await client.request(METHOD, {"query": "needle 5$", "path": "docs"})
    assert [one["path"] for one in result["documents"]] == ["docs/005.pag"]


async def test_unread_documents_are_read_in_the_background_with_progress(
    start_client: StartClient, root: Path, formats_of_tests: dict[str, str], tmp_path: Path
) -> None:
    write_files(root, {f"{n}.hang": "" for n in range(2)})
    options = {**BUILTIN, "documents": {"engine": "builtin", "seconds": 1.0}}
    client = await started(start_client, root, formats_of_tests, tmp_path / "cache", options)
    # What is known already is found in two seconds even on a busy machine.
    await client.request(METHOD, {"query": "needle", "path": "docs"})
    # Each document gets one second at first, and then another second, one at a time.
    result = await client.request(METHOD, {"query": "needle", "timeout": 2, "max_results": 1})
    assert result["pending"] > 0
    assert result["completeness"]["timed_out"] is True
    assert result["completeness"]["complete"] is False

    async def complete() -> Any:
        result = await client.request(METHOD, {"query": "needle", "max_results": 1})
        return None if result.get("pending") else result

    result = await until(complete, "documents are still pending")
    assert (result["statistics"]["files"], len(result["failed"])) == (60, 2)
    titles = [one.get("title") for told in client.progress.values() for one in told]
    assert "Reading documents" in titles


async def test_two_servers_share_document_texts(
    start_client: StartClient, root: Path, formats_of_tests: dict[str, str], tmp_path: Path
) -> None:
    clients = [
        await started(start_client, root, formats_of_tests, tmp_path / "cache") for _ in range(2)
    ]
    results = await asyncio.gather(
        *(client.request(METHOD, {"query": "needle"}) for client in clients)
    )
    assert [result["total_found"] for result in results] == [60, 60]
    texts = [name for _, _, names in os.walk(tmp_path / "cache") for name in names]
    assert sum(name.endswith(".txt") for name in texts) == 60


@requires_posix
async def test_a_killed_worker_loses_no_results(documents_client: Client, root: Path) -> None:
    write_files(root, {f"many/{n}.pag": f"needle {n}\n" * 500 for n in range(200)})
    task = asyncio.create_task(documents_client.request(METHOD, {"query": "needle 150$"}))
    killed: set[int] = set()
    while not task.done():
        # With a third the document would be at fault, or no worker be started any more.
        for child in list(document_workers(documents_client) - killed)[: 2 - len(killed)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, 9)
                killed.add(child)
        await asyncio.sleep(0.01)
    result: Any = await task
    assert [one["path"] for one in result["documents"]] == ["many/150.pag"]
    assert result["failed"] == []
    assert killed
