"""rga's own settings: what a search of documents may run, and where its cache is.

rga runs a program for each document. Its configuration (the user's file, ``RGA_CONFIG``, or any
word that begins with ``--rga-``) can name others, so it gets one of ours, which also replaces what
is not safe with documents of a stranger:

- pandoc fetches what an ``<iframe>`` in a page names; with ``--sandbox`` it reads its input only.
- ffprobe goes by content, not by name: a playlist that is called a film could name other files and
  addresses. (From its documentation; films are no documents here, so it was not tried.)
- SQLite, asked for a database in WAL mode, writes two files beside it.

``--rga-no-cache`` is not used: rga 0.10.10 then fails at every document ("No cache?").
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow.errors import NotAllowed
from winnow.pipeline.bounds import Bounds

_CONFIG = {
    "custom_adapters": [
        {
            "name": "documents",
            "description": "pandoc, reading nothing but its input",
            "version": 1,
            "extensions": ["epub", "odt", "docx", "fb2", "ipynb", "html", "htm"],
            "binary": "pandoc",
            "args": [
                "--sandbox",
                "--from=$input_file_extension",
                "--to=plain",
                "--wrap=none",
                "--markdown-headings=atx",
            ],
        }
    ]
}
_LEFT_OUT = "-pandoc,ffmpeg,sqlite"


@contextlib.contextmanager
def settings(environment: Mapping[str, str], bounds: Bounds) -> Iterator[list[str]]:
    """Arguments that come before all others, for the time of the block.

    The cache is kept in the user's cache folder; where that is a part of the workspace or cannot be
    written, it is a temporary one. Raises NotAllowed if that is in the workspace, too.
    """
    with contextlib.ExitStack() as stack:
        folder = _cache_folder(environment, bounds)
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="winnow-rga-")))
            if bounds.contains(str(folder)):
                raise NotAllowed("rga", "there is no place for its cache outside of the workspace")
            _write_config(folder)
        yield [
            f"--rga-config-file={folder / 'config.json'}",
            f"--rga-cache-path={folder}",
            f"--rga-adapters={_LEFT_OUT}",
        ]


def _cache_folder(environment: Mapping[str, str], bounds: Bounds) -> Path | None:
    base = _user_cache(environment)
    if base is None or bounds.contains(str(base)):
        return None
    folder = base / "winnow" / "rga"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if bounds.contains(str(folder)):
            return None
        _write_config(folder)
    except OSError:
        return None
    return folder


def _user_cache(environment: Mapping[str, str]) -> Path | None:
    if sys.platform == "win32":
        named = environment.get("LOCALAPPDATA", "")
    else:
        named = environment.get("XDG_CACHE_HOME", "")
    if named and os.path.isabs(named):
        return Path(named)
    home = environment.get("HOME") or os.path.expanduser("~")
    if not os.path.isabs(home):
        return None
    return Path(home, "Library/Caches" if sys.platform == "darwin" else ".cache")


def _write_config(folder: Path) -> None:
    """Write rga's configuration in one step: another search may be reading it."""
    config, file_name = json.dumps(_CONFIG), folder / "config.json"
    if file_name.is_file() and file_name.read_text("utf-8") == config:
        return
    handle, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(config)
    os.replace(name, file_name)
