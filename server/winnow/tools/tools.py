"""tools: what there is, for whoever hands tools to a model."""

from __future__ import annotations

from winnow.tools.registry import tool
from winnow.types import Progress
from winnow.types.tools import ToolDescription, ToolsParams, ToolsResult
from winnow.workspace import Workspace


def plain(result: ToolsResult) -> str:
    """Name and first sentence of each tool."""
    return "\n".join(f"{one.name}: {one.description.splitlines()[0]}" for one in result.tools)


@tool(plain=plain, example={}, for_agents=False)
async def tools(workspace: Workspace, params: ToolsParams, progress: Progress) -> ToolsResult:
    """List the tools with their descriptions and input schemas, to hand to a language model."""
    from winnow.tools import for_agents  # the registry, which this module is itself a part of

    return ToolsResult(
        tools=[
            ToolDescription(
                name=one.name,
                description=one.description,
                input_schema=one.input_schema,
                method=one.method,
            )
            for one in for_agents(workspace.config).values()
        ]
    )
