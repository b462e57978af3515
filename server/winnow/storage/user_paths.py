"""Where the user's state, caches and settings are, as text: each system has its own folders.

Separate from :mod:`winnow.storage.user_folders`, because every command imports this module, and
`pathlib` and `tempfile` double the start of Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def config_path(environment: Mapping[str, str]) -> str:
    """Return the path of Winnow's folder in the user's settings, which need not exist."""
    base = environment.get("APPDATA", "") if sys.platform == "win32" else ""
    base = base or environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):
        # Never a path in the current folder, which may be a repository.
        base = os.path.join(_home(environment) or os.path.abspath(os.sep), ".config")
    return os.path.join(base, "winnow")


def cache_path(environment: Mapping[str, str]) -> str | None:
    """Return the path of the user's cache folder, which need not exist; None if there is none."""
    named = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    if os.path.isabs(base := environment.get(named, "")):
        return base
    home = _home(environment)
    below = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return os.path.join(home, below) if os.path.isabs(home) else None


def state_path(environment: Mapping[str, str]) -> str | None:
    """Return the path of Winnow's folder in the user's state folder, which need not exist yet; None
    if there is none."""
    home = _home(environment)
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library/Application Support")
    else:
        base = environment.get("XDG_STATE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(home, ".local/state")
    return os.path.join(base, "winnow") if os.path.isabs(base) else None


def _home(environment: Mapping[str, str]) -> str:
    """Return the path of the user's home folder; an empty text if there is none."""
    home = environment.get("HOME") or os.path.expanduser("~")
    # If HOME is empty, Python expands "~" to the root folder.
    is_named = environment.get("HOME") or os.environ.get("HOME") != ""
    return home if is_named and os.path.isabs(home) else ""
