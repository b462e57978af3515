"""rga's own settings: what a search of documents may run, and where its cache is.

rga runs a program for each document. Its configuration (the user's file, ``RGA_CONFIG``, or any
word that begins with ``--rga-``) can name others, so it gets one of ours, which also replaces what
is not safe with documents of a stranger:

- pandoc fetches what an ``<iframe>`` in a page names; with ``--sandbox`` it reads its input only.
  rga also hands it the end of a file's name as a format, which fails for ``.htm``.
- ffprobe goes by content, not by name: a playlist that is called a film could name other files and
  addresses. (From its documentation; films are no documents here, so it was not tried.)
- SQLite, asked for a database in WAL mode, writes two files beside it.

``--rga-no-cache`` is not used: rga 0.10.10 then fails at every document ("No cache?").
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from winnow.errors import NotAllowed
from winnow.processes.programs import InstalledPrograms
from winnow.storage.untrusted import read_untrusted
from winnow.storage.user_folders import user_cache
from winnow.storage.writing import (
    private_folder,
    replace_file,
    replace_with_link,
    temporary_folder,
)

# Formats of pandoc, and the ends of names that rga is to have it read.
PANDOC_ENDS = {
    "epub": ("epub",),
    "odt": ("odt",),
    "docx": ("docx",),
    "fb2": ("fb2",),
    "ipynb": ("ipynb",),
    "html": ("html", "htm"),
}
_CONFIG = {
    "custom_adapters": [
        {
            "name": f"documents_{name}",
            "description": "pandoc, reading nothing but its input",
            "version": 1,
            "extensions": ends,
            "binary": "pandoc",
            "args": [
                "--sandbox",
                f"--from={name}",
                "--to=plain",
                "--wrap=none",
                "--markdown-headings=atx",
            ],
        }
        for name, ends in PANDOC_ENDS.items()
    ]
}
_LEFT_OUT = "-pandoc,ffmpeg,sqlite"
# Each adapter counts, and a PDF in a .tar.gz in a .zip has five: rga's own limit.
_DEEPEST = 12
_DATABASE = ("cache.sqlite3", "cache.sqlite3-wal", "cache.sqlite3-shm")


class Settings(Struct, frozen=True):
    """``arguments`` that come before all others, the ``folder`` of the cache, and ``programs``, the
    folder on PATH in which rga finds ripgrep."""

    arguments: tuple[str, ...]
    folder: Path
    programs: str


@contextlib.contextmanager
def settings(installed: InstalledPrograms, ripgrep: str) -> Iterator[Settings]:
    """Yield rga's settings for the time of the block; ``ripgrep`` is what it is to run.

    The cache is kept in the user's cache folder; where that is a part of the workspace or cannot be
    written, it is a temporary one. Raises NotAllowed if that is in the workspace, too.
    """
    with contextlib.ExitStack() as stack:
        folder = _cache_folder(installed)
        if folder is None:
            folder = Path(stack.enter_context(temporary_folder("winnow-rga-")))
            if installed.in_workspace(str(folder)):
                raise NotAllowed("rga", "there is no place for its cache outside of the workspace")
            _write_config(folder)
        arguments = (
            f"--rga-config-file={folder / 'config.json'}",
            f"--rga-cache-path={folder}",
            f"--rga-adapters={_LEFT_OUT}",
            f"--rga-max-archive-recursion={_DEEPEST}",
        )
        yield Settings(arguments, folder, _folder_of(ripgrep, installed, folder))


def clear_cache(folder: Path) -> None:
    """Delete what rga has stored: it writes without waiting for the disk, and one that is killed
    can leave a database that is damaged."""
    for name in _DATABASE:
        with contextlib.suppress(OSError):
            (folder / name).unlink()


def _folder_of(ripgrep: str, installed: InstalledPrograms, cache: Path) -> str:
    """Return a folder that has ripgrep and is not in the workspace, as the environment that runs
    Winnow may be: rga would find other programs there, too."""
    folder = os.path.dirname(ripgrep)
    if not installed.in_workspace(folder):
        return folder
    programs = cache / "programs"
    with contextlib.suppress(OSError):  # rga says that it has no ripgrep
        private_folder(programs)
        replace_with_link(programs / os.path.basename(ripgrep), ripgrep)
    return str(programs)


def _cache_folder(installed: InstalledPrograms) -> Path | None:
    base = user_cache(installed.environment)
    if base is None or installed.in_workspace(str(base)):
        return None
    folder = base / "winnow" / "rga"
    try:
        private_folder(folder)
        if installed.in_workspace(str(folder)):
            return None
        _write_config(folder)
    except OSError:
        return None
    return folder


def _write_config(folder: Path) -> None:
    """Write rga's configuration in one step: another search may be reading it."""
    config, file_name = json.dumps(_CONFIG).encode(), folder / "config.json"
    with contextlib.suppress(OSError):
        if read_untrusted(file_name) == config:
            return
    replace_file(file_name, config)
