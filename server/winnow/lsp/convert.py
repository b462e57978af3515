"""Between the client's URIs and paths of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from lsprotocol import types


def path_of(uri: str) -> Path | None:
    """The path of a file URI, byte for byte: names need not be valid Unicode."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    if sys.platform == "win32":
        path = path.lstrip("/")
        return Path(f"//{parts.netloc}/{path}") if parts.netloc else Path(path)
    return Path(path)


def folders_of(params: types.InitializeParams) -> list[Path]:
    """The folders that the client has open, by the newest of the three ways to say so."""
    if params.workspace_folders:
        return paths_of(params.workspace_folders)
    if params.root_uri:
        path = path_of(params.root_uri)
        return [path] if path else []
    return [Path(params.root_path)] if params.root_path else []


def paths_of(folders: Iterable[types.WorkspaceFolder]) -> list[Path]:
    return [path for folder in folders if (path := path_of(folder.uri))]
