"""The user's secret, with which Winnow marks what it creates: no one else can reproduce a mark."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from pathlib import Path

from winnow.storage.lock import locked_briefly
from winnow.storage.untrusted import open_untrusted
from winnow.storage.writing import replace_file

NAME = "secret"
BYTES = 32
# Another process creates it within a millisecond.
LOCK_SECONDS = 5.0
# The permissions of the group and of all others.
OTHERS = 0o077


def read_secret(folder: Path | None) -> bytes | None:
    """Return the secret in the user's state folder; None where there is none that is private."""
    if folder is None or not _is_private_folder(folder):
        return None
    try:
        with os.fdopen(open_untrusted(folder / NAME, BYTES), "rb") as file:
            status = os.fstat(file.fileno())
            found = file.read()
    except OSError:
        return None
    # A secret that others could read may be known to them.
    is_closed = is_own(status) and not _rights_of_others(status)
    return found if is_closed and len(found) == BYTES else None


def make_secret(folder: Path | None) -> bytes:
    """Return the secret in the user's state folder; create it if there is none that is private.

    A folder of another user is left alone, as where `sudo` keeps HOME. Raises OSError.
    """
    if folder is None:
        raise FileNotFoundError("there is no folder for the user's state: HOME is not set")
    if (found := read_secret(folder)) is not None:
        return found
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if not is_own(os.stat(existing)):
        raise PermissionError(f"{folder} is in a folder of another user")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_private_folder(folder):
        raise PermissionError(f"{folder} belongs to another user, or others may write there")
    with locked_briefly(folder / f"{NAME}.lock", LOCK_SECONDS):
        if (found := read_secret(folder)) is None:
            found = secrets.token_bytes(BYTES)
            replace_file(folder / NAME, found)
    return found


def is_own(status: os.stat_result) -> bool:
    """Return True if this user owns a file; always on Windows."""
    return sys.platform == "win32" or status.st_uid == os.geteuid()


def is_private(status: os.stat_result) -> bool:
    """Return True if this user owns a file, and no other user may write it."""
    return is_own(status) and not _rights_of_others(status) & (stat.S_IWGRP | stat.S_IWOTH)


def _rights_of_others(status: os.stat_result) -> int:
    """Return the permissions of the group and of all others. On Windows there are none in a file's
    mode: a folder in the user's profile is private."""
    return 0 if sys.platform == "win32" else status.st_mode & OTHERS


def _is_private_folder(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        status = os.stat(folder)
        return stat.S_ISDIR(status.st_mode) and is_private(status)
    return False
