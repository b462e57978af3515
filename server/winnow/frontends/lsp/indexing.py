"""The index of a session: build it when the session begins, and report changes to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from winnow.frontends.lsp.convert import path_of
from winnow.frontends.lsp.progress import CLIENT_SECONDS, background_progress
from winnow.search.index.background import keep_index, load_index, load_names, open_index

if TYPE_CHECKING:
    from winnow.frontends.lsp.server import WinnowServer

logger = logging.getLogger(__name__)

WATCHED = "**/*"


async def watch_files(server: WinnowServer) -> None:
    """Ask the client to report changed files, if it supports that and the index is on.

    Clients report late or not at all, so the index also has its own watcher. But clients also
    report changes in file systems that the watcher can't see.
    """
    index = server.engine.config.index if server.engine is not None else None
    if index is None or not (index.enabled and index.watch) or server.is_told_of_files:
        return
    workspace = server.client_capabilities.workspace
    watched = workspace and workspace.did_change_watched_files
    if not (watched and watched.dynamic_registration):
        return
    method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    options = types.DidChangeWatchedFilesRegistrationOptions(
        watchers=[types.FileSystemWatcher(glob_pattern=WATCHED)]
    )
    request = types.RegistrationParams(
        [types.Registration(id="winnow-files", method=method, register_options=options)]
    )
    try:
        await asyncio.wait_for(server.client_register_capability_async(request), CLIENT_SECONDS)
        server.is_told_of_files = True
    except (JsonRpcException, asyncio.TimeoutError) as error:
        logger.warning("The client does not report changed files: %s", error)


async def build_index(server: WinnowServer, consent: bool = False) -> None:
    """Build or update the index, and show the progress until it is complete.

    With ``consent``, also build an index that Winnow builds only on request.
    """
    if server.engine is None or not (server.engine.config.index.enabled or consent):
        return
    await open_index(server.engine)
    await load_index()
    async with background_progress(server, "Indexing", "files") as report:
        await keep_index(server.engine, report, consent)
    told = [each for each in server.engine.index.archive_notices() if each not in server.noticed]
    server.noticed.update(told)
    for notice in told:
        message = types.ShowMessageParams(types.MessageType.Info, f"Winnow: {notice}")
        server.window_show_message(message)
    await load_names(server.engine)


async def switch_index(server: WinnowServer) -> None:
    """Turn the index on or off, following the current settings."""
    if server.engine is not None and server.engine.has_index:
        await server.engine.index.follow_settings()
    await watch_files(server)
    await build_index(server)


def tell_changes(server: WinnowServer, uris: Iterable[str]) -> None:
    """Report changed files to the workspace."""
    paths = [path for uri in uris if (path := path_of(uri)) is not None]
    if server.engine is not None:
        server.engine.files_changed(paths)
