"""Show a text in the user's pager, which gets the terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping

# Quit if it fits, show colors, and leave the text on the screen.
LESS = "FRX"


def installed_pager(name: str, environment: Mapping[str, str]) -> str:
    """Return the path of a pager, or "". Ignore the current folder: it may be a repository that
    contains a program of that name."""
    here = os.path.realpath(os.curdir)
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    paths = [name] if os.path.isabs(name) else [os.path.join(folder, name) for folder in folders]
    for path in paths if os.path.isabs(name) or os.sep not in name else ():
        real = os.path.realpath(path)
        is_here = real.startswith(here.rstrip(os.sep) + os.sep)
        if (
            os.path.isabs(path)
            and not is_here
            and os.path.isfile(real)
            and os.access(real, os.X_OK)
        ):
            return path
    return ""


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
