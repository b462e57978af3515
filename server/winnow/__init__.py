"""Winnow: a language server for search, and the same searches for Python programs.

What is exported is loaded when it is first used: the command line needs none of it. A command that
the background process runs does not even import `typing`, which doubles the start of Python.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for the one of `typing`
if TYPE_CHECKING:
    from typing import Any

    from winnow.errors import SearchError
    from winnow.frontends.python import Workspace

__version__ = "0.1.0"
__all__ = ["SearchError", "Workspace", "__version__"]

_MODULES = {"SearchError": "winnow.errors", "Workspace": "winnow.frontends.python"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_MODULES[name]), name)
