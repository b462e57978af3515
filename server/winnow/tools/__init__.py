"""The tools, one per module. A new file in this folder adds a tool to every front end."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

from winnow.config import Config
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


def for_agents(config: Config) -> dict[str, Tool[Any, Any]]:
    """Return the tools that are offered to models with this configuration, by name."""
    return {name: tool for name, tool in TOOLS.items() if tool.for_agents and tool.offered(config)}
