"""The index beside a client: built when the session begins, with progress; told what changes."""

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
    """Ask the client to tell of every change of a file, if it can be asked and there is an index to
    keep up. Its word comes late or not at all, so the index has a watcher of its own, too; but it
    also tells of file systems that tell nobody else."""
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
    asked = types.RegistrationParams(
        [types.Registration(id="winnow-files", method=method, register_options=options)]
    )
    try:
        await asyncio.wait_for(server.client_register_capability_async(asked), CLIENT_SECONDS)
        server.is_told_of_files = True
    except (JsonRpcException, asyncio.TimeoutError) as error:
        logger.warning("The client does not tell which files change: %s", error)


async def build_index(server: WinnowServer, consent: bool = False) -> None:
    """Bring the index up to date; when the progress ends, it is. With ``consent``, also one that is
    not made unless somebody asks for it."""
    if server.engine is None or not (server.engine.config.index.enabled or consent):
        return
    await open_index(server.engine)
    await load_index()
    async with background_progress(server, "Indexing", "files") as report:
        await keep_index(server.engine, report, consent)
    await load_names(server.engine)


async def switch_index(server: WinnowServer) -> None:
    """Begin or end to keep an index, as the settings say now."""
    if server.engine is not None and server.engine.has_index:
        await server.engine.index.follow_settings()
    await watch_files(server)
    await build_index(server)


def tell_changes(server: WinnowServer, uris: Iterable[str]) -> None:
    """Hand on that files have changed."""
    paths = [path for uri in uris if (path := path_of(uri)) is not None]
    if server.engine is not None:
        server.engine.files_changed(paths)
