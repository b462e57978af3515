"""Find the roots of searches: the repositories of a workspace's folders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from winnow.errors import NotFound, NoWorkspace, RootRefused
from winnow.storage.paths import real_path
from winnow.storage.state_folder import state_root
from winnow.text.paths import shown_folder

# Delay before a folder that became a repository is noticed. A request needs the roots a dozen
# times, and outside of git each lookup reads all parent folders.
ROOT_SECONDS = 1.0


def repository_root(folder: Path) -> Path:
    """Return the git working tree that contains the folder (REQ-KWS-002).

    Outside of git, it is the nearest parent folder with an index, or the folder itself. ``.git`` is
    a file in worktrees and submodules.
    """
    for spelled in (str(folder), real_path(folder)):
        above, candidate = "", spelled
        while candidate != above:
            if os.path.lexists(os.path.join(candidate, ".git")):
                return Path(candidate)
            above, candidate = candidate, os.path.dirname(candidate)
    return state_root(folder) or folder


def _not_refused(folder: Path) -> str:
    return ""


def search_roots(
    folders: Sequence[Path], refusal: Callable[[Path], str] = _not_refused
) -> list[Path]:
    """Return the existing repositories of the folders, without duplicates.

    ``refusal`` returns why a folder may not be searched, or "". If it refuses a folder's
    repository, the folder itself is the root: a home folder may be a repository. Raises NoWorkspace
    without folders, RootRefused if none of them may be searched, and NotFound if none exists.
    """
    return _existing(folders, _repositories(folders, refusal), refusal)


class SearchRoots:
    """The roots of a workspace's folders, looked up again after `ROOT_SECONDS`."""

    def __init__(self, refusal: Callable[[Path], str]) -> None:
        self._refusal = refusal
        # The folders, their repositories, and until when these count.
        self._cached: tuple[list[Path], list[Path], float] = [], [], 0.0

    def forget(self) -> None:
        """Look the roots up again, because ``refusal`` may have changed."""
        self._cached = [], [], 0.0

    def required(self, folders: Sequence[Path]) -> list[Path]:
        """Return the same roots as :func:`search_roots`, and raise the same errors."""
        return _existing(folders, self._repositories(folders), self._refusal)

    def existing(self, folders: Sequence[Path]) -> list[Path]:
        """Return the same roots, or an empty list instead of an error."""
        return list(filter(os.path.isdir, self._repositories(folders)))

    def _repositories(self, folders: Sequence[Path]) -> list[Path]:
        known_folders, found, until = self._cached
        if time.monotonic() > until or known_folders != folders:
            found = _repositories(folders, self._refusal)
            self._cached = list(folders), found, time.monotonic() + ROOT_SECONDS
        return found


def _existing(
    folders: Sequence[Path], roots: Sequence[Path], refusal: Callable[[Path], str]
) -> list[Path]:
    if not folders:
        raise NoWorkspace
    if not roots:
        raise RootRefused(shown_folder(folders[0]), refusal(folders[0]))
    existing = list(filter(os.path.isdir, roots))
    if not existing:
        hint = "It is the folder of the workspace: was it moved or deleted?"
        raise NotFound(shown_folder(roots[0]), hint)
    return existing


def _repositories(folders: Sequence[Path], refusal: Callable[[Path], str]) -> list[Path]:
    distinct: dict[str, Path] = {}
    for folder in folders:
        if not refusal(folder):
            root = repository_root(folder)
            root = folder if root != folder and refusal(root) else root
            distinct.setdefault(real_path(root), root)
    return list(distinct.values())
