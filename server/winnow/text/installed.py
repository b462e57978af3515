"""Where programs are that a pipeline or a search of documents runs, and the environment that they
get.

A program is one of this machine, never of the workspace: a file `grep` in the folder that is
searched, or in a relative entry of PATH, is a stranger's. What the workspace is, ``inside`` says.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping

from winnow.errors import ProgramNotInstalled

# All else is left out: GREP_OPTIONS, RIPGREP_CONFIG_PATH, RGA_CONFIG, MAGIC, LD_PRELOAD and
# whatever the next release will read. Git's global ignore file is found by the folders.
_KEPT = (
    *("HOME", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "TZ"),
    *("SYSTEMROOT", "WINDIR", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
# Names and matches in UTF-8, messages in English, the same order everywhere.
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"

_INSTALL = {
    "rga": {
        "linux": "your distribution's package `ripgrep-all`, or cargo install ripgrep_all",
        "darwin": "brew install ripgrep-all",
        "win32": "scoop install rga, or cargo install ripgrep_all",
    },
    "pandoc": {
        "linux": "apt install pandoc, or dnf install pandoc",
        "darwin": "brew install pandoc",
        "win32": "scoop install pandoc, or winget install JohnMacFarlane.Pandoc",
    },
    "pdftotext": {
        "linux": "apt install poppler-utils, or dnf install poppler-utils",
        "darwin": "brew install poppler",
        "win32": "scoop install poppler",
    },
    "tree": {"linux": "apt install tree, or dnf install tree", "darwin": "brew install tree"},
    "file": {"linux": "apt install file, or dnf install file", "darwin": "brew install libmagic"},
}
Inside = Callable[[str], bool]  # whether a path is one of the workspace
_PART_OF_SYSTEM = "it is a part of every common system: your distribution's package"


def find_program(name: str, environment: Mapping[str, str], inside: Inside) -> str:
    """The program on PATH, outside of the workspace. Raises ProgramNotInstalled."""
    found = located(name, environment, inside)
    if found:
        return found
    raise ProgramNotInstalled(
        name,
        f"{name} is not on PATH (outside of the workspace). Install it: {how_to_install(name)}",
    )


def located(name: str, environment: Mapping[str, str], inside: Inside) -> str | None:
    """The program on PATH, outside of the workspace, if it is there."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    for folder in path_entries(environment, inside):
        found = shutil.which(os.path.join(folder, file))
        if found and not inside(found):
            return found
    return None


def how_to_install(name: str) -> str:
    """What installs the program on this system."""
    platforms = _INSTALL.get(name, {})
    return platforms.get(sys.platform) or platforms.get("linux") or _PART_OF_SYSTEM


def path_entries(environment: Mapping[str, str], inside: Inside) -> Iterator[str]:
    """The folders of PATH that are absolute and not of the workspace."""
    path = environment.get("PATH") or os.environ.get("PATH") or os.defpath
    for folder in path.split(os.pathsep):
        if os.path.isabs(folder) and not inside(folder):
            yield folder


def child_environment(
    environment: Mapping[str, str], inside: Inside, *folders: str
) -> dict[str, str]:
    """What a program gets of the environment; ``folders`` are further ones for its PATH."""
    kept = {name: environment[name] for name in _KEPT if environment.get(name)}
    path = dict.fromkeys((*path_entries(environment, inside), *folders))
    return {**kept, "LC_ALL": _LOCALE, "PATH": os.pathsep.join(path)}
