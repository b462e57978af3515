"""Params and results of tools."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from winnow.types import Params, Result


class ToolsParams(Params, frozen=True, kw_only=True):
    """No parameters."""


class ToolDescription(Result, frozen=True, kw_only=True):
    """A tool, as a model is told of it."""

    name: Annotated[str, Meta(description="Its name for a model.")]
    description: Annotated[str, Meta(description="What it does and when to use it.")]
    input_schema: Annotated[
        dict[str, object], Meta(description="JSON Schema of its params, self-contained.")
    ]
    method: Annotated[str, Meta(description="The request of the language server that it is.")]


class ToolsResult(Result, frozen=True, kw_only=True):
    """The tools that are on."""

    tools: Annotated[
        list[ToolDescription], Meta(description="The tools, by name, without this one.")
    ]
