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
    """Fork servers from a process that has already imported their modules."""
    needed = any(item.get_closest_marker("wire") for item in request.session.items)
    with fork_server.opened() if needed else contextlib.nullcontext():
        yield


NO_INDEX = {"index": {"enabled": False}}


def make_client(progress: dict[Any, list[Any]]) -> LanguageClient:
    """Create a client that keeps custom results as plain data, and records progress by token."""
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
    """Return the server's environment, without the developer's API keys."""
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
        """Connect to a running server, like `start_io` to a server that it has started."""
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
        """Print the server's log, which pytest shows for a failed test."""
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
        """Send a request that must fail, and return its error."""
        with pytest.raises(JsonRpcException) as failed:
            await self.request(method, params)
        return failed.value

    async def check_error(self, method: str, params: Any, code: int, kind: str) -> None:
        """Assert that a request fails with this code and this kind of error."""
        error = await self.error(method, params)
        assert error.data is not None
        assert (error.code, error.data["kind"]) == (code, kind), params

    def open(self, path: Path, text: str | None = None) -> None:
        """Open a document in the editor, by default with the text of its file."""
        text = path.read_text() if text is None else text
        document = types.TextDocumentItem(path.as_uri(), "python", 1, text)
        self.lsp.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, path: Path, text: str, place: types.Range | None = None) -> None:
        """Change the text of an open document, or of a place in it."""
        document = types.VersionedTextDocumentIdentifier(version=2, uri=path.as_uri())
        change = (
            types.TextDocumentContentChangePartial(place, text)
            if place
            else types.TextDocumentContentChangeWholeDocument(text)
        )
        params = types.DidChangeTextDocumentParams(document, [change])
        self.lsp.text_document_did_change(params)

    def close(self, path: Path) -> None:
        document = types.TextDocumentIdentifier(path.as_uri())
        self.lsp.text_document_did_close(types.DidCloseTextDocumentParams(document))

    @property
    def pid(self) -> int:
        return self.process.pid

    async def stop(self) -> None:
        """Stop the server like a client, even after a failed test."""
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
    """Stop servers that a failed test has left running, so that they don't fail other tests."""
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
    """Start a client with the project open, without an index."""
    return await start_client(project, options=NO_INDEX)


@pytest_asyncio.fixture
async def indexed_client(project: Path, start_client: StartClient) -> Client:
    """Start a client with the project open, and start building an index."""
    return await start_client(project)


def delete_tree(folder: Path) -> None:
    """Delete a folder in which a server may write and delete, too."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


def children(pid: int) -> set[int]:
    """Return the live child processes of a process; none if the process has ended."""
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
    """Return the children that search; index workers are excluded."""
    return {
        child
        for child in children(pid)
        if (command := command_line(child)) and b"winnow.index.builder.worker" not in command
    }


# Without cancellation, the processes would run until their deadline of ten seconds.
ENDED_SECONDS = 8.0
# Ten times the limit in benchmarks, because tests run on busy machines; and the number of attempts:
# a server that waits for something is slow every time.
SOON_SECONDS = 1.0
TURNS = 5


def cancel_request(client: Client, name: str) -> None:
    client.lsp.cancel_request(types.CancelParams(id=name))


def cancel_progress(client: Client, name: str) -> None:
    client.lsp.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=name))


async def seconds_to_end(
    client: Client, method: str, params: dict[str, Any], cancel: Callable[[Client, str], None]
) -> float:
    """Cancel a search during its work; return the seconds until its processes have ended."""
    name = os.urandom(4).hex()
    params = {**params, "workDoneToken": name}
    running = asyncio.create_task(client.request(method, params, msg_id=name))
    ripgrep: set[int] = set()
    while not ripgrep:
        assert not running.done()
        begun = searches(client.pid)
        # A probe has ended by then, and the search itself may start later.
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
        """Settings with which it is ripgrep; the index would list files with it, too.

        It doesn't end when it is tried in the sandbox, which takes some seconds. A keyword search
        must not take that for a slow search of its terms and end them.
        """
        return {
            "programs": {"rg": str(self.program)},
            "index": {"enabled": False},
            "limits": {"probe_seconds": 30},
        }

    async def started(self, count: int) -> list[int]:
        """Wait until at least this many processes have started, and return them."""

        def pids() -> list[int]:
            found = self._pids.read_text().split() if self._pids.exists() else []
            return [int(pid) for pid in found]

        await until(lambda: len(pids()) >= count, "too few were started")
        return pids()

    async def check_ended(self) -> None:
        """Check that all processes end earlier than they would finish."""
        pids = await self.started(0)
        # They would be there for a minute.
        await until(lambda: not any(map(alive, pids)), "a child is still alive", 30)
