"""A cluster that is away, slow or wrong neither fails nor delays a search."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from conftest import git_init, write_files
from winnow.config import ClusterSettings, Config
from winnow.search.shared import consent
from winnow.storage.user_folders import state_folder
from winnow.tools.grep import GrepParams, GrepResult, grep
from winnow.types import no_progress
from winnow.workspace import EngineWorkspace

pytestmark = pytest.mark.process

pytest.importorskip("opensearchpy", reason="winnow-ls[cluster] is not installed")

PARAMS = GrepParams(pattern="needle", repositories=["team/*"])
HANGS = None
# More than the 300 ms of the cluster, for what a busy machine adds.
SECONDS = 1.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "here"), {"local.py": "needle = 1\n"})


@asynccontextmanager
async def server(
    answer: bytes | None, status: str = "200 OK"
) -> AsyncIterator[tuple[str, list[str]]]:
    """Start a server that gives each request this answer, or none; yield its address and the
    headers that it gets."""
    heard: list[str] = []
    stop = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heard.append((await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower())
            if answer is HANGS:
                await stop.wait()
            else:
                head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
                head += f"content-length: {len(answer)}\r\nconnection: close\r\n\r\n"
                writer.write(head.encode() + answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}", heard
    finally:
        stop.set()
        listening.close()
        await listening.wait_closed()


@asynccontextmanager
async def workspace_of(
    folder: Path, settings: ClusterSettings, **more: str
) -> AsyncIterator[EngineWorkspace]:
    environment = {"HOME": str(folder.parent / "home"), "PATH": "/usr/bin:/bin", **more}
    workspace = EngineWorkspace([folder], Config(cluster=settings), environment)
    try:
        yield workspace
    finally:
        await workspace.aclose()


async def answered(workspace: EngineWorkspace) -> tuple[GrepResult, float]:
    """Search again, when everything is imported. Return the answer, and how long it took."""
    await grep.run(workspace, PARAMS, no_progress)
    start = time.monotonic()
    return await grep.run(workspace, PARAMS, no_progress), time.monotonic() - start


def says(result: GrepResult, why: str) -> None:
    assert [(match.path, match.line) for match in result.matches] == [("local.py", 1)]
    state = result.completeness.shared
    assert state is not None
    assert not state.answered
    assert why in str(state.reason)
    assert any(why in reason for reason in result.completeness.reasons)


HIT = {"hits": {"hits": [{"_source": {"branch": 3}}], "total": {"value": 1}}}


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (HANGS, "", "did not answer within 300 ms"),
        (b"", "200 OK", "cannot be understood"),
        (b"\xff\xfe\x00garbage", "200 OK", "cannot be understood"),
        (b"[1, 2", "200 OK", "cannot be understood"),
        (b"[]", "200 OK", "cannot be understood"),
        (b'{"responses": []}', "200 OK", "cannot be understood"),
        (b'{"responses": [{}, {}]}', "200 OK", "cannot be understood"),
        (json.dumps({"responses": [HIT, HIT]}).encode(), "200 OK", "cannot be understood"),
        (b"<html>proxy</html>", "200 OK", "cannot be understood"),
        (b"{}", "401 Unauthorized", "the cluster refused the token (401)"),
        (b"{}", "403 Forbidden", "the cluster refused the token (403)"),
        (b"{}", "404 Not Found", "no such index"),
        (b"{}", "500 Error", "the cluster failed (500)"),
        (b"{}", "503 Busy", "the cluster failed (503)"),
    ],
)
async def test_a_bad_answer(folder: Path, answer: bytes | None, status: str, why: str) -> None:
    async with (
        server(answer, status) as (address, _),
        workspace_of(folder, ClusterSettings(addresses=(address,))) as workspace,
    ):
        result, seconds = await answered(workspace)
    says(result, why)
    assert seconds < SECONDS


async def test_a_cluster_that_is_away(folder: Path) -> None:
    settings = ClusterSettings(addresses=("http://127.0.0.1:9",))
    async with workspace_of(folder, settings) as workspace:
        result, seconds = await answered(workspace)
    says(result, "cannot be reached")
    assert seconds < SECONDS


async def test_without_a_cluster_nothing_is_imported_or_sent(folder: Path) -> None:
    async with workspace_of(folder, ClusterSettings()) as workspace:
        says((await answered(workspace))[0], "no cluster is configured")


async def test_the_token_and_the_log(folder: Path) -> None:
    async with (
        server(b"{}") as (address, heard),
        workspace_of(
            folder, ClusterSettings(addresses=(address,)), WINNOW_CLUSTER_TOKEN="secret-token"
        ) as workspace,
    ):
        result = await grep.run(workspace, PARAMS, no_progress)
        assert "authorization: bearer secret-token" in heard[0]
        assert "secret-token" not in str(result)
        await asyncio.sleep(0.2)
        state = state_folder(workspace.environment)
        assert state is not None
        logged = list(state.rglob("*"))
    written = "".join(file.read_text() for file in logged if file.is_file())
    assert '"purpose":"shared_search"' in written.replace(" ", "")
    assert f'"destination":"{address}"' in written.replace(" ", "")
    assert "secret-token" not in written
    assert "needle" not in written


async def test_nothing_is_sent_without_consent(folder: Path) -> None:
    settings = ClusterSettings(addresses=("https://search.example.com:9200",))
    async with workspace_of(folder, settings) as workspace:
        says((await answered(workspace))[0], "run `winnow cluster consent`")
        assert consent.give(workspace) == ["https://search.example.com:9200"]
        assert consent.problem(workspace) is None
    other = ClusterSettings(addresses=("https://other.example.com",))
    async with workspace_of(folder, other) as workspace:
        assert "other.example.com" in str(consent.problem(workspace))
    async with workspace_of(folder, settings) as workspace:
        consent.withdraw(workspace)
        assert consent.problem(workspace) is not None
