"""The official client library, connected to a real `winnow mcp`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import mcp_types as types
from mcp import Client, StdioServerParameters

from conftest import child_environment, write_files

COMMAND = [sys.executable, "-m", "winnow", "mcp"]
WITHOUT_INDEX = "[index]\nenabled = false\n"


@contextlib.asynccontextmanager
async def connected(
    folder: Path,
    *arguments: str,
    home: Path | None = None,
    mode: str = "legacy",
    settings: str = WITHOUT_INDEX,
) -> AsyncIterator[Client]:
    """A client of a server that was started for it in a folder, with a user's settings."""
    home = home or folder.parent
    if settings:
        write_files(home, {".config/winnow/config.toml": settings})
    server = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], *arguments],
        cwd=folder,
        env={"XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], **child_environment(home)},
    )
    async with Client(server, mode=mode, read_timeout_seconds=30) as client:
        yield client


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text
