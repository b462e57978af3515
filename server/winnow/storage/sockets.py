"""The sockets of background processes, in a private folder of the user's state folder.

Each workspace has one name in that folder, a hash of its root: the path of a socket must be short,
and a repository can't choose it. Only the user can open the folder, and both ends of a connection
check that the other one is the same user. Every command imports this module, so it imports little.
"""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import sys
from collections.abc import Mapping

from winnow.storage.user_paths import state_path

FOLDER = "run"
NAME_CHARACTERS = 16
# macOS allows 104 bytes with the NUL at the end, Linux 108.
MAX_PATH_BYTES = 103
# The permissions of the group and of all others.
OTHERS = 0o077
# On macOS: the level and the option for the user of a peer, and the length up to its user id.
_MACOS_PEER = (0, 1, 8)


def sockets_folder(environment: Mapping[str, str]) -> str | None:
    """Return the folder of the sockets, which need not exist; None if there is no place for it, or
    this system has no such sockets."""
    state = state_path(environment)
    if state is None or sys.platform == "win32" or not hasattr(socket, "AF_UNIX"):
        return None
    folder = os.path.join(state, FOLDER)
    longest = len(os.fsencode(folder)) + 1 + NAME_CHARACTERS
    return folder if longest <= MAX_PATH_BYTES else None


def socket_path(folder: str, root: str) -> str:
    """Return the path of the socket for a workspace. ``root`` is resolved."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()
    return os.path.join(folder, digest[:NAME_CHARACTERS])


def is_private_folder(folder: str) -> bool:
    """Return True if a path is a folder of this user that no other user can open."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    return is_own and not status.st_mode & OTHERS


def make_private_folder(folder: str) -> None:
    """Create the folder of the sockets. Raise OSError if it is not private, or would be in a folder
    of another user, as where `sudo` keeps HOME."""
    existing = folder
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if os.stat(existing).st_uid != os.geteuid():
        raise PermissionError(f"{folder} is in a folder of another user")
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    if existing != folder:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    if not is_private_folder(folder):
        raise PermissionError(f"{folder} is not a private folder of this user")


def connect(path: str, seconds: float) -> socket.socket:
    """Return a connection to a socket whose process runs as this user, with a time limit for each
    operation. Raise OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
        if not is_same_user(connection):
            raise PermissionError(f"another user listens at {path}")
    except BaseException:
        connection.close()
        raise
    return connection


def listen(path: str) -> socket.socket:
    """Return a listening socket at a path, replacing what is there. Raise OSError.

    Only the holder of the workspace's lock may call this. Clients see the socket once it listens.
    """
    # A client needs neither.
    from pathlib import Path

    from winnow.storage.writing import move_file

    # Longer names might not fit.
    new = os.path.join(os.path.dirname(path), f"new-{os.getpid():x}")
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if os.path.lexists(new):
            os.unlink(new)
        listening.bind(new)
        os.chmod(new, 0o600)
        listening.listen()
        # A rename, so that the socket is never there without being ready.
        move_file(Path(new), Path(path))
    except BaseException:
        listening.close()
        raise
    return listening


def is_same_user(connection: socket.socket) -> bool:
    """Return True if the process at the other end runs as this user. Systems that can't tell rely
    on the permissions of the folder."""
    peer = peer_of(connection)
    return peer is None or peer[1] == os.geteuid()


def peer_of(connection: socket.socket) -> tuple[int, int] | None:
    """Return the process id (0 if unknown) and the user id of the other end; None if the system
    can't tell."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(raw[:4], sys.byteorder), int.from_bytes(raw[4:8], sys.byteorder)
    if sys.platform == "darwin":
        raw = connection.getsockopt(*_MACOS_PEER)
        return 0, int.from_bytes(raw[4:8], sys.byteorder)
    return None
