"""The files that an index does not know, as ignore files hide them: kept while no folder changes.

Where a search by the index finds nothing, they are searched as well. To list them takes a look at
every file of the tree; to see that no folder has changed, a look at every folder, a tenth of that.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.config import OWN_FOLDER
from winnow.text.scope import Scope, joined, plain

# Of trees with more folders nothing is kept: a look at as many takes 50 ms.
MOST_FOLDERS = 20_000
# So many lists are kept, each with a megabyte for 5,000 folders.
MOST_LISTS = 4
# What has changed a moment ago may change again at the same time of the file system's clock.
RECENT_NS = 50_000_000
# What no search looks into.
_NEVER = (".git", OWN_FOLDER)
# With these, what files say does not count: a list changes with folders only.
_ALL = {"--hidden", "--no-ignore"}

Known = Mapping[Path, Sequence[str]]
_Key = tuple[tuple[Path, ...], tuple[str, ...], tuple[str, ...]]


class Kept(Struct, frozen=True):
    """Files of a scope that an index does not know, as ripgrep prints them. ``known`` are those
    that it does, ``changed`` says when each folder has, in nanoseconds."""

    files: Sequence[str]
    known: Known
    changed: Mapping[str, int]

    def is_current(self) -> bool:
        """Whether there are the same files still."""
        try:
            return all(os.stat(path).st_ctime_ns == at for path, at in self.changed.items())
        except OSError:
            return False


class Unindexed:
    """The lists of a workspace; methods may be called in threads."""

    def __init__(self) -> None:
        self._kept: dict[_Key, Kept] = {}

    def of(self, scope: Scope, known: Known) -> Kept | None:
        """What was kept of a scope, and may not be current; for the same files in the index."""
        kept = self._kept.get(_key(scope))
        if kept is None or kept.known.keys() != known.keys():
            return None
        return kept if all(kept.known[root] is known[root] for root in known) else None

    def keep(
        self, scope: Scope, known: Known, listed: Sequence[str], files: Sequence[str], began: int
    ) -> None:
        """Keep the ``files`` of those that were ``listed``, from the time on at which that
        ``began``, in nanoseconds; unless it cannot be told whether they change."""
        changed = None
        if len(scope.roots) == 1 and set(scope.arguments) >= _ALL:
            changed = _changed(str(scope.root), plain(scope.paths[0]), listed)
        if changed is None or max(changed.values()) > began - RECENT_NS:
            return
        kept = {**self._kept, _key(scope): Kept(files, known, changed)}
        self._kept = dict(list(kept.items())[-MOST_LISTS:])


def _key(scope: Scope) -> _Key:
    return scope.roots, scope.paths, (*scope.arguments, *(one.pattern for one in scope.include))


def _changed(root: str, path: str, listed: Sequence[str]) -> dict[str, int] | None:
    """When each folder below a path has changed last: those of the files that were listed, and
    those that have no files. None if there are too many, or that cannot be told."""
    top = "" if path == "." else path
    folders = {top}
    for folder in {file.rpartition("/")[0] for file in listed}:
        one = folder
        while one not in folders:
            folders.add(one)
            one = one.rpartition("/")[0]
    if len(folders) > MOST_FOLDERS:
        return None
    inside = Counter(one.rpartition("/")[0] for one in folders if one != top)
    changed: dict[str, int] = {}
    left = list(folders)
    try:
        while left:
            folder = left.pop()
            where = joined(root, folder)
            state = os.stat(where)
            changed[where] = state.st_ctime_ns
            # A folder has a link from itself, one from above, and one from each that is in it, but
            # in some file systems, which say 1.
            if state.st_nlink < 2 or len(changed) > MOST_FOLDERS:
                return None
            if state.st_nlink - 2 != inside[folder]:
                left += _others(where, folder, folders)
    except OSError:
        return None
    return changed


def _others(where: str, folder: str, known: set[str]) -> list[str]:
    """The folders in a folder that are not known."""
    with os.scandir(where) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name not in _NEVER and entry.is_dir(follow_symlinks=False)
        ]
    paths = (f"{folder}/{name}" if folder else name for name in names)
    return [path for path in paths if path not in known]
