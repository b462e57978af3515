"""Call tools as coroutines: check an answer's counts, and read all its pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from winnow.tools import TOOLS
from winnow.tools.registry import Tool
from winnow.types import Answer, Progress, no_progress
from winnow.workspace import EngineWorkspace

A = TypeVar("A", bound=Answer)


async def call(workspace: EngineWorkspace, tool: str, **params: Any) -> Any:
    return await TOOLS[tool].call(workspace, params, no_progress)


async def answered(
    tool: Tool[Any, Any],
    kind: type[A],
    workspace: EngineWorkspace,
    params: Mapping[str, Any],
    progress: Progress = no_progress,
    *,
    items: str = "",
) -> A:
    """Call a tool and return its answer; `items` is the field with the results, unless it streams
    them."""
    result = await tool.call(workspace, dict(params), progress)
    assert isinstance(result, kind)
    assert not items or progress.streaming or result.returned == len(getattr(result, items))
    assert not result.cursor or result.truncated
    return result


async def pages(
    ask: Callable[..., Awaitable[A]], workspace: EngineWorkspace, **params: Any
) -> AsyncIterator[A]:
    """Yield the answer and all further pages."""
    result = await ask(workspace, **params)
    yield result
    while result.cursor:
        result = await ask(workspace, **{**params, "cursor": result.cursor})
        yield result
