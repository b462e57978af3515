"""Run the user's own programs, which get the terminal: the pager and the editor."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.processes.programs import InstalledPrograms

# Quit if it fits, show colors, and leave the text on the screen.
LESS = "FRX"


def installed_program(name: str, environment: Mapping[str, str], repository: Path) -> str:
    """Return the path of a program that the user names, or "": one in the repository is not run."""
    installed = InstalledPrograms(environment, [repository])
    if os.path.isabs(name):
        return "" if installed.in_workspace(name) else name
    return installed.which(name) or "" if os.sep not in name else ""


def page(text: str, command: list[str]) -> bool:
    """Show a text, until the user has seen enough. Return False if the pager can't be started."""
    # The user's own options need not show colors.
    options = f"-R {os.environ['LESS']}" if "LESS" in os.environ else LESS
    environment = {"LESSSECURE": "1", **os.environ, "LESS": options}
    try:
        with (
            _without_interrupts(),
            subprocess.Popen(command, stdin=subprocess.PIPE, env=environment) as pager,
        ):
            assert pager.stdin is not None
            try:
                pager.stdin.write(text.encode("utf-8", "replace"))
                pager.stdin.close()
            except BrokenPipeError:
                pass  # the user has seen enough
    except OSError:
        return False
    return True


def run_in_terminal(command: list[str]) -> int | None:
    """Run a program until it ends. Return its exit code, or None if it can't be started."""
    try:
        with _without_interrupts():
            code = subprocess.run(command, check=False).returncode
    except OSError:
        return None
    return code if code >= 0 else 128 - code  # as shells report signals


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to the program that has the terminal."""
    # A handler, because a program would inherit that the signal is ignored.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
