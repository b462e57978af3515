"""The user's own folders: caches, and state that outlives a workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from winnow.storage.user_paths import cache_path, state_path
from winnow.storage.writing import private_folder


def cache_folder(environment: Mapping[str, str], name: str) -> Path | None:
    """Return Winnow's folder in the user's cache, created and private; None if there can be
    none."""
    base = user_cache(environment)
    if base is None:
        return None
    folder = base / "winnow" / name
    try:
        private_folder(folder)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def user_cache(environment: Mapping[str, str]) -> Path | None:
    """Return the user's cache folder, if there is one."""
    path = cache_path(environment)
    return Path(path) if path is not None else None


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """Return Winnow's folder in the user's state folder, which need not exist yet; None if there is
    none."""
    path = state_path(environment)
    return Path(path) if path is not None else None
