"""$/tools and the announcement of the custom requests."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pygls.exceptions import JsonRpcException

from frontends.lsp.conftest import Client
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
