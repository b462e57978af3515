"""A language client whose custom results stay plain data, and a server per module."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from winnow.lsp.protocol import plain_converter

COMMAND = [sys.executable, "-m", "winnow", "serve"]


def make_client(progress: dict[Any, list[Any]]) -> LanguageClient:
    """A client that leaves custom results as they are, and keeps all progress by token."""
    client = make_test_lsp_client()
    client.protocol._converter = plain_converter()
    # pytest-lsp's own keeps only the standard kinds, of tokens that the server has made.
    del client.protocol.fm.features[types.PROGRESS]

    @client.feature(types.PROGRESS)  # type: ignore[untyped-decorator]
    def keep(params: types.ProgressParams) -> None:
        progress.setdefault(params.token, []).append(params.value)

    return client


def environment(**more: str) -> dict[str, str]:
    """The server's environment: no keys of the developer's."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, **more}


class Client:
    """A client of a running server, as a test wants to use it."""

    def __init__(self) -> None:
        self.progress: dict[Any, list[Any]] = {}
        self.lsp = make_client(self.progress)

    async def start(
        self, *folders: Path, options: dict[str, Any] | None = None, **variables: str
    ) -> types.InitializeResult:
        config = ClientServerConfig(COMMAND, server_env=environment(**variables))
        await self.lsp.start_io(*config.server_command, env=config.server_env)
        return await self.lsp.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities("visual-studio-code"),
                workspace_folders=[
                    types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name)
                    for folder in folders
                ],
                initialization_options=options,
            )
        )

    async def request(self, method: str, params: Any, msg_id: str | None = None) -> Any:
        send = self.lsp.protocol.send_request_async
        future = send(method, params, msg_id=msg_id)  # type: ignore[no-untyped-call]
        return await asyncio.wait_for(future, 20)

    async def error(self, method: str, params: Any) -> JsonRpcException:
        """The error of a request that must fail."""
        with pytest.raises(JsonRpcException) as failed:
            await self.request(method, params)
        return failed.value

    @property
    def pid(self) -> int:
        assert self.lsp._server is not None
        return self.lsp._server.pid

    async def stop(self) -> None:
        await self.lsp.shutdown_session()
        await self.lsp.stop()  # type: ignore[no-untyped-call]


StartClient = Callable[..., Awaitable[Client]]


@pytest_asyncio.fixture
async def start_client() -> AsyncIterator[StartClient]:
    """Start servers of their own, on folders, with options and environment variables."""
    clients: list[Client] = []

    async def start(
        *folders: Path, options: dict[str, Any] | None = None, **variables: str
    ) -> Client:
        client = Client()
        await client.start(*folders, options=options, **variables)
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.stop()


@pytest_asyncio.fixture
async def client(project: Path, start_client: StartClient) -> Client:
    """A client with the project open."""
    return await start_client(project)


def children(pid: int) -> set[int]:
    """The processes that a process has started and that are alive."""
    found = set()
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found |= {int(child) for child in (task / "children").read_text().split()}
        except OSError:
            continue
    return found


def searches(pid: int) -> set[int]:
    """The children that search; those that parse for the index live on."""
    found = set()
    for child in children(pid):
        try:
            if b"winnow.index.worker" not in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(child)
        except OSError:
            continue
    return found
