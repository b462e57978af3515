"""The tools, one per module. A new file in this folder adds a tool to every front end."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

from winnow.tools.registry import Tool


def _discover() -> dict[str, Tool[Any, Any]]:
    tools: dict[str, Tool[Any, Any]] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, Tool):
                tools[value.name] = value
    return dict(sorted(tools.items()))


TOOLS = _discover()
"""All tools, by name."""


def short_list() -> dict[str, Tool[Any, Any]]:
    """Return the tools that most tasks of agents need, by their names in the short list."""
    return {tool.short.name: tool for tool in TOOLS.values() if tool.short}


def for_agents(is_on: Callable[[str], bool]) -> dict[str, Tool[Any, Any]]:
    """Return the tools that are offered to models, by name. ``is_on`` returns a setting's value."""
    return {
        name: tool
        for name, tool in TOOLS.items()
        if tool.for_agents and (not tool.switch or is_on(tool.switch))
    }
