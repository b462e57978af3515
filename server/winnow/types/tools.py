"""Params and results of tools."""

from __future__ import annotations

from winnow.types import Params, Result


class ToolsParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class ToolDescription(Result, frozen=True, kw_only=True):
    name: str
    description: str
    input_schema: dict[str, object]
    method: str


class ToolsResult(Result, frozen=True, kw_only=True):
    tools: list[ToolDescription]
