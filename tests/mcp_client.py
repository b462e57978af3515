"""Connect the official MCP client to `winnow mcp` in a new process, or in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import mcp_types as types
from mcp import Client, StdioServerParameters

from conftest import child_environment, write_files
from winnow.frontends import config_files
from winnow.frontends.cli.main import command_parser
from winnow.frontends.mcp import MAX_TOKENS, _Session

COMMAND = [sys.executable, "-m", "winnow", "mcp"]
WITHOUT_INDEX = "[index]\nenabled = false\n"


@contextlib.asynccontextmanager
async def connected(
    folder: Path,
    *arguments: str,
    home: Path | None = None,
    mode: str = "legacy",
    settings: str = WITHOUT_INDEX,
    command: Sequence[str] = COMMAND,
    variables: Mapping[str, str] | None = None,
    seconds: float = 60,
) -> AsyncIterator[Client]:
    """Start a server in a folder with a user's settings, and yield a client. It has all tools and
    sends data, unless the arguments choose the tools."""
    server = StdioServerParameters(
        command=command[0],
        args=[*command[1:], *_with_all_tools(arguments)],
        cwd=folder,
        env=_environment(home or folder.parent, settings, variables),
    )
    async with Client(server, mode=mode, read_timeout_seconds=seconds) as client:
        yield client


@contextlib.asynccontextmanager
async def connected_here(
    folder: Path,
    *arguments: str,
    home: Path | None = None,
    mode: str = "legacy",
    settings: str = WITHOUT_INDEX,
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[Client]:
    """Yield a client of a server in this process. It starts immediately; only its streams and its
    exit differ from a real server."""
    environment = _environment(home or folder.parent, settings, variables)
    options = command_parser().parse_args(["mcp", *_with_all_tools(arguments)])
    folders = [Path(name) for name in options.folders] or [folder]
    config, problems = config_files.load(environment, folders[0])
    assert not problems
    budget = MAX_TOKENS if options.max_tokens is None else options.max_tokens
    session = _Session(
        *(folders, config, budget, options.structured, environment),
        all_tools=options.tools == "all",
    )
    try:
        async with Client(session._server, mode=mode, read_timeout_seconds=60) as client:
            yield client
    finally:
        await session._keeper.aclose()
        await session.workspace.aclose()


def _with_all_tools(arguments: Sequence[str]) -> Sequence[str]:
    return arguments if "--tools" in arguments else ["--tools", "all", "--structured", *arguments]


def _environment(home: Path, settings: str, variables: Mapping[str, str] | None) -> dict[str, str]:
    """Return the environment of a user with these settings."""
    if settings:
        write_files(home, {".config/winnow/config.toml": settings})
    cache = {"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    return {**cache, **child_environment(home), **(variables or {})}


async def indexed(client: Client) -> None:
    """Begin the index with a search, and wait until it is ready."""
    await client.call_tool("find_symbol", {"name": "no_such_name"})
    end = time.monotonic() + 60
    while True:
        answer = await client.call_tool("index_status", {})
        assert answer.structured_content is not None
        if answer.structured_content["completeness"]["index"]["state"] == "ready":
            return
        assert time.monotonic() < end, text_of(answer)
        await asyncio.sleep(0.02)


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text
