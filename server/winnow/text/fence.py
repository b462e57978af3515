"""Keeping a program to the files of the workspace, where the kernel can: Linux's Landlock.

A program opens files by their names. Whatever Winnow has checked before, a link may stand there by
then; what the kernel forbids, it forbids when the file is opened. A restriction holds for a thread
and the processes that it starts, for good: so a thread is made for each start, and the server
itself is not restricted. Only reading is: Winnow runs nothing here that writes.

Where there is no Landlock (macOS, Windows, Linux before 5.13 or without it) programs run without.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import stat
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# landlock(7); the numbers of the calls are those of every architecture that has them.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
_NO_NEW_PRIVILEGES = 38  # prctl(2)

# Programs and what these load. What a user has is nowhere here.
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"),
    *("/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew"),
)
# What the C library reads, `ls` for the names of users, `file`, and ripgrep as git does.
_SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/etc/group", "/etc/magic", "/etc/magic.mime", "/etc/gitconfig"),
    *("/dev/null", "/dev/urandom"),
)
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")
_EXCLUDES_FILE = re.compile(r'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.I | re.M)
_SETTINGS_BYTES = 256 * 1024


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


@functools.cache
def is_available() -> bool:
    """Whether the kernel lets a thread be restricted; it is tried, once."""
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        return False
    worked = []

    def attempt() -> None:
        with contextlib.suppress(OSError):
            restrict_thread(["/"])
            worked.append(True)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return bool(worked)


def restrict_thread(paths: Iterable[str | os.PathLike[str]]) -> None:
    """From now on, this thread and what it starts can read these files and folders only.

    Paths that do not exist are passed over. Raises OSError.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    handled = _Ruleset(_READ_FILE | _READ_DIR)
    size = ctypes.sizeof(handled)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0)
    _check(ruleset)
    try:
        for path in paths:
            with contextlib.suppress(OSError):
                _allow(libc, ruleset, path)
        _check(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: str | os.PathLike[str]) -> None:
    opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        is_folder = stat.S_ISDIR(os.fstat(opened).st_mode)
        allowed = _READ_FILE | _READ_DIR if is_folder else _READ_FILE
        rule = _Beneath(allowed, opened)
        _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(opened)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# --- what a program may read --------------------------------------------------------------------


def readable(roots: Sequence[Path], environment: Mapping[str, str]) -> Iterator[str]:
    """What programs that search these folders may read beside themselves: the folders, the system's
    programs, and the ignore files that hold in them, wherever those are."""
    yield from _SYSTEM
    yield from _SYSTEM_FILES
    yield from _git_settings(environment)
    for root in roots:
        yield str(root)
        for folder in root.parents:
            yield from (str(folder / name) for name in _IGNORE_FILES)
        yield from _shared_folders(root)


def _git_settings(environment: Mapping[str, str]) -> Iterator[str]:
    """The user's ignore file, and the settings that name it."""
    home = environment.get("HOME", "")
    folder = os.path.join(environment.get("XDG_CONFIG_HOME") or f"{home}/.config", "git")
    yield os.path.join(folder, "ignore")
    for settings in (f"{home}/.gitconfig", os.path.join(folder, "config")):
        yield settings
        for named in _EXCLUDES_FILE.findall(_text(settings)):
            yield re.sub(r"^~(?=/)", lambda _: home, named)


def _shared_folders(root: Path) -> Iterator[str]:
    """Of a working tree whose `.git` is a file: what ripgrep reads of the repository elsewhere."""
    kind, _, named = _text(root / ".git").partition(":")
    if kind == "gitdir":
        folder = root / named.strip()
        shared = folder / "commondir"
        yield str(shared)
        yield str(folder / _text(shared).strip() / "info/exclude")


def _text(path: str | os.PathLike[str]) -> str:
    """The beginning of a small file; empty if it cannot be read. It may be a FIFO."""
    with contextlib.suppress(OSError, ValueError):
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(opened, "rb") as file:
            return file.read(_SETTINGS_BYTES).decode("utf-8", "surrogateescape")
    return ""


def is_of_system(program: str) -> bool:
    """Whether a program is one of the system's, with all that it loads. Others are tried: one that
    is kept in a folder of the user's with what it needs, or a script that looks for it there, does
    not start. snap needs the privileges that nothing gets here."""
    real = os.path.realpath(program)
    is_there = any(real.startswith(f"{folder}/") for folder in _SYSTEM)
    return is_there and os.path.basename(real) != "snap"
