"""Loads plugins by their names."""

import importlib

from registry import PLUGINS, Plugin, UnknownPlugin


def load_plugin(name: str) -> Plugin:
    """The plugin of that name; its module is imported when it is first asked for."""
    if name not in PLUGINS:
        importlib.import_module(f"plugins.{name}")
    try:
        return PLUGINS[name]
    except KeyError:
        raise UnknownPlugin(name) from None


def load_plugins(names: list[str]) -> list[Plugin]:
    return [load_plugin(name) for name in names]
