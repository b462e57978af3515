"""Find the indexes of other working trees of a git repository, to reuse their data.

The main working tree and those of ``git worktree add`` share most texts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from winnow.index.store.store import Store, newest_file
from winnow.storage import state_folder
from winnow.storage.database import DatabaseError, StoreDamaged
from winnow.storage.untrusted import read_untrusted

MOST_TREES = 16
MOST_BYTES = 4096  # of git's files that hold a path


def other_stores(
    root: Path, variant: str, user: state_folder.User | None = None
) -> Iterator[Store]:
    """Yield the trusted stores of the repository's other working trees, of the same version. Each
    is open until the next one is requested."""
    for tree in other_trees(root):
        folder = state_folder.existing(tree, user)
        file = newest_file(folder, variant) if folder is not None else None
        if file is not None and file.is_file() and not file.is_symlink():
            with contextlib.suppress(StoreDamaged, DatabaseError, OSError):
                store = Store(file, user)
                try:
                    yield store
                finally:
                    store.close()


def other_trees(root: Path) -> list[Path]:
    """Return the other working trees of a folder's repository."""
    common = _common(root)
    if common is None:
        return []
    trees = [common.parent] if common.name == ".git" else []
    with contextlib.suppress(OSError):
        for entry in sorted((common / "worktrees").iterdir())[:MOST_TREES]:
            if named := _path_in(entry / "gitdir"):
                trees.append(Path(os.path.normpath(entry / named)).parent)
    own = os.path.realpath(root)
    return [tree for tree in trees if tree.is_dir() and os.path.realpath(tree) != own]


def _common(root: Path) -> Path | None:
    """Return the `.git` folder that all working trees share."""
    marker = root / ".git"
    if marker.is_dir():
        return marker
    named = _path_in(marker)
    if named is None or not named.startswith("gitdir:"):
        return None
    folder = root / named.removeprefix("gitdir:").strip()
    shared = _path_in(folder / "commondir")
    return Path(os.path.normpath(folder / shared)) if shared else None


def _path_in(file: Path) -> str | None:
    try:
        return os.fsdecode(read_untrusted(file, MOST_BYTES)).strip() or None
    except OSError:
        return None
