"""The language server's requests, which are derived from the tools, and the session."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from winnow import config as configuration
from winnow.errors import ProgramNotInstalled, RootRefused
from winnow.frontends import config_files
from winnow.frontends.lsp.convert import folders_of, path_of
from winnow.frontends.lsp.editor import (
    CallToolParams,
    add_editor_features,
    ask_editor,
    offers_model,
)
from winnow.frontends.lsp.features import add_features
from winnow.frontends.lsp.indexing import build_index, switch_index, tell_changes, watch_files
from winnow.frontends.lsp.progress import Reporter, background_progress, without_tokens
from winnow.frontends.lsp.protocol import CALL_TOOL, search_errors
from winnow.frontends.lsp.server import WinnowServer
from winnow.frontends.server_process import end_on_signals, end_with_client
from winnow.search.answer.shorten import measured_as
from winnow.search.index.background import open_index
from winnow.storage.paths import shown_path
from winnow.storage.state_folder import notices
from winnow.text.search_roots import repository_root
from winnow.tools import TOOLS, for_agents, short_list
from winnow.tools.registry import Tool, typed_params
from winnow.types import Result
from winnow.workspace import EngineWorkspace, Lifetime

# An editor searches as soon as the server is ready. The first search would import these in the
# event loop, which takes three times as long while a thread imports the index.
NEEDED_BY_SEARCHES = (
    "apsw.sqlite_extra",
    "winnow.processes.sandbox",
    "winnow.ranking.history.history",
    "winnow.search.index.begin",
    "winnow.search.keyword.index_results",
    "winnow.search.keyword.search",
    "winnow.search.keyword.suggested_terms",
    "winnow.text.readable_files",
)

logger = logging.getLogger(__name__)

SECTION = "winnow"
CONFIGURATION_SECONDS = 5.0


def create_server() -> WinnowServer:
    """Return a server with every tool as a request, to be started on a transport."""
    for module in NEEDED_BY_SEARCHES:
        importlib.import_module(module)
    server = WinnowServer()
    for tool in TOOLS.values():
        server.feature(tool.method)(_handler(server, tool))
    _add_call_tool(server)
    add_features(server)
    add_editor_features(server)
    _add_lifecycle(server)
    return server


# --- requests ------------------------------------------------------------------------------


def _handler(server: WinnowServer, tool: Tool[Any, Any]) -> Callable[[Any], Awaitable[Any]]:
    async def handle(params: Any) -> Any:
        result = await _answer(server, tool, params)
        try:
            return msgspec.Raw(msgspec.json.encode(result))
        except UnicodeEncodeError:  # a lone surrogate, which JSON can represent
            return msgspec.to_builtins(result)

    return handle


async def _answer(server: WinnowServer, tool: Tool[Any, Any], params: Any) -> Result:
    """Call a tool with the params of a request. Raise JsonRpcException."""
    workspace = server.opened()
    with search_errors():
        raw, work_done, partial = without_tokens(params)
        with Reporter(server, work_done, partial, tool.name) as progress:
            result: Result = await tool.call(workspace, raw, progress)
            return result


def _add_call_tool(server: WinnowServer) -> None:
    @server.feature(CALL_TOOL)
    async def call_tool(params: Any) -> dict[str, str]:
        """Call a tool by name and return its answer as text for agents. An editor that passes the
        tools of `$/tools` to a model uses it."""
        with search_errors():
            raw, work_done, _ = without_tokens(params)
            asked = typed_params(raw, CallToolParams)
        offered = short_list() if asked.short else for_agents(server.opened().config.is_on)
        tool = offered.get(asked.name)
        if tool is None:
            raise JsonRpcInvalidParams(f"unknown or disabled tool {asked.name!r}")
        arguments = asked.arguments
        if asked.short and tool.short:
            arguments = tool.short_call(tool.short, arguments)
        told = {} if work_done is None else {"workDoneToken": work_done}
        with measured_as(tool.plain):
            result = await _answer(server, tool, {**arguments, **told})
        return {"text": tool.plain(result)}


# --- settings ----------------------------------------------------------------------------


def configure(server: WinnowServer, client: dict[str, Any] | None = None) -> None:
    """Merge all layers of the configuration again and show their problems to the user."""
    workspace = server.engine
    if workspace is None:
        return
    folder = repository_root(workspace.folders[0]) if workspace.folders else None
    merged, problems = config_files.load(workspace.environment, folder)
    for layer, source in ((server.options, "initializationOptions"), (client, "settings")):
        merged, wrong = configuration.merge_layer(merged, layer or {}, source)
        problems += wrong
    was_enabled = workspace.config.index.enabled
    workspace.reconfigure(merged)
    if merged.index.enabled != was_enabled:
        if server.has_begun:
            _in_background(server, switch_index(server))
        elif workspace.has_index:
            _in_background(server, workspace.index.follow_settings())
    ignored = notices(workspace.roots(), workspace.user)
    problems += [notice for notice in ignored if notice not in server.noticed]
    server.noticed.update(ignored)
    for problem in problems:
        server.window_show_message(
            types.ShowMessageParams(types.MessageType.Warning, f"Winnow: {problem}")
        )


def tell_refused(server: WinnowServer) -> None:
    """Warn the user once about each open folder that may not be searched."""
    workspace = server.engine
    if workspace is None:
        return
    for folder in workspace.folders:
        if folder not in server.refused and (why := workspace.refusal(folder)):
            server.refused.add(folder)
            problem = RootRefused(shown_path(str(folder))[0], why)
            server.window_show_message(
                types.ShowMessageParams(types.MessageType.Warning, f"Winnow: {problem}")
            )


# --- lifecycle -----------------------------------------------------------------------------


def _add_lifecycle(server: WinnowServer) -> None:
    @server.feature(types.INITIALIZE)
    async def initialize(params: types.InitializeParams) -> None:
        asks_editor = offers_model(params.capabilities)
        server.engine = EngineWorkspace(
            folders_of(params),
            lifetime=Lifetime.SERVER,
            open_documents=server.protocol.documents.texts,
            ask_editor=functools.partial(ask_editor, server) if asks_editor else None,
            client_ready=server.protocol.room,
            report_reading=functools.partial(
                background_progress, server, "Reading documents", "documents"
            ),
        )
        server.engine.index_in_background(functools.partial(_start_indexing, server))
        options = params.initialization_options
        server.options = options if isinstance(options, dict) else {}
        configure(server)
        with contextlib.suppress(ProgramNotInstalled):  # searches report it
            server.engine.run_ripgrep()  # finds it
        server.protocol.documents.tell = functools.partial(_viewed, server.engine)
        end_on_signals(server.engine)
        if params.process_id is not None:
            _in_background(server, end_with_client(server.engine, params.process_id))

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        _in_background(server, _begin(server))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        tell_changes(server, [params.text_document.uri])

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(params: types.DidChangeWatchedFilesParams) -> None:
        tell_changes(server, [change.uri for change in params.changes])

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def changed(params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        if isinstance(settings, dict) and isinstance(settings.get(SECTION), dict):
            configure(server, settings[SECTION])
        else:
            _in_background(server, _pull_configuration(server))

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        if server.engine is None:
            return
        removed = [path for folder in params.event.removed if (path := path_of(folder.uri))]
        added = [path for folder in params.event.added if (path := path_of(folder.uri))]
        server.engine.change_folders(added, removed)
        tell_refused(server)
        _in_background(server, build_index(server))

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: None) -> None:
        if server.engine is not None:
            await server.engine.aclose()


def _in_background(server: WinnowServer, work: Any) -> asyncio.Task[Any]:
    task = asyncio.create_task(work)
    server.background.add(task)
    task.add_done_callback(server.background.discard)
    return task


def _start_indexing(server: WinnowServer, consent: bool) -> asyncio.Task[Any] | None:
    """Build the index with the user's consent. Without it, the session has begun the index."""
    return _in_background(server, build_index(server, consent=True)) if consent else None


async def _begin(server: WinnowServer) -> None:
    """Start the background work of a session. Get its settings first: they may forbid it."""
    if server.engine is not None:
        _in_background(server, open_index(server.engine))
    await _pull_configuration(server)
    tell_refused(server)
    server.has_begun = True
    _in_background(server, watch_files(server))
    await build_index(server)


def _viewed(workspace: EngineWorkspace, path: Path) -> None:
    """Record that the editor opened a file, which may be the result of a search."""
    if workspace.config.learning.enabled:
        workspace.history.viewed(path)


async def _pull_configuration(server: WinnowServer) -> None:
    """Request the client's settings, if it supports that."""
    workspace = server.client_capabilities.workspace
    if not (workspace and workspace.configuration):
        return
    question = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
    try:
        answer = await asyncio.wait_for(
            server.workspace_configuration_async(question), CONFIGURATION_SECONDS
        )
    except (JsonRpcException, asyncio.TimeoutError) as error:
        logger.warning("The client did not send its settings: %s", error)
        return
    if answer and isinstance(answer[0], dict):
        configure(server, answer[0])
