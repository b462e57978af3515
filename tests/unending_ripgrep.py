"""A ripgrep for tests of deadlines. In a folder with a file named :data:`UNENDING`, a search prints
all matches and then never ends. Unlike a slow search, it uses no CPU time, so that even a busy
machine finds the matches before the deadline."""

from __future__ import annotations

import shlex
from pathlib import Path

from conftest import RIPGREP

UNENDING = "unending_search"

SCRIPT = f"""\
#!/bin/sh
[ -e {UNENDING} ] || exec {shlex.quote(RIPGREP)} "$@"
case "$*" in
*{UNENDING}*--json*|*--json*{UNENDING}*)
  {shlex.quote(RIPGREP)} "$@" | grep --text --line-buffered --invert-match '^{{"type":"summary"' ;;
*{UNENDING}*) {shlex.quote(RIPGREP)} "$@" ;;
*) exec {shlex.quote(RIPGREP)} "$@" ;;
esac
exec sleep 1000
"""


def unending_ripgrep(folder: Path) -> str:
    """Write this ripgrep into a new subfolder, and return its path."""
    file = folder / "programs" / "rg"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    file.chmod(0o755)
    return str(file)
