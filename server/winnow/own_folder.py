"""The folder in which Winnow keeps its own files in a workspace, which may be a stranger's."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from winnow.config import OWN_FOLDER


def own_folder(root: Path) -> Path:
    """Winnow's folder in a workspace folder, which exists then, and which git ignores. Raises
    OSError, also where somebody has put something else in its place."""
    folder = root / OWN_FOLDER
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700)
    # A stranger's link would have us write elsewhere.
    if not stat.S_ISDIR(folder.lstat().st_mode):
        raise NotADirectoryError(folder)
    ignore = folder / ".gitignore"
    if not os.path.lexists(ignore):
        ignore.write_text("*\n", "utf-8")
    return folder


def is_indexed(root: Path) -> bool:
    """Whether a process has left an index of a workspace folder."""
    return any((root / OWN_FOLDER).glob("index-*.db"))


def regular(*files: Path) -> None:
    """Raise FileExistsError for a file that is there and is a link, a folder or a device."""
    for file in files:
        if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
            raise FileExistsError(file)
