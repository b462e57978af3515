"""Find the peers that need their own environment.

`benchmarks/run` installs them outside the checkout and adds their commands to PATH. Without it, the
installed ones are used.
"""

from __future__ import annotations

import shutil
from pathlib import Path


def peers_python() -> str | None:
    """Return the Python of the environment that has semble and the packages installed with it."""
    command = shutil.which("semble")
    if command is None:
        return None
    python = Path(command).resolve().with_name("python")
    return str(python) if python.exists() else None
