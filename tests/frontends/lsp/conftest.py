"""A language client whose custom results stay plain data, and a server for each test."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import shutil
import subprocess
import sys
import time
from asyncio.streams import FlowControlMixin
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.io_ import run_async
from pytest_lsp import LanguageClient, client_capabilities, make_test_lsp_client

from conftest import alive
from frontends.lsp import fork_server
from frontends.lsp.fork_server import COMMAND, Forked
from waiting_for import SECONDS, until
from winnow.frontends.lsp.protocol import plain_converter

__all__ = ["COMMAND"]


@pytest.fixture(scope="session", autouse=True)
def servers_are_forked(
    request: pytest.FixtureRequest, no_network: None, user_cache: None
) -> Iterator[None]:
    """Servers are forked from a process that has loaded what they are made of."""
    needed = any(item.get_closest_marker("wire") for item in request.session.items)
    with fork_server.opened() if needed else contextlib.nullcontext():
        yield


NO_INDEX = {"index": {"enabled": False}}


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


@functools.cache
def editors_capabilities() -> types.ClientCapabilities:
    return client_capabilities("visual-studio-code")


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
        self,
        *folders: Path,
        options: dict[str, Any] | None = None,
        experimental: dict[str, Any] | None = None,
        **variables: str,
    ) -> types.InitializeResult:
        capabilities = attrs.evolve(editors_capabilities(), experimental=experimental)
        await self._connect(fork_server.start(COMMAND, environment(**variables), patient=True))
        return await self.lsp.initialize_session(
            types.InitializeParams(
                capabilities=capabilities,
                workspace_folders=[
                    types.WorkspaceFolder(uri=folder.as_uri(), name=folder.name)
                    for folder in folders
                ],
                initialization_options=options,
            )
        )

    async def _connect(self, process: Forked | subprocess.Popen[bytes]) -> None:
        """Speak with a server, as `start_io` does with one that it has started."""
        self.process = process
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        answers = asyncio.StreamReaderProtocol(reader)
        await loop.connect_read_pipe(lambda: answers, process.stdout)
        pipe, flow = await loop.connect_write_pipe(FlowControlMixin, process.stdin)
        client: Any = self.lsp
        self._writer = asyncio.StreamWriter(pipe, flow, reader, loop)
        client.protocol.set_writer(self._writer)
        reading = run_async(
            stop_event=client._stop_event,
            reader=reader,
            protocol=client.protocol,
            logger=logging.getLogger("pygls"),
            error_handler=client.report_server_error,
        )
        self._tasks = [asyncio.create_task(reading), asyncio.create_task(self._read_log(loop))]

    async def _read_log(self, loop: asyncio.AbstractEventLoop) -> None:
        """Show with a test that fails what the server has logged."""
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self.process.stderr
        )
        sys.stderr.write((await reader.read()).decode("utf-8", "replace"))

    async def request(self, method: str, params: Any, msg_id: str | None = None) -> Any:
        send = self.lsp.protocol.send_request_async
        future = send(method, params, msg_id=msg_id)  # type: ignore[no-untyped-call]
        return await asyncio.wait_for(future, SECONDS)

    async def error(self, method: str, params: Any) -> JsonRpcException:
        """The error of a request that must fail."""
        with pytest.raises(JsonRpcException) as failed:
            await self.request(method, params)
        return failed.value

    async def check_error(self, method: str, params: Any, code: int, kind: str) -> None:
        """Assert that a request fails with this code and this kind of error."""
        error = await self.error(method, params)
        assert error.data is not None
        assert (error.code, error.data["kind"]) == (code, kind), params

    @property
    def pid(self) -> int:
        return self.process.pid

    async def stop(self) -> None:
        """End the server as a client does, or one that a test that failed has left."""
        try:
            await self.lsp.shutdown_session()
            await until(lambda: self.process.poll() is not None, "the server does not end")
        finally:
            self.process.kill()
            self.process.wait()
            await asyncio.gather(*self._tasks)
            self._writer.close()
            await self.lsp.stop()  # type: ignore[no-untyped-call]


@pytest.fixture(autouse=True)
def no_server_is_left() -> Iterator[None]:
    """Servers that a test has left, as one that fails does, are ended: they make no other fail."""
    from frontends.lsp.wire import Wire  # which takes from here how a server is started

    before = set(Wire.running)
    yield
    for wire in Wire.running - before:
        wire.kill()


StartClient = Callable[..., Awaitable[Client]]


@pytest_asyncio.fixture
async def start_client() -> AsyncIterator[StartClient]:
    """Start servers of their own, on folders, with options and environment variables."""
    clients: list[Client] = []

    async def start(
        *folders: Path,
        options: dict[str, Any] | None = None,
        experimental: dict[str, Any] | None = None,
        **variables: str,
    ) -> Client:
        client = Client()
        await client.start(*folders, options=options, experimental=experimental, **variables)
        clients.append(client)
        return client

    yield start
    for client in clients:
        await client.stop()


@pytest_asyncio.fixture
async def client(project: Path, start_client: StartClient) -> Client:
    """A client with the project open, without an index."""
    return await start_client(project, options=NO_INDEX)


@pytest_asyncio.fixture
async def indexed_client(project: Path, start_client: StartClient) -> Client:
    """A client with the project open and an index being built."""
    return await start_client(project)


def delete_tree(folder: Path) -> None:
    """Delete a folder in which a server may write and delete, too."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def children(pid: int) -> set[int]:
    """The processes that a process has started and that are alive; none if it has ended itself."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found |= {int(child) for child in (task / "children").read_text().split()}
    return found


def command_line(pid: int) -> bytes:
    """Return the command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def searches(pid: int) -> set[int]:
    """The children that search; those that parse for the index live on."""
    return {
        child
        for child in children(pid)
        if (command := command_line(child)) and b"winnow.index.builder.worker" not in command
    }


# What is cancelled would go on until its deadline, of ten seconds.
ENDED_SECONDS = 8.0
# Ten times the limit that benchmarks measure, since tests run beside other work; and how often a
# search is tried: a server that waits for anything takes longer each time.
SOON_SECONDS = 1.0
TURNS = 5


def cancel_request(client: Client, name: str) -> None:
    client.lsp.cancel_request(types.CancelParams(id=name))


def cancel_progress(client: Client, name: str) -> None:
    client.lsp.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=name))


async def seconds_to_end(
    client: Client, method: str, params: dict[str, Any], cancel: Callable[[Client, str], None]
) -> float:
    """Cancel a search that ripgrep is busy with; how long its processes were there after that."""
    name = os.urandom(4).hex()
    params = {**params, "workDoneToken": name}
    running = asyncio.create_task(client.request(method, params, msg_id=name))
    ripgrep: set[int] = set()
    while not ripgrep:
        assert not running.done()
        begun = searches(client.pid)
        # What only probes has ended by then, and the search itself may be to come.
        await asyncio.sleep(0.3)
        ripgrep = begun & searches(client.pid)
    started = time.monotonic()
    cancel(client, name)
    while any(map(alive, ripgrep)):
        assert time.monotonic() - started < ENDED_SECONDS, "ripgrep is still alive"
        await asyncio.sleep(0.005)
    seconds = time.monotonic() - started
    with pytest.raises(JsonRpcException) as cancelled:
        await running
    assert cancelled.value.code == -32800
    return seconds


async def check_cancelled_soon(
    client: Client,
    method: str,
    params: dict[str, Any],
    cancel: Callable[[Client, str], None] = cancel_request,
) -> None:
    taken: list[float] = []
    while not taken or (taken[-1] >= SOON_SECONDS and len(taken) < TURNS):
        taken.append(await seconds_to_end(client, method, params, cancel))
    assert taken[-1] < SOON_SECONDS, taken


class Endless:
    """A program in the place of ripgrep that does not end by itself, nor does what it starts."""

    def __init__(self, folder: Path) -> None:
        self._pids = folder / "pids"
        self.program = folder / "rg"
        self.program.write_text(f"#!/bin/sh\nsleep 60 &\necho $! $$ >> {self._pids}\nwait\n")
        self.program.chmod(0o755)

    @property
    def options(self) -> dict[str, Any]:
        """Settings with which it is ripgrep; the index would list files with it, too."""
        return {"programs": {"rg": str(self.program)}, "index": {"enabled": False}}

    async def started(self, count: int) -> list[int]:
        """Wait until at least this many processes have started, and return them."""

        def pids() -> list[int]:
            found = self._pids.read_text().split() if self._pids.exists() else []
            return [int(pid) for pid in found]

        await until(lambda: len(pids()) >= count, "too few were started")
        return pids()

    async def check_ended(self) -> None:
        """All have been ended, in less time than they would be there by themselves."""
        pids = await self.started(0)
        # They would be there for a minute.
        await until(lambda: not any(map(alive, pids)), "a child is still alive", 30)
