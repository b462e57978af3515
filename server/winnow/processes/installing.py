"""Commands that install missing programs and packages, as messages show them."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Callable, Mapping

# The install command of each package manager.
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
# Package names that differ from the program's; None if a manager has no package.
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


def how_to_install(name: str, which: Callable[[str], str | None]) -> str:
    """Return the command that installs a program; ``which`` finds the package managers."""
    names = _NAMES.get(name, {})
    for manager, command in _MANAGERS.items():
        package = names.get(manager, name)
        if package is not None and which(manager):
            return f"{command} {package}"
    return _OTHERWISE.get(name, f"your system's package of {name}")


def pip_install(*packages: str) -> str:
    """Return the command that installs Python packages in Winnow's environment.

    An environment made by uv has no pip. A frozen server (see scripts/frozen) takes no packages;
    they go into another Python, together with Winnow.
    """
    if getattr(sys, "frozen", False):
        command = ["pip", "install", *dict.fromkeys(("winnow-ls", *packages))]
    elif importlib.util.find_spec("pip") is None:
        command = ["uv", "pip", "install", "--python", sys.executable, *packages]
    else:
        command = [sys.executable, "-m", "pip", "install", *packages]
    if sys.platform == "win32":
        return " ".join(
            f'"{part}"' if re.search(r"[^\w.:\\/-]", part) else part for part in command
        )
    return shlex.join(command)
