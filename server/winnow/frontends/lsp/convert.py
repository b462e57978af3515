"""Between the client's URIs and paths of this machine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from winnow.text.paths import path_of_uri


def path_of(uri: str) -> Path | None:
    """The path of a file URI, byte for byte: names need not be valid Unicode."""
    path = path_of_uri(uri)
    return None if path is None else Path(path)


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
