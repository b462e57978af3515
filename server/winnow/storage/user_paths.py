"""Where the user's state is, as text.

Separate from :mod:`winnow.storage.user_folders`, because every command imports this module, and
`pathlib` and `tempfile` double the start of Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping


def state_path(environment: Mapping[str, str]) -> str | None:
    """Return the path of Winnow's folder in the user's state folder, which need not exist yet; None
    if there is none."""
    home = environment.get("HOME") or os.path.expanduser("~")
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.join(home, "Library/Application Support")
    else:
        base = environment.get("XDG_STATE_HOME", "")
        if not os.path.isabs(base):
            base = os.path.join(home, ".local/state")
    return os.path.join(base, "winnow") if os.path.isabs(base) else None
