"""What plugins there are."""

from collections.abc import Callable

Plugin = Callable[[str], str]
PLUGINS: dict[str, Plugin] = {}


class UnknownPlugin(Exception):
    pass


def register_plugin(name: str, plugin: Plugin) -> None:
    PLUGINS[name] = plugin
