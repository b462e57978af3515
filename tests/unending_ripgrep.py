"""A ripgrep for tests of deadlines: a search for :data:`UNENDING` finds what there is, and where it
is in a folder with a file of that name, it does not end then. It takes no processor, unlike a
search that is really slow, so that what is to be found before the deadline is found in time on a
busy machine, too."""

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
    """The path of this ripgrep, which is written into a folder of its own beside others."""
    file = folder / "programs" / "rg"
    file.parent.mkdir()
    file.write_text(SCRIPT)
    file.chmod(0o755)
    return str(file)
