"""Ignore files that ripgrep must not read: a FIFO blocks it for ever, a huge file takes its memory.

ripgrep reads ignore files itself, in every folder that it walks, without a limit. The few at the
roots are checked before each run. Those in subfolders would take a walk of the tree to check: they
are looked for when a run takes long, which one that is blocked does. The run is stopped then,
what was found is remembered, and the request starts again with ripgrep's options that turn off
this kind of ignore file.
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

from winnow.config import OWN_FOLDER
from winnow.errors import SearchFailed
from winnow.storage.paths import is_below, real_path, shown_path
from winnow.storage.untrusted import problem_of
from winnow.text.git_files import exclude_files, git_settings, shared_files
from winnow.text.paths import held_by

GIT_IGNORE = ".gitignore"
DOT_NAMES = (".ignore", ".rgignore")
NO_IGNORE = "--no-ignore"

# ripgrep's options by the kind of file that they keep it from reading.
_NO_VCS, _NO_DOT = "--no-ignore-vcs", "--no-ignore-dot"
_NO_EXCLUDE, _NO_GLOBAL = "--no-ignore-exclude", "--no-ignore-global"
_NO_PARENT = "--no-ignore-parent"
OPTIONS = {GIT_IGNORE: _NO_VCS, **dict.fromkeys(DOT_NAMES, _NO_DOT)}

# A run that takes longer may be blocked; few searches take that long.
STALL_SECONDS = 1.0
# A tree that is slow to search is not walked again for each search.
SCAN_INTERVAL_SECONDS = 10.0
SCAN_SECONDS = 3.0
MOST_REMEMBERED = 100
RESTARTS = 3

T = TypeVar("T")


class Unusable(Struct, frozen=True):
    """An ignore file that ripgrep must not read, and its option that prevents it."""

    path: str
    option: str
    reason: str


class IgnoreFilesChanged(Exception):
    """A run of ripgrep was stopped: it would read an ignore file that was found to be unusable."""


async def with_restarts(request: Callable[[], Awaitable[T]]) -> T:
    """Return what a request returns; start it again where its ripgrep was stopped for an ignore
    file. Raises SearchFailed if that goes on."""
    for _ in range(RESTARTS):
        with contextlib.suppress(IgnoreFilesChanged):
            return await request()
    raise SearchFailed("ripgrep", 1, "ignore files that cannot be read keep appearing")


class IgnoreFilesWatchdog:
    """Checks for one run of ripgrep whether it has to be stopped; see :class:`IgnoreFiles`."""

    def __init__(self, files: IgnoreFiles, known: Iterable[Unusable]) -> None:
        self.seconds = STALL_SECONDS
        self._files = files
        self._known = frozenset(known)

    async def problem(self) -> IgnoreFilesChanged | None:
        """Return the reason to stop a run that takes long; None if there is none."""
        await self._files.scan()
        is_protected = self._known.issuperset(self._files.unusable())
        return None if is_protected else IgnoreFilesChanged()


class IgnoreFiles:
    """The unusable ignore files of a workspace; owned by the workspace.

    ``roots`` returns the folders that are searched, ``environment`` names git's settings.
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
        remembered ones in subfolders that are still unusable. Without the sandbox, these are
        symlinks that lead out of the roots, too."""
        found: dict[Unusable, None] = {}
        roots = [real_path(root) for root in self._roots()]
        for path, option in self._candidates():
            reason = _problem(path) or (None if sandboxed else _way_out(path, roots))
            if reason is not None:
                found[Unusable(path, option, reason)] = None
        return list(found)

    def protect(
        self, arguments: Sequence[str], cwd: str | os.PathLike[str], *, sandboxed: bool = True
    ) -> tuple[list[str], IgnoreFilesWatchdog | None]:
        """Return the options that keep ripgrep from unusable files, and its watchdog against
        those that are not known yet.

        An option turns off all files of a kind. Those of the root itself are named to ripgrep
        instead, where it searches that root alone.
        """
        if NO_IGNORE in arguments:
            return [], None
        unusable = self.unusable(sandboxed=sandboxed)
        watchdog = IgnoreFilesWatchdog(self, unusable)
        options = dict.fromkeys(one.option for one in unusable)
        paths = {one.path for one in unusable}
        root = real_path(cwd)
        files = self._replacements(options, paths, root) if unusable else []
        shared = [] if _NO_EXCLUDE in arguments else self._shared_exclude(root, paths)
        return [*options, *(f"--ignore-file={file}" for file in (*shared, *files))], watchdog

    def watchdog(self) -> IgnoreFilesWatchdog:
        """Return a watchdog for another program that reads ignore files."""
        return IgnoreFilesWatchdog(self, self.unusable())

    def blocks_git(self) -> bool:
        """Return whether git may have to read an unusable file to find what is untracked."""
        return any(one.option in (_NO_VCS, _NO_EXCLUDE, _NO_GLOBAL) for one in self.unusable())

    def root_files(self, root: Path) -> list[str]:
        """Return git's ignore files of the root itself that are usable."""
        unusable = {one.path for one in self.unusable()}
        return self._replacements((_NO_VCS,), unusable, real_path(root), alone=True)

    def warnings(self) -> list[str]:
        """Return a warning for each file that is not applied."""
        roots = [real_path(root) for root in self._roots()]
        reasons = {one.path: one for one in self.unusable()}
        return [_warning(one, roots) for one in reasons.values()]

    async def scan(self) -> None:
        """Walk the roots for unusable files and remember them, unless that was done lately."""
        is_done = self._scanning is not None and self._scanning.done()
        if self._scanning is None or (is_done and time.monotonic() >= self._next_scan):
            self._scanning = asyncio.ensure_future(asyncio.to_thread(self._scan))
        await asyncio.shield(self._scanning)

    def close(self) -> None:
        """Stop a scan that is under way."""
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

    def _candidates(self) -> Iterator[tuple[str, str]]:
        """Yield the files to check before each run, with the options that turn them off."""
        for root in self._roots():
            real = real_path(root)
            yield from _ignore_files_in(real, real)
            for folder in Path(real).parents:
                yield from ((path, _NO_PARENT) for path, _ in _ignore_files_in(str(folder), real))
        yield from ((path, _NO_GLOBAL) for path in git_settings(self._environment))
        yield from list(self._nested.items())

    def _shared_exclude(self, root: str, unusable: Set[str]) -> list[str]:
        """Return the `info/exclude` of a linked working tree that is searched alone: ripgrep does
        not find it with --no-require-git (15.2)."""
        roots = self._roots()
        if len(roots) != 1 or real_path(roots[0]) != root:
            return []
        shared = [path for path in shared_files(Path(root)) if os.path.basename(path) == "exclude"]
        return [path for path in shared if path not in unusable and os.path.isfile(path)]

    def _replacements(
        self, options: Collection[str], unusable: Set[str], root: str, *, alone: bool = False
    ) -> list[str]:
        """Return the usable files of a root that options turn off, the ones that count most last.

        ripgrep takes their patterns as seen from the folder that it starts in, whatever root it
        searches: there are none for several roots.
        """
        roots = self._roots()
        if not alone and (len(roots) != 1 or real_path(roots[0]) != root):
            return []
        order = {_NO_EXCLUDE: 0, _NO_VCS: 1, _NO_DOT: 2}
        own = sorted(_ignore_files_in(root, root), key=lambda one: order[one[1]])
        off = {*options, *([_NO_EXCLUDE] if _NO_VCS in options else [])}
        usable = (path for path, option in own if option in off and path not in unusable)
        return [path for path in usable if _is_rules(path, root) and os.path.isfile(path)]


def _is_rules(path: str, root: str) -> bool:
    """Return whether a file has rules and is the root's own; others lead to one that has."""
    return is_below(path, root) and os.path.basename(path) in (*OPTIONS, "exclude")


def _ignore_files_in(folder: str, cwd: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of all ignore files that a folder may have, with ripgrep's options."""
    yield os.path.join(folder, GIT_IGNORE), _NO_VCS
    yield from ((os.path.join(folder, name), _NO_DOT) for name in DOT_NAMES)
    yield from ((path, _NO_EXCLUDE) for path in exclude_files(folder, cwd))


def _ignore_files_below(root: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the ignore files of each folder below a root, with ripgrep's options; shallow folders
    first."""
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
    # ripgrep follows symlinks; where one leads out of the roots, the sandbox refuses it.
    return problem_of(path, follow_symlinks=True)


def _way_out(path: str, roots: Sequence[str]) -> str | None:
    if os.path.islink(path) and held_by(real_path(path), roots) is None:
        return "it is a symlink that leads out of the workspace"
    return None


def _warning(one: Unusable, roots: Sequence[str]) -> str:
    held = held_by(one.path, roots)
    shown = shown_path(held[1] if held else one.path)[0]
    return f"not applied: {shown}, {one.reason} (ripgrep ran with {one.option})"
