"""What symlinks lead to: searched on request, each target once, inside of the workspace only.

ripgrep is never told to follow links: one to `/` would have it search the machine. The links are
found here, and those that lead to something that is not searched anyway become paths of their own.
"""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Sequence, Set

import msgspec

from winnow.text.files import Scope, plain
from winnow.text.notes import DEBUG, Notes
from winnow.text.paths import is_inside
from winnow.text.ripgrep import RECORD_BYTES, Ripgrep, command_lines

# Rounds of links that lead to folders with links.
ROUNDS = 10


def folder_links(scope: Scope, left_out: Set[str], seconds: float) -> int | None:
    """How many symlinks to folders a search passes over; None if that takes too long to count.

    ``left_out`` are the paths of ignored and hidden entries, below which nothing counts.
    """
    until = time.monotonic() + seconds
    count = 0
    waiting = [os.path.normpath(path) for path in scope.paths]
    while waiting:
        if time.monotonic() > until:
            return None
        folder = waiting.pop()
        try:
            with os.scandir(scope.root / folder) as entries:
                found = list(entries)
        except OSError:
            continue
        for entry in found:
            path = entry.name if folder == "." else os.path.join(folder, entry.name)
            if path in left_out:
                continue
            if entry.is_symlink():
                count += entry.is_dir()
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
    return count


async def with_links(ripgrep: Ripgrep, scope: Scope, hidden: bool) -> Scope:
    """The scope with the paths of symlinks to what is not searched anyway."""
    links = _Links(scope)
    new: Sequence[str] = scope.paths
    added: list[str] = []
    for _ in range(ROUNDS):
        await _list(ripgrep, scope, new, links)
        found = await asyncio.to_thread(links.find, hidden)
        new = links.choose(found - await _ignored(ripgrep, scope, found))
        if not new:
            break
        added += new
    warnings = scope.warnings
    if links.outside:
        warnings += (f"{links.outside} symlinks lead out of the workspace: not followed",)
    return msgspec.structs.replace(scope, paths=(*scope.paths, *added), warnings=warnings)


async def _list(ripgrep: Ripgrep, scope: Scope, paths: Sequence[str], links: _Links) -> None:
    """Tell ``links`` of the files that are searched below some paths."""
    arguments = ["--files", "--null", *_filters(scope), "--", *paths]
    async with ripgrep.start(arguments, cwd=scope.root) as child:
        async for record in child.records(b"\0", RECORD_BYTES):
            links.searched(plain(os.fsdecode(record)))


async def _ignored(ripgrep: Ripgrep, scope: Scope, links: set[str]) -> set[str]:
    """Those of the links that ignore files exclude: ripgrep tells when it is to follow them."""
    notes = Notes()
    folders = sorted({os.path.join(".", os.path.dirname(link)) for link in links})
    for some in command_lines(folders):
        follow = [DEBUG, "--files", "--follow", "--max-depth=1"]
        arguments = [*follow, *_filters(scope), "--", *some]
        async with ripgrep.start(arguments, cwd=scope.root, notes=notes) as child:
            async for _ in child.chunks():
                pass
            await child.wait()
    return links & notes.left_out


def _filters(scope: Scope) -> list[str]:
    return [one for one in scope.arguments if not one.startswith("--type")]


class _Links:
    """What is searched so far, and the symlinks beside it."""

    def __init__(self, scope: Scope) -> None:
        self.outside = 0
        self._scope = scope
        self._roots = [os.path.realpath(root) for root in scope.roots]
        self._files: set[str] = set()
        self._folders: set[str] = set()
        self._looked_at: set[str] = set()
        self._seen: set[str] = set()

    def searched(self, path: str) -> None:
        """A file that is searched, as ripgrep printed it."""
        real = os.path.realpath(self._scope.root / path)
        self._files.add(real)
        folder = os.path.dirname(path)
        while folder not in self._folders:
            self._folders.add(folder)
            folder = os.path.dirname(folder)

    def find(self, hidden: bool) -> set[str]:
        """The symlinks in the folders that were not looked at yet."""
        found = set()
        for folder in self._folders - self._looked_at:
            self._looked_at.add(folder)
            try:
                with os.scandir(self._scope.root / folder) as entries:
                    names = [entry.name for entry in entries if entry.is_symlink()]
            except OSError:
                continue
            found |= {
                os.path.join(folder, name) for name in names if hidden or not name.startswith(".")
            }
        return found

    def choose(self, links: Iterable[str]) -> list[str]:
        """Those of the links that lead to something of the workspace that is not searched yet."""
        covered = {os.path.realpath(self._scope.root / folder) for folder in self._folders}
        chosen = []
        for link in sorted(links):
            try:
                real = os.path.realpath(self._scope.root / link)
                mode = os.stat(real).st_mode
            except (OSError, ValueError):
                continue
            if not any(is_inside(real, root) for root in self._roots):
                self.outside += 1
            elif real not in self._seen | covered | self._files and (
                stat.S_ISDIR(mode) or stat.S_ISREG(mode)
            ):
                self._seen.add(real)
                chosen.append(link if os.path.isabs(link) else os.path.join(".", link))
        return chosen
