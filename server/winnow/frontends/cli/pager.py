"""Write the output of a command: on a terminal, in a pager if it is longer than the screen.

Every command imports this module, so it imports little.
"""

from __future__ import annotations

import os
import sys

# The height of a terminal that reports none.
LINES = 24
NO_PAGER = ("", "cat")


def write(text: str) -> None:
    """Write a text to standard output."""
    if not _needs_pager(text) or not _paged(text):
        sys.stdout.write(text)


def _needs_pager(text: str) -> bool:
    # The consoles of Windows scroll, and have no pager with colors.
    if os.name != "posix" or not sys.stdout.isatty() or not sys.stdin.isatty():
        return False
    try:
        height = os.get_terminal_size(sys.stdout.fileno()).lines or LINES
    except (OSError, ValueError):
        return False
    return text.count("\n") >= height and os.environ.get("TERM") != "dumb"


def _paged(text: str) -> bool:
    """Show a text in the pager. Return False if there is none."""
    named = os.environ.get("PAGER", "less").strip()
    if named in NO_PAGER:
        return False
    # Only long answers need these.
    from pathlib import Path

    from winnow.processes.terminal_programs import installed_program, page
    from winnow.text.search_roots import repository_root

    name, *options = named.split()
    program = installed_program(name, os.environ, repository_root(Path.cwd()))
    sys.stdout.flush()
    return bool(program) and page(text, [program, *options])
