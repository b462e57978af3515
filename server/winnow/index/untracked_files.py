"""Cache lists of files that the index does not cover, such as ignored files, while no folder
changes.

When a search with the index finds nothing, these files are searched as well. Listing them requires
a stat of every file; checking that no folder has changed requires one of every folder, which takes
a tenth of the time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from winnow.storage.state_folder import OWN_FOLDER
from winnow.text.scope import Scope, clean_path, join_path

# Larger trees are not cached: checking this number of folders takes 50 ms.
MOST_FOLDERS = 20_000
# Cached lists; one takes a megabyte for 5,000 folders.
MOST_LISTS = 4
# A folder that changed a moment ago may change again within the same tick of the file system's
# clock.
RECENT_NS = 50_000_000
# Folders that no search covers.
_NEVER = (".git", OWN_FOLDER)
# With these options, ignore files have no effect: a list changes only with folders.
_ALL = {"--hidden", "--no-ignore"}

Known = Mapping[Path, Sequence[str]]
_Key = tuple[tuple[Path, ...], tuple[str, ...], tuple[str, ...]]


class UntrackedFiles(Struct, frozen=True):
    """The ``files`` of a scope that the index does not cover, as ripgrep prints them. ``known`` are
    the indexed files, ``changed`` the ctime of each folder in nanoseconds."""

    files: Sequence[str]
    known: Known
    changed: Mapping[str, int]

    def is_current(self) -> bool:
        """Return True if the list is still valid."""
        try:
            return all(os.stat(path).st_ctime_ns == at for path, at in self.changed.items())
        except OSError:
            return False


class UntrackedFilesCache:
    """The cached lists of a workspace; methods may be called in threads."""

    def __init__(self) -> None:
        self._kept: dict[_Key, UntrackedFiles] = {}

    def of(self, scope: Scope, known: Known) -> UntrackedFiles | None:
        """Return the cached list of a scope, for the same indexed files. It may be outdated."""
        cached = self._kept.get(_key(scope))
        if cached is None or cached.known.keys() != known.keys():
            return None
        return cached if all(cached.known[root] is known[root] for root in known) else None

    def keep(
        self, scope: Scope, known: Known, listed: Sequence[str], files: Sequence[str], began: int
    ) -> None:
        """Cache the ``files`` among those that were ``listed`` since ``began`` (in nanoseconds),
        unless changes to them cannot be detected."""
        changed = None
        if len(scope.roots) == 1 and set(scope.arguments) >= _ALL:
            changed = _changed(str(scope.root), clean_path(scope.paths[0]), listed)
        if changed is None or max(changed.values()) > began - RECENT_NS:
            return
        cached = {**self._kept, _key(scope): UntrackedFiles(files, known, changed)}
        self._kept = dict(list(cached.items())[-MOST_LISTS:])


def _key(scope: Scope) -> _Key:
    return scope.roots, scope.paths, (*scope.arguments, *(glob.pattern for glob in scope.include))


def _changed(root: str, path: str, listed: Sequence[str]) -> dict[str, int] | None:
    """Return the ctime of each folder below a path: folders of listed files and folders without
    files. None if there are too many, or the file system does not count links."""
    top = "" if path == "." else path
    folders = {top}
    for folder in {file.rpartition("/")[0] for file in listed}:
        ancestor = folder
        while ancestor not in folders:
            folders.add(ancestor)
            ancestor = ancestor.rpartition("/")[0]
    if len(folders) > MOST_FOLDERS:
        return None
    inside = Counter(folder.rpartition("/")[0] for folder in folders if folder != top)
    changed: dict[str, int] = {}
    left = list(folders)
    try:
        while left:
            folder = left.pop()
            where = join_path(root, folder)
            state = os.stat(where)
            changed[where] = state.st_ctime_ns
            # A folder has a link from itself, one from its parent, and one from each subfolder;
            # some file systems always report 1.
            if state.st_nlink < 2 or len(changed) > MOST_FOLDERS:
                return None
            if state.st_nlink - 2 != inside[folder]:
                left += _others(where, folder, folders)
    except OSError:
        return None
    return changed


def _others(where: str, folder: str, known: set[str]) -> list[str]:
    """Return the subfolders that are not in ``known``."""
    with os.scandir(where) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name not in _NEVER and entry.is_dir(follow_symlinks=False)
        ]
    paths = (f"{folder}/{name}" if folder else name for name in names)
    return [path for path in paths if path not in known]
