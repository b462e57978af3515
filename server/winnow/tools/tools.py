"""tools: the list of tools, for a client that offers them to a model."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.tools.registry import CommandHelp, tool
from winnow.tools.terminal import Style
from winnow.types import Params, Progress, Result
from winnow.workspace import EngineWorkspace


class ToolsParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class ToolDescription(Result, frozen=True, kw_only=True):
    """A tool as it is described to a model."""

    name: Annotated[str, Meta(description="The tool's name.")]
    description: Annotated[str, Meta(description="What the tool does and when to use it.")]
    input_schema: Annotated[
        dict[str, object], Meta(description="Self-contained JSON Schema of the params.")
    ]
    method: Annotated[str, Meta(description="The language server request that calls the tool.")]


class ToolsResult(Result, frozen=True, kw_only=True):
    """The tools that are enabled."""

    tools: Annotated[
        list[ToolDescription], Meta(description="The tools for agents, sorted by name.")
    ]


def text(result: ToolsResult, style: Style, folder: str | None) -> str:
    """Render the name and first sentence of each tool."""
    return "\n".join(f"{tool.name}: {tool.description.splitlines()[0]}" for tool in result.tools)


@tool(
    text=text,
    command_help=CommandHelp(
        "Print the tools with their descriptions and schemas, to pass to a language model.",
        "winnow tools --json",
        "winnow tools --format plain",
    ),
    example={},
    for_agents=False,
)
async def tools(workspace: EngineWorkspace, params: ToolsParams, progress: Progress) -> ToolsResult:
    """List the tools with their descriptions and input schemas, to offer to a language model."""
    from winnow.tools import for_agents  # a cycle at import time: the registry loads this module

    return ToolsResult(
        tools=[
            ToolDescription(
                name=tool.name,
                description=tool.description,
                input_schema=tool.input_schema,
                method=tool.method,
            )
            for tool in for_agents(workspace.config.is_on).values()
        ]
    )
