"""Where the peers are that need an environment of their own.

`benchmarks/run` installs them outside of the checkout and has their commands in the PATH; without
it, those count that are there.
"""

from __future__ import annotations

import shutil
from pathlib import Path


def peers_python() -> str | None:
    """The Python that has the package semble and what is installed with it, by its command."""
    command = shutil.which("semble")
    if command is None:
        return None
    python = Path(command).resolve().with_name("python")
    return str(python) if python.exists() else None
