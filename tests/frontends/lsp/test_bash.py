"""$/bash over the wire: off, on, refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from frontends.lsp.conftest import Client, StartClient

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(sys.platform == "win32", reason="only rg and rga there"),
]


async def refusal(client: Client, command: str) -> Any:
    """Send a command that must be rejected, and return the error's data."""
    error = await client.error("$/bash", {"command": command})
    assert error.code == -32803
    return error.data


ON = {"bash": {"enabled": True}}


async def test_bash_is_off_and_the_error_explains_how_to_enable_it(
    client: Client, project: Path
) -> None:
    data = await refusal(client, "ls")
    assert (data["kind"], data["what"]) == ("not_allowed", "bash")
    assert "bash.enabled" in data["why"]
    tools = (await client.request("$/tools", {}))["tools"]
    assert "bash" not in [tool["name"] for tool in tools]


async def test_a_client_can_enable_bash(start_client: StartClient, project: Path) -> None:
    client = await start_client(project, options=ON)
    result = await client.request("$/bash", {"command": "rg -l register_plugin src | head -1"})
    assert result == {
        "root": str(project),
        "total_found": 1,
        "returned": 1,
        "truncated": False,
        "completeness": {"complete": True, "reasons": [], "skipped": {}, "timed_out": False},
        "warnings": [],
        "stdout": "src/registry.py\n",
        "exit_code": 0,
    }
    tools = (await client.request("$/tools", {}))["tools"]
    [tool] = [tool for tool in tools if tool["name"] == "bash"]
    assert tool["method"] == "$/bash"
    assert tool["input_schema"]["required"] == ["command"]
    assert await refusal(client, "find . -delete") == {
        "kind": "not_allowed",
        "what": "-delete",
        "why": "`find -delete` deletes files",
    }


async def test_a_workspace_cannot_enable_bash(start_client: StartClient, project: Path) -> None:
    (project / "winnow.toml").write_text("[bash]\nenabled = true\n")
    client = await start_client(project)
    assert (await refusal(client, "ls"))["what"] == "bash"
