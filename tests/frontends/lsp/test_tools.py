"""The requests of the tools: what only the wire shows, $/tools and $/callTool."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from conftest import write_files
from frontends.lsp.conftest import Client, StartClient
from winnow.config import Config
from winnow.tools import TOOLS

pytestmark = pytest.mark.wire


async def test_tools_lists_descriptions_and_schemas_for_a_model(client: Client) -> None:
    result = await client.request("$/tools", {})
    tools = {tool["name"]: tool for tool in result["tools"]}
    assert set(tools) == {
        name
        for name, tool in TOOLS.items()
        if tool.for_agents and (not tool.switch or Config().is_on(tool.switch))
    }
    # What a person decides, and what other workspaces sent, is not a model's to ask for.
    assert {"consent", "audit", "tools"}.isdisjoint(tools)
    for name in ("consent", "audit"):
        with pytest.raises(JsonRpcException, match="unknown or disabled tool"):
            await client.request("$/callTool", {"name": name, "arguments": {"action": "give"}})
    assert all(tool["method"] == TOOLS[name].method for name, tool in tools.items())
    assert all("$ref" not in str(tool["input_schema"]) for tool in tools.values())
    tool = tools["keyword_search"]
    assert tool["method"] == "$/keywordSearch"
    for advice in (
        "Prefer MANY SPECIFIC terms over FEW GENERAL ones",
        "Order search terms by importance",
        "Do NOT use this tool if you have precise information",
    ):
        assert advice in tool["description"]
    schema = tool["input_schema"]
    assert schema["type"] == "object"
    assert schema["required"] == ["query", "search_terms"]
    assert schema["properties"]["query"]["type"] == "string"
    assert schema["properties"]["search_terms"]["items"]["type"] == "string"
    assert "$ref" not in str(schema)


async def test_a_tool_called_by_name_returns_text_for_agents(client: Client) -> None:
    arguments = {"pattern": "def load_plugin", "context_lines": 0}
    answer = await client.request("$/callTool", {"name": "grep", "arguments": arguments})
    result = await client.request("$/grep", arguments)
    grep = TOOLS["grep"]
    assert answer == {"text": grep.plain(msgspec.convert(result, grep.result))}
    assert "def load_plugin" in answer["text"]


async def test_tools_of_the_short_list_have_their_own_names_and_limits(client: Client) -> None:
    question = {"query": "where are plugins loaded"}
    call = {"name": "search", "arguments": question, "short": True}
    text = (await client.request("$/callTool", call))["text"]
    code_search = TOOLS["code_search"]
    result = await client.request("$/codeSearch", {**question, "limit": 5, "max_tokens": 800})
    assert text == code_search.plain(msgspec.convert(result, code_search.result))
    assert "src/loader.py" in text
    colored = {"query": f"\x1b[31m{question['query']}\x1b[0m"}
    assert await client.request("$/callTool", {**call, "arguments": colored}) == {"text": text}
    for name in ("code_search", "glob"):
        error = await client.error("$/callTool", {"name": name, "short": True})
        assert "unknown or disabled tool" in error.message


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"name": "sed"}, "unknown or disabled tool 'sed'"),
        ({"name": "bash", "arguments": {"command": "ls"}}, "unknown or disabled tool 'bash'"),
        ({"arguments": {}}, "`name`: required"),
        ({"name": "grep", "arguments": []}, "`arguments`: expected object, got array"),
        ({"name": "grep", "arguments": {"pattern": 1}}, "`pattern`: expected string"),
    ],
)
async def test_a_tool_that_cannot_be_called_reports_the_reason(
    client: Client, params: dict[str, Any], message: str
) -> None:
    error = await client.error("$/callTool", params)
    assert error.code == -32602
    assert message in error.message


async def test_params_may_be_absent(client: Client) -> None:
    assert await client.request("$/tools", None) == await client.request("$/tools", {})


@pytest.mark.parametrize(
    ("method", "params", "code", "data"),
    [
        ("grep", {"pattern": ""}, -32803, {"kind": "empty_query"}),
        (
            "keywordSearch",
            {"query": "q", "search_terms": ["("]},
            -32803,
            {"kind": "invalid_pattern", "pattern": "(", "detail": "unclosed group"},
        ),
        (
            "glob",
            {"pattern": "**", "path": "../.."},
            -32803,
            {"kind": "path_outside_workspace", "path": "../.."},
        ),
        ("codeSearch", {"query": "x", "path": "no"}, -32803, {"kind": "not_found", "path": "no"}),
        ("tree", {"path": "src/main.py"}, -32803, {"kind": "not_a_folder", "path": "src/main.py"}),
        (
            "keywordSearch",
            {"query": "q", "search_terms": ["a", 1]},
            -32602,
            {"kind": "invalid_params", "field": "search_terms[1]"},
        ),
        (
            "semanticSearch",
            {"query": "x", "topK": 3},
            -32602,
            {"kind": "invalid_params", "field": "topK"},
        ),
    ],
)
async def test_an_error_has_the_code_and_data_of_the_contract(
    client: Client, method: str, params: dict[str, Any], code: int, data: dict[str, Any]
) -> None:
    error = await client.error(f"$/{method}", params)
    assert (error.code, error.data) == (code, data)


async def test_a_deeply_nested_answer_is_sent(client: Client, project: Path) -> None:
    write_files(project, {"d/" * 150 + "file": ""})
    result = await client.request("$/tree", {"path": "d", "depth": 100})
    depth, entries = 0, result["entries"]
    while entries:
        depth, entries = depth + 1, entries[0].get("children", [])
    assert (depth, result["returned"]) == (100, 100)


async def test_a_request_is_cancelled_while_it_reads(client: Client, project: Path) -> None:
    with (project / "huge.txt").open("wb") as file:
        file.write(b"text\n" * 20_000)
        file.truncate(100 * 1024**3)
    running = asyncio.create_task(client.request("$/readFile", {"path": "huge.txt"}, msg_id="read"))
    # It is cancelled while it reads, or before that on a busy machine: never answered.
    await asyncio.sleep(0.3)
    client.lsp.cancel_request(types.CancelParams(id="read"))
    with pytest.raises(JsonRpcException) as cancelled:
        await running
    assert cancelled.value.code == -32800
    assert (await client.request("$/readFile", {"path": "src/main.py"}))["returned"] == 3


@pytest.mark.skipif(sys.platform == "win32", reason="only rg and rga there")
async def test_a_client_can_enable_bash(start_client: StartClient, project: Path) -> None:
    client = await start_client(project, options={"bash": {"enabled": True}})
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
    error = await client.error("$/bash", {"command": "find . -delete"})
    why = "`find -delete` deletes files"
    assert error.data == {"kind": "not_allowed", "what": "-delete", "why": why}
