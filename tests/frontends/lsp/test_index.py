"""The index over LSP: progress while it is built, and the client's notifications of changes."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from lsprotocol import types

from conftest import MakeWorkspace, git_init, write_files
from frontends.lsp.conftest import Client
from waiting_for import until
from winnow.frontends.lsp.indexing import build_index
from winnow.frontends.lsp.server import WinnowServer

pytestmark = pytest.mark.wire


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_files(git_init(tmp_path / "project"), {"a.py": "def first(): ...\n"})


@pytest.fixture
def registered() -> list[types.Registration]:
    """Return the list that records the server's registrations."""
    return []


@contextlib.asynccontextmanager
async def client_that_tells(
    project: Path, registered: list[types.Registration], **index: Any
) -> AsyncIterator[Client]:
    """Start a client that supports and records registrations for file changes."""
    made = Client()

    @made.lsp.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
    def register(params: types.RegistrationParams) -> None:
        registered.extend(params.registrations)

    await made.start(project, options={"index": index})
    try:
        yield made
    finally:
        await made.stop()


@pytest_asyncio.fixture
async def client(project: Path, registered: list[types.Registration]) -> AsyncIterator[Client]:
    async with client_that_tells(project, registered) as made:
        yield made


def defined(project: Path) -> set[str]:
    """Return the names that the store has definitions of."""
    (file,) = (project / ".winnow").glob("index-*.db")
    connection = sqlite3.connect(file)
    try:
        rows = connection.execute(
            "SELECT text FROM name JOIN definition ON name.id=name JOIN file ON file.id=file"
            " WHERE parked=0"
        )
        return {name for (name,) in rows}
    finally:
        connection.close()


async def ended(client: Client) -> list[Any]:
    """Wait for the end of the build, and return its progress."""

    def last() -> list[Any]:
        told = client.progress.values()
        return next((values for values in told if values[-1]["kind"] == "end"), [])

    values: list[Any] = await until(last, "the build does not end")
    return values


async def until_defined(project: Path, names: set[str]) -> None:
    await until(lambda: defined(project) == names, lambda: defined(project))


async def test_the_index_is_complete_when_its_progress_ends(client: Client, project: Path) -> None:
    values = await ended(client)
    assert [value["kind"] for value in values] == ["begin", "report", "end"]
    assert values[0]["title"] == "Indexing"
    assert (values[1]["message"], values[1]["percentage"]) == ("1 of 1 files", 100)
    assert defined(project) == {"first"}


async def test_the_server_notices_changes(
    client: Client, project: Path, registered: list[types.Registration]
) -> None:
    await ended(client)
    file = project / "a.py"
    file.write_text("def second(): ...\n")
    document = types.TextDocumentIdentifier(file.as_uri())
    client.lsp.text_document_did_save(types.DidSaveTextDocumentParams(document))
    await until_defined(project, {"second"})
    write_files(project, {"b.py": "def third(): ...\n"})
    changes = [types.FileEvent((project / "b.py").as_uri(), types.FileChangeType.Created)]
    client.lsp.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
    await until_defined(project, {"second", "third"})
    file.unlink()
    changes = [types.FileEvent(file.as_uri(), types.FileChangeType.Deleted)]
    client.lsp.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams(changes))
    await until_defined(project, {"third"})
    (registration,) = registered
    assert registration.method == "workspace/didChangeWatchedFiles"


async def test_without_an_index_no_file_watchers_are_registered(
    project: Path, registered: list[types.Registration]
) -> None:
    async with client_that_tells(project, registered, watch=False) as client:
        await ended(client)
    assert registered == []


async def test_a_folder_that_is_added_is_indexed(client: Client, project: Path) -> None:
    await ended(client)
    other = write_files(project.parent / "other", {"o.py": "def other(): ...\n"})
    folder = types.WorkspaceFolder(other.as_uri(), "other")
    event = types.WorkspaceFoldersChangeEvent(added=[folder], removed=[])
    client.progress.clear()
    client.lsp.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
    await ended(client)
    assert defined(other) == {"other"}


async def configure(client: Client, enabled: bool) -> None:
    params = types.DidChangeConfigurationParams({"winnow": {"index": {"enabled": enabled}}})
    client.lsp.workspace_did_change_configuration(params)


async def status(client: Client) -> tuple[str, bool]:
    """Return the state of the only folder, and True if its index is persistent."""
    (folder,) = (await client.request("$/indexStatus", {}))["index"]["folders"]
    return folder["state"], folder.get("store") is not None


async def test_settings_turn_the_index_on_and_off(
    project: Path, registered: list[types.Registration]
) -> None:
    async with client_that_tells(project, registered, enabled=False) as client:
        assert (await status(client))[0] == "none"
        assert not (project / ".winnow").exists()
        for name in ("first", "second"):
            client.progress.clear()
            await configure(client, True)
            await ended(client)
            assert defined(project) == {name}
            assert await status(client) == ("ready", True)
            await configure(client, False)

            async def has_ended() -> bool:
                return (await status(client))[0] == "none"

            await until(has_ended)
            # Changes are ignored now, but the index is still there when it is turned on again.
            file = write_files(project, {"a.py": "def second(): ...\n"}) / "a.py"
            document = types.TextDocumentIdentifier(file.as_uri())
            client.lsp.text_document_did_save(types.DidSaveTextDocumentParams(document))
            await asyncio.sleep(0.2)
            assert defined(project) == {name}
        assert len(registered) == 1


async def test_names_are_in_memory_when_the_index_is_built(
    make_workspace: MakeWorkspace, project: Path
) -> None:
    server = WinnowServer()
    server.protocol.client_capabilities = types.ClientCapabilities()
    server.engine = workspace = make_workspace(project)
    await build_index(server)
    (known,) = workspace.names._stores.values()
    assert known.last == 1
