"""Run rga safely: its configuration, its cache and the paths of its documents.

rga runs a program for each document. The user's configuration file, ``RGA_CONFIG`` and every
argument that starts with ``--rga-`` can name other programs, so Winnow passes its own
configuration. It also replaces adapters that are unsafe with untrusted documents:

- pandoc fetches the address of an ``<iframe>`` in a page. With ``--sandbox`` it reads only its
  input. rga also passes the file extension as the format, which fails for ``.htm``.
- ffprobe detects the format by content, not by name: a playlist that is named like a film could
  refer to other files and addresses. (Known from its documentation. Winnow does not treat films as
  documents, so this was not tried.)
- SQLite writes two files beside a database that is in WAL mode.

``--rga-no-cache`` is not used because rga 0.10.10 then fails for every document ("No cache?").

rga's cache identifies a document by path and modification time, so it would return the old text of
a document that was replaced by another one with the same time (from an archive or a reproducible
build). rga therefore gets a symlink in a folder whose name depends on the state of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from winnow.documents.extract.job import stamp_of
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

# The file extensions that rga passes to pandoc, by pandoc's name of the format.
PANDOC_EXTENSIONS = {
    "epub": ("epub",),
    "odt": ("odt",),
    "docx": ("docx",),
    "fb2": ("fb2",),
    "ipynb": ("ipynb",),
    "html": ("html", "htm"),
}
_PANDOC = ("--sandbox", "--to=plain", "--wrap=none", "--markdown-headings=atx")
_CONFIG = {
    "custom_adapters": [
        {
            "name": f"documents_{name}",
            "description": "pandoc, reading nothing but its input",
            "version": 1,
            "extensions": extensions,
            "binary": "pandoc",
            "args": [f"--from={name}", *_PANDOC],
        }
        for name, extensions in PANDOC_EXTENSIONS.items()
    ]
}
_DISABLED_ADAPTERS = "-pandoc,ffmpeg,sqlite"
# rga counts each adapter: a PDF in a .tar.gz in a .zip needs five.
_MAX_RECURSION = 12
_DATABASE = ("cache.sqlite3", "cache.sqlite3-wal", "cache.sqlite3-shm")
_LINKS = "links"
# With more links than this, all links and the cached texts of old documents are deleted.
MAX_LINKS = 20_000


class RgaSettings(Struct, frozen=True):
    """The first ``arguments`` of every run, the ``folder`` of the cache, and ``programs``, the
    folder on PATH in which rga finds ripgrep."""

    arguments: tuple[str, ...]
    folder: Path
    programs: str


@contextlib.contextmanager
def settings(installed: InstalledPrograms, ripgrep: str) -> Iterator[RgaSettings]:
    """Yield rga's settings for the duration of the block; rga runs ``ripgrep``.

    The cache is in the user's cache folder, or in a temporary folder if that is in the workspace or
    read-only. Raises NotAllowed if the temporary folder is in the workspace, too.
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
            f"--rga-adapters={_DISABLED_ADAPTERS}",
            f"--rga-max-archive-recursion={_MAX_RECURSION}",
        )
        yield RgaSettings(arguments, folder, _folder_of(ripgrep, installed, folder))


def clear_cache(folder: Path) -> None:
    """Delete rga's database. rga writes without syncing, so killing it can damage the database."""
    for name in _DATABASE:
        with contextlib.suppress(OSError):
            (folder / name).unlink()


def limit_cache(folder: Path) -> None:
    """Clear the cache if there are more than MAX_LINKS links."""
    with contextlib.suppress(OSError):
        if len(os.listdir(folder / _LINKS)) > MAX_LINKS:
            shutil.rmtree(folder / _LINKS, ignore_errors=True)
            clear_cache(folder)


def linked(path: str, cache: Path) -> str:
    """Return a link to a document whose path changes with the state of the document, or the path
    itself if the link cannot be made."""
    try:
        state = hashlib.blake2b(os.fsencode(path), digest_size=16)
        state.update(repr(stamp_of(os.stat(path))).encode())
        link = cache / _LINKS / state.hexdigest() / os.path.basename(path)
        private_folder(link.parent)
        with contextlib.suppress(FileExistsError):
            os.symlink(path, link)
    except OSError:
        return path
    return str(link)


def _folder_of(ripgrep: str, installed: InstalledPrograms, cache: Path) -> str:
    """Return a folder that holds ripgrep and is outside of the workspace.

    The environment that runs Winnow may be in the workspace, and rga would also find the other
    programs in ripgrep's folder.
    """
    folder = os.path.dirname(ripgrep)
    if not installed.in_workspace(folder):
        return folder
    programs = cache / "programs"
    with contextlib.suppress(OSError):  # rga then reports that ripgrep is missing
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
    """Replace rga's configuration atomically: another search may be reading it."""
    config, file_name = json.dumps(_CONFIG).encode(), folder / "config.json"
    with contextlib.suppress(OSError):
        if read_untrusted(file_name) == config:
            return
    replace_file(file_name, config)
