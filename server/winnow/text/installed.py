"""Where programs are that a pipeline or a search of documents runs, the environment that they get,
and what installs those that are missing.

A program is one of this machine, never of the workspace: a file `grep` in the folder that is
searched, or in a relative entry of PATH, is a stranger's. What the workspace is, ``inside`` says.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
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

# What installs a package, by the program that it is done with, and where packages of another name
# have a program; None is for those that have none with it.
_MANAGERS = {
    "apt-get": "sudo apt install",
    "dnf": "sudo dnf install",
    "pacman": "sudo pacman -S",
    "zypper": "sudo zypper install",
    "apk": "sudo apk add",
    "brew": "brew install",
    "scoop": "scoop install",
    "winget": "winget install",
}
_NAMES: Mapping[str, Mapping[str, str | None]] = {
    "file": {"brew": "file-formula", "winget": None},
    "git": {"winget": "Git.Git"},
    "pandoc": {"winget": "JohnMacFarlane.Pandoc"},
    "pdftotext": {
        **dict.fromkeys(("apt-get", "dnf", "apk"), "poppler-utils"),
        "zypper": "poppler-tools",
        **dict.fromkeys(("pacman", "brew", "scoop"), "poppler"),
        "winget": None,
    },
    "rga": {
        **dict.fromkeys(_MANAGERS),
        **dict.fromkeys(("pacman", "brew"), "ripgrep-all"),
        "scoop": "rga",
    },
    "ripgrep": {"winget": "BurntSushi.ripgrep.MSVC"},
    "tree": {"scoop": None, "winget": None},
}
_OTHERWISE = {"rga": "cargo install --locked ripgrep_all"}
Inside = Callable[[str], bool]  # whether a path is one of the workspace


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
    """The command that installs the program on this system, if one is known."""
    names = _NAMES.get(name, {})
    for manager, command in _MANAGERS.items():
        package = names.get(manager, name)
        if package is not None and shutil.which(manager):
            return f"{command} {package}"
    return _OTHERWISE.get(name, f"your system's package of {name}")


def pip_install(*packages: str) -> str:
    """The command that installs Python packages where this one is.

    An environment that uv has made has no pip of its own.
    """
    if importlib.util.find_spec("pip") is None:
        command = ["uv", "pip", "install", "--python", sys.executable, *packages]
    else:
        command = [sys.executable, "-m", "pip", "install", *packages]
    if sys.platform == "win32":
        return " ".join(
            f'"{part}"' if re.search(r"[^\w.:\\/-]", part) else part for part in command
        )
    return shlex.join(command)


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
