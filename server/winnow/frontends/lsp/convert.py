"""Convert the client's URIs to paths."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lsprotocol import types

from winnow.text.paths import path_of_uri


def path_of(uri: str) -> Path | None:
    """Return the path of a file URI. Its bytes need not be valid Unicode, but no file has a NUL in
    its name."""
    path = path_of_uri(uri)
    return None if path is None or "\0" in path else Path(path)


def folders_of(params: types.InitializeParams) -> list[Path]:
    """Return the client's open folders, from the newest of the three fields for them."""
    if params.workspace_folders:
        return paths_of(params.workspace_folders)
    if params.root_uri:
        path = path_of(params.root_uri)
        return [path] if path else []
    return [Path(params.root_path)] if params.root_path else []


def paths_of(folders: Iterable[types.WorkspaceFolder]) -> list[Path]:
    return [path for folder in folders if (path := path_of(folder.uri))]
