"""The official client library, connected to a real `winnow mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
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
    command: Sequence[str] = COMMAND,
    variables: Mapping[str, str] | None = None,
    seconds: float = 30,
) -> AsyncIterator[Client]:
    """A client of a server that was started for it in a folder, with a user's settings."""
    home = home or folder.parent
    if settings:
        write_files(home, {".config/winnow/config.toml": settings})
    server = StdioServerParameters(
        command=command[0],
        args=[*command[1:], *arguments],
        cwd=folder,
        env={
            "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
            **child_environment(home),
            **(variables or {}),
        },
    )
    async with Client(server, mode=mode, read_timeout_seconds=seconds) as client:
        yield client


async def indexed(client: Client) -> None:
    """Wait until the index is there, which is begun once something was asked."""
    for _ in range(400):
        answer = await client.call_tool("index_status", {})
        assert answer.structured_content is not None
        if answer.structured_content["completeness"]["index"]["state"] == "ready":
            return
        await asyncio.sleep(0.05)
    raise AssertionError(text_of(answer))


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text
