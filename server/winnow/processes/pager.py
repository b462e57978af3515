"""Show a text in the user's pager, which gets the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from winnow.processes.programs import InstalledPrograms

# Quit if it fits, show colors, and leave the text on the screen.
LESS = "FRX"


def installed_pager(name: str, environment: Mapping[str, str], repository: Path) -> str:
    """Return the path of a pager, or "": one in the repository is not run."""
    installed = InstalledPrograms(environment, [repository])
    if os.path.isabs(name):
        return "" if installed.in_workspace(name) else name
    return installed.which(name) or "" if os.sep not in name else ""


def page(text: str, command: list[str]) -> bool:
    """Show a text, until the user has seen enough. Return False if the pager can't be started."""
    environment = {"LESS": LESS, "LESSSECURE": "1", **os.environ}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as pager:
            assert pager.stdin is not None
            try:
                pager.stdin.write(text.encode("utf-8", "replace"))
                pager.stdin.close()
            except BrokenPipeError:
                pass  # the user has seen enough
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
