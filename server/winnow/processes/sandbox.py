"""Restrict programs to the files of the workspace with Linux's Landlock.

Programs open files by name. A symlink can replace a file after Winnow has checked the name; the
kernel checks the file that is opened. A restriction holds for a thread and the processes that it
starts, for good: each start gets its own thread, and the server itself stays unrestricted. Only
reading is restricted: Winnow starts no program here that writes.

Without Landlock (macOS, Windows, Linux before 5.13) programs run unrestricted.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import stat
import sys
import threading
from collections.abc import Iterable

from msgspec import Struct

# landlock(7); the numbers of the calls are those of every architecture that has them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_NO_NEW_PRIVILEGES = 38  # prctl(2)

# Programs and what they load; no folder of a user.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"),
    *("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"),
)


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class ReadablePath(Struct, frozen=True):
    """A folder with all that is below it, or a file, that a program may read.

    A ``strict`` file is one that a repository can place or name: it must be a regular file, and
    its path resolved, without a symlink in it.
    """

    path: str
    is_folder: bool = False
    strict: bool = False


@functools.cache
def is_available() -> bool:
    """Return whether the kernel can restrict a thread; the first call tries it."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    worked = []

    def attempt() -> None:
        with contextlib.suppress(OSError):
            restrict_thread([ReadablePath("/", is_folder=True)])
            worked.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(worked)


def restrict_thread(allowed: Iterable[ReadablePath]) -> None:
    """Restrict this thread, and the processes that it starts, to reading these files and folders.

    Paths that do not exist, or are not what they should be, add nothing. Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _Ruleset(_READ_FILE | _READ_DIR)
    size = ctypes.sizeof(handled)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0)
    _check(ruleset)
    try:
        for one in allowed:
            with contextlib.suppress(OSError):
                _allow(libc, ruleset, one)
        _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, one: ReadablePath) -> None:
    """Add a rule for what the path opens, if that is what it should be."""
    flags = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if one.strict else 0)
    opened = os.open(one.path, flags)
    try:
        if not _is_expected(opened, one):
            return
        allowed = _READ_FILE | _READ_DIR if one.is_folder else _READ_FILE
        rule = _Beneath(allowed, opened)
        _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(opened)


def _is_expected(opened: int, one: ReadablePath) -> bool:
    """Return whether a descriptor is the kind of file that a rule is for. A rule for a folder would
    open all that is below it."""
    mode = os.fstat(opened).st_mode
    if stat.S_ISDIR(mode) != one.is_folder:
        return False
    if not one.strict:
        return True
    # A symlink may have replaced a folder of the path since it was resolved.
    return stat.S_ISREG(mode) and os.readlink(f"/proc/self/fd/{opened}") == one.path


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def is_of_system(program: str) -> bool:
    """Return whether a program and all that it loads are the system's.

    Other programs are tried: one that is in a user's folder with the files that it needs, or a
    script that looks for it there, does not start. snap needs privileges that nothing gets here.
    """
    real = os.path.realpath(program)
    is_there = any(real.startswith(f"{folder}/") for folder in SYSTEM)
    return is_there and os.path.basename(real) != "snap"
