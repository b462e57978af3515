"""Keep ripgrep from ignore files that block it (a FIFO) or exhaust its memory (a huge file).

ripgrep reads the ignore files of every folder in its walk, without a limit. The files at the roots
are checked before each run. To check the subfolders would take another walk, so that happens only
if a run takes long, as a blocked one does. Then the run is stopped, the unusable files are
remembered, and the request starts again with ripgrep's options to turn off this kind of file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from winnow.errors import SearchFailed
from winnow.storage.paths import is_below, real_path, shown_path
from winnow.storage.state_folder import OWN_FOLDER
from winnow.storage.untrusted import problem_of
from winnow.text.git_files import exclude_files, git_settings, shared_files
from winnow.text.paths import containing_root

GIT_IGNORE = ".gitignore"
DOT_NAMES = (".ignore", ".rgignore")
NO_IGNORE = "--no-ignore"

# ripgrep's options to turn off each kind of file.
_NO_VCS, _NO_DOT = "--no-ignore-vcs", "--no-ignore-dot"
_NO_EXCLUDE, _NO_GLOBAL = "--no-ignore-exclude", "--no-ignore-global"
_NO_PARENT = "--no-ignore-parent"
OPTIONS = {GIT_IGNORE: _NO_VCS, **dict.fromkeys(DOT_NAMES, _NO_DOT)}

# A run that takes longer may be blocked. Few searches take that long.
STALL_SECONDS = 1.0
# Minimum time between two scans, for trees that are slow to search.
SCAN_INTERVAL_SECONDS = 10.0
SCAN_SECONDS = 3.0
MOST_REMEMBERED = 100
RESTARTS = 3

T = TypeVar("T")


class Unusable(Struct, frozen=True):
    """An ignore file that ripgrep must not read, and the option that prevents it."""

    path: str
    option: str
    reason: str


class IgnoreFilesChanged(Exception):
    """ripgrep was stopped before it could read an ignore file that is now known to be unusable."""


async def with_restarts(request: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a request. Restart it if its ripgrep is stopped for an ignore file.
    Raises SearchFailed after :data:`RESTARTS` attempts."""
    for _ in range(RESTARTS):
        with contextlib.suppress(IgnoreFilesChanged):
            return await request()
    raise SearchFailed("ripgrep", 1, "unreadable ignore files keep appearing")


class IgnoreFilesWatchdog:
    """Decides if a run of ripgrep must stop; see :class:`IgnoreFiles`."""

    def __init__(self, files: IgnoreFiles, known: Iterable[Unusable]) -> None:
        self.seconds = STALL_SECONDS
        self._files = files
        self._known = frozenset(known)

    async def problem(self) -> IgnoreFilesChanged | None:
        """Return an error if a new unusable file must stop the run."""
        await self._files.scan()
        is_protected = self._known.issuperset(self._files.unusable())
        return None if is_protected else IgnoreFilesChanged()


class IgnoreFiles:
    """The unusable ignore files of a workspace, which owns this object.

    ``roots`` returns the searched folders, ``environment`` names git's settings.
    """

    def __init__(self, roots: Callable[[], Sequence[Path]], environment: Mapping[str, str]) -> None:
        self._roots = roots
        self._environment = environment
        self._nested: dict[str, str] = {}  # options by path
        self._scanning: asyncio.Future[None] | None = None
        self._next_scan = 0.0
        self._closed = threading.Event()

    def unusable(self, *, sandboxed: bool = True) -> list[Unusable]:
        """Return the files that ripgrep must not read now: those at the roots and above, and the
        remembered ones in subfolders that are still unusable. Without the sandbox, these include
        symlinks that lead out of the roots."""
        return self._unusable(self._real_roots(), sandboxed=sandboxed)

    def _unusable(self, roots: Sequence[str], *, sandboxed: bool = True) -> list[Unusable]:
        found: dict[Unusable, None] = {}
        for path, option in self._candidates(roots):
            reason = _problem(path) or (None if sandboxed else _way_out(path, roots))
            if reason is not None:
                found[Unusable(path, option, reason)] = None
        return list(found)

    def _real_roots(self) -> list[str]:
        return [real_path(root) for root in self._roots()]

    def protect(
        self, arguments: Sequence[str], cwd: str | os.PathLike[str], *, sandboxed: bool = True
    ) -> tuple[list[str], IgnoreFilesWatchdog | None]:
        """Return the options that keep ripgrep from unusable files, and its watchdog against
        further ones.

        An option turns off all files of a kind. If ripgrep searches only one root, the root's own
        files are passed by name instead.
        """
        if NO_IGNORE in arguments:
            return [], None
        roots = self._real_roots()
        unusable = self._unusable(roots, sandboxed=sandboxed)
        watchdog = IgnoreFilesWatchdog(self, unusable)
        options = list(dict.fromkeys(file.option for file in unusable))
        if roots != [real_path(cwd)]:
            return options, watchdog
        paths = {file.path for file in unusable}
        files = _replacements(options, paths, roots[0])
        shared = [] if _NO_EXCLUDE in arguments else _shared_exclude(roots[0], paths)
        return [*options, *(f"--ignore-file={file}" for file in (*shared, *files))], watchdog

    def watchdog(self) -> IgnoreFilesWatchdog:
        """Return a watchdog for another program that reads ignore files."""
        return IgnoreFilesWatchdog(self, self.unusable())

    def blocks_git(self) -> bool:
        """Return True if git may read an unusable file to list untracked files."""
        blocking = (_NO_VCS, _NO_EXCLUDE, _NO_GLOBAL)
        return any(file.option in blocking for file in self.unusable())

    def root_files(self, root: Path) -> list[str]:
        """Return the usable ignore files of git in the root itself."""
        unusable = {file.path for file in self.unusable()}
        return _replacements((_NO_VCS,), unusable, real_path(root))

    def warnings(self) -> list[str]:
        """Return a warning for each file that is not applied."""
        roots = self._real_roots()
        files = {file.path: file for file in self._unusable(roots)}
        return [_warning(file, roots) for file in files.values()]

    async def scan(self) -> None:
        """Search the roots for unusable files and remember them, unless that was done recently."""
        is_done = self._scanning is not None and self._scanning.done()
        if self._scanning is None or (is_done and time.monotonic() >= self._next_scan):
            self._scanning = asyncio.ensure_future(asyncio.to_thread(self._scan))
        await asyncio.shield(self._scanning)

    def close(self) -> None:
        """Stop a running scan."""
        self._closed.set()

    def _scan(self) -> None:
        until = time.monotonic() + SCAN_SECONDS
        for root in self._roots():
            for files in _ignore_files_below(real_path(root)):
                if self._closed.is_set() or time.monotonic() > until:
                    break
                for path, option in files:
                    suspicious = os.path.islink(path) or _problem(path)
                    if len(self._nested) < MOST_REMEMBERED and suspicious:
                        self._nested[path] = option
        self._next_scan = time.monotonic() + SCAN_INTERVAL_SECONDS

    def _candidates(self, roots: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the files to check before each run, with the options to turn them off."""
        for root in roots:
            yield from _ignore_files_in(root, root)
            for folder in Path(root).parents:
                yield from ((path, _NO_PARENT) for path, _ in _ignore_files_in(str(folder), root))
        yield from ((path, _NO_GLOBAL) for path in git_settings(self._environment))
        yield from list(self._nested.items())


def _shared_exclude(root: str, unusable: Set[str]) -> list[str]:
    """Return the `info/exclude` of a linked working tree that is the only root: ripgrep 15.2 does
    not find it with --no-require-git."""
    shared = [path for path in shared_files(Path(root)) if os.path.basename(path) == "exclude"]
    return [path for path in shared if path not in unusable and os.path.isfile(path)]


def _replacements(options: Collection[str], unusable: Set[str], root: str) -> list[str]:
    """Return the usable files of a root that options turn off, in increasing precedence.

    ripgrep applies their patterns relative to its working folder, no matter which root it searches,
    so they can only be used for a single root.
    """
    if not options:
        return []
    order = {_NO_EXCLUDE: 0, _NO_VCS: 1, _NO_DOT: 2}
    own = sorted(_ignore_files_in(root, root), key=lambda pair: order[pair[1]])
    off = {*options, *([_NO_EXCLUDE] if _NO_VCS in options else [])}
    usable = (path for path, option in own if option in off and path not in unusable)
    return [path for path in usable if _is_rules(path, root) and os.path.isfile(path)]


def _is_rules(path: str, root: str) -> bool:
    """Return True if a file has rules and belongs to the root; others only point to such a file."""
    return is_below(path, root) and os.path.basename(path) in (*OPTIONS, "exclude")


def _ignore_files_in(folder: str, cwd: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of all possible ignore files of a folder, with ripgrep's options."""
    yield os.path.join(folder, GIT_IGNORE), _NO_VCS
    yield from ((os.path.join(folder, name), _NO_DOT) for name in DOT_NAMES)
    yield from ((path, _NO_EXCLUDE) for path in exclude_files(folder, cwd))


def _ignore_files_below(root: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the ignore files of each folder below a root, with ripgrep's options, breadth first."""
    waiting = deque([root])
    while waiting:
        folder = waiting.popleft()
        found: list[tuple[str, str]] = []
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in OPTIONS:
                    found.append((entry.path, OPTIONS[entry.name]))
                elif entry.name == ".git":
                    found += ((path, _NO_EXCLUDE) for path in exclude_files(folder, root))
                elif entry.name != OWN_FOLDER and entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        yield found


def _problem(path: str) -> str | None:
    # ripgrep follows symlinks. The sandbox blocks those that lead out of the roots.
    return problem_of(path, follow_symlinks=True)


def _way_out(path: str, roots: Sequence[str]) -> str | None:
    if os.path.islink(path) and containing_root(real_path(path), roots) is None:
        return "it is a symlink that leads out of the workspace"
    return None


def _warning(file: Unusable, roots: Sequence[str]) -> str:
    held = containing_root(file.path, roots)
    shown = shown_path(held[1] if held else file.path)[0]
    return f"not applied: {shown}, {file.reason} (ripgrep ran with {file.option})"
