"""Follow symlinks on request: each target once, and only inside the workspace.

ripgrep never follows links itself, because a link to `/` would make it search the machine. This
module finds the links, and adds those to the search whose targets are not searched anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import time
from collections.abc import Collection, Iterator, Sequence, Set
from pathlib import Path

import msgspec

from winnow.errors import SearchTimedOut
from winnow.storage.paths import is_below, is_inside, real_path
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, command_lines
from winnow.text.scope import Scope, clean_path
from winnow.text.skipped_files import DEBUG, SkippedFiles, as_logged

# Rounds of links to folders with links.
ROUNDS = 10


def folder_links(scope: Scope, excluded: Set[str], seconds: float) -> int | None:
    """Return the number of symlinks to folders that a search skips; None if that takes too long.

    ``excluded`` are the paths of ignored and hidden entries, below which no link counts.
    """
    until = time.monotonic() + seconds
    count = 0
    waiting = [os.path.normpath(path) for path in scope.paths]
    while waiting:
        if time.monotonic() > until:
            return None
        for path, entry in _entries(scope.root, waiting.pop()):
            if as_logged(path) in excluded:
                continue
            if entry.is_symlink():
                with contextlib.suppress(OSError):  # a loop, or a folder without permission
                    count += entry.is_dir()
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
    return count


def _entries(root: Path, folder: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the paths and entries of a folder; none of an unreadable one."""
    with contextlib.suppress(OSError), os.scandir(root / folder) as entries:
        for entry in entries:
            yield entry.name if folder == "." else os.path.join(folder, entry.name), entry


async def with_links(ripgrep: Ripgrep, scope: Scope, hidden: bool) -> Scope:
    """Return the scope with the symlinks whose targets are not searched anyway.

    Raises SearchTimedOut.
    """
    links = _Links(scope)
    new: Sequence[str] = scope.paths
    for _ in range(ROUNDS):
        skipped = SkippedFiles()
        arguments = [DEBUG, *scope.arguments, "--", *new]
        links.searched(await _list(ripgrep, scope, arguments, skipped))
        found = await asyncio.to_thread(links.find, skipped.excluded, hidden)
        listed = await _listed_links(ripgrep, scope, found)
        new = await asyncio.to_thread(links.choose, found, listed)
        if not new:
            break
    return links.scope(complete=not new)


async def _list(
    ripgrep: Ripgrep, scope: Scope, arguments: Sequence[str], skipped: SkippedFiles
) -> list[str]:
    """Return the files that ripgrep lists and the scope covers."""
    arguments = ["--files", "--null", *arguments]
    async with ripgrep.start(arguments, cwd=scope.root, log_parser=skipped) as child:
        paths = [clean_path(os.fsdecode(path)) async for path in child.records(b"\0", RECORD_BYTES)]
        await child.wait()
        if child.timed_out:
            raise SearchTimedOut(ripgrep.seconds)
    return [path for path in paths if scope.covers(path)]


async def _listed_links(ripgrep: Ripgrep, scope: Scope, links: Set[str]) -> set[str]:
    """Return the links that are files to search by their own names."""
    folders = sorted({os.path.join(".", os.path.dirname(link)) for link in links})
    listed: set[str] = set()
    for portion in command_lines(folders):
        arguments = ["--follow", "--max-depth=1", *scope.arguments, "--", *portion]
        listed |= links & set(await _list(ripgrep, scope, arguments, SkippedFiles()))
    return listed


class _Links:
    """The searched files and folders, and the symlinks among them.

    ``outside`` counts the links that lead out of the workspace.
    """

    def __init__(self, scope: Scope) -> None:
        self.outside = 0
        self._scope = scope
        self._roots = [real_path(root) for root in scope.roots]
        # The paths of the scope, and the chosen links, with their targets.
        self._paths = {clean_path(path): self._real(clean_path(path)) for path in scope.paths}
        self._chosen: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._new = [*self._paths]
        # Resolved paths of the searched files and folders.
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def _real(self, path: str) -> str:
        return real_path(self._scope.root / path)

    def scope(self, *, complete: bool) -> Scope:
        """Return the scope with the chosen links; ``complete`` if there are no more."""
        links = [path if os.path.isabs(path) else os.path.join(".", path) for path in self._chosen]
        paths = (*self._scope.paths, *links)
        fitting = command_lines(paths)[0]
        warnings = [*self._scope.warnings]
        if self.outside:
            warnings.append(f"{self.outside} symlinks lead out of the workspace: not followed")
        if self._waiting or not complete or len(fitting) < len(paths):
            warnings.append("some symlinks are not followed: there are too many")
        return msgspec.structs.replace(
            self._scope,
            paths=tuple(fitting),
            links=tuple((real, link) for link, real in self._chosen.items()),
            follows_links=True,
            warnings=tuple(warnings),
        )

    def searched(self, paths: Collection[str]) -> None:
        """Record files that are searched, as ripgrep prints them."""
        folders = {**self._paths, **self._chosen}
        for path in paths:
            if path in folders:
                self._files.add(folders[path])
                continue
            # ripgrep follows no links below these paths, so only they must be resolved.
            above, names = path, []
            while above not in folders and above:
                above, _, name = above.rpartition("/")
                names.append(name)
            real = folders.get(above) or self._real(above)
            for name in reversed(names[1:]):
                above, real = f"{above}/{name}" if above else name, os.path.join(real, name)
                folders[above] = real
            self._files.add(os.path.join(real, names[0]))

    def find(self, excluded: Set[str], hidden: bool) -> set[str]:
        """Return the symlinks below the newest paths, except ignored and hidden ones."""
        found, self._waiting = self._waiting, set()
        waiting = self._new
        while waiting:
            folder = waiting.pop()
            self._folders.add(self._real(folder))
            for path, entry in _entries(self._scope.root, folder):
                if entry.name.startswith(".") and not hidden:
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                if as_logged(path) in excluded or self._scope.excludes(path + "/" * is_folder):
                    continue
                if is_folder:
                    waiting.append(path)
                elif entry.is_symlink():
                    found.add(path)
        return found

    def choose(self, links: Set[str], listed: Set[str]) -> list[str]:
        """Choose the links to files and folders of the workspace that are not searched yet.

        ``listed`` are the links that are files to search by their own names. Return the new paths.
        """
        targets: dict[str, str] = {}
        for link in sorted(links):
            if real := self._target(link, listed):
                targets.setdefault(real, link)
        for real, link in targets.items():
            if any(str(parent) in targets for parent in Path(real).parents):
                self._waiting.add(link)  # the parent's search may include the target
                continue
            self._replace_below(real)
            self._chosen[link] = real
            self._new.append(link)
        return [path if os.path.isabs(path) else os.path.join(".", path) for path in self._new]

    def _target(self, link: str, listed: Set[str]) -> str | None:
        """Return the target of a link if it is to be searched."""
        try:
            real = self._real(link)
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            return None
        if not any(is_inside(real, root) for root in self._roots):
            self.outside += 1
            return None
        if stat.S_ISREG(mode):
            return real if link in listed and real not in self._files else None
        above = any(is_below(path, real) for path in self._paths.values())  # a loop
        return real if stat.S_ISDIR(mode) and not above and real not in self._folders else None

    def _replace_below(self, real: str) -> None:
        """Undo the choice of links to targets below a folder that is chosen now."""
        for link in [link for link, target in self._chosen.items() if is_below(target, real)]:
            below = self._chosen.pop(link)
            self._waiting.add(link)
            self._files = {path for path in self._files if not is_below(path, below)}
            self._folders = {path for path in self._folders if not is_below(path, below)}
