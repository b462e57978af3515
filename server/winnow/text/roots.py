"""Folders that are too large to be searched or indexed as a workspace."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from winnow.storage.paths import is_below, real_path

SHARED_FOLDERS = (
    *("/tmp", "/var/tmp", "/var", "/usr", "/etc", "/opt", "/srv", "/mnt", "/media"),  # noqa: S108
    *("/home", "/root", "/Users", "/Volumes", "/Library", "/System", "/Applications"),
)


def refusal(folder: Path, environment: Mapping[str, str]) -> str:
    """Return why a folder cannot be a workspace, as a predicate; empty if it can."""
    real = real_path(folder)
    if os.path.dirname(real) == real:
        return "is the root of a file system"
    homes = (environment.get("HOME"), environment.get("USERPROFILE"), os.path.expanduser("~"))
    for home in map(real_path, filter(None, homes)):
        if is_below(home, real):
            return "is a home folder" if home == real else "contains a home folder"
    return ""


def is_indexable(root: Path, environment: Mapping[str, str]) -> bool:
    """Return True if a folder may be indexed automatically.

    Home folders (even repositories), their parents, drives and folders that all programs share are
    indexed only on request.
    """
    if refusal(root, environment):
        return False
    shared = set(map(os.path.realpath, SHARED_FOLDERS))
    with contextlib.suppress(FileNotFoundError):  # the disk is full
        shared.add(os.path.realpath(tempfile.gettempdir()))
    return os.path.realpath(root) not in shared
